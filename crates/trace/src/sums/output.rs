//! Sums as Arrow columns, sorted by bucket. A column of defaults only is left out.

use std::sync::Arc;

use arrow_array::TimestampMicrosecondArray;
use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, StringArray, StructArray};
use arrow_schema::{ArrowError, Field};

use super::addresses::Addresses;
use super::bucket::{Bucket, Messages, NO_SPAN};
use super::{CHANGES, COUNTS, DAYS, NULL, RATES, SPANS, TrafficSums};
use subtrie_columns::Text;

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

/// Sums in which `at` is the number of the subject, in place of its text.
pub struct Numbered {
    /// A row for each key of messages. A missing column holds nulls, or counts of zero.
    pub publishes: StructArray,
    /// A row for each key of deliveries.
    pub deliveries: StructArray,
    /// The distinct subjects: `subject`, and `address`, a row of `addresses`.
    pub subjects: StructArray,
    /// The distinct addresses of the subjects.
    pub addresses: StructArray,
}

impl TrafficSums {
    pub(super) fn into_taken(mut self) -> Result<Taken, ArrowError> {
        let buckets = std::mem::take(&mut self.buckets);
        let publish_starts = starts(&buckets, |bucket| bucket.messages.subjects.len());
        let delivery_starts = starts(&buckets, |bucket| bucket.deliveries.rows.len());
        let rows = |starts: &[i64]| starts.last().map_or(0, |&rows| length(rows));
        let mut subjects = TextColumn::new(rows(&publish_starts));
        let mut received = TextColumn::new(rows(&delivery_starts));
        for bucket in &buckets {
            for &subject in &bucket.messages.subjects {
                subjects.push(bucket.subjects.get(subject));
            }
            for (key, _) in &bucket.deliveries.rows {
                received.push(bucket.subjects.get(key.subject));
            }
        }
        let (subjects, received) = (subjects.finish("subject")?, received.finish("subject")?);
        Ok(Taken {
            publishes: self.publish_columns(&buckets, subjects, rows(&publish_starts))?,
            deliveries: self.delivery_columns(&buckets, received, rows(&delivery_starts))?,
            publish_starts,
            delivery_starts,
            planes: self.planes,
        })
    }

    pub(super) fn into_numbered(mut self) -> Result<Numbered, ArrowError> {
        let buckets = std::mem::take(&mut self.buckets);
        let count = buckets.iter().map(|each| each.subjects.count()).sum();
        let mut subjects = TextColumn::new(count + 1);
        let mut addresses = Addresses::default();
        let mut address_of = Vec::with_capacity(count + 1);
        let (mut published, mut received) = (Vec::new(), Vec::new());
        let mut before = 0;
        for bucket in &buckets {
            // The null subject stands behind all others.
            let number = |subject: u32| match subject {
                NULL => to_int32(count),
                _ => to_int32(before + subject as usize),
            };
            for &subject in &bucket.messages.subjects {
                published.push(number(subject)?);
            }
            for (key, _) in &bucket.deliveries.rows {
                received.push(number(key.subject)?);
            }
            for at in 0..bucket.subjects.count() {
                let text = bucket.subjects.get(u32::try_from(at).unwrap_or(NULL));
                address_of.push(addresses.number(text.map_or(Text::Null, Text::Valid))?);
                subjects.push(text);
            }
            before += bucket.subjects.count();
        }
        let last = to_int32(count)?;
        if published.contains(&last) || received.contains(&last) {
            address_of.push(addresses.number(Text::Null)?);
            subjects.push(None);
        }
        let rows = (published.len(), received.len());
        let column = |numbers: Vec<i32>| -> NamedColumn {
            Some(("at", Arc::new(Int32Array::from(numbers))))
        };
        let distinct = address_of.len();
        let texts: ArrayRef = Arc::new(subjects.array()?);
        let address: ArrayRef = Arc::new(Int32Array::from(address_of));
        Ok(Numbered {
            publishes: self.publish_columns(&buckets, column(published), rows.0)?,
            deliveries: self.delivery_columns(&buckets, column(received), rows.1)?,
            subjects: table(
                vec![Some(("subject", texts)), Some(("address", address))],
                distinct,
            )?,
            addresses: addresses.finish()?,
        })
    }

    /// Return the messages of all buckets, with a column of their subjects.
    fn publish_columns(
        &self,
        buckets: &[Bucket],
        subjects: NamedColumn,
        rows: usize,
    ) -> Result<StructArray, ArrowError> {
        let mut names: [_; 7] = std::array::from_fn(|_| TextColumn::new(rows));
        let mut windows = TimestampMicrosecondBuilder::with_capacity(rows);
        let senders = buckets.iter().flat_map(|each| &each.messages.senders);
        for &sender in senders {
            let (sender, ()) = &self.senders.rows[sender as usize];
            windows.append_option(sender.window);
            let by = [sender.server, sender.conn, sender.account, sender.identity];
            let about = [sender.source, sender.user, sender.client];
            let numbers = by.into_iter().chain(about);
            for (column, number) in names.iter_mut().zip(numbers) {
                column.push(self.names.get(number));
            }
        }
        let mut columns = vec![times("window", windows)];
        let titles = [
            "server",
            "conn",
            "account",
            "identity",
            "identity_source",
            "user",
            "client",
        ];
        for (name, texts) in titles.into_iter().zip(names) {
            columns.push(texts.finish(name)?);
        }
        columns.push(subjects);
        for (which, name) in COUNTS.into_iter().enumerate() {
            let values = whole(buckets, rows, |each| &each.counts[which], 0);
            let array = values.map(|values| Arc::new(Int64Array::from(values)) as ArrayRef);
            columns.push(array.map(|array| (name, array)));
        }
        for (which, [first, last]) in SPANS.into_iter().enumerate() {
            let Some(spans) = whole(buckets, rows, |each| &each.spans[which], NO_SPAN) else {
                continue;
            };
            for (name, end) in [(first, 0), (last, 1)] {
                let mut values = TimestampMicrosecondBuilder::with_capacity(rows);
                for &span in &spans {
                    let known = (span != NO_SPAN).then_some([span.0, span.1][end]);
                    values.append_option(known);
                }
                columns.push(times(name, values));
            }
        }
        let day = |messages: &Messages, row, to: &mut Int64Builder| {
            messages.days(row).for_each(|day| to.append_value(day));
        };
        columns.push(list_column(DAYS, buckets, Messages::has_days, day));
        let change = |messages: &Messages, row, to: &mut Int64Builder| {
            for (changed, count) in messages.changes(row) {
                to.append_slice(&[changed, count]);
            }
        };
        columns.push(list_column(CHANGES, buckets, Messages::has_changes, change));
        for (which, name) in RATES.into_iter().enumerate() {
            let rate = |messages: &Messages, row, to: &mut Int64Builder| {
                if let Some(rate) = messages.rate(which, row) {
                    rate.write(to);
                }
            };
            let has_some = |messages: &Messages| messages.has_rate(which);
            columns.push(list_column(name, buckets, has_some, rate));
        }
        table(columns, rows)
    }

    /// Return the deliveries of all buckets, with a column of their subjects.
    fn delivery_columns(
        &self,
        buckets: &[Bucket],
        subjects: NamedColumn,
        rows: usize,
    ) -> Result<StructArray, ArrowError> {
        let mut names: [_; 6] = std::array::from_fn(|_| TextColumn::new(rows));
        let mut windows = TimestampMicrosecondBuilder::with_capacity(rows);
        let mut firsts = TimestampMicrosecondBuilder::with_capacity(rows);
        let mut lasts = TimestampMicrosecondBuilder::with_capacity(rows);
        let mut subscriptions = Vec::with_capacity(rows);
        let mut counts = Vec::with_capacity(rows);
        for (key, sum) in buckets.iter().flat_map(|each| &each.deliveries.rows) {
            windows.append_option(key.window);
            let by = [key.server, key.conn, key.account];
            let numbers = by.into_iter().chain([key.sid, key.queue, key.consumer]);
            for (column, number) in names.iter_mut().zip(numbers) {
                column.push(self.names.get(number));
            }
            subscriptions.push(key.subscription);
            counts.push(sum.count);
            firsts.append_option(sum.first);
            lasts.append_option(sum.last);
        }
        let mut columns = vec![times("window", windows)];
        let titles = ["server", "conn", "account", "sid", "queue", "consumer"];
        for (name, texts) in titles.into_iter().zip(names) {
            columns.push(texts.finish(name)?);
        }
        columns.push(subjects);
        let known = Int64Array::from(subscriptions);
        columns.push(known_column("subscription", Arc::new(known)));
        columns.push(Some(("count", Arc::new(Int64Array::from(counts)))));
        columns.push(times("first", firsts));
        columns.push(times("last", lasts));
        table(columns, rows)
    }
}

/// Return the row at which each bucket begins, and the number of rows.
fn starts(buckets: &[Bucket], rows: impl Fn(&Bucket) -> usize) -> Vec<i64> {
    let mut found = vec![0];
    let mut next = 0_i64;
    for bucket in buckets {
        next += i64::try_from(rows(bucket)).unwrap_or(i64::MAX);
        found.push(next);
    }
    found
}

fn to_int32(number: usize) -> Result<i32, ArrowError> {
    i32::try_from(number).map_err(|_| ArrowError::DictionaryKeyOverflowError)
}

fn length(rows: i64) -> usize {
    usize::try_from(rows).unwrap_or(0)
}

/// Return a column of all buckets, or none if no bucket has one.
fn whole<T: Copy>(
    buckets: &[Bucket],
    rows: usize,
    column: impl Fn(&Messages) -> &Vec<T>,
    missing: T,
) -> Option<Vec<T>> {
    if buckets
        .iter()
        .all(|bucket| column(&bucket.messages).is_empty())
    {
        return None;
    }
    let mut found = Vec::with_capacity(rows);
    let mut end = 0;
    for bucket in buckets {
        found.extend_from_slice(column(&bucket.messages));
        end += bucket.messages.subjects.len();
        found.resize(end, missing);
    }
    Some(found)
}

/// Return a list for each row of the messages of all buckets, or none if no row has one.
fn list_column(
    name: &'static str,
    buckets: &[Bucket],
    has_some: impl Fn(&Messages) -> bool,
    write: impl Fn(&Messages, usize, &mut Int64Builder),
) -> NamedColumn {
    if !buckets.iter().any(|bucket| has_some(&bucket.messages)) {
        return None;
    }
    let mut lists = ListBuilder::new(Int64Builder::new());
    for messages in buckets.iter().map(|bucket| &bucket.messages) {
        for row in 0..messages.subjects.len() {
            write(messages, row, lists.values());
            lists.append(true);
        }
    }
    Some((name, Arc::new(lists.finish())))
}

/// The name of a column and its values; none if it says nothing.
type NamedColumn = Option<(&'static str, ArrayRef)>;

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

    fn finish(self, name: &'static str) -> Result<NamedColumn, ArrowError> {
        Ok(known_column(name, Arc::new(self.array()?)))
    }

    fn array(mut self) -> Result<StringArray, ArrowError> {
        if i32::try_from(self.bytes).is_err() {
            let message = "a batch of sums holds at most 2 GiB of text";
            return Err(ArrowError::InvalidArgumentError(message.into()));
        }
        Ok(self.values.finish())
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

pub fn table(columns: Vec<NamedColumn>, rows: usize) -> Result<StructArray, ArrowError> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns
        .into_iter()
        .flatten()
        .map(|(name, values)| (Field::new(name, values.data_type().clone(), true), values))
        .unzip();
    StructArray::try_new_with_length(fields.into(), arrays, None, rows)
}
