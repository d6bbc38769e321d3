//! Arguments of the encoders and decoders, and the exception that names the one that is not valid.

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyString};

use crate::args::{OptionalArg, field_text};
use crate::errors::{ErrorClass, exception_about, type_error};
use crate::slots::SlottedClass;
use subtrie::error::Error;
use subtrie::grammar::Form;
use subtrie::microbus::Port;

pub(super) type Any<'py> = Bound<'py, PyAny>;

/// The argument, or empty text where it is left out.
pub(super) fn or_empty<'py>(py: Python<'py>, value: OptionalArg<'py>) -> Any<'py> {
    value.0.unwrap_or_else(|| PyString::new(py, "").into_any())
}

/// Borrow the UTF-8 of a `str` argument; a lone surrogate is an `AddressError`.
pub(super) fn text<'a>(value: &'a Any<'_>, name: &'static str) -> PyResult<&'a str> {
    field_text(value, name, ErrorClass::Address)
}

/// Read a port: an `int` of any size (not a `bool`), or text.
pub(super) fn port_text<'a>(value: &'a Any<'_>) -> PyResult<Port<'a>> {
    if value.is_instance_of::<PyString>() {
        return text(value, "port").map(Port::Text);
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(Port::Number(value.extract().unwrap_or(i64::MAX)));
    }
    Err(type_error(value, "port", "int or str"))
}

/// Build the exception for an error. It shows the argument that is not valid, or the longest one if
/// the address as a whole is too long.
pub(super) fn address_error(error: &Error, arguments: &[(&str, &Any<'_>)]) -> PyErr {
    let named = arguments
        .iter()
        .find(|(name, _)| Some(*name) == error.field);
    // The first of several that are equally long.
    let longest = || {
        let texts = arguments.iter().rev();
        texts.max_by_key(|(_, value)| value.len().unwrap_or(0))
    };
    match named.or_else(longest) {
        Some((_, value)) => exception_about(value, ErrorClass::Address, error),
        None => PyTypeError::new_err(error.to_string()),
    }
}

/// Create a `Subject` or `Pattern` of a text that the core has validated.
pub(super) fn new_text<'py>(py: Python<'py>, text: &str, class: Form) -> PyResult<Any<'py>> {
    static SUBJECT: PyOnceLock<SlottedClass<1>> = PyOnceLock::new();
    static PATTERN: PyOnceLock<SlottedClass<1>> = PyOnceLock::new();
    let (class, name) = match class {
        Form::Subject => (&SUBJECT, "Subject"),
        Form::Pattern => (&PATTERN, "Pattern"),
    };
    let class = class.get_or_try_init(py, || {
        SlottedClass::import(py, "subtrie._core.subject", name, ["_dialect"])
    })?;
    class.create_str(py, text, [intern!(py, "strict").clone().into_any()])
}

/// Borrow the UTF-8 of a `str` argument, `None` if it contains a lone surrogate.
pub(super) fn text_if_encodable<'a>(value: &'a Any<'_>, name: &str) -> PyResult<Option<&'a str>> {
    let string = value
        .cast::<PyString>()
        .map_err(|_| type_error(value, name, "str"))?;
    Ok(string.to_str().ok())
}
