//! Construction: rows are validated, and states are built from a pickle or from an image.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::collector::CollectorPause;
use super::image::OpenedImage;
use super::state::{HandleCell, State};
use super::subscription::{Subscription, exact_text};
use crate::args::{field_text, text};
use crate::errors::{ErrorClass, exception};
use subtrie::grammar::{self, Bounds, Dialect, Form};
use subtrie::raw::{Index, SubscriptionRef, check_queue};

/// A row of a pickle: subscription if its handle was made, pattern, value, queue, id, turn.
type Pickled<'py> = (
    Option<Bound<'py, PyAny>>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Option<Bound<'py, PyAny>>,
    u64,
    u64,
);

/// A valid row, with exact texts.
pub struct ValidRow<'py> {
    pub pattern: Py<PyString>,
    pub value: Bound<'py, PyAny>,
    pub queue: Option<Py<PyString>>,
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
        let given = text(pattern, "pattern", ErrorClass::Pattern)?;
        grammar::check(given, Form::Pattern, self.dialect, self.bounds)
            .map_err(|error| exception(py, &error, ErrorClass::Pattern, given))?;
        let queue = queue.map(|queue| {
            let name = field_text(queue, "queue", ErrorClass::Name)?;
            check_queue(name, self.dialect)
                .map_err(|error| exception(py, &error, ErrorClass::Name, name))?;
            exact_text(queue.cast()?)
        });
        Ok(ValidRow {
            pattern: exact_text(pattern.cast()?)?,
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
        // A tuple, as rows usually are, needs no list of its parts.
        if let Ok(row) = row.cast_exact::<PyTuple>()
            && (2..=3).contains(&row.len())
        {
            let queue = row.get_item(2).ok().filter(|queue| !queue.is_none());
            return self.validate(&row.get_item(0)?, row.get_item(1)?, queue.as_ref());
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

    /// The state that a pickle describes.
    pub fn restore_pickle(self, next: u64, found: &[Bound<'_, PyTuple>]) -> PyResult<State> {
        let mut valid: Vec<ValidRow<'_>> = Vec::with_capacity(found.len());
        let mut numbers: Vec<(u64, u64)> = Vec::with_capacity(found.len());
        let mut singles = Vec::with_capacity(found.len());
        let mut handles = Vec::with_capacity(found.len());
        for row in found {
            let py = row.py();
            let (handle, pattern, value, queue, id, turn): Pickled<'_> = row.extract()?;
            let row = self.validate(&pattern, value, queue.as_ref())?;
            let ascends = numbers.last().is_none_or(|last| last.0 < id);
            let handle = match &handle {
                Some(handle) => handle.cast::<Subscription>().ok().map(Some),
                None => Some(None),
            };
            let Some(handle) = handle.filter(|_| ascends && id < next) else {
                return Err(PyValueError::new_err("not the state of a SubjectTrie"));
            };
            handles.push(handle.map_or_else(HandleCell::new, |handle| {
                HandleCell::from(handle.clone().unbind())
            }));
            singles.push(PyTuple::new(py, [&row.value])?.unbind());
            numbers.push((id, turn));
            valid.push(row);
        }
        let mut state = self.empty();
        if let Some(row) = found.first() {
            let (patterns, queues) = texts(row.py(), &valid)?;
            let row = |at: usize| (numbers[at].0, queues[at], numbers[at].1);
            state.insert(&patterns, row, singles, handles.into_iter());
        }
        state.index.set_next_id(next);
        Ok(state)
    }

    /// The state that an image describes, with values. Handles are made when they are asked for.
    pub fn restore_image(py: Python<'_>, image: &OpenedImage) -> PyResult<State> {
        let single = |found: &SubscriptionRef| -> PyResult<Py<PyTuple>> {
            Ok(PyTuple::new(py, [image.values.get(py, found.id)?])?.unbind())
        };
        // In the index of an image, slots are in ascending order of ids.
        let mut state = State::new(image.to_index(py)?);
        let _pause = CollectorPause::begin(py)?;
        let found = state.index.subscriptions();
        state.singles = found.iter().map(single).collect::<PyResult<_>>()?;
        state.handles.resize_with(found.len(), HandleCell::new);
        Ok(state)
    }
}

/// The patterns and the queue names of rows.
pub(super) type TextColumns<'a> = (Vec<&'a str>, Vec<Option<&'a str>>);

/// The patterns and the queue names of valid rows.
pub(super) fn texts<'a>(py: Python<'a>, rows: &'a [ValidRow<'_>]) -> PyResult<TextColumns<'a>> {
    let texts = |row: &'a ValidRow<'_>| {
        let queue = row.queue.as_ref().map(|queue| queue.to_str(py));
        Ok((row.pattern.to_str(py)?, queue.transpose()?))
    };
    rows.iter().map(texts).collect()
}
