//! A `SubjectTrie` that was opened from an image: asked where it lies, until it is to change.

use std::collections::HashMap;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::buffer::Borrowed;
use super::convert::{Area, refused_any};
use super::trie_rows::{Rules, shared};
use super::trie_state::{Desk, Kept, Row, State};
use crate::error::Error;
use crate::grammar::Dialect;
use crate::trie::{Given, Image, words};

/// An image, and the values of its subscriptions if they are not their ids.
pub struct Opened {
    bytes: Borrowed,
    /// The words, where the bytes do not lie as words do.
    copy: Option<Vec<u64>>,
    pub values: Option<Py<PyAny>>,
}

impl Opened {
    /// Opens an image; `verify` checks its sum.
    pub fn open(
        object: &Bound<'_, PyAny>,
        values: Option<Py<PyAny>>,
        verify: bool,
    ) -> PyResult<Self> {
        let bytes = Borrowed::of(object)?;
        let copy = match words(bytes.bytes()) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(words) => Some(words),
        };
        let opened = Self {
            bytes,
            copy,
            values,
        };
        opened
            .check(verify)
            .map_err(|error| refused_image(object.py(), &error))?;
        Ok(opened)
    }

    fn check(&self, verify: bool) -> Result<(), Error> {
        Image::open(&self.words(), self.bytes.bytes().len(), verify).map(|_| ())
    }

    fn words(&self) -> std::borrow::Cow<'_, [u64]> {
        match &self.copy {
            Some(words) => words.into(),
            None => words(self.bytes.bytes()),
        }
    }

    /// Its dialect, its bounds, the next id, and whether it can be asked as it is.
    pub fn terms(&self, py: Python<'_>) -> PyResult<(Dialect, Given, u64, bool)> {
        let terms = self.read(|image| {
            let next = image.next_id();
            (image.dialect(), image.given(), next, image.has_table())
        });
        terms.map_err(|error| refused_image(py, &error))
    }

    /// Asks the image.
    pub fn read<R>(&self, read: impl FnOnce(&Image<'_>) -> R) -> Result<R, Error> {
        let words = self.words();
        let image = Image::open(&words, self.bytes.bytes().len(), false)?;
        Ok(read(&image))
    }

    /// The value of a subscription.
    pub fn value<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        match &self.values {
            Some(values) => values.bind(py).get_item(id),
            None => Ok(id.into_pyobject(py)?.into_any()),
        }
    }

    /// The values that match a subject.
    pub fn matched<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        desk: &mut Desk,
    ) -> PyResult<Result<Bound<'py, PyTuple>, Error>> {
        let Desk {
            scratch, tickets, ..
        } = desk;
        tickets.clear();
        let done = self.read(|image| image.match_into(subject, scratch, tickets));
        if let Err(error) = done.and_then(|done| done) {
            return Ok(Err(error));
        }
        let values = tickets.iter().map(|ticket| self.value(py, ticket.id));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?).map(Ok)
    }

    /// Builds the index that the image describes, with handles and values.
    #[allow(clippy::redundant_closure_for_method_calls)] // the method has one lifetime only
    pub fn built(&self, py: Python<'_>, rules: Rules) -> PyResult<State> {
        let held = self.read(|image| image.held()).and_then(|held| held);
        let (held, next) = held.map_err(|error| refused_image(py, &error))?;
        let subscribed = shared!(py, "subscribed")?;
        let mut rows = Vec::with_capacity(held.len());
        // Subscriptions of one pattern share it: there may be very many of them.
        let mut patterns: HashMap<*const u8, Py<PyAny>> = HashMap::new();
        for one in held {
            let value = self.value(py, one.id)?;
            let known = patterns.get(&one.pattern.as_ptr());
            let text = match known {
                Some(pattern) => pattern.bind(py).clone(),
                None => PyString::new(py, &one.pattern).into_any(),
            };
            let handle = subscribed.call1((
                text,
                rules.dialect.name(),
                &value,
                one.queue.as_deref(),
                one.id,
            ))?;
            if known.is_none() {
                let pattern = handle.getattr("pattern")?.unbind();
                patterns.insert(one.pattern.as_ptr(), pattern);
            }
            rows.push(Row {
                id: one.id,
                pattern: one.pattern,
                queue: one.queue,
                turn: one.turn,
                kept: Kept::new(value, handle.unbind())?,
            });
        }
        let mut state = rules.empty();
        state.place(py, &rows);
        state.index.set_next_id(next);
        Ok(state)
    }
}

/// The exception for an image that is none.
pub fn refused_image(py: Python<'_>, error: &Error) -> PyErr {
    let none = py.None().into_bound(py);
    refused_any(&none, Area::Image, error.reason, None, None)
}
