//! Sums as Arrow columns, sorted by bucket.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray, StructArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, Field};

use super::entries::NO_SPAN;
use super::{COUNTS, NULL, SPANS, Texts, TrafficSums};

/// The sums that were taken.
pub struct Taken {
    /// A row for each key of messages.
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
        let rows: Vec<_> = order.iter().map(|&at| &self.publishes.rows[at]).collect();
        let mut columns = vec![
            name(
                "server",
                &self.names,
                rows.iter().map(|(key, _)| key.server),
            ),
            times("window", rows.iter().map(|(key, _)| key.window)),
            name("conn", &self.names, rows.iter().map(|(key, _)| key.conn)),
            name(
                "identity",
                &self.names,
                rows.iter().map(|(key, _)| key.identity),
            ),
            name(
                "subject",
                &self.subjects,
                rows.iter().map(|(key, _)| key.subject),
            ),
        ];
        for (at, column) in COUNTS.iter().enumerate() {
            columns.push(numbers(
                column,
                rows.iter().map(|(_, sums)| Some(sums.counts[at])),
            ));
        }
        for (at, [first, last]) in SPANS.iter().enumerate() {
            let known = |span: (i64, i64)| (span != NO_SPAN).then_some(span);
            let spans = || rows.iter().map(|(_, sums)| known(sums.spans[at]));
            columns.push(times(
                first,
                spans().map(|span| span.map(|(first, _)| first)),
            ));
            columns.push(times(last, spans().map(|span| span.map(|(_, last)| last))));
        }
        let publishes = table(columns)?;
        let (order, delivery_starts) = sorted(
            self.deliveries
                .rows
                .iter()
                .map(|(key, _)| bucket(key.subject)),
            buckets,
        );
        let rows: Vec<_> = order.iter().map(|&at| &self.deliveries.rows[at]).collect();
        let deliveries = table(vec![
            name(
                "server",
                &self.names,
                rows.iter().map(|(key, _)| key.server),
            ),
            times("window", rows.iter().map(|(key, _)| key.window)),
            name("conn", &self.names, rows.iter().map(|(key, _)| key.conn)),
            name("sid", &self.names, rows.iter().map(|(key, _)| key.sid)),
            name("queue", &self.names, rows.iter().map(|(key, _)| key.queue)),
            numbers("subscription", rows.iter().map(|(key, _)| key.subscription)),
            name(
                "subject",
                &self.subjects,
                rows.iter().map(|(key, _)| key.subject),
            ),
            numbers("count", rows.iter().map(|(_, count)| Some(*count))),
        ])?;
        Ok(Taken {
            publishes,
            deliveries,
            publish_starts,
            delivery_starts,
            planes: self.planes,
        })
    }
}

type NamedColumn = Result<(&'static str, ArrayRef), ArrowError>;

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

fn name(
    column: &'static str,
    texts: &Texts,
    numbers: impl Iterator<Item = u32> + Clone,
) -> NamedColumn {
    let bytes: usize = numbers
        .clone()
        .map(|number| texts.get(number).map_or(0, str::len))
        .sum();
    if i32::try_from(bytes).is_err() {
        let message = "a batch of sums holds at most 2 GiB of text";
        return Err(ArrowError::InvalidArgumentError(message.into()));
    }
    let values: StringArray = numbers.map(|number| texts.get(number)).collect();
    Ok((column, Arc::new(values)))
}

#[expect(clippy::unnecessary_wraps, reason = "the type of all columns")]
fn numbers(column: &'static str, values: impl Iterator<Item = Option<i64>>) -> NamedColumn {
    Ok((column, Arc::new(values.collect::<Int64Array>())))
}

#[expect(clippy::unnecessary_wraps, reason = "the type of all columns")]
fn times(column: &'static str, values: impl Iterator<Item = Option<i64>>) -> NamedColumn {
    let values: TimestampMicrosecondArray = values.collect();
    Ok((column, Arc::new(values.with_timezone("UTC"))))
}

fn table(columns: Vec<NamedColumn>) -> Result<StructArray, ArrowError> {
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for column in columns {
        let (name, array) = column?;
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    StructArray::try_new(fields.into(), arrays, None)
}
