//! Images of an index: no bytes do worse than an error or a wrong answer, within a bound of work.

use subtrie::grammar::{Bounds, Dialect, Form, check};
use subtrie::raw::{Image, Index, LookupTarget, Scratch, as_words};

/// Words of the header; the last two are the sums of the content and of the header.
const HEADER: usize = 32;

/// An image as it is (an even first byte), or patterns, a line each up to a zero byte, and what is
/// then changed in their image: ten bytes at a time, a place and a word.
pub fn image(data: &[u8]) {
    let ([how], rest) = super::options::<1>(data);
    let mut image = if how & 1 == 0 {
        as_words(rest).into_owned()
    } else {
        damaged(rest)
    };
    ask(&image, image.len() * 8);
    if image.len() >= HEADER {
        image[HEADER - 2] = sum(&image[HEADER..]);
        image[HEADER - 1] = sum(&image[..HEADER - 1]);
        ask(&image, image.len() * 8);
    }
}

fn sum(words: &[u64]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    u64::from(crc32fast::hash(&bytes))
}

fn damaged(data: &[u8]) -> Vec<u64> {
    let end = data
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(data.len());
    let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
    let bounds = Bounds {
        max_tokens: 16,
        max_length: 128,
    };
    for line in data[..end].split(|&byte| byte == b'\n').take(64) {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let (pattern, queue) = line
            .split_once(' ')
            .map_or((line, None), |(pattern, queue)| (pattern, Some(queue)));
        if check(pattern, Form::Pattern, Dialect::Strict, bounds).is_ok() {
            let _ = index.insert(pattern, queue);
        }
    }
    let mut image = as_words(&index.to_image((None, None))).into_owned();
    for edit in data[end..].get(1..).unwrap_or_default().chunks_exact(10) {
        let (place, word) = edit.split_at(2);
        let place = usize::from(place[0]) << 8 | usize::from(place[1]);
        let mut value = [0; 8];
        value.copy_from_slice(word);
        let at = place % image.len();
        image[at] = u64::from_le_bytes(value);
    }
    image
}

/// Calls every lookup of an image.
fn ask(words: &[u64], length: usize) {
    for verify in [true, false] {
        let Ok(image) = Image::open(words, length, verify) else {
            continue;
        };
        let (mut scratch, mut found) = (Scratch::default(), Vec::new());
        for subject in ["a", "a.b", "b.c.a", "a.a.a.a.a", "orders.eu.new"] {
            found.clear();
            let _ = LookupTarget::Image(&image).match_into(subject, &mut scratch, &mut found);
            assert!(found.len() <= image.len() + 1 + scratch.work());
            let _ = LookupTarget::Image(&image).has_interest(subject, &mut scratch);
        }
        if let Ok((restored, next)) = image.subscriptions() {
            assert_eq!(restored.len(), image.len());
            assert!(restored.iter().all(|row| row.id < next));
        }
        if let Ok(index) = image.to_index() {
            assert_eq!(index.len(), image.len());
        }
    }
}
