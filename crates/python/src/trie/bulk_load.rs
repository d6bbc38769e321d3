//! `update(patterns=…)`: whole columns of patterns, values and queue names, added in one change.
//!
//! No handle is made then: `AddedRows` makes one when it is asked for.

use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::build::StateBuilder;
use super::shared_names::shared;
use super::state::HandleCell;
use super::subject_trie::SubjectTrie;
use super::subscription::{Fields, Subscription, exact_text};
use crate::args::{field_text, text as text_of};
use crate::arrow::arrow_columns;
use crate::errors::{ErrorClass, exception, type_error};
use subtrie::error::Error;
use subtrie::grammar::{self, Form};
use subtrie::raw::check_queue;
use subtrie_columns::{Column, Text};

/// Texts as they were given: Python objects, or Arrow memory.
pub enum Texts {
    Objects(Vec<Py<PyAny>>),
    Columns(Vec<Column>),
}

/// The words of the errors about texts.
#[derive(Clone, Copy)]
struct ColumnKind {
    name: &'static str,
    class: ErrorClass,
    field: Option<&'static str>,
    optional: bool,
}

impl ColumnKind {
    fn error(self, error: Error) -> Error {
        match self.field {
            Some(field) => error.in_field(field),
            None => error,
        }
    }
}

const PATTERNS: ColumnKind = ColumnKind {
    name: "pattern",
    class: ErrorClass::Pattern,
    field: None,
    optional: false,
};
const QUEUES: ColumnKind = ColumnKind {
    name: "queue",
    class: ErrorClass::Name,
    field: Some("queue"),
    optional: true,
};

impl Texts {
    /// Borrows Arrow memory, or the items of an iterable.
    fn of(texts: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if let Some(columns) = arrow_columns(texts)? {
            return Ok(Self::Columns(columns));
        }
        Ok(Self::Objects(
            items(texts, name)?.iter().map(Bound::unbind).collect(),
        ))
    }

    fn len(&self) -> usize {
        match self {
            Self::Objects(objects) => objects.len(),
            Self::Columns(columns) => columns.iter().map(Column::len).sum(),
        }
    }

    /// Calls `take` with each text. An exception is annotated with the row.
    fn each<'a>(
        &'a self,
        py: Python<'a>,
        kind: ColumnKind,
        mut take: impl FnMut(Option<&'a str>) -> Result<(), Error>,
    ) -> PyResult<()> {
        let mut row = 0;
        let mut next = |text: PyResult<Option<&'a str>>| {
            let done = text.and_then(|text| {
                take(text)
                    .map_err(|error| exception(py, &error, kind.class, text.unwrap_or_default()))
            });
            row += 1;
            done.map_err(|error| annotated(py, error, row - 1))
        };
        match self {
            Self::Objects(objects) => objects.iter().try_for_each(|object| {
                let object = object.bind(py);
                let text = || text(object, kind).map(Some);
                let absent = kind.optional && object.is_none();
                next(if absent { Ok(None) } else { text() })
            }),
            Self::Columns(columns) => columns.iter().try_for_each(|column| {
                (0..column.len()).try_for_each(|row| {
                    let value = column.key(row).map(|value| (value, column.value(value)));
                    next(match value {
                        None | Some((_, Text::Null)) if kind.optional => Ok(None),
                        None | Some((_, Text::Null)) => {
                            let none = py.None().into_bound(py);
                            Err(type_error(&none, kind.name, "str"))
                        }
                        Some((_, Text::Valid(text))) => Ok(Some(text)),
                        Some((value, Text::Invalid(invalid, place))) => {
                            let bytes = column.bytes(value).unwrap_or_default();
                            let error = kind.error(Error::at(invalid, place));
                            let text = String::from_utf8_lossy(bytes);
                            Err(exception(py, &error, kind.class, &text))
                        }
                    })
                })
            }),
        }
    }

    /// The text of one row.
    fn get<'py>(&self, py: Python<'py>, row: usize) -> Option<Bound<'py, PyString>> {
        match self {
            Self::Objects(objects) => {
                let object = objects.get(row).map(|object| object.bind(py));
                let text = object.and_then(|object| object.cast::<PyString>().ok());
                text.cloned()
            }
            Self::Columns(columns) => {
                let mut at = row;
                for column in columns {
                    if at < column.len() {
                        let value = column.key(at).map_or(Text::Null, |key| column.value(key));
                        return match value {
                            Text::Valid(text) => Some(PyString::new(py, text)),
                            _ => None,
                        };
                    }
                    at -= column.len();
                }
                None
            }
        }
    }
}

fn text<'a>(object: &'a Bound<'_, PyAny>, kind: ColumnKind) -> PyResult<&'a str> {
    match kind.field {
        Some(field) => field_text(object, field, kind.class),
        None => text_of(object, kind.name, kind.class),
    }
}

/// The items of an iterable that is not a text.
fn items<'py>(given: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyTuple>> {
    if given.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "{name} must be a sequence, not a single str"
        )));
    }
    let items = given.py().get_type::<PyTuple>().call1((given,))?;
    Ok(items.cast_into()?)
}

/// Adds the row to the notes of an exception.
fn annotated(py: Python<'_>, error: PyErr, row: usize) -> PyErr {
    match error.add_note(py, format!("row {row}")) {
        Ok(()) => error,
        Err(other) => other,
    }
}

impl StateBuilder {
    /// Validates columns and inserts their rows in one change.
    pub fn load<'py>(
        self,
        trie: &Bound<'py, SubjectTrie>,
        patterns: &Bound<'py, PyAny>,
        values: &Bound<'py, PyAny>,
        queues: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = trie.py();
        let this = trie.get();
        let patterns = Texts::of(patterns, "patterns")?;
        let values = items(values, "values")?;
        let queues = queues
            .map(|queues| Texts::of(queues, "queues"))
            .transpose()?;
        let count = patterns.len();
        for (name, other) in [
            ("values", Some(values.len())),
            ("queues", queues.as_ref().map(Texts::len)),
        ] {
            if let Some(other) = other.filter(|&other| other != count) {
                return Err(PyValueError::new_err(format!(
                    "{name} must have as many rows as patterns: {count}, not {other}"
                )));
            }
        }
        let mut texts = Vec::with_capacity(count);
        patterns.each(py, PATTERNS, |text| {
            let text = text.unwrap_or_default();
            grammar::check(text, Form::Pattern, self.dialect, self.bounds)?;
            texts.push(text);
            Ok(())
        })?;
        let mut names = Vec::new();
        if let Some(queues) = &queues {
            names.reserve_exact(count);
            queues.each(py, QUEUES, |queue| {
                names.push(queue);
                queue.map_or(Ok(()), |queue| check_queue(queue, self.dialect))
            })?;
        }
        this.ensure_index(py)?;
        let bytes = texts.iter().map(|text| text.len()).sum();
        let first = this.reserve(py, count, bytes)?;
        let singles = values.iter().map(|value| {
            let single = PyTuple::new(py, [value]);
            single.map(Bound::unbind)
        });
        let singles = singles.collect::<PyResult<Vec<_>>>()?;
        let row = |at: usize| (first + at as u64, names.get(at).copied().flatten(), 0);
        let handles = std::iter::repeat_with(HandleCell::new);
        this.state
            .write(py, |state| state.insert(&texts, row, singles, handles))?;
        let rows = AddedRows {
            trie: trie.clone().unbind(),
            first,
            patterns,
            values: values.unbind(),
            queues,
            made: Mutex::default(),
        };
        shared!(py, "SubscriptionSequence")?.call1((Bound::new(py, rows)?, count))
    }
}

/// The rows of one bulk load: makes their handles when they are asked for.
#[pyclass(frozen, module = "subtrie._subtrie")]
struct AddedRows {
    trie: Py<SubjectTrie>,
    first: u64,
    patterns: Texts,
    values: Py<PyTuple>,
    queues: Option<Texts>,
    /// The handles by row, so that each stays the same after its subscription is removed.
    made: Mutex<Vec<Option<Py<Subscription>>>>,
}

#[pymethods]
impl AddedRows {
    /// Return the handle of a row.
    fn __call__<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, Subscription>> {
        let count = self.patterns.len();
        if row >= count {
            return Err(PyIndexError::new_err("no such row"));
        }
        if let Some(Some(handle)) = self.made().get(row) {
            return Ok(handle.clone_ref(py).into_bound(py));
        }
        let trie = self.trie.get();
        let id = self.first + row as u64;
        let handle = match trie.handle(py, id)? {
            Some(handle) => handle,
            None => trie.keep_handle(py, id, self.handle(py, row, id)?)?,
        };
        let mut made = self.made();
        made.resize_with(count, || None);
        let place = &mut made[row];
        let handle = place.get_or_insert_with(|| handle.unbind());
        Ok(handle.clone_ref(py).into_bound(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.trie)?;
        visit.call(&self.values)?;
        for texts in [Some(&self.patterns), self.queues.as_ref()] {
            if let Some(Texts::Objects(objects)) = texts {
                objects.iter().try_for_each(|one| visit.call(one))?;
            }
        }
        match self.made.try_lock() {
            Ok(made) => made.iter().flatten().try_for_each(|one| visit.call(one)),
            Err(_) => Ok(()),
        }
    }
}

impl AddedRows {
    fn made(&self) -> std::sync::MutexGuard<'_, Vec<Option<Py<Subscription>>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handle, of the texts that were given. The subscription may have been removed meanwhile.
    fn handle(&self, py: Python<'_>, row: usize, id: u64) -> PyResult<Py<Subscription>> {
        let no_row = || PyIndexError::new_err("no such row");
        let text = self.patterns.get(py, row).ok_or_else(no_row)?;
        let queues = self.queues.as_ref();
        let queue = queues.and_then(|queues| queues.get(py, row));
        let fields = Fields {
            id,
            pattern: Mutex::new(exact_text(&text)?),
            dialect: self.trie.get().builder.dialect,
            single: PyTuple::new(py, [self.values.bind(py).get_item(row)?])?.unbind(),
            queue: queue.as_ref().map(exact_text).transpose()?,
        };
        Subscription::create(py, fields)
    }
}
