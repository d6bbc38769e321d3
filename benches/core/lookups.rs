//! The time of a lookup: the median of blocks, and the slowest hundredth of single lookups; the
//! rate of batches, and the entries that a lookup examines.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;
use subtrie::raw::{BatchMatches, Index, LookupTarget, Scratch};

use super::answers::checksum;
use super::clock::{Spread, corrected, cost};
use super::files::{ORDERS, Workload};

/// Lookups timed together, so that the clock does not count.
const BLOCK: usize = 100;
/// Subjects of a batch, as the bindings look them up between two looks at the writer.
const BATCH: usize = 256;
const LONG_ENOUGH: Duration = Duration::from_millis(800);

/// Prints a row for each order, for `match_into`, for `count` and for batches.
pub fn measure(workload: &Workload) {
    let index = workload.index();
    let clock = cost();
    for (number, order) in ORDERS.iter().enumerate() {
        let subjects = workload.subjects(number);
        let (sum, matches) = checksum(&index, &subjects);
        let (mut scratch, mut found) = (Scratch::default(), Vec::new());
        let entries = examined(&index, &subjects);
        let whole = times(&subjects, clock, |subject| {
            found.clear();
            let _ = index.match_into(subject, &mut scratch, &mut found);
            found.len()
        });
        let counted = times(&subjects, clock, |subject| {
            count(&index, subject, &mut scratch)
        });
        for (who, (blocks, singles)) in [
            (super::WHO.to_owned(), whole),
            (format!("{}, count alone", super::WHO), counted),
        ] {
            println!(
                "{}",
                json!({
                    "who": who, "measure": "lookup", "size": workload.size, "order": order,
                    "median_ns": blocks.median(), "p99_ns": singles.at(990),
                    "checksum": sum, "matches": matches, "entries": entries,
                })
            );
        }
        println!(
            "{}",
            json!({
                "who": super::WHO, "measure": "batch", "size": workload.size, "order": order,
                "threads": 1, "per_second": batches(&index, &subjects).round(),
            })
        );
    }
}

/// The nodes and leaf entries that a lookup examines, on average.
#[allow(clippy::cast_precision_loss)]
pub fn examined(index: &Index, subjects: &[&str]) -> f64 {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    let mut total = 0;
    for subject in subjects {
        found.clear();
        let _ = index.match_into(subject, &mut scratch, &mut found);
        total += scratch.work();
    }
    (total as f64 / subjects.len() as f64 * 100.0).round() / 100.0
}

/// Subjects a second on this core: the median of rounds over all of them.
pub fn batches(index: &Index, subjects: &[&str]) -> f64 {
    let mut rates = Vec::new();
    let started = Instant::now();
    while started.elapsed() < LONG_ENOUGH {
        rates.push(batch_round(index, subjects, 1));
    }
    Spread::of(rates).median()
}

/// Subjects a second on this core, of so many rounds over all of them.
#[allow(clippy::cast_precision_loss)]
pub fn batch_round(index: &Index, subjects: &[&str], rounds: usize) -> f64 {
    let mut scratch = Scratch::default();
    let before = Instant::now();
    for part in (0..rounds).flat_map(|_| subjects.chunks(BATCH)) {
        let mut batch = BatchMatches::default();
        let texts = part.iter().map(|subject| Some(subject.as_bytes()));
        LookupTarget::Index(index).match_batch(texts, &mut scratch, &mut batch);
        black_box(batch.ids.len());
    }
    (rounds * subjects.len()) as f64 / before.elapsed().as_secs_f64()
}

fn count(index: &Index, subject: &str, scratch: &mut Scratch) -> usize {
    index.count(subject, scratch).unwrap_or(0)
}

/// Nanoseconds a lookup, of blocks and of single lookups, after one round unmeasured.
fn times(subjects: &[&str], clock: f64, mut lookup: impl FnMut(&str) -> usize) -> (Spread, Spread) {
    for subject in subjects {
        black_box(lookup(subject));
    }
    let (mut blocks, mut singles) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while started.elapsed() < LONG_ENOUGH {
        for block in subjects.chunks_exact(BLOCK) {
            let before = Instant::now();
            for subject in block {
                black_box(lookup(black_box(subject)));
            }
            blocks.push(corrected(before.elapsed(), clock) / 100.0);
        }
    }
    let started = Instant::now();
    while started.elapsed() < LONG_ENOUGH / 2 {
        for subject in subjects {
            let before = Instant::now();
            black_box(lookup(black_box(subject)));
            singles.push(corrected(before.elapsed(), clock));
        }
    }
    (Spread::of(blocks), Spread::of(singles))
}
