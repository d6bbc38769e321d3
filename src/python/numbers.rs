//! Whole numbers that callers give: bounds, limits, threads.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// The whole number that an argument stands for.
fn index<'py>(number: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static INDEX: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    INDEX
        .import(number.py(), "operator", "index")?
        .call1((number,))
}

/// A bound: at least 1, and never more than 64 bits hold.
pub fn bound(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(given) = given else {
        return Ok(None);
    };
    let given = index(given)?;
    if given.lt(1)? {
        return Err(PyValueError::new_err(format!("{name} must be at least 1")));
    }
    Ok(Some(given.extract().unwrap_or(u64::MAX)))
}

/// How many nearest patterns are wanted: not negative.
#[derive(Clone, Copy)]
pub struct Limit(pub usize);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let given = index(&given)?;
        if given.lt(0)? {
            return Err(PyValueError::new_err("limit must not be negative"));
        }
        Ok(Self(given.extract().unwrap_or(usize::MAX)))
    }
}

/// How many threads may share a batch: at least one.
#[derive(Clone, Copy)]
pub struct Threads(pub usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let given = index(&given)?;
        if given.lt(1)? {
            return Err(PyValueError::new_err("threads must be at least 1"));
        }
        Ok(Self(given.extract().unwrap_or(usize::MAX)))
    }
}
