//! Conversion of Python arguments: texts, dialects, bounds, limits and thread counts.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use super::errors::{ErrorClass, exception_about, type_error};
use subtrie::error::{Error, ErrorKind};
use subtrie::grammar::Dialect;

/// Borrow the UTF-8 of a `str` argument.
///
/// Another type is a `TypeError`; a lone surrogate is an error of `class` (reason `surrogate`).
pub fn text<'a>(value: &'a Bound<'_, PyAny>, name: &str, class: ErrorClass) -> PyResult<&'a str> {
    text_or(value, name, class, &Error::new(ErrorKind::Surrogate))
}

/// Borrow the UTF-8 of one of several `str` arguments; the exception names its `field`.
pub fn field_text<'a>(
    value: &'a Bound<'_, PyAny>,
    field: &'static str,
    class: ErrorClass,
) -> PyResult<&'a str> {
    text_or(
        value,
        field,
        class,
        &Error::new(ErrorKind::Surrogate).in_field(field),
    )
}

fn text_or<'a>(
    value: &'a Bound<'_, PyAny>,
    name: &str,
    class: ErrorClass,
    surrogate: &Error,
) -> PyResult<&'a str> {
    let Ok(string) = value.cast::<PyString>() else {
        return Err(type_error(value, name, "str"));
    };
    string
        .to_str()
        .map_err(|_| exception_about(value, class, surrogate))
}

/// Read the name of a dialect: `strict` or `server`.
pub fn dialect(name: &str) -> PyResult<Dialect> {
    Dialect::from_name(name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "dialect must be 'strict' or 'server', not '{name}'"
        ))
    })
}

/// Read a bound: an integer of at least 1. Integers beyond 64 bits count as the largest one.
pub fn bound(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let Some(value) = value else {
        return Ok(None);
    };
    let number = as_index(value)?;
    if number.lt(1)? {
        return Err(PyValueError::new_err(format!("{name} must be at least 1")));
    }
    Ok(Some(number.extract().unwrap_or(u64::MAX)))
}

/// The integer that an argument stands for (`operator.index`).
fn as_index<'py>(number: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static INDEX: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    INDEX
        .import(number.py(), "operator", "index")?
        .call1((number,))
}

/// An integer that is not below `least`; `refused` is the text of the error.
fn number(value: &Bound<'_, PyAny>, least: usize, refused: &'static str) -> PyResult<usize> {
    let number = as_index(value)?;
    if number.lt(least)? {
        return Err(PyValueError::new_err(refused));
    }
    Ok(number.extract().unwrap_or(usize::MAX))
}

/// The argument `limit`: an integer that is not negative.
#[derive(Clone, Copy)]
pub struct Limit(pub usize);

impl<'py> FromPyObject<'_, 'py> for Limit {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        number(&value, 0, "limit must not be negative").map(Self)
    }
}

/// The argument `threads`: an integer of at least 1.
#[derive(Clone, Copy)]
pub struct Threads(pub usize);

impl<'py> FromPyObject<'_, 'py> for Threads {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        number(&value, 1, "threads must be at least 1").map(Self)
    }
}

/// The texts of an iterable. Nothing is allocated for a length that it only claims to have.
pub struct Texts(pub Vec<String>);

impl<'py> FromPyObject<'_, 'py> for Texts {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("a list of texts is expected, not str"));
        }
        let texts = value.try_iter()?.map(|each| each?.extract());
        Ok(Self(texts.collect::<PyResult<_>>()?))
    }
}

/// An argument that may be left out, where `None` is not the same as leaving it out.
#[derive(Default)]
pub struct OptionalArg<'py>(pub Option<Bound<'py, PyAny>>);

impl<'py> FromPyObject<'_, 'py> for OptionalArg<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value.to_owned())))
    }
}
