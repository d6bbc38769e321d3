//! The image behind a `SubjectTrie` that was opened from bytes: looked up in place, until the first
//! change.

use std::sync::Arc;

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::shared_handles::SharedHandles;
use crate::buffer::Bytes;
use crate::errors::{ErrorClass, exception_about};
use subtrie::error::Error;
use subtrie::grammar::{BoundsOverride, Dialect};
use subtrie::trie::{Image, ImageCache, ImageHeader, Index, Scratch, SubscriptionRef, as_words};

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
    pub fn get<'py>(&self, py: Python<'py>, id: u64) -> PyResult<Bound<'py, PyAny>> {
        match &self.given {
            Some(values) => values.bind(py).get_item(id),
            None => Ok(id.into_pyobject(py)?.into_any()),
        }
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
    /// The order of patterns that queries keep.
    cache: ImageCache,
    pub values: ImageValues,
    /// The handles that queries made, which the index of the first change has as well.
    pub handles: Arc<SharedHandles>,
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
            cache: ImageCache::default(),
            values: ImageValues {
                next_id,
                given: values,
            },
            handles: Arc::new(SharedHandles::new(0..next_id)),
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
        read(&Image::with_cache(&self.words(), &self.header, &self.cache))
    }

    /// The index that takes over its tables, made without the GIL.
    #[allow(clippy::redundant_closure_for_method_calls)] // the method has one lifetime only
    pub fn to_index(&self, py: Python<'_>) -> PyResult<Index> {
        let index = py.detach(|| self.read(|image| image.to_index()));
        index.map_err(|error| image_error(py, &error))
    }

    /// The values of the subscriptions that match a subject.
    pub fn matched<'py>(
        &self,
        py: Python<'py>,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<SubscriptionRef>,
    ) -> PyResult<Result<Bound<'py, PyTuple>, Error>> {
        found.clear();
        let done = self.read(|image| image.match_into(subject, scratch, found));
        if let Err(error) = done {
            return Ok(Err(error));
        }
        let values = found.iter().map(|found| self.values.get(py, found.id));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?).map(Ok)
    }
}

/// The exception for an image that cannot be opened.
pub(super) fn image_error(py: Python<'_>, error: &Error) -> PyErr {
    let none = py.None().into_bound(py);
    exception_about(&none, ErrorClass::Image, &Error::new(error.kind))
}
