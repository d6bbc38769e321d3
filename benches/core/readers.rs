//! Readers beside a writer: how much slower lookups become, and how long the longest one takes.
//!
//! Each reader looks up the hot subjects over and over. First whole rounds are counted, untimed;
//! then single lookups are timed. A lookup that took long because the kernel gave the core to another
//! thread says nothing about the index: the kernel counts such switches for each thread, and lookups
//! during which the count rose are reported separately. Waiting for a lock is another kind of switch.

use std::fs;
use std::hint::black_box;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use subtrie::raw::{Index, Scratch};

use super::clock::{Spread, corrected, cost};
use super::files::{Workload, insert};

/// One index under one lock, as a user of the crate shares it.
struct Locked(RwLock<Index>);

impl Locked {
    const SCHEME: &'static str = "one read-write lock";

    /// The number of matching subscriptions.
    fn count(&self, subject: &str, scratch: &mut Scratch) -> usize {
        let Ok(index) = self.0.read() else { return 0 };
        index.count(subject, scratch).unwrap_or(0)
    }

    /// Inserts a pattern and returns its id.
    fn insert(&self, pattern: &str) -> u64 {
        self.0
            .write()
            .map_or(u64::MAX, |mut index| insert(&mut index, pattern))
    }

    fn remove(&self, id: u64) {
        if let Ok(mut index) = self.0.write() {
            index.remove(id);
        }
    }
}

/// Changes per second by the writer; `None` without a writer.
const RATES: [Option<u64>; 4] = [None, Some(1_000), Some(10_000), Some(u64::MAX)];
const COUNTED: Duration = Duration::from_millis(1_500);
const TIMED: Duration = Duration::from_secs(1);
/// The kernel's count is read only after lookups above this many nanoseconds: a switch takes longer.
const LONG: f64 = 2_000.0;
const COUNTING: u64 = 0;
const TIMING: u64 = 1;
const OVER: u64 = 2;

/// Prints a row for each number of readers and rate of changes.
pub fn measure(workload: &Workload) {
    for readers in [1, 2] {
        for rate in RATES {
            let shared = Locked(RwLock::new(workload.index()));
            run(&shared, workload, readers, rate);
        }
    }
}

/// The results of one reader.
struct Seen {
    per_second: f64,
    per_cpu_second: f64,
    times: Vec<f64>,
    /// The longest lookup without a switch, and how many took over 100 µs.
    longest: f64,
    long: usize,
}

fn run(shared: &Locked, workload: &Workload, readers: usize, rate: Option<u64>) {
    let phase = AtomicU64::new(COUNTING);
    let changes = AtomicU64::new(0);
    let subjects = workload.subjects(0);
    let (seen, writing) = thread::scope(|scope| {
        let started = Instant::now();
        let all: Vec<_> = (0..readers)
            .map(|_| scope.spawn(|| read(shared, &subjects, &phase)))
            .collect();
        if let Some(rate) = rate {
            let (phase, changes) = (&phase, &changes);
            scope.spawn(move || write(shared, &workload.added(), rate, phase, changes));
        }
        thread::sleep(COUNTED);
        phase.store(TIMING, Ordering::Relaxed);
        thread::sleep(TIMED);
        phase.store(OVER, Ordering::Relaxed);
        let writing = started.elapsed();
        let seen: Vec<Seen> = all.into_iter().filter_map(|one| one.join().ok()).collect();
        (seen, writing)
    });
    report(workload.size, readers, rate, &seen, || {
        f64::from(u32::try_from(changes.load(Ordering::Relaxed)).unwrap_or(u32::MAX))
            / writing.as_secs_f64()
    });
}

fn report(
    size: usize,
    readers: usize,
    rate: Option<u64>,
    seen: &[Seen],
    changes: impl FnOnce() -> f64,
) {
    let writer = match rate {
        None => "none".to_owned(),
        Some(u64::MAX) => "without pause".to_owned(),
        Some(rate) => format!("{rate}/s"),
    };
    let times = Spread::of(seen.iter().flat_map(|one| one.times.clone()).collect());
    let longest = seen.iter().map(|one| one.longest).fold(0.0, f64::max);
    println!(
        "{}",
        json!({
            "who": super::WHO, "measure": "readers", "size": size, "order": "hot",
            "scheme": Locked::SCHEME, "readers": readers, "writer": writer,
            "per_second": seen.iter().map(|one| one.per_second).sum::<f64>().round(),
            "per_cpu_second": seen.iter().map(|one| one.per_cpu_second).sum::<f64>().round(),
            "changes_per_second": changes().round(),
            "median_ns": times.median(), "p999_ns": times.at(999),
            "max_ns": longest.round(), "max_with_switches_ns": times.max().round(),
            "over_100_us": seen.iter().map(|one| one.long).sum::<usize>(),
        })
    );
}

#[allow(clippy::cast_precision_loss)]
fn read(shared: &Locked, subjects: &[&str], phase: &AtomicU64) -> Seen {
    let mut scratch = Scratch::default();
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let mut rounds = 0_usize;
    while phase.load(Ordering::Relaxed) == COUNTING {
        for subject in subjects {
            black_box(shared.count(black_box(subject), &mut scratch));
        }
        rounds += 1;
    }
    let lookups = (rounds * subjects.len()) as f64;
    let per_second = lookups / started.elapsed().as_secs_f64();
    let per_cpu_second = lookups / (cpu_seconds() - cpu);
    let clock = cost();
    let mut seen = Seen {
        per_second,
        per_cpu_second,
        times: Vec::with_capacity(1 << 24),
        longest: 0.0,
        long: 0,
    };
    let mut switches = switched_away();
    while phase.load(Ordering::Relaxed) == TIMING {
        for subject in subjects {
            let before = Instant::now();
            black_box(shared.count(black_box(subject), &mut scratch));
            let took = corrected(before.elapsed(), clock);
            if took > LONG {
                let now = switched_away();
                if now == switches {
                    seen.longest = seen.longest.max(took);
                    seen.long += usize::from(took > 100_000.0);
                }
                switches = now;
            }
            if seen.times.len() < seen.times.capacity() {
                seen.times.push(took);
            }
        }
    }
    seen
}

/// The seconds that this thread has run; 0 if the system does not report it.
fn cpu_seconds() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|first| first.parse().ok());
    nanoseconds.unwrap_or(0.0) / 1e9
}

/// The number of involuntary context switches of this thread; 0 if the system does not report it.
fn switched_away() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

/// Inserts and removes patterns by turns, at a rate: makes the changes that are due, then sleeps.
fn write(shared: &Locked, patterns: &[&str], rate: u64, phase: &AtomicU64, changes: &AtomicU64) {
    let started = Instant::now();
    let mut done = 0_u64;
    let mut held = None;
    let mut next = patterns.iter().cycle();
    while phase.load(Ordering::Relaxed) != OVER {
        let due = if rate == u64::MAX {
            done + 64
        } else {
            u64::try_from(started.elapsed().as_micros() * u128::from(rate) / 1_000_000)
                .unwrap_or(u64::MAX)
        };
        while done < due {
            match held.take() {
                Some(id) => shared.remove(id),
                None => held = next.next().map(|pattern| shared.insert(pattern)),
            }
            done += 1;
        }
        changes.store(done, Ordering::Relaxed);
        if rate != u64::MAX {
            thread::sleep(Duration::from_micros(50));
        }
    }
}
