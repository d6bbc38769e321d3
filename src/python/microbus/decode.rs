//! Subjects and patterns to addresses.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyType};

use super::args::{Any, encodable, raised, text};
use crate::microbus::{self, Address};

/// The address of a canonical subject.
#[pyfunction]
pub fn decode<'py>(py: Python<'py>, subject: &Any<'py>) -> PyResult<Any<'py>> {
    static REQUEST: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static REPLY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let address = microbus::decode(text(subject, "subject")?)
        .map_err(|error| raised(&error, &[("subject", subject)]))?;
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

/// The address of a canonical pattern for requests.
#[pyfunction]
pub fn decode_subscription<'py>(py: Python<'py>, pattern: &Any<'py>) -> PyResult<Any<'py>> {
    static SUBSCRIPTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let address = microbus::decode_subscription(text(pattern, "pattern")?)
        .map_err(|error| raised(&error, &[("pattern", pattern)]))?;
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

/// The verified source, or None where the message must be rejected.
#[pyfunction]
pub fn source_of<'py>(
    py: Python<'py>,
    subject: &Any<'py>,
) -> PyResult<Option<Bound<'py, PyString>>> {
    Ok(encodable(subject, "subject")?
        .and_then(microbus::source_of)
        .map(|source| PyString::new(py, &source)))
}

/// The family of a subject.
#[pyfunction]
pub fn classify(subject: &Any<'_>) -> PyResult<&'static str> {
    Ok(encodable(subject, "subject")?.map_or("other", microbus::classify))
}
