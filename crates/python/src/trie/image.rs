//! The image behind a `SubjectTrie` that was opened from bytes: looked up in place, until the first
//! change.

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::buffer::Bytes;
use crate::errors::{ErrorClass, exception_about};
use subtrie::error::Error;
use subtrie::grammar::{BoundsOverride, Dialect};
use subtrie::raw::{Image, ImageHeader, Index, SubscriptionRef, as_words};

/// The values of the subscriptions of an image.
pub struct ImageValues {
    next_id: u64,
    /// A sequence or mapping; without it the ids are the values.
    given: Option<Py<PyAny>>,
}

impl ImageValues {
    /// Whether the image may have a subscription with this id.
    pub const fn has(&self, id: u64) -> bool {
        id < self.next_id
    }

    /// The value of a subscription.
    #[inline]
    pub fn get<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        let Some(values) = &self.given else {
            return Ok(id.into_pyobject(py)?.into_any());
        };
        let values = values.bind(py);
        // A list, as values usually are, needs no number object.
        if let (Ok(list), Ok(place)) = (values.cast_exact::<PyList>(), usize::try_from(id)) {
            return list.get_item(place);
        }
        values.get_item(id)
    }

    /// The values of several subscriptions.
    pub fn of<'py>(
        &self,
        py: Python<'py>,
        found: &[SubscriptionRef],
    ) -> PyResult<Bound<'py, PyTuple>> {
        if let [one] = found {
            return PyTuple::new(py, [self.get(py, one.id)?]);
        }
        let values = found.iter().map(|found| self.get(py, found.id));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            next_id: self.next_id,
            given: self.given.as_ref().map(|values| values.clone_ref(py)),
        }
    }

    /// Visits the sequence or mapping for the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.given)
    }
}

/// An image, and the values of its subscriptions.
pub struct OpenedImage {
    bytes: Bytes,
    /// The words, if the bytes are not aligned.
    copy: Option<Vec<u64>>,
    header: ImageHeader,
    pub values: ImageValues,
}

impl OpenedImage {
    /// Opens an image; `verify` compares its checksum.
    pub fn open(
        object: &Bound<'_, PyAny>,
        values: Option<Py<PyAny>>,
        verify: bool,
    ) -> PyResult<Self> {
        let bytes = Bytes::of(object)?;
        let copy = match as_words(bytes.as_slice()) {
            std::borrow::Cow::Borrowed(_) => None,
            std::borrow::Cow::Owned(words) => Some(words),
        };
        let words = copy
            .as_deref()
            .map_or_else(|| as_words(bytes.as_slice()), Into::into);
        let header = ImageHeader::parse(&words, bytes.as_slice().len(), verify)
            .map_err(|error| image_error(object.py(), &error))?;
        let next_id = Image::with_header(&words, &header).next_id();
        drop(words);
        Ok(Self {
            bytes,
            copy,
            header,
            values: ImageValues {
                next_id,
                given: values,
            },
        })
    }

    fn words(&self) -> std::borrow::Cow<'_, [u64]> {
        match &self.copy {
            Some(words) => words.into(),
            None => as_words(self.bytes.as_slice()),
        }
    }

    /// Its dialect, its bounds, the next id, and whether subjects can be looked up in place.
    pub fn header(&self) -> (Dialect, BoundsOverride, u64, bool) {
        self.read(|image| {
            let next = image.next_id();
            (image.dialect(), image.given(), next, image.has_table())
        })
    }

    /// Calls `read` with the image.
    pub fn read<R>(&self, read: impl FnOnce(&Image<'_>) -> R) -> R {
        read(&Image::with_header(&self.words(), &self.header))
    }

    /// The index of its content, made without the GIL.
    #[allow(clippy::redundant_closure_for_method_calls)] // the method has one lifetime only
    pub fn to_index(&self, py: Python<'_>) -> PyResult<Index> {
        let index = py.detach(|| self.read(|image| image.to_index()));
        index.map_err(|error| image_error(py, &error))
    }
}

/// The exception for an image that cannot be opened.
pub(super) fn image_error(py: Python<'_>, error: &Error) -> PyErr {
    let none = py.None().into_bound(py);
    exception_about(&none, ErrorClass::Image, &Error::new(error.kind))
}
