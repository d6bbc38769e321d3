//! Python exceptions for errors of the core.
//!
//! Every exception but `TypeError` and `ValueError` is built by `subtrie._core.errors`, which both
//! engines share, so that the message, the hint and the status are written once.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use subtrie::error::Error;

/// The exception class that an error of the core becomes.
#[derive(Clone, Copy)]
pub enum ErrorClass {
    Subject,
    Pattern,
    Name,
    Address,
    Image,
    Permissions,
}

impl ErrorClass {
    /// The name of the class in `subtrie._core.errors`.
    const fn name(self) -> &'static str {
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

/// Build the `TypeError` for the argument `name`, which must be of the type `expected`.
pub fn type_error(value: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    match value.get_type().name() {
        Ok(given) => PyTypeError::new_err(format!("{name} must be {expected}, not {given}")),
        Err(error) => error,
    }
}

/// Build the exception for an error of the core about the text `value`.
pub fn exception(py: Python<'_>, error: &Error, class: ErrorClass, value: &str) -> PyErr {
    let value = PyString::new(py, value).into_any();
    exception_about(&value, class, error)
}

/// Build the exception for an error of the core about any Python value.
pub fn exception_about(value: &Bound<'_, PyAny>, class: ErrorClass, error: &Error) -> PyErr {
    refusal(value, class, error.reason(), error.position, error.field)
}

/// Build the exception for a reason, which `subtrie._core.errors` knows.
pub fn refusal(
    value: &Bound<'_, PyAny>,
    class: ErrorClass,
    reason: &str,
    position: Option<usize>,
    field: Option<&str>,
) -> PyErr {
    static REFUSAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let build = || -> PyResult<Bound<'_, PyAny>> {
        REFUSAL
            .import(value.py(), "subtrie._core.errors", "refusal")?
            .call1((class.name(), reason, value, position, field))
    };
    match build() {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}
