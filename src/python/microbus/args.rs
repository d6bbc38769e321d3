//! The arguments of the codec: texts and ports in, the blamed one in the exception out.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyString, PyType};

use crate::error::Error;
use crate::grammar::Form;
use crate::microbus::Port;
use crate::python::args::{OptionalArg, field_text};
use crate::python::errors::{ErrorClass, exception_about, type_error};

pub(super) type Any<'py> = Bound<'py, PyAny>;

/// The argument, or empty text where it is left out.
pub(super) fn or_empty<'py>(py: Python<'py>, value: OptionalArg<'py>) -> Any<'py> {
    value.0.unwrap_or_else(|| PyString::new(py, "").into_any())
}

/// The UTF-8 of an argument; anything but `str` is a `TypeError`, a lone surrogate a refusal.
pub(super) fn text<'a>(value: &'a Any<'_>, name: &'static str) -> PyResult<&'a str> {
    field_text(value, name, ErrorClass::Address)
}

/// A port: an `int` of any size (but no `bool`), or text.
pub(super) fn port_text<'a>(value: &'a Any<'_>) -> PyResult<Port<'a>> {
    if value.is_instance_of::<PyString>() {
        return text(value, "port").map(Port::Text);
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(Port::Number(value.extract().unwrap_or(i64::MAX)));
    }
    Err(type_error(value, "port", "int or str"))
}

/// The exception for a refusal. It shows the argument that is blamed, else the last of them.
pub(super) fn raised(error: &Error, arguments: &[(&str, &Any<'_>)]) -> PyErr {
    let blamed = arguments
        .iter()
        .find(|(name, _)| Some(*name) == error.field)
        .or(arguments.last());
    match blamed {
        Some((_, value)) => exception_about(value, ErrorClass::Address, error),
        None => PyTypeError::new_err(error.to_string()),
    }
}

/// Text that the core has checked, as one of the classes of `subtrie._subject`.
pub(super) fn checked<'py>(py: Python<'py>, text: &str, class: Form) -> PyResult<Any<'py>> {
    static SUBJECT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static PATTERN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = match class {
        Form::Subject => SUBJECT.import(py, "subtrie._subject", "Subject")?,
        Form::Pattern => PATTERN.import(py, "subtrie._subject", "Pattern")?,
    };
    class.call_method1("_of", (text, "strict"))
}

/// Text, or `None` where a lone surrogate is in it, which no message can carry.
pub(super) fn encodable<'a>(value: &'a Any<'_>, name: &str) -> PyResult<Option<&'a str>> {
    let string = value
        .cast::<PyString>()
        .map_err(|_| type_error(value, name, "str"))?;
    Ok(string.to_str().ok())
}
