//! The border: Python text and options in, Python exceptions out.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use crate::error::Error;
use crate::grammar::Dialect;

/// Which exception class of `subtrie.errors` a refusal becomes.
#[derive(Clone, Copy)]
pub enum Area {
    Subject,
    Pattern,
    Name,
    Address,
    Image,
    Permissions,
}

impl Area {
    const fn class(self) -> &'static str {
        match self {
            Self::Subject => "SubjectError",
            Self::Pattern => "PatternError",
            Self::Name => "InvalidName",
            Self::Address => "AddressError",
            Self::Image => "SubtrieError",
            Self::Permissions => "PermissionsError",
        }
    }
}

/// Borrows the UTF-8 of a `str`; anything else is a `TypeError`, a lone surrogate a refusal.
pub fn text<'a>(value: &'a Bound<'_, PyAny>, name: &str, area: Area) -> PyResult<&'a str> {
    field_text(value, name, area, None)
}

/// The same for one of several texts: the refusal names its field.
pub fn field_text<'a>(
    value: &'a Bound<'_, PyAny>,
    name: &str,
    area: Area,
    field: Option<&str>,
) -> PyResult<&'a str> {
    let Ok(string) = value.cast::<PyString>() else {
        return Err(wrong_type(value, name, "str"));
    };
    string
        .to_str()
        .map_err(|_| refused_any(value, area, "surrogate", None, field))
}

/// The exception for an argument of another type than `wanted`.
pub fn wrong_type(value: &Bound<'_, PyAny>, name: &str, wanted: &str) -> PyErr {
    match value.get_type().name() {
        Ok(given) => PyTypeError::new_err(format!("{name} must be {wanted}, not {given}")),
        Err(error) => error,
    }
}

/// Turns a refusal of the core into the Python exception both engines raise.
pub fn refused(py: Python<'_>, error: &Error, area: Area, value: &str) -> PyErr {
    let value = PyString::new(py, value).into_any();
    refused_any(&value, area, error.reason, error.position, error.field)
}

pub fn refused_any(
    value: &Bound<'_, PyAny>,
    area: Area,
    reason: &str,
    position: Option<usize>,
    field: Option<&str>,
) -> PyErr {
    static REFUSAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = value.py();
    let build = || -> PyResult<Bound<'_, PyAny>> {
        REFUSAL.import(py, "subtrie.errors", "refusal")?.call1((
            area.class(),
            reason,
            value,
            position,
            field,
        ))
    };
    match build() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Reads the name of a dialect.
pub fn dialect(name: &str) -> PyResult<Dialect> {
    Dialect::named(name).ok_or_else(|| {
        PyValueError::new_err(format!(
            "dialect must be 'strict' or 'server', not '{name}'"
        ))
    })
}
