//! Construction: rows are validated, handles are made, and states are built from rows, from a
//! pickle, or from an image.

use std::collections::HashMap;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::image::OpenedImage;
use super::state::{NewRow, Objects, State};
use super::subject_trie::SubjectTrie;
use crate::grammar::{self, Bounds, Dialect, Form};
use crate::python::args::{field_text, text};
use crate::python::errors::{ErrorClass, exception};
use crate::trie::{Index, check_queue};

/// A name of `subtrie._subscription`.
macro_rules! shared {
    ($py:expr, $name:literal) => {{
        static FOUND: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        FOUND.import($py, "subtrie._subscription", $name)
    }};
}
pub(super) use shared;

/// A row of a pickle: subscription, pattern, value, queue, id, turn.
type Pickled<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    u64,
    u64,
);

/// A valid row, without a handle yet.
pub struct ValidRow<'py> {
    pub pattern: String,
    pub value: Bound<'py, PyAny>,
    pub queue: Option<String>,
}

/// Builds states for patterns of one dialect, within bounds.
#[derive(Clone, Copy)]
pub struct StateBuilder {
    pub dialect: Dialect,
    pub bounds: Bounds,
}

impl StateBuilder {
    /// An empty state.
    pub fn empty(self) -> State {
        State::new(Index::new(self.dialect, self.bounds))
    }

    /// Validates a pattern and a queue name.
    pub fn validate<'py>(
        self,
        pattern: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
        queue: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<ValidRow<'py>> {
        let py = pattern.py();
        let pattern = text(pattern, "pattern", ErrorClass::Pattern)?;
        grammar::check(pattern, Form::Pattern, self.dialect, self.bounds)
            .map_err(|error| exception(py, &error, ErrorClass::Pattern, pattern))?;
        let queue = queue.map(|queue| {
            let name = field_text(queue, "queue", ErrorClass::Name)?;
            check_queue(name, self.dialect)
                .map_err(|error| exception(py, &error, ErrorClass::Name, name))?;
            Ok::<_, PyErr>(name.to_owned())
        });
        Ok(ValidRow {
            pattern: pattern.to_owned(),
            value,
            queue: queue.transpose()?,
        })
    }

    /// Validates a row of `update`.
    pub fn validate_row<'py>(self, row: &Bound<'py, PyAny>) -> PyResult<ValidRow<'py>> {
        if row.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "a row must be (pattern, value) or (pattern, value, queue), not str",
            ));
        }
        let parts = row.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        match &parts[..] {
            [pattern, value] => self.validate(pattern, value.clone(), None),
            [pattern, value, queue] => {
                let queue = (!queue.is_none()).then_some(queue);
                self.validate(pattern, value.clone(), queue)
            }
            _ => Err(PyValueError::new_err(format!(
                "a row must be (pattern, value) or (pattern, value, queue), not {} parts",
                parts.len()
            ))),
        }
    }

    /// Reserves ids, makes the handles without a lock, and inserts all rows in one change.
    pub fn subscribe<'py>(
        self,
        py: Python<'py>,
        trie: &SubjectTrie,
        valid: Vec<ValidRow<'py>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let bytes = valid.iter().map(|row| row.pattern.len()).sum();
        let count = valid.len();
        let first = trie.reserve(py, count, bytes)?;
        let subscribed = shared!(py, "subscribed")?;
        let mut rows = Vec::with_capacity(valid.len());
        let mut made = Vec::with_capacity(valid.len());
        for (id, row) in (first..).zip(valid) {
            let arguments = (
                &row.pattern,
                self.dialect.name(),
                &row.value,
                row.queue.as_deref(),
                id,
            );
            let handle = subscribed.call1(arguments)?;
            rows.push(NewRow {
                id,
                pattern: row.pattern.into(),
                queue: row.queue.map(Into::into),
                turn: 0,
                objects: Objects::new(row.value, Some(handle.clone().unbind()))?,
            });
            made.push(handle);
        }
        trie.state.write(py, |state| state.insert(rows));
        Ok(made)
    }

    /// The state that a pickle describes.
    pub fn restore_pickle(self, next: u64, found: Vec<Bound<'_, PyTuple>>) -> PyResult<State> {
        let mut rows: Vec<NewRow> = Vec::with_capacity(found.len());
        for row in found {
            let (handle, pattern, value, queue, id, turn): Pickled<'_> = row.extract()?;
            let row = self.validate(&pattern, value, queue.as_ref())?;
            let ascends = rows.last().is_none_or(|last| last.id < id);
            if !ascends || id >= next || !is_subscription(&handle)? {
                return Err(PyValueError::new_err("not the state of a SubjectTrie"));
            }
            rows.push(NewRow {
                id,
                pattern: row.pattern.into(),
                queue: row.queue.map(Into::into),
                turn,
                objects: Objects::new(row.value, Some(handle.unbind()))?,
            });
        }
        let mut state = self.empty();
        state.insert(rows);
        state.index.set_next_id(next);
        Ok(state)
    }

    /// The state that an image describes, with handles and values.
    pub fn restore_image(self, py: Python<'_>, image: &OpenedImage) -> PyResult<State> {
        let (found, _) = image.subscriptions(py)?;
        let subscribed = shared!(py, "subscribed")?;
        let mut objects = Vec::with_capacity(found.len());
        // Subscriptions to one pattern share its text, as there may be very many of them.
        let mut patterns: HashMap<*const u8, Py<PyAny>> = HashMap::new();
        for one in found {
            let value = image.value(py, one.id)?;
            let known = patterns.get(&one.pattern.as_ptr());
            let text = match known {
                Some(pattern) => pattern.bind(py).clone(),
                None => PyString::new(py, &one.pattern).into_any(),
            };
            let handle = subscribed.call1((
                text,
                self.dialect.name(),
                &value,
                one.queue.as_deref(),
                one.id,
            ))?;
            if known.is_none() {
                let pattern = handle.getattr("pattern")?.unbind();
                patterns.insert(one.pattern.as_ptr(), pattern);
            }
            objects.push(Objects::new(value, Some(handle.unbind()))?);
        }
        // In the index of an image, slots are in ascending order of ids.
        let mut state = State::new(image.to_index(py)?);
        state.objects = objects;
        Ok(state)
    }
}

pub fn is_subscription(handle: &Bound<'_, PyAny>) -> PyResult<bool> {
    handle.is_instance(shared!(handle.py(), "Subscription")?)
}

/// The id of a subscription, if it has one that this engine could have given.
pub fn id_of(subscription: &Bound<'_, PyAny>) -> Option<u64> {
    subscription.getattr("id").ok()?.extract().ok()
}
