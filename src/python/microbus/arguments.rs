//! The arguments of the codec: texts and ports in, the blamed one in the exception out.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyString, PyType};

use crate::error::Error;
use crate::grammar::Form;
use crate::microbus::Port;
use crate::python::convert::{Area, field_text, refused_any, wrong_type};

pub(super) type Any<'py> = Bound<'py, PyAny>;

/// An optional argument: absent is not the same as `None`, which is of a wrong type.
#[derive(Default)]
pub struct Optional<'py>(Option<Any<'py>>);

impl<'py> FromPyObject<'_, 'py> for Optional<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Some(value.to_owned())))
    }
}

impl<'py> Optional<'py> {
    /// The argument, or empty text where it is absent.
    pub(super) fn or_empty(self, py: Python<'py>) -> Any<'py> {
        self.0.unwrap_or_else(|| PyString::new(py, "").into_any())
    }
}

/// The UTF-8 of an argument; anything but `str` is a `TypeError`, a lone surrogate a refusal.
pub(super) fn text<'a>(value: &'a Any<'_>, name: &str) -> PyResult<&'a str> {
    field_text(value, name, Area::Address, Some(name))
}

/// A port: an `int` of any size (but no `bool`), or text.
pub(super) fn port_text<'a>(value: &'a Any<'_>) -> PyResult<Port<'a>> {
    if value.is_instance_of::<PyString>() {
        return text(value, "port").map(Port::Text);
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(Port::Number(value.extract().unwrap_or(i64::MAX)));
    }
    Err(wrong_type(value, "port", "int or str"))
}

/// The exception for a refusal. It shows the argument that is blamed, else the last of them.
pub(super) fn raised(error: &Error, arguments: &[(&str, &Any<'_>)]) -> PyErr {
    let blamed = arguments
        .iter()
        .find(|(name, _)| Some(*name) == error.field)
        .or(arguments.last());
    match blamed {
        Some((_, value)) => refused_any(
            value,
            Area::Address,
            error.reason,
            error.position,
            error.field,
        ),
        None => PyTypeError::new_err(error.to_string()),
    }
}

/// Text that the core has checked, as one of the classes of `subtrie.subject`.
pub(super) fn checked<'py>(py: Python<'py>, text: &str, class: Form) -> PyResult<Any<'py>> {
    static SUBJECT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static PATTERN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = match class {
        Form::Subject => SUBJECT.import(py, "subtrie.subject", "Subject")?,
        Form::Pattern => PATTERN.import(py, "subtrie.subject", "Pattern")?,
    };
    class.call_method1("_of", (text, "strict"))
}

/// Text, or `None` where a lone surrogate is in it, which no message can carry.
pub(super) fn encodable<'a>(value: &'a Any<'_>, name: &str) -> PyResult<Option<&'a str>> {
    let string = value
        .cast::<PyString>()
        .map_err(|_| wrong_type(value, name, "str"))?;
    Ok(string.to_str().ok())
}
