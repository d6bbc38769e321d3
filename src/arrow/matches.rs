//! Which subscriptions does every subject of a column reach?

use std::thread;

use super::{Column, Text};
use crate::trie::{Index, Scratch, Ticket};

/// The subscriptions of each row, one after another.
#[derive(Debug, Default)]
pub struct Found {
    /// Where each row begins in `tickets`: one more than rows.
    pub offsets: Vec<usize>,
    /// The subscriptions of all rows; within a row in ascending id.
    pub tickets: Vec<Ticket>,
    /// Which rows are subjects: least bit first, as Arrow has it.
    pub valid: Vec<u8>,
}

/// What one value of a column reaches; `None` where it is no subject.
type Reached = Option<std::ops::Range<usize>>;

/// More threads than this help nobody, and a system can refuse to start them.
const MOST_THREADS: usize = 64;

/// Fewer values than this are looked up before a thread has started.
const WORTH_A_THREAD: usize = 64;

/// Matches columns that follow one another.
///
/// Every value of a dictionary is matched once, however many rows hold it. Up to `threads` share
/// the values evenly: never more than 64, and fewer where there are few values or the system
/// refuses one. Cost: one lookup a value, one copy a row.
#[must_use]
pub fn match_columns(index: &Index, columns: &[Column], threads: usize) -> Found {
    let mut found = Found {
        offsets: vec![0],
        ..Found::default()
    };
    for column in columns {
        let parts = match_values(index, column, threads);
        for row in 0..column.len() {
            let at = found.offsets.len() - 1;
            if at.is_multiple_of(8) {
                found.valid.push(0);
            }
            let reached = column.key(row).and_then(|value| parts.get(value));
            if let Some(tickets) = reached {
                found.tickets.extend_from_slice(tickets);
                found.valid[at / 8] |= 1 << (at % 8);
            }
            found.offsets.push(found.tickets.len());
        }
    }
    found
}

/// What each value reaches, in the runs that the threads were given.
struct Parts {
    run: usize,
    runs: Vec<(Vec<Reached>, Vec<Ticket>)>,
}

impl Parts {
    fn get(&self, value: usize) -> Option<&[Ticket]> {
        let (reached, tickets) = self.runs.get(value / self.run)?;
        tickets.get(reached.get(value % self.run)?.clone()?)
    }
}

fn match_values(index: &Index, column: &Column, threads: usize) -> Parts {
    let values = column.distinct();
    let run = values
        .div_ceil(threads.clamp(1, MOST_THREADS))
        .max(WORTH_A_THREAD);
    let work = |start: usize| match_run(index, column, start..values.min(start + run));
    let starts: Vec<usize> = (0..values).step_by(run).collect();
    let runs = match starts.split_first() {
        None => Vec::new(),
        Some((&first, [])) => vec![work(first)],
        Some((&first, others)) => thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|&start| {
                    let run = thread::Builder::new().spawn_scoped(scope, move || work(start));
                    (start, run.ok())
                })
                .collect();
            let mut runs = vec![work(first)];
            // A thread that never began or died is answered for here: the rows must not be lost.
            runs.extend(others.into_iter().map(|(start, run)| {
                run.and_then(|run| run.join().ok())
                    .unwrap_or_else(|| work(start))
            }));
            runs
        }),
    };
    Parts { run, runs }
}

fn match_run(
    index: &Index,
    column: &Column,
    values: std::ops::Range<usize>,
) -> (Vec<Reached>, Vec<Ticket>) {
    let mut scratch = Scratch::default();
    let mut reached = Vec::with_capacity(values.len());
    let mut tickets = Vec::new();
    for value in values {
        let start = tickets.len();
        reached.push(match column.value(value) {
            Text::Valid(subject) => index
                .match_into(subject, &mut scratch, &mut tickets)
                .ok()
                .map(|()| start..tickets.len()),
            Text::Null | Text::Invalid(..) => None,
        });
    }
    (reached, tickets)
}
