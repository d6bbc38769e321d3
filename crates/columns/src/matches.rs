//! Matching of a column of subjects against an index.

use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use std::thread;

use arrow_buffer::{BooleanBuffer, Buffer};

use super::Column;
use subtrie::raw::{BatchMatches, Index, LookupTarget, Scratch};

/// An index that a batch is matched against, a chunk at a time, so that changes can be made between
/// two chunks.
pub trait LookupSource: Sync {
    /// The reason for which the index cannot be read.
    type Refused: Send;

    /// Call `work` with read access to the index.
    ///
    /// # Errors
    ///
    /// The index cannot be read; `work` is not called then.
    fn with_target(&self, work: &mut dyn FnMut(LookupTarget<'_>)) -> Result<(), Self::Refused>;
}

impl LookupSource for Index {
    type Refused = Infallible;

    fn with_target(&self, work: &mut dyn FnMut(LookupTarget<'_>)) -> Result<(), Infallible> {
        work(LookupTarget::Index(self));
        Ok(())
    }
}

/// The subscriptions of each row: the buffers of an Arrow list array.
pub struct ColumnMatches {
    /// The number of rows.
    pub rows: usize,
    /// The offset of each row in `ids`, and the end of the last one.
    pub offsets: Offsets,
    /// The subscription ids of all rows, int32; ascending within a row.
    pub ids: Buffer,
    /// A bitmap of the rows that are valid subjects.
    pub valid: Buffer,
}

/// The offsets of a list array: int32, or int64 if int32 is too small.
pub enum Offsets {
    /// The offsets of a list array.
    Short(Vec<i32>),
    /// The offsets of a large list array.
    Long(Vec<i64>),
}

/// The reason for which a batch has no result.
#[derive(Debug)]
pub enum BatchError<R> {
    /// The id of a subscription exceeds int32.
    IdTooLarge,
    /// The index cannot be read.
    Refused(R),
}

impl<R> From<R> for BatchError<R> {
    fn from(refused: R) -> Self {
        Self::Refused(refused)
    }
}

impl<R: fmt::Display> fmt::Display for BatchError<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IdTooLarge => f.write_str("the id of a subscription exceeds int32"),
            Self::Refused(refused) => refused.fmt(f),
        }
    }
}

impl<R: fmt::Debug + fmt::Display> std::error::Error for BatchError<R> {}

/// Maximum number of threads: more than the cores of usual machines; a larger value costs memory, and
/// the system can fail to start them.
const MAX_THREADS: usize = 64;

/// Minimum number of values for each thread: fewer are looked up in less time than a thread takes to
/// start.
const MIN_VALUES_PER_THREAD: usize = 256;

/// Number of values that are looked up while changes wait: a larger value saves locking, a smaller one
/// lets changes through sooner. Throughput: `match_batch` in benches/records/peers-2026-11-21.json.
const CHUNK: usize = 256;

/// Match the rows of consecutive columns.
///
/// Each value of a dictionary is matched once. Up to `threads` threads share the values evenly: at
/// most 64, and fewer if there are few values or the system fails to start one. Cost: one lookup for
/// each value, one copy for each row.
///
/// # Errors
///
/// The id of a match exceeds int32, or the index cannot be read.
///
/// # Examples
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use subtrie_columns::{Column, match_columns};
/// use subtrie::grammar::Dialect;
/// use subtrie::raw::Index;
///
/// let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
/// index.insert("orders.>", None)?;
/// let subjects = StringArray::from(vec!["orders.new", "a..b"]);
/// let found = match_columns(&index, &[Column::new(subjects.into_data())?], 1)?;
/// assert_eq!((found.rows, found.valid.as_slice()), (2, &[0b01][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn match_columns<S: LookupSource>(
    source: &S,
    columns: &[Column],
    threads: usize,
) -> Result<ColumnMatches, BatchError<S::Refused>> {
    let mut rows = MatchRows::default();
    for column in columns {
        let matches = match_values(source, column, threads)?;
        if matches.ranges.iter().any(|range| range.too_large) {
            return Err(BatchError::IdTooLarge);
        }
        rows.add(column, matches);
    }
    Ok(rows.finish())
}

/// The matches of the values of a column, in the ranges that the threads were given.
struct ValueMatches {
    values_per_range: usize,
    ranges: Vec<BatchMatches>,
}

fn match_values<S: LookupSource>(
    source: &S,
    column: &Column,
    threads: usize,
) -> Result<ValueMatches, S::Refused> {
    let values = column.value_count();
    let values_per_range = values
        .div_ceil(threads.clamp(1, MAX_THREADS))
        .max(MIN_VALUES_PER_THREAD);
    let work =
        |start: usize| match_range(source, column, start..values.min(start + values_per_range));
    let starts: Vec<usize> = (0..values).step_by(values_per_range).collect();
    let ranges = match starts.split_first() {
        None => Vec::new(),
        Some((&first, [])) => vec![work(first)?],
        Some((&first, others)) => thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|&start| {
                    let thread = thread::Builder::new().spawn_scoped(scope, move || work(start));
                    (start, thread.ok())
                })
                .collect();
            // The range of a thread that did not start, or panicked, is matched here.
            let others = others.into_iter().map(|(start, thread)| {
                thread
                    .and_then(|thread| thread.join().ok())
                    .unwrap_or_else(|| work(start))
            });
            std::iter::once_with(|| work(first))
                .chain(others)
                .collect::<Result<_, _>>()
        })?,
    };
    Ok(ValueMatches {
        values_per_range,
        ranges,
    })
}

fn match_range<S: LookupSource>(
    source: &S,
    column: &Column,
    values: Range<usize>,
) -> Result<BatchMatches, S::Refused> {
    let mut batch = BatchMatches::default();
    batch.ids.reserve(values.len());
    batch.ends.reserve(values.len());
    batch.valid.reserve(values.len());
    let mut scratch = Scratch::default();
    let mut at = values.start;
    while at < values.end {
        let chunk = at..values.end.min(at + CHUNK);
        at = chunk.end;
        source.with_target(&mut |target| {
            let texts = chunk.clone().map(|value| column.bytes(value));
            target.match_batch(texts, &mut scratch, &mut batch);
        })?;
    }
    Ok(batch)
}

/// The result as it grows, row by row.
#[derive(Default)]
struct MatchRows {
    ids: Vec<i32>,
    ends: Vec<usize>,
    valid: Vec<bool>,
}

impl MatchRows {
    fn add(
        &mut self,
        column: &Column,
        ValueMatches {
            values_per_range,
            ranges,
        }: ValueMatches,
    ) {
        if column.is_plain() {
            // Values are rows: whole ranges follow one another.
            for range in ranges {
                if self.ends.is_empty() {
                    (self.ids, self.ends, self.valid) = (range.ids, range.ends, range.valid);
                    continue;
                }
                let before = self.ids.len();
                self.ids.extend_from_slice(&range.ids);
                self.ends.extend(range.ends.iter().map(|end| before + end));
                self.valid.extend_from_slice(&range.valid);
            }
            return;
        }
        for row in 0..column.len() {
            let found = column.key(row).and_then(|value| {
                let (range, at) = (
                    ranges.get(value / values_per_range)?,
                    value % values_per_range,
                );
                let start = at
                    .checked_sub(1)
                    .map_or(Some(0), |at| range.ends.get(at).copied());
                let ids = range.ids.get(start?..*range.ends.get(at)?)?;
                range.valid.get(at)?.then_some(ids)
            });
            self.ids.extend_from_slice(found.unwrap_or_default());
            self.ends.push(self.ids.len());
            self.valid.push(found.is_some());
        }
    }

    fn finish(self) -> ColumnMatches {
        let rows = self.ends.len();
        let ends = || std::iter::once(0).chain(self.ends.iter().copied());
        let offsets = if i32::try_from(self.ids.len()).is_ok() {
            Offsets::Short(ends().map(|end| i32::try_from(end).unwrap_or(0)).collect())
        } else {
            Offsets::Long(ends().map(|end| i64::try_from(end).unwrap_or(0)).collect())
        };
        let valid = BooleanBuffer::collect_bool(rows, |row| self.valid[row]);
        ColumnMatches {
            rows,
            offsets,
            ids: Buffer::from_vec(self.ids),
            valid: valid.into_inner(),
        }
    }
}
