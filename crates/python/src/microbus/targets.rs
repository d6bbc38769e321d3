//! The class `RequestTargets`: parsed URLs behind one cache, for one sender.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use super::args::{Any, address_error, text};
use super::encode::{target_error, target_parts};
use subtrie::microbus;

/// Entries of the cache. Parsing a plain URL costs about as much as the memory that an entry keeps
/// from being used again, so the cache serves the few URLs that are asked for again at once.
const ENTRIES: usize = 64;

struct TargetEntry {
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
    cache: Mutex<Vec<Option<TargetEntry>>>,
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

    #[pyo3(signature = (method, url, params=None, /))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        method: &Any<'py>,
        url: &Any<'py>,
        params: Option<&Any<'py>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (method_text, url_text) = (text(method, "method")?, text(url, "url")?);
        if let Some(params) = params {
            let params = params_of(params)?;
            let params: Vec<_> = params.iter().map(|(n, v)| (&**n, &**v)).collect();
            return self.parsed(method, &microbus::with_params(url_text, &params));
        }
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
        let target = self.parsed(method, &microbus::with_params(url_text, &[]))?;
        let entry = TargetEntry {
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

impl RequestTargets {
    /// Parse a URL; `whole` is its text with the parameters.
    fn parsed<'py>(&self, method: &Any<'py>, whole: &str) -> PyResult<Bound<'py, PyTuple>> {
        let py = method.py();
        let target = self.core.of(text(method, "method")?, whole);
        let target = target.map_err(|error| {
            let sender = (self.plane.bind(py), self.source.bind(py));
            let shown = PyString::new(py, whole).into_any();
            target_error(py, &error, sender, method, &shown)
        })?;
        let subject = PyString::new(py, &target.subject).into_any();
        target_parts(py, &target, subject)
    }
}

/// The parameters of a mapping or of pairs, as texts: a list repeats its name, None is left out.
fn params_of(params: &Any<'_>) -> PyResult<Vec<(String, String)>> {
    let pairs = match params.cast::<PyDict>() {
        Ok(given) => given.items().into_any(),
        Err(_) if params.hasattr("items")? => params.call_method0("items")?,
        Err(_) => params.clone(),
    };
    let mut found = Vec::new();
    for pair in pairs.try_iter()? {
        let (name, value): (Any<'_>, Any<'_>) = pair?.extract()?;
        let name = text(&name, "params")?;
        if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
            for each in value.try_iter()? {
                add_param(&mut found, name, &each?)?;
            }
        } else {
            add_param(&mut found, name, &value)?;
        }
    }
    Ok(found)
}

fn add_param(found: &mut Vec<(String, String)>, name: &str, value: &Any<'_>) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    let written = if value.is_instance_of::<PyBool>() {
        (if value.is_truthy()? { "true" } else { "false" }).to_owned()
    } else {
        text(&value.str()?.into_any(), "params")?.to_owned()
    };
    found.push((name.to_owned(), written));
    Ok(())
}
