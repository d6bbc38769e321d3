//! Memory, the rate of building, and the cost of single changes.

use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use subtrie::raw::Index;

use super::clock::{Spread, corrected, cost, nanoseconds};
use super::files::{Workload, empty, insert};
use super::{WHO, heap};

/// Bytes for each subscription, of single insertions and of a bulk load: by the index's own estimate, and
/// by the growth of the heap.
#[allow(clippy::cast_precision_loss)]
pub fn memory(workload: &Workload) {
    let each = |bytes: f64| (bytes / workload.size as f64 * 10.0).round() / 10.0;
    let print = |who: &str, (index, held): (Index, i64)| {
        println!(
            "{}",
            json!({
                "who": who, "measure": "memory", "size": workload.size,
                "own_bytes": each(index.stats().memory as f64), "heap_bytes": each(held as f64),
            })
        );
    };
    print(WHO, heap::growth(|| workload.index()));
    let loaded = || {
        let mut index = empty();
        index.insert_all(&workload.patterns(), |row| (row as u64, None, 0));
        index
    };
    print(&format!("{WHO}, bulk load"), heap::growth(loaded));
}

/// Patterns inserted per second, from an empty index to all of them.
#[allow(clippy::cast_precision_loss)]
pub fn build(workload: &Workload) {
    let rounds = (100_000 / workload.size).clamp(3, 50);
    let times = (0..rounds).map(|_| {
        let started = Instant::now();
        let index = workload.index();
        let took = nanoseconds(started.elapsed());
        drop(black_box(index));
        took
    });
    let median = Spread::of(times.collect()).median();
    println!(
        "{}",
        json!({
            "who": WHO, "measure": "build", "size": workload.size,
            "per_second": (workload.size as f64 / median * 1e9).round(),
        })
    );
}

/// In a full index: a random subscription is removed and a new one inserted, 10,000 times.
pub fn churn(workload: &Workload) {
    let clock = cost();
    let mut index = workload.index();
    let mut live: Vec<u64> = (0..workload.size as u64).collect();
    let (mut inserts, mut removes) = (Vec::new(), Vec::new());
    let mut random = 88_172_645_463_325_252_u64;
    for pattern in workload.added() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let at = usize::try_from(random % live.len() as u64).unwrap_or(0);
        let id = live.swap_remove(at);
        let started = Instant::now();
        black_box(index.remove(id));
        removes.push(corrected(started.elapsed(), clock));
        let started = Instant::now();
        let id = insert(&mut index, pattern);
        inserts.push(corrected(started.elapsed(), clock));
        live.push(id);
    }
    print_spread("remove", workload.size, removes);
    print_spread("insert", workload.size, inserts);
}

/// Each insert from an empty index to all patterns.
pub fn grow(workload: &Workload) {
    let clock = cost();
    let mut index = empty();
    let mut times = Vec::with_capacity(workload.size);
    for pattern in workload.patterns() {
        let started = Instant::now();
        insert(&mut index, pattern);
        times.push(corrected(started.elapsed(), clock));
    }
    print_spread("grow", workload.size, times);
}

fn print_spread(measure: &str, size: usize, times: Vec<f64>) {
    let spread = Spread::of(times);
    println!(
        "{}",
        json!({
            "who": WHO, "measure": measure, "size": size,
            "median_ns": spread.median(), "p99_ns": spread.at(990),
            "p999_ns": spread.at(999), "max_ns": spread.max(),
        })
    );
}
