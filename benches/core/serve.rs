//! Answers commands from standard input, one a line, so that a program that asks several others in
//! turn has them all in the same moments.
//!
//! `answers SIZE ORDER`: a checksum, and the entries that a lookup examines; `lookup SIZE ORDER` and
//! `batch SIZE ORDER`: the nanoseconds a subject of one round over all subjects.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use subtrie::raw::{Index, Scratch};

use super::answers::checksum;
use super::clock::nanoseconds;
use super::files::{ORDERS, Workload};
use super::lookups::{batch_round, examined};

/// Rounds over the few hot subjects that count as one.
const HOT_ROUNDS: usize = 20;

/// Answers until the input ends. The folder of the files comes before `--serve`.
pub fn answer(folder: &Path) {
    let mut filled: HashMap<usize, (Workload, Index)> = HashMap::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        println!("{}", answered(&line, folder, &mut filled));
    }
}

fn answered(line: &str, folder: &Path, filled: &mut HashMap<usize, (Workload, Index)>) -> Value {
    let words: Vec<&str> = line.split(' ').collect();
    let [what, size, order] = words[..] else {
        return Value::Null;
    };
    let (Ok(size), Some(order)) = (
        size.parse(),
        ORDERS.iter().position(|known| *known == order),
    ) else {
        return Value::Null;
    };
    let (workload, index) = filled.entry(size).or_insert_with(|| {
        let workload = Workload::read(folder, size);
        let index = workload.index();
        (workload, index)
    });
    let subjects = workload.subjects(order);
    let rounds = if order == 0 { HOT_ROUNDS } else { 1 };
    match what {
        "answers" => {
            let (sum, matches) = checksum(index, &subjects);
            json!({"checksum": sum, "matches": matches, "entries": examined(index, &subjects)})
        }
        "batch" => json!(1e9 / batch_round(index, &subjects, rounds)),
        _ => json!(round(index, &subjects, rounds)),
    }
}

/// Nanoseconds a lookup, of all subjects so many times.
#[allow(clippy::cast_precision_loss)]
fn round(index: &Index, subjects: &[&str], rounds: usize) -> f64 {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    let started = Instant::now();
    for _ in 0..rounds {
        for subject in subjects {
            found.clear();
            let _ = index.match_into(black_box(subject), &mut scratch, &mut found);
            black_box(found.len());
        }
    }
    nanoseconds(started.elapsed()) / (rounds * subjects.len()) as f64
}
