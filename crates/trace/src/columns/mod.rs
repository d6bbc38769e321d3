//! The columns of the table of events, as the reader of a trace log fills them.

mod builders;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, StructArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, TimeUnit};
use foldhash::fast::RandomState;

use self::builders::{Names, Numbers, Texts, split_off};
use crate::{Direction, Event, Outcome, Refusal, Sink, Who};

/// The kind of a column's values, and their index among those of that kind.
#[derive(Debug, Clone, Copy)]
enum EventValues {
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
const DIRECTION: usize = 0;
const REFUSED: usize = 1;
const NAMES: usize = 4;
const TEXTS: usize = 11;
const ACCOUNT: usize = 1;

/// The columns in their order. `offset` is the position in the file, `position` that in its log.
const COLUMNS: [(&str, EventValues); 24] = [
    ("offset", EventValues::Number(OFFSET)),
    ("until", EventValues::Number(UNTIL)),
    ("time", EventValues::Time),
    ("conn", EventValues::Text(0)),
    ("account", EventValues::Text(ACCOUNT)),
    ("identity", EventValues::Text(2)),
    ("identity_source", EventValues::Name(3)),
    ("user", EventValues::Text(3)),
    ("client", EventValues::Text(4)),
    ("direction", EventValues::Name(0)),
    ("op", EventValues::Text(5)),
    ("subject", EventValues::Text(6)),
    ("reply", EventValues::Text(7)),
    ("queue", EventValues::Text(8)),
    ("sid", EventValues::Text(9)),
    ("size", EventValues::Number(SIZE)),
    ("deliveries", EventValues::Number(DELIVERIES)),
    ("refused", EventValues::Name(REFUSED)),
    ("forwarded", EventValues::Number(FORWARDED)),
    ("ambiguous", EventValues::Flag),
    ("subscription", EventValues::Number(SUBSCRIPTION)),
    ("position", EventValues::Number(POSITION)),
    ("reason", EventValues::Name(2)),
    ("_corrupt_record", EventValues::Text(10)),
];

/// Rows of events that are collected until they are taken as Arrow.
pub struct EventColumns {
    /// The requested columns, as indexes in `COLUMNS`.
    requested: Vec<usize>,
    wanted: Wanted,
    base: u64,
    rows: Rows,
    /// The rows of messages whose outcome is not known.
    open: HashMap<u64, usize, RandomState>,
}

/// The columns that are requested; the others stay empty.
#[derive(Default)]
struct Wanted {
    numbers: [bool; NUMBERS],
    flags: bool,
    names: [bool; NAMES],
    texts: [bool; TEXTS],
}

/// The requested columns of some rows.
#[derive(Default)]
struct Rows {
    length: usize,
    numbers: [Numbers; NUMBERS],
    flags: Vec<Option<bool>>,
    names: [Names; NAMES],
    texts: [Texts; TEXTS],
}

impl EventColumns {
    /// Create a collector of the named columns; `None` if one is unknown.
    ///
    /// `base` is the position of the first byte of the file in its log.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, base: u64) -> Option<Self> {
        let mut requested = Vec::new();
        let mut wanted = Wanted::default();
        for name in names {
            let column = COLUMNS.iter().position(|(known, _)| *known == name)?;
            match COLUMNS[column].1 {
                EventValues::Number(at) => wanted.numbers[at] = true,
                EventValues::Time => wanted.numbers[TIME] = true,
                EventValues::Flag => wanted.flags = true,
                EventValues::Name(at) => wanted.names[at] = true,
                EventValues::Text(at) => wanted.texts[at] = true,
            }
            requested.push(column);
        }
        let (rows, open) = (Rows::default(), HashMap::default());
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
        self.rows.length
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
        if !self.rows.texts.iter().all(Texts::fits) {
            let message = "a batch holds at most 2 GiB of text";
            return Err(ArrowError::InvalidArgumentError(message.into()));
        }
        let mut open: Vec<_> = self.open.iter_mut().map(|(_, row)| row).collect();
        open.sort_unstable();
        let kept: Vec<usize> = open.iter().map(|row| **row).collect();
        for (at, row) in open.into_iter().enumerate() {
            *row = at;
        }
        let mut left = self.rows.split_off(&kept);
        left.reserve(&self.rows); // the next batch is about as large
        let mut rows = std::mem::replace(&mut self.rows, left);
        let length = rows.length;
        let mut fields = Vec::new();
        let mut columns: Vec<ArrayRef> = Vec::new();
        for &column in &self.requested {
            let (name, values) = COLUMNS[column];
            let array: ArrayRef = match values {
                EventValues::Number(at) => {
                    let (values, nulls) = std::mem::take(&mut rows.numbers[at]).finish();
                    Arc::new(Int64Array::try_new(values, nulls)?)
                }
                EventValues::Time => {
                    let (values, nulls) = std::mem::take(&mut rows.numbers[TIME]).finish();
                    let times = TimestampMicrosecondArray::try_new(values, nulls)?;
                    Arc::new(times.with_timezone("UTC"))
                }
                EventValues::Flag => Arc::new(BooleanArray::from(std::mem::take(&mut rows.flags))),
                EventValues::Name(at) => Arc::new(rows.names[at].finish()),
                EventValues::Text(at) => std::mem::take(&mut rows.texts[at]).finish()?,
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
        let (rows, wanted) = (&mut self.rows, &self.wanted);
        rows.length += 1;
        let number = |value: u64| Some(value.cast_signed());
        let numbers = [
            number(event.position),
            number(event.position.saturating_sub(self.base)),
            None,
            event.time,
            event.size,
            None,
            None,
            event.subscription.and_then(number),
        ];
        for (at, value) in numbers.into_iter().enumerate() {
            if wanted.numbers[at] {
                rows.numbers[at].push(value);
            }
        }
        if wanted.flags {
            rows.flags.push(None);
        }
        let prefix = event.prefix;
        let directed = prefix.filter(|_| event.directed);
        let names = [
            directed.map(|prefix| prefix.direction.name()),
            event.refused.map(Refusal::name),
            event.reason,
            prefix.and_then(|prefix| prefix.who.source),
        ];
        for (at, name) in names.into_iter().enumerate() {
            if wanted.names[at] {
                rows.names[at].push(name);
            }
        }
        let who = |part: fn(&Who) -> &Option<Box<str>>| {
            prefix.map_or("", |prefix| {
                part(&prefix.who).as_deref().unwrap_or_default()
            })
        };
        let ready = [
            prefix.map_or(event.conn, |prefix| &prefix.conn),
            who(|who| &who.account),
            who(|who| &who.identity),
            who(|who| &who.user),
            who(|who| &who.client),
        ]
        .map(str::as_bytes);
        // An operation has letters and signs only.
        for (at, text) in ready.into_iter().chain([event.op]).enumerate() {
            let told = at == ACCOUNT && !event.account.is_empty();
            match wanted.texts[at] {
                true if told => rows.texts[at].push_line(event.account, true),
                true => rows.texts[at].push(text, !text.is_empty()),
                false => {}
            }
        }
        let parts = [event.subject, event.reply, event.queue, event.sid];
        for (at, bytes) in (6..).zip(parts) {
            if wanted.texts[at] {
                rows.texts[at].push_line(bytes, !bytes.is_empty());
            }
        }
        if wanted.texts[TEXTS - 1] {
            rows.texts[TEXTS - 1].push_line(event.text, event.reason.is_some());
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
        let (rows, wanted) = (&mut self.rows, &self.wanted);
        let mut set = |at: usize, value: i64| {
            if wanted.numbers[at] {
                rows.numbers[at].set(row, value);
            }
        };
        set(UNTIL, outcome.until.cast_signed());
        if outcome.mapped && wanted.names[DIRECTION] {
            rows.names[DIRECTION].set(row, Some(Direction::Local.name()));
        }
        if outcome.refused.is_none() {
            set(DELIVERIES, i64::from(outcome.served.deliveries));
            set(FORWARDED, i64::from(outcome.served.forwarded));
            if wanted.flags {
                rows.flags[row] = Some(outcome.served.ambiguous);
            }
        } else if wanted.names[REFUSED] {
            rows.names[REFUSED].set(row, outcome.refused.map(Refusal::name));
        }
    }
}

fn data_type(values: EventValues) -> DataType {
    match values {
        EventValues::Number(_) => DataType::Int64,
        EventValues::Flag => DataType::Boolean,
        EventValues::Name(_) | EventValues::Text(_) => DataType::Utf8,
        EventValues::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
    }
}

impl Rows {
    /// Reserve memory for as many rows as others.
    fn reserve(&mut self, others: &Self) {
        for (column, other) in self.numbers.iter_mut().zip(&others.numbers) {
            column.reserve(other);
        }
        self.flags.reserve(others.flags.len());
        for (column, other) in self.names.iter_mut().zip(&others.names) {
            column.reserve(other);
        }
        for (column, other) in self.texts.iter_mut().zip(&others.texts) {
            column.reserve(other);
        }
    }

    /// Remove rows, given in ascending order, and return them.
    fn split_off(&mut self, rows: &[usize]) -> Self {
        self.length -= rows.len();
        Self {
            length: rows.len(),
            numbers: self.numbers.each_mut().map(|column| column.split_off(rows)),
            flags: split_off(&mut self.flags, rows),
            names: self.names.each_mut().map(|column| column.split_off(rows)),
            texts: self.texts.each_mut().map(|column| column.split_off(rows)),
        }
    }
}
