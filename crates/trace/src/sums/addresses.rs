//! The distinct addresses of subjects, without the slots and paths, which differ between messages.

use std::sync::Arc;

use arrow_array::builder::{Int8Builder, Int32Builder, StringBuilder};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{ArrowError, DataType, Field};

use subtrie::microbus::{Address, decode};
use subtrie_columns::Text;
use subtrie_columns::Texts;

const NAMES: [&str; 5] = ["plane", "source", "host", "method", "reason"];

/// A table of distinct addresses: `kind` (1 request, 2 reply, 0 neither), `port`, `plane`, `source`,
/// `host`, `method`, and `reason`, why a subject is neither.
#[derive(Default)]
pub struct Addresses {
    /// The key of each address: its parts as they stand in the subject.
    keys: Texts,
    key: String,
    kind: Int8Builder,
    port: Int32Builder,
    names: [StringBuilder; NAMES.len()],
}

impl Addresses {
    /// Return the row of the address of a subject, which is added if it is new.
    ///
    /// Cost: one decode and one search.
    ///
    /// # Errors
    ///
    /// `ArrowError` if there are more distinct addresses than int32 can number.
    pub fn number(&mut self, text: Text<'_>) -> Result<i32, ArrowError> {
        let subject = match text {
            Text::Null => return self.neither(None),
            Text::Invalid(kind, _) => return self.neither(Some(kind.code())),
            Text::Valid(subject) => subject,
        };
        match decode(subject) {
            Err(error) => self.neither(Some(error.kind.code())),
            Ok(Address::Reply(reply)) => {
                self.begin(
                    "2",
                    &[reply.plane, reply.source.token(), reply.host.token()],
                );
                self.known_or(|new| {
                    let (source, host) = (reply.source.text(), reply.host.text());
                    new.append(
                        2,
                        None,
                        [Some(reply.plane), Some(&source), Some(&host), None, None],
                    );
                })
            }
            Ok(Address::Request(request)) => {
                // The tokens of hosts, methods and planes have no dot, so the key is unambiguous.
                let (source, host) = (request.source, request.host);
                self.begin(
                    "1",
                    &[request.plane, source.token(), host.token(), request.method],
                );
                self.key.push('.');
                for shift in [12, 8, 4, 0] {
                    let digit = u32::from(request.port >> shift) & 15;
                    self.key
                        .push(char::from_digit(digit, 16).unwrap_or_default());
                }
                self.known_or(|new| {
                    let (source, host) = (source.text(), host.text());
                    let names = [request.plane, &source, &host, request.method].map(Some);
                    let [plane, source, host, method] = names;
                    let port = Some(i32::from(request.port));
                    new.append(1, port, [plane, source, host, method, None]);
                })
            }
        }
    }

    fn neither(&mut self, reason: Option<&str>) -> Result<i32, ArrowError> {
        self.begin(
            if reason.is_some() { "0" } else { "" },
            &[reason.unwrap_or_default()],
        );
        self.known_or(|new| new.append(0, None, [None, None, None, None, reason]))
    }

    /// Begin a key.
    fn begin(&mut self, kind: &str, parts: &[&str]) {
        self.key.clear();
        self.key.push_str(kind);
        for part in parts {
            self.key.push('.');
            self.key.push_str(part);
        }
    }

    /// Return the number of the key; a new one is appended by a call.
    fn known_or(&mut self, append: impl FnOnce(&mut Self)) -> Result<i32, ArrowError> {
        let known = self.keys.count();
        let number = self.keys.number(Some(self.key.as_bytes()))?;
        if self.keys.count() > known {
            append(self);
        }
        i32::try_from(number).map_err(|_| ArrowError::DictionaryKeyOverflowError)
    }

    fn append(&mut self, kind: i8, port: Option<i32>, names: [Option<&str>; NAMES.len()]) {
        self.kind.append_value(kind);
        self.port.append_option(port);
        for (column, name) in self.names.iter_mut().zip(names) {
            column.append_option(name);
        }
    }

    /// Return the table.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another length than the others.
    pub fn finish(mut self) -> Result<StructArray, ArrowError> {
        let mut fields = vec![
            Field::new("kind", DataType::Int8, true),
            Field::new("port", DataType::Int32, true),
        ];
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(self.kind.finish()), Arc::new(self.port.finish())];
        for (name, mut column) in NAMES.into_iter().zip(self.names) {
            fields.push(Field::new(name, DataType::Utf8, true));
            columns.push(Arc::new(column.finish()));
        }
        StructArray::try_new(fields.into(), columns, None)
    }
}
