//! Which subscriptions does every subject of a column reach?

use std::ops::Range;
use std::thread;

use arrow_buffer::{BooleanBufferBuilder, Buffer};

use super::Column;
use crate::trie::{BatchMatches, Index, LookupTarget, Scratch};

/// Where a batch looks up its subjects, a portion at a time, so that changes find their way between
/// two portions.
pub trait Source: Sync {
    /// Lends what there is to read.
    fn look(&self, work: &mut dyn FnMut(LookupTarget<'_>));
}

impl Source for Index {
    fn look(&self, work: &mut dyn FnMut(LookupTarget<'_>)) {
        work(LookupTarget::Index(self));
    }
}

/// The subscriptions of each row, one after another: the parts of an Arrow list.
pub struct Found {
    /// How many rows there are.
    pub rows: usize,
    /// Where each row begins in `ids`: one more than rows.
    pub offsets: Offsets,
    /// The subscriptions of all rows, int32; within a row in ascending id.
    pub ids: Buffer,
    /// Which rows are subjects: a bitmap.
    pub valid: Buffer,
}

/// Arrow counts in int32 for as long as it can.
pub enum Offsets {
    /// int32
    Short(Vec<i32>),
    /// int64
    Long(Vec<i64>),
}

/// An id of a subscription is beyond int32.
#[derive(Debug)]
pub struct IdTooLarge;

/// More threads than this help nobody, and a system can refuse to start them.
const MOST_THREADS: usize = 64;

/// Fewer values than this are looked up before a thread has started.
const WORTH_A_THREAD: usize = 256;

/// Values looked up in one look at the index.
const PORTION: usize = 256;

/// Matches columns that follow one another.
///
/// Every value of a dictionary is matched once, however many rows hold it. Up to `threads` share
/// the values evenly: never more than 64, and fewer where there are few values or the system
/// refuses one. Cost: one lookup a value, one copy a row.
pub fn match_columns(
    source: &impl Source,
    columns: &[Column],
    threads: usize,
) -> Result<Found, IdTooLarge> {
    let mut rows = Rows::default();
    for column in columns {
        rows.add(column, match_values(source, column, threads))?;
    }
    Ok(rows.finish())
}

/// What the values of a column reach, in the runs that the threads were given.
struct Runs {
    each: usize,
    runs: Vec<BatchMatches>,
}

fn match_values(source: &impl Source, column: &Column, threads: usize) -> Runs {
    let values = column.distinct();
    let each = values
        .div_ceil(threads.clamp(1, MOST_THREADS))
        .max(WORTH_A_THREAD);
    let work = |start: usize| match_run(source, column, start..values.min(start + each));
    let starts: Vec<usize> = (0..values).step_by(each).collect();
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
    Runs { each, runs }
}

fn match_run(source: &impl Source, column: &Column, values: Range<usize>) -> BatchMatches {
    let mut batch = BatchMatches::default();
    batch.ids.reserve(values.len());
    batch.ends.reserve(values.len());
    batch.valid.reserve(values.len());
    let mut scratch = Scratch::default();
    let mut at = values.start;
    while at < values.end {
        let portion = at..values.end.min(at + PORTION);
        at = portion.end;
        source.look(&mut |target| {
            let texts = portion.clone().map(|value| column.bytes(value));
            target.match_batch(texts, &mut scratch, &mut batch);
        });
    }
    batch
}

/// The result as it grows, row by row.
#[derive(Default)]
struct Rows {
    ids: Vec<i32>,
    ends: Vec<usize>,
    valid: Vec<bool>,
}

impl Rows {
    fn add(&mut self, column: &Column, Runs { each, runs }: Runs) -> Result<(), IdTooLarge> {
        let narrow = |id: u64| i32::try_from(id).map_err(|_| IdTooLarge);
        if column.is_plain() {
            // Values are rows: whole runs follow one another.
            for run in runs {
                let before = self.ids.len();
                self.ids.reserve(run.ids.len());
                for id in run.ids {
                    self.ids.push(narrow(id)?);
                }
                self.ends
                    .extend(run.ends.into_iter().map(|end| before + end));
                self.valid.extend(run.valid);
            }
            return Ok(());
        }
        for row in 0..column.len() {
            let found = column.key(row).and_then(|value| {
                let (run, at) = (runs.get(value / each)?, value % each);
                let start = at
                    .checked_sub(1)
                    .map_or(Some(0), |at| run.ends.get(at).copied());
                let ids = run.ids.get(start?..*run.ends.get(at)?)?;
                run.valid.get(at)?.then_some(ids)
            });
            for &id in found.unwrap_or_default() {
                self.ids.push(narrow(id)?);
            }
            self.ends.push(self.ids.len());
            self.valid.push(found.is_some());
        }
        Ok(())
    }

    fn finish(self) -> Found {
        let rows = self.ends.len();
        let ends = || std::iter::once(0).chain(self.ends.iter().copied());
        let offsets = if i32::try_from(self.ids.len()).is_ok() {
            Offsets::Short(ends().map(|end| i32::try_from(end).unwrap_or(0)).collect())
        } else {
            Offsets::Long(ends().map(|end| i64::try_from(end).unwrap_or(0)).collect())
        };
        let mut valid = BooleanBufferBuilder::new(rows);
        valid.append_slice(&self.valid);
        Found {
            rows,
            offsets,
            ids: Buffer::from_vec(self.ids),
            valid: valid.finish().into_inner(),
        }
    }
}
