//! Decoding of subjects and patterns to addresses.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use super::args::{Any, address_error, text, text_if_encodable};
use crate::microbus::{self, Address};

/// Decode a subject in canonical form.
#[pyfunction]
pub fn decode<'py>(py: Python<'py>, subject: &Any<'py>) -> PyResult<Any<'py>> {
    static REQUEST: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static REPLY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let address = microbus::decode(text(subject, "subject")?)
        .map_err(|error| address_error(&error, &[("subject", subject)]))?;
    match address {
        Address::Request(request) => REQUEST
            .import(py, "subtrie._address", "RequestAddress")?
            .call1((
                request.plane,
                request.trust.name(),
                request.port,
                request.source.text(),
                request.host.text(),
                request.slot,
                request.method,
                request.path.text(),
            )),
        Address::Reply(reply) => REPLY
            .import(py, "subtrie._address", "ReplyAddress")?
            .call1((
                reply.plane,
                reply.source.text(),
                reply.host.text(),
                reply.id,
            )),
    }
}

/// Decode a pattern in canonical form that subscribes to requests.
#[pyfunction]
pub fn decode_subscription<'py>(py: Python<'py>, pattern: &Any<'py>) -> PyResult<Any<'py>> {
    static SUBSCRIPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let address = microbus::decode_subscription(text(pattern, "pattern")?)
        .map_err(|error| address_error(&error, &[("pattern", pattern)]))?;
    SUBSCRIPTION
        .import(py, "subtrie._address", "SubscriptionAddress")?
        .call1((
            address.plane,
            address.trust.name(),
            address.port,
            address.host.text(),
            address.slot,
            address.method,
            address.path.text(),
        ))
}

/// Return the verified source of a subject, None if the message must be rejected.
#[pyfunction]
pub fn source_of<'py>(
    py: Python<'py>,
    subject: &Any<'py>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    Ok(text_if_encodable(subject, "subject")?
        .and_then(microbus::source_of)
        .map(|source| PyString::new(py, &source)))
}

/// Return the family of a subject.
#[pyfunction]
pub fn classify(subject: &Any<'_>) -> PyResult<&'static str> {
    Ok(text_if_encodable(subject, "subject")?.map_or("other", microbus::classify))
}
