//! Sums as Arrow columns, sorted by bucket. A column that says nothing is left out.

use std::sync::Arc;

use arrow_array::builder::{StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{Array, ArrayRef, Int64Array, StructArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, Field};

use super::entries::NO_SPAN;
use super::{COUNTS, NULL, SPANS, TrafficSums};

/// The sums that were taken.
pub struct Taken {
    /// A row for each key of messages. A missing column holds nulls, or counts of zero.
    pub publishes: StructArray,
    /// A row for each key of deliveries.
    pub deliveries: StructArray,
    /// The row at which each bucket of `publishes` begins, and the number of rows.
    pub publish_starts: Vec<i64>,
    /// The same of `deliveries`.
    pub delivery_starts: Vec<i64>,
    /// The planes of subjects that were accepted or delivered.
    pub planes: Vec<String>,
}

impl TrafficSums {
    pub(super) fn into_taken(self, buckets: u32) -> Result<Taken, ArrowError> {
        let bucket_of: Vec<u32> = (0..self.subjects.len())
            .map(|number| {
                let number = u32::try_from(number).unwrap_or(NULL);
                let text = self.subjects.get(number).unwrap_or_default();
                crc32fast::hash(text.as_bytes()) % buckets
            })
            .collect();
        let bucket = |subject: u32| bucket_of.get(subject as usize).copied().unwrap_or(0);
        let (order, publish_starts) = sorted(
            self.publishes
                .rows
                .iter()
                .map(|(key, _)| bucket(key.subject)),
            buckets,
        );
        let publishes = self.publish_columns(&order)?;
        let (order, delivery_starts) = sorted(
            self.deliveries
                .rows
                .iter()
                .map(|(key, _)| bucket(key.subject)),
            buckets,
        );
        let deliveries = self.delivery_columns(&order)?;
        Ok(Taken {
            publishes,
            deliveries,
            publish_starts,
            delivery_starts,
            planes: self.planes,
        })
    }

    /// Return messages in an order. Each row is read once, as the rows are not in that order.
    fn publish_columns(&self, order: &[usize]) -> Result<StructArray, ArrowError> {
        let mut names: [_; 3] = std::array::from_fn(|_| TextColumn::new(order.len()));
        let mut subjects = TextColumn::new(order.len());
        let mut windows = TimestampMicrosecondBuilder::with_capacity(order.len());
        let mut counts: [_; COUNTS.len()] =
            std::array::from_fn(|_| Vec::with_capacity(order.len()));
        let mut ends: [_; 2 * SPANS.len()] =
            std::array::from_fn(|_| TimestampMicrosecondBuilder::with_capacity(order.len()));
        for &at in order {
            let (key, sums) = &self.publishes.rows[at];
            windows.append_option(key.window);
            for (column, number) in names.iter_mut().zip([key.server, key.conn, key.identity]) {
                column.push(self.names.get(number));
            }
            subjects.push(self.subjects.get(key.subject));
            for (column, &count) in counts.iter_mut().zip(&sums.counts) {
                column.push(count);
            }
            for (pair, &span) in ends.chunks_exact_mut(2).zip(&sums.spans) {
                let known = (span != NO_SPAN).then_some(span);
                pair[0].append_option(known.map(|(first, _)| first));
                pair[1].append_option(known.map(|(_, last)| last));
            }
        }
        let mut columns = vec![times("window", windows)];
        for (name, texts) in ["server", "conn", "identity"].into_iter().zip(names) {
            columns.push(texts.finish(name)?);
        }
        columns.push(subjects.finish("subject")?);
        for (name, values) in COUNTS.into_iter().zip(counts) {
            let some = values.iter().any(|&count| count != 0);
            columns.push(some.then(|| (name, Arc::new(Int64Array::from(values)) as ArrayRef)));
        }
        for (name, values) in SPANS.into_iter().flatten().zip(ends) {
            columns.push(times(name, values));
        }
        table(columns, order.len())
    }

    /// Return deliveries in an order.
    fn delivery_columns(&self, order: &[usize]) -> Result<StructArray, ArrowError> {
        let mut names: [_; 4] = std::array::from_fn(|_| TextColumn::new(order.len()));
        let mut subjects = TextColumn::new(order.len());
        let mut windows = TimestampMicrosecondBuilder::with_capacity(order.len());
        let mut subscriptions = Vec::with_capacity(order.len());
        let mut counts = Vec::with_capacity(order.len());
        for &at in order {
            let (key, count) = &self.deliveries.rows[at];
            windows.append_option(key.window);
            let numbers = [key.server, key.conn, key.sid, key.queue];
            for (column, number) in names.iter_mut().zip(numbers) {
                column.push(self.names.get(number));
            }
            subjects.push(self.subjects.get(key.subject));
            subscriptions.push(key.subscription);
            counts.push(*count);
        }
        let mut columns = vec![times("window", windows)];
        for (name, texts) in ["server", "conn", "sid", "queue"].into_iter().zip(names) {
            columns.push(texts.finish(name)?);
        }
        columns.push(subjects.finish("subject")?);
        let known = Int64Array::from(subscriptions);
        columns.push(known_column("subscription", Arc::new(known)));
        columns.push(Some(("count", Arc::new(Int64Array::from(counts)))));
        table(columns, order.len())
    }
}

/// The name of a column and its values; none if it says nothing.
type NamedColumn = Option<(&'static str, ArrayRef)>;

/// Return the rows in the order of their buckets, and the start of each bucket (counting sort).
fn sorted(buckets_of: impl Iterator<Item = u32> + Clone, buckets: u32) -> (Vec<usize>, Vec<i64>) {
    let mut starts = vec![0_usize; buckets as usize + 1];
    for bucket in buckets_of.clone() {
        starts[bucket as usize + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut next = starts.clone();
    let mut order = vec![0; starts.last().copied().unwrap_or(0)];
    for (row, bucket) in buckets_of.enumerate() {
        let place = &mut next[bucket as usize];
        order[*place] = row;
        *place += 1;
    }
    let starts = starts
        .into_iter()
        .map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    (order, starts.collect())
}

/// A column of texts that is made row by row.
struct TextColumn {
    values: StringBuilder,
    bytes: usize,
}

impl TextColumn {
    fn new(rows: usize) -> Self {
        let values = StringBuilder::with_capacity(rows, 0);
        Self { values, bytes: 0 }
    }

    fn push(&mut self, text: Option<&str>) {
        self.bytes += text.map_or(0, str::len);
        // The builder panics beyond 2 GiB; `finish` returns the error.
        if i32::try_from(self.bytes).is_ok() {
            self.values.append_option(text);
        }
    }

    fn finish(mut self, name: &'static str) -> Result<NamedColumn, ArrowError> {
        if i32::try_from(self.bytes).is_err() {
            let message = "a batch of sums holds at most 2 GiB of text";
            return Err(ArrowError::InvalidArgumentError(message.into()));
        }
        Ok(known_column(name, Arc::new(self.values.finish())))
    }
}

fn times(name: &'static str, mut values: TimestampMicrosecondBuilder) -> NamedColumn {
    let values: TimestampMicrosecondArray = values.finish();
    known_column(name, Arc::new(values.with_timezone("UTC")))
}

/// Return a column, or none if all its values are null.
fn known_column(name: &'static str, values: ArrayRef) -> NamedColumn {
    (values.null_count() < values.len()).then_some((name, values))
}

fn table(columns: Vec<NamedColumn>, rows: usize) -> Result<StructArray, ArrowError> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .flatten()
        .map(|(name, values)| (Field::new(name, values.data_type().clone(), true), values))
        .unzip();
    StructArray::try_new_with_length(fields.into(), arrays, None, rows)
}
