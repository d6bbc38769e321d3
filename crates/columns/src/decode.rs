//! Decoding of a column of subjects to a struct of address columns.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Int8Builder, Int32Builder, NullBufferBuilder, StringBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, Fields};

use super::texts::{Last, Texts};
use super::{Column, Text};
use subtrie::microbus::{Address, HostToken, PathTokens, decode};

/// Values of `kind`: a request, a reply, and neither.
const REQUEST: i8 = 1;
const REPLY: i8 = 2;
const NEITHER: i8 = 0;

/// The dictionary-encoded columns: all texts but the path, as their values recur from row to row.
const NAMES: [&str; 7] = [
    "plane", "trust", "source", "host", "slot", "method", "reason",
];

/// Return the fields of decoded subjects: `kind`, `plane`, `trust`, `port`, `source`, `host`, `slot`,
/// `method`, `path`, `reason`.
///
/// # Examples
///
/// ```
/// assert_eq!(subtrie_columns::decoded_fields().len(), 10);
/// ```
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

/// Decode the rows of consecutive columns to some of the [`decoded_fields`].
///
/// A null row stays null. A row that is not an address has `kind` 0 and its `reason`; everything else
/// is null. The id of a reply is in `slot`. Cost: one decode for each row, and for each row and field
/// of text one search.
///
/// # Errors
///
/// `ArrowError` if the columns have more than 2 GiB of text, the maximum of Arrow's strings.
///
/// # Examples
///
/// ```
/// use arrow_array::cast::AsArray;
/// use arrow_array::types::Int8Type;
/// use arrow_array::{Array, StringArray};
/// use subtrie_columns::{Column, decode_columns, decoded_fields};
///
/// let subjects = StringArray::from(vec!["prod.safe.443.web_shop.orders_shop._.GET.a", "a.b"]);
/// let rows = decode_columns(&[Column::new(subjects.into_data())?], &decoded_fields())?;
/// assert_eq!(rows.column(0).as_primitive::<Int8Type>().values(), &[1, 0]);
/// # Ok::<(), arrow_schema::ArrowError>(())
/// ```
pub fn decode_columns(columns: &[Column], fields: &Fields) -> Result<StructArray, ArrowError> {
    let mut rows = RowBuilder::new(fields);
    for column in columns {
        for row in 0..column.len() {
            rows.append(
                column
                    .key(row)
                    .map_or(Text::Null, |value| column.value(value)),
            )?;
        }
    }
    rows.finish(fields)
}

/// The columns as they grow, row by row. A column that is not asked for is `None`.
struct RowBuilder {
    present: NullBufferBuilder,
    bytes: usize,
    path_buffer: String,
    kind: Option<Int8Builder>,
    port: Option<Int32Builder>,
    path: Option<StringBuilder>,
    names: [Option<NameColumn>; NAMES.len()],
}

impl RowBuilder {
    fn new(fields: &Fields) -> Self {
        let asked = |name| fields.find(name).is_some();
        Self {
            present: NullBufferBuilder::new(0),
            bytes: 0,
            path_buffer: String::new(),
            kind: asked("kind").then(Int8Builder::new),
            port: asked("port").then(Int32Builder::new),
            path: asked("path").then(StringBuilder::new),
            names: NAMES.map(|name| asked(name).then(NameColumn::default)),
        }
    }

    fn append(&mut self, row: Text<'_>) -> Result<(), ArrowError> {
        self.present.append(row != Text::Null);
        match row {
            Text::Null => self.append_without_address(None, None),
            Text::Invalid(kind, _) => self.append_without_address(Some(NEITHER), Some(kind.code())),
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
                Err(error) => self.append_without_address(Some(NEITHER), Some(error.kind.code())),
            },
        }
    }

    /// Append a row without an address.
    fn append_without_address(
        &mut self,
        kind: Option<i8>,
        reason: Option<&str>,
    ) -> Result<(), ArrowError> {
        self.append_codes(kind, None);
        self.append_path(None);
        let reason = reason.map(ColumnName::Text);
        self.append_names([None, None, None, None, None, None, reason])
    }

    fn append_address(&mut self, address: Address<'_>) -> Result<(), ArrowError> {
        match address {
            Address::Request(request) => {
                self.append_codes(Some(REQUEST), Some(i32::from(request.port)));
                self.append_path(Some(request.path));
                self.append_names([
                    Some(ColumnName::Text(request.plane)),
                    Some(ColumnName::Text(request.trust.name())),
                    Some(ColumnName::Host(request.source)),
                    Some(ColumnName::Host(request.host)),
                    Some(ColumnName::Text(request.slot)),
                    Some(ColumnName::Text(request.method)),
                    None,
                ])
            }
            Address::Reply(reply) => {
                self.append_codes(Some(REPLY), None);
                self.append_path(None);
                self.append_names([
                    Some(ColumnName::Text(reply.plane)),
                    Some(ColumnName::Text("reply")),
                    Some(ColumnName::Host(reply.source)),
                    Some(ColumnName::Host(reply.host)),
                    Some(ColumnName::Text(reply.id)),
                    None,
                    None,
                ])
            }
        }
    }

    fn append_codes(&mut self, kind: Option<i8>, port: Option<i32>) {
        if let Some(column) = &mut self.kind {
            column.append_option(kind);
        }
        if let Some(column) = &mut self.port {
            column.append_option(port);
        }
    }

    fn append_path(&mut self, path: Option<PathTokens<'_>>) {
        let Some(column) = &mut self.path else {
            return;
        };
        let Some(path) = path else {
            column.append_null();
            return;
        };
        self.path_buffer.clear();
        path.push_to(&mut self.path_buffer);
        column.append_value(&self.path_buffer);
    }

    fn append_names(
        &mut self,
        row: [Option<ColumnName<'_>>; NAMES.len()],
    ) -> Result<(), ArrowError> {
        for (column, name) in self.names.iter_mut().zip(row) {
            if let Some(column) = column {
                column.append(name)?;
            }
        }
        Ok(())
    }

    fn finish(mut self, fields: &Fields) -> Result<StructArray, ArrowError> {
        let rows = self.present.len();
        let present: Option<NullBuffer> = self.present.finish();
        let columns = fields
            .iter()
            .map(|field| self.finish_column(field.name()))
            .collect::<Result<Vec<_>, _>>()?;
        StructArray::try_new_with_length(fields.clone(), columns, present, rows)
    }

    fn finish_column(&mut self, name: &str) -> Result<ArrayRef, ArrowError> {
        let names = NAMES.iter().position(|known| *known == name);
        let column = match (name, names) {
            ("kind", _) => self.kind.take().map(finished),
            ("port", _) => self.port.take().map(finished),
            ("path", _) => self.path.take().map(finished),
            (_, Some(at)) => self.names[at].take().map(NameColumn::finish).transpose()?,
            _ => None,
        };
        column.ok_or_else(|| {
            ArrowError::InvalidArgumentError(format!(
                "a field, once: one of decoded_fields(), not {name}"
            ))
        })
    }
}

fn finished(mut column: impl ArrayBuilder) -> ArrayRef {
    column.finish()
}

/// A value of a dictionary-encoded column.
#[derive(Clone, Copy)]
enum ColumnName<'a> {
    Text(&'a str),
    /// A host, which is decoded when its token is new: equal hosts have equal tokens.
    Host(HostToken<'a>),
}

/// A dictionary-encoded column as it grows.
#[derive(Default)]
struct NameColumn {
    tokens: Texts,
    last: Last,
    values: Vec<String>,
    keys: Vec<Option<i32>>,
}

impl NameColumn {
    fn append(&mut self, name: Option<ColumnName<'_>>) -> Result<(), ArrowError> {
        let Some(name) = name else {
            self.keys.push(None);
            return Ok(());
        };
        let token = match name {
            ColumnName::Text(text) => text,
            ColumnName::Host(host) => host.token(),
        };
        let number = self.last.number(&mut self.tokens, Some(token.as_bytes()))?;
        if self.tokens.count() > self.values.len() {
            let value = match name {
                ColumnName::Text(text) => Cow::Borrowed(text),
                ColumnName::Host(host) => host.text(),
            };
            self.values.push(value.into_owned());
        }
        let key = i32::try_from(number).map_err(|_| ArrowError::DictionaryKeyOverflowError)?;
        self.keys.push(Some(key));
        Ok(())
    }

    fn finish(self) -> Result<ArrayRef, ArrowError> {
        let mut values = StringBuilder::with_capacity(self.values.len(), 0);
        for value in self.values {
            values.append_value(value);
        }
        let keys = Int32Array::from(self.keys);
        let column: DictionaryArray<Int32Type> =
            DictionaryArray::try_new(keys, Arc::new(values.finish()))?;
        Ok(Arc::new(column))
    }
}
