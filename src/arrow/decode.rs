//! What does every subject of a column say?

use std::sync::Arc;

use arrow_array::builder::{
    Int8Builder, Int32Builder, NullBufferBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, Field, Fields};

use super::{Column, Text};
use crate::microbus::{Address, decode};

/// `kind` of a request, a reply, and of what is neither.
const REQUEST: i8 = 1;
const REPLY: i8 = 2;
const NEITHER: i8 = 0;

/// Names recur from row to row, so all text but the path is a dictionary.
const NAMES: [&str; 7] = [
    "plane", "trust", "source", "host", "slot", "method", "reason",
];

/// The columns of decoded subjects: `kind`, `plane`, `trust`, `port`, `source`, `host`, `slot`,
/// `method`, `path`, `reason`.
#[must_use]
pub fn decoded_fields() -> Fields {
    let names = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let column = |name, kind| Field::new(name, kind, true);
    let name = |name| column(name, names.clone());
    vec![
        column("kind", DataType::Int8),
        name("plane"),
        name("trust"),
        column("port", DataType::Int32),
        name("source"),
        name("host"),
        name("slot"),
        name("method"),
        column("path", DataType::Utf8),
        name("reason"),
    ]
    .into()
}

/// Decodes columns that follow one another. A null row stays null; a row that is no address has
/// `kind` 0, its `reason`, and nothing else. A reply's id stands in `slot`.
///
/// Refuses columns of more than 2 GiB of text, which Arrow's strings could not hold. Cost: one
/// decode a row.
pub fn decode_columns(columns: &[Column]) -> Result<StructArray, ArrowError> {
    let mut rows = Rows::default();
    for column in columns {
        for row in 0..column.len() {
            rows.append(
                column
                    .key(row)
                    .map_or(Text::Null, |value| column.value(value)),
            )?;
        }
    }
    rows.finish()
}

#[derive(Default)]
struct Rows {
    present: Vec<bool>,
    bytes: usize,
    spelled: String,
    kind: Int8Builder,
    port: Int32Builder,
    path: StringBuilder,
    names: [StringDictionaryBuilder<Int32Type>; NAMES.len()],
}

impl Rows {
    fn append(&mut self, row: Text<'_>) -> Result<(), ArrowError> {
        self.present.push(row != Text::Null);
        match row {
            Text::Null => self.append_bare(None, None),
            Text::Invalid(reason, _) => self.append_bare(Some(NEITHER), Some(reason)),
            Text::Valid(subject) => match decode(subject) {
                Ok(address) => {
                    self.bytes += subject.len();
                    if i32::try_from(self.bytes).is_err() {
                        return Err(ArrowError::InvalidArgumentError(
                            "a batch holds at most 2 GiB of subjects: split it".into(),
                        ));
                    }
                    self.append_address(address)
                }
                Err(error) => self.append_bare(Some(NEITHER), Some(error.reason)),
            },
        }
    }

    /// A row without an address.
    fn append_bare(&mut self, kind: Option<i8>, reason: Option<&str>) -> Result<(), ArrowError> {
        self.kind.append_option(kind);
        self.port.append_null();
        self.path.append_null();
        self.append_names([None, None, None, None, None, None, reason])
    }

    fn append_address(&mut self, address: Address<'_>) -> Result<(), ArrowError> {
        match address {
            Address::Request(request) => {
                self.kind.append_value(REQUEST);
                self.port.append_value(i32::from(request.port));
                self.spelled.clear();
                request.path.push_to(&mut self.spelled);
                self.path.append_value(&self.spelled);
                self.append_names([
                    Some(request.plane),
                    Some(request.trust.name()),
                    Some(&request.source.text()),
                    Some(&request.host.text()),
                    Some(request.slot),
                    Some(request.method),
                    None,
                ])
            }
            Address::Reply(reply) => {
                self.kind.append_value(REPLY);
                self.port.append_null();
                self.path.append_null();
                self.append_names([
                    Some(reply.plane),
                    Some("reply"),
                    Some(&reply.source.text()),
                    Some(&reply.host.text()),
                    Some(reply.id),
                    None,
                    None,
                ])
            }
        }
    }

    fn append_names(&mut self, row: [Option<&str>; NAMES.len()]) -> Result<(), ArrowError> {
        for (column, name) in self.names.iter_mut().zip(row) {
            match name {
                Some(name) => drop(column.append(name)?),
                None => column.append_null(),
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<StructArray, ArrowError> {
        let mut nulls = NullBufferBuilder::new(self.present.len());
        for present in self.present {
            nulls.append(present);
        }
        let fields = decoded_fields();
        let columns: Vec<ArrayRef> = fields
            .iter()
            .map(|field| -> ArrayRef {
                match NAMES.iter().position(|name| name == field.name()) {
                    Some(name) => Arc::new(self.names[name].finish()),
                    None if field.name() == "kind" => Arc::new(self.kind.finish()),
                    None if field.name() == "port" => Arc::new(self.port.finish()),
                    None => Arc::new(self.path.finish()),
                }
            })
            .collect();
        StructArray::try_new(fields, columns, nulls.finish())
    }
}
