//! A `SubjectTrie` that was opened from an image: asked where it lies, until it is to change.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::Error;
use crate::grammar::{BoundsOverride, Dialect};
use crate::python::buffer::Borrowed;
use crate::python::errors::{ErrorClass, exception_about};
use crate::trie::{Held, Image, Scratch, Ticket, words};

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
    pub fn terms(&self, py: Python<'_>) -> PyResult<(Dialect, BoundsOverride, u64, bool)> {
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

    /// All its subscriptions, and the next id.
    #[allow(clippy::redundant_closure_for_method_calls)] // the method has one lifetime only
    pub fn held(&self, py: Python<'_>) -> PyResult<(Vec<Held>, u64)> {
        let held = self.read(|image| image.held()).and_then(|held| held);
        held.map_err(|error| refused_image(py, &error))
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
        scratch: &mut Scratch,
        tickets: &mut Vec<Ticket>,
    ) -> PyResult<Result<Bound<'py, PyTuple>, Error>> {
        tickets.clear();
        let done = self.read(|image| image.match_into(subject, scratch, tickets));
        if let Err(error) = done.and_then(|done| done) {
            return Ok(Err(error));
        }
        let values = tickets.iter().map(|ticket| self.value(py, ticket.id));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?).map(Ok)
    }
}

/// The exception for an image that is none.
fn refused_image(py: Python<'_>, error: &Error) -> PyErr {
    let none = py.None().into_bound(py);
    exception_about(&none, ErrorClass::Image, &Error::new(error.reason))
}
