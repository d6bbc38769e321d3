//! The columns of the table of events, as the reader of a trace log fills them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields, TimeUnit};

use crate::wire::trace::{Event, Outcome, Sink, escape, redact};

/// The kind of a column's values, and their index among those of that kind.
#[derive(Debug, Clone, Copy)]
enum Values {
    Number(usize),
    Time,
    Flag,
    /// One of a few names.
    Name(usize),
    Text(usize),
}

const POSITION: usize = 0;
const OFFSET: usize = 1;
const UNTIL: usize = 2;
const TIME: usize = 3;
const SIZE: usize = 4;
const DELIVERIES: usize = 5;
const FORWARDED: usize = 6;
const SUBSCRIPTION: usize = 7;
const NUMBERS: usize = 8;
const REFUSED: usize = 1;
const NAMES: usize = 3;
const TEXTS: usize = 9;

/// The columns in their order. `offset` is the position in the file, `position` that in its log.
const COLUMNS: [(&str, Values); 21] = [
    ("offset", Values::Number(OFFSET)),
    ("until", Values::Number(UNTIL)),
    ("time", Values::Time),
    ("conn", Values::Text(0)),
    ("account", Values::Text(1)),
    ("identity", Values::Text(2)),
    ("direction", Values::Name(0)),
    ("op", Values::Text(3)),
    ("subject", Values::Text(4)),
    ("reply", Values::Text(5)),
    ("queue", Values::Text(6)),
    ("sid", Values::Text(7)),
    ("size", Values::Number(SIZE)),
    ("deliveries", Values::Number(DELIVERIES)),
    ("refused", Values::Name(REFUSED)),
    ("forwarded", Values::Number(FORWARDED)),
    ("ambiguous", Values::Flag),
    ("subscription", Values::Number(SUBSCRIPTION)),
    ("position", Values::Number(POSITION)),
    ("reason", Values::Name(2)),
    ("_corrupt_record", Values::Text(8)),
];

/// Rows of events that are collected until they are taken as Arrow.
pub struct EventColumns {
    /// The requested columns, as indexes in `COLUMNS`.
    requested: Vec<usize>,
    wanted: [bool; TEXTS],
    base: u64,
    rows: Rows,
    /// The rows of messages whose outcome is not known.
    open: HashMap<u64, usize>,
}

#[derive(Default)]
struct Rows {
    numbers: [Vec<Option<i64>>; NUMBERS],
    flags: Vec<Option<bool>>,
    names: [Vec<Option<&'static str>>; NAMES],
    texts: [Texts; TEXTS],
}

/// A column of texts.
#[derive(Default)]
struct Texts {
    ends: Vec<usize>,
    bytes: Vec<u8>,
    valid: Vec<bool>,
}

impl EventColumns {
    /// Create a collector of the named columns; `None` if one is unknown.
    ///
    /// `base` is the position of the first byte of the file in its log.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, base: u64) -> Option<Self> {
        let mut requested = Vec::new();
        let mut wanted = [false; TEXTS];
        for name in names {
            let column = COLUMNS.iter().position(|(known, _)| *known == name)?;
            if let (_, Values::Text(at)) = COLUMNS[column] {
                wanted[at] = true;
            }
            requested.push(column);
        }
        let (rows, open) = (Rows::default(), HashMap::new());
        Some(Self {
            requested,
            wanted,
            base,
            rows,
            open,
        })
    }

    /// Return the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.flags.len()
    }

    /// Return whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Return the rows that are complete, and keep those whose outcome is not known.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has more than 2 GiB of text.
    pub fn take(&mut self) -> Result<StructArray, ArrowError> {
        let mut rows = std::mem::take(&mut self.rows);
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_unstable_by_key(|(_, row)| *row);
        for (id, row) in &open {
            self.open.insert(*id, self.rows.flags.len());
            self.rows.copy(&rows, *row);
        }
        rows.remove(open.iter().map(|(_, row)| *row));
        let length = rows.flags.len();
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for &column in &self.requested {
            let (name, values) = COLUMNS[column];
            let array: ArrayRef = match values {
                Values::Number(at) => {
                    Arc::new(Int64Array::from(std::mem::take(&mut rows.numbers[at])))
                }
                Values::Time => {
                    let times = std::mem::take(&mut rows.numbers[TIME]);
                    Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC"))
                }
                Values::Flag => Arc::new(BooleanArray::from(std::mem::take(&mut rows.flags))),
                Values::Name(at) => Arc::new(StringArray::from_iter(&rows.names[at])),
                Values::Text(at) => std::mem::take(&mut rows.texts[at]).finish()?,
            };
            fields.push(Field::new(name, data_type(values), true));
            columns.push(array);
        }
        if columns.is_empty() {
            return Ok(StructArray::new_empty_fields(length, None));
        }
        StructArray::try_new(Fields::from(fields), columns, None)
    }

    fn push(&mut self, event: &Event<'_>) {
        let rows = &mut self.rows;
        let number = |value: u64| Some(value.cast_signed());
        let mut numbers = [None; NUMBERS];
        numbers[POSITION] = number(event.position);
        numbers[OFFSET] = number(event.position.saturating_sub(self.base));
        numbers[TIME] = event.time;
        numbers[SIZE] = event.size;
        numbers[SUBSCRIPTION] = event.subscription.and_then(number);
        for (column, value) in rows.numbers.iter_mut().zip(numbers) {
            column.push(value);
        }
        rows.flags.push(None);
        let prefix = event.prefix;
        let direction = prefix
            .filter(|_| event.directed)
            .map(|prefix| prefix.direction.name());
        let refused = event.refused.map(crate::wire::trace::Refusal::name);
        for (column, value) in rows
            .names
            .iter_mut()
            .zip([direction, refused, event.reason])
        {
            column.push(value);
        }
        let ready = [
            prefix.map(|prefix| &*prefix.conn).or(Some(event.conn)),
            prefix.and_then(|prefix| prefix.account.as_deref()),
            prefix.and_then(|prefix| prefix.identity.as_deref()),
        ];
        for (at, text) in ready.into_iter().enumerate() {
            if self.wanted[at] {
                rows.texts[at].push(text.filter(|text| !text.is_empty()));
            }
        }
        let parts = [event.op, event.subject, event.reply, event.queue, event.sid];
        for (at, bytes) in (3..).zip(parts) {
            if self.wanted[at] {
                rows.texts[at].push_bytes(Some(bytes).filter(|bytes| !bytes.is_empty()));
            }
        }
        if self.wanted[TEXTS - 1] {
            rows.texts[TEXTS - 1].push_bytes(event.reason.map(|_| event.text));
        }
    }
}

impl Sink for EventColumns {
    fn add(&mut self, event: &Event<'_>) {
        self.push(event);
    }

    fn open(&mut self, event: &Event<'_>, id: u64) {
        self.open.insert(id, self.len());
        self.push(event);
    }

    fn resolve(&mut self, id: u64, outcome: &Outcome) {
        let Some(row) = self.open.remove(&id) else {
            return;
        };
        let rows = &mut self.rows;
        rows.numbers[UNTIL][row] = Some(outcome.until.cast_signed());
        rows.names[REFUSED][row] = outcome.refused.map(crate::wire::trace::Refusal::name);
        if outcome.refused.is_none() {
            rows.numbers[DELIVERIES][row] = Some(i64::from(outcome.served.deliveries));
            rows.numbers[FORWARDED][row] = Some(i64::from(outcome.served.forwarded));
            rows.flags[row] = Some(outcome.served.ambiguous);
        }
    }
}

fn data_type(values: Values) -> DataType {
    match values {
        Values::Number(_) => DataType::Int64,
        Values::Flag => DataType::Boolean,
        Values::Name(_) | Values::Text(_) => DataType::Utf8,
        Values::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

impl Rows {
    /// Append a row of others.
    fn copy(&mut self, other: &Self, row: usize) {
        for (column, from) in self.numbers.iter_mut().zip(&other.numbers) {
            column.push(from[row]);
        }
        self.flags.push(other.flags[row]);
        for (column, from) in self.names.iter_mut().zip(&other.names) {
            column.push(from[row]);
        }
        for (column, from) in self.texts.iter_mut().zip(&other.texts) {
            if !from.ends.is_empty() {
                column.push(from.get(row));
            }
        }
    }

    /// Remove rows, given in ascending order.
    fn remove(&mut self, rows: impl Iterator<Item = usize>) {
        let mut keep = vec![true; self.flags.len()];
        rows.for_each(|row| keep[row] = false);
        if keep.iter().all(|keep| *keep) {
            return;
        }
        let mut left = Self::default();
        for row in (0..keep.len()).filter(|row| keep[*row]) {
            left.copy(self, row);
        }
        *self = left;
    }
}

impl Texts {
    fn push(&mut self, text: Option<&str>) {
        self.bytes
            .extend_from_slice(text.unwrap_or_default().as_bytes());
        self.ends.push(self.bytes.len());
        self.valid.push(text.is_some());
    }

    fn push_bytes(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.push(Some(&redact(&escape(bytes)))),
            None => self.push(None),
        }
    }

    fn get(&self, row: usize) -> Option<&str> {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        let text = std::str::from_utf8(&self.bytes[start..self.ends[row]]).ok();
        text.filter(|_| self.valid[row])
    }

    fn finish(self) -> Result<ArrayRef, ArrowError> {
        if i32::try_from(self.bytes.len()).is_err() {
            let message = "a batch holds at most 2 GiB of text";
            return Err(ArrowError::InvalidArgumentError(message.into()));
        }
        let ends = self
            .ends
            .iter()
            .map(|&end| i32::try_from(end).unwrap_or(i32::MAX));
        let offsets: Vec<i32> = std::iter::once(0).chain(ends).collect();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let nulls = NullBuffer::from(self.valid);
        Ok(Arc::new(StringArray::try_new(
            offsets,
            Buffer::from_vec(self.bytes),
            Some(nulls),
        )?))
    }
}
