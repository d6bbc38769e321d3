//! The class `RequestTargets`: parsed URLs behind one cache, for one sender.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::args::{Any, address_error, text};
use super::encode::{target_error, target_parts};
use crate::microbus;

/// Entries of the cache. Parsing a plain URL costs about as much as the memory that an entry keeps
/// from being used again, so the cache serves the few URLs that are asked for again at once.
const ENTRIES: usize = 64;

struct Entry {
    method: Py<PyString>,
    url: Py<PyString>,
    target: Py<PyTuple>,
}

/// The targets of the requests of one sender.
#[pyclass(frozen, module = "subtrie._subtrie")]
pub struct RequestTargets {
    plane: Py<PyAny>,
    source: Py<PyAny>,
    core: microbus::RequestTargets,
    hasher: RandomState,
    /// Direct-mapped: a URL has one place, and replaces what is there.
    cache: Mutex<Vec<Option<Entry>>>,
}

#[pymethods]
impl RequestTargets {
    #[new]
    #[pyo3(signature = (*, plane, source))]
    fn new(plane: &Any<'_>, source: &Any<'_>) -> PyResult<Self> {
        let core = microbus::RequestTargets::new(text(plane, "plane")?, text(source, "source")?)
            .map_err(|error| address_error(&error, &[("plane", plane), ("source", source)]))?;
        let mut cache = Vec::new();
        cache.resize_with(ENTRIES, || None);
        Ok(Self {
            plane: plane.clone().unbind(),
            source: source.clone().unbind(),
            core,
            hasher: RandomState::new(),
            cache: Mutex::new(cache),
        })
    }

    #[pyo3(signature = (method, url, /))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        method: &Any<'py>,
        url: &Any<'py>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (method_text, url_text) = (text(method, "method")?, text(url, "url")?);
        let hash = self.hasher.hash_one(url_text);
        let place = usize::try_from(hash).unwrap_or_default() % ENTRIES;
        {
            let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(Some(entry)) = cache.get(place)
                && entry.url.bind(py).to_str()? == url_text
                && entry.method.bind(py).to_str()? == method_text
            {
                return Ok(entry.target.bind(py).clone());
            }
        }
        let target = self.core.of(method_text, url_text).map_err(|error| {
            let sender = (self.plane.bind(py), self.source.bind(py));
            target_error(py, &error, sender, method, url)
        })?;
        let subject = PyString::new(py, &target.subject).into_any();
        let target = target_parts(py, &target, subject)?;
        let entry = Entry {
            method: method.cast::<PyString>()?.clone().unbind(),
            url: url.cast::<PyString>()?.clone().unbind(),
            target: target.clone().unbind(),
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let replaced = cache.get_mut(place).and_then(|kept| kept.replace(entry));
        drop(cache);
        drop(replaced); // without the lock: it may free objects
        Ok(target)
    }
}
