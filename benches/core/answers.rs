//! A checksum of many answers, the same in every language, so that answers are compared before times.

use subtrie::raw::{Index, Scratch};

/// Subjects of each order that are compared.
const COMPARED: usize = 10_000;

/// The checksum of the answers to the first subjects, and how many subscriptions they name.
pub fn checksum(index: &Index, subjects: &[&str]) -> (String, usize) {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    let (mut sum, mut matches) = (0_u64, 0);
    for subject in subjects.iter().take(COMPARED) {
        found.clear();
        if let Err(error) = index.match_into(subject, &mut scratch, &mut found) {
            eprintln!("{subject}: {error:?}");
        }
        let one = found
            .iter()
            .fold(0_u64, |sum, found| sum.wrapping_add(mixed(found.id)));
        sum = sum.wrapping_mul(31).wrapping_add(one);
        matches += found.len();
    }
    (format!("{sum:016x}"), matches)
}

fn mixed(id: u64) -> u64 {
    let spread = (id + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    spread ^ (spread >> 32)
}
