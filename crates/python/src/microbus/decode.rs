//! Decoding of subjects and patterns to addresses.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;

use super::args::{Any, address_error, text, text_if_encodable};
use crate::slots::SlottedClass;
use subtrie::microbus::{self, Address, HostToken, Trust};

/// The module of the addresses, dataclasses whose slots are filled here.
const MODULE: &str = "subtrie._core.address";

/// Decode a subject in canonical form.
#[pyfunction]
pub fn decode<'py>(py: Python<'py>, subject: &Any<'py>) -> PyResult<Any<'py>> {
    let address = microbus::decode(text(subject, "subject")?)
        .map_err(|error| address_error(&error, &[("subject", subject)]))?;
    match address {
        Address::Request(request) => request_address(py, request),
        Address::Reply(reply) => reply_address(py, reply),
    }
}

fn request_address<'py>(py: Python<'py>, request: microbus::Request<'_>) -> PyResult<Any<'py>> {
    static CLASS: PyOnceLock<SlottedClass<8>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let fields = [
            "plane", "trust", "port", "source", "host", "slot", "method", "path",
        ];
        SlottedClass::import(py, MODULE, "RequestAddress", fields)
    })?;
    let mut buffer = String::with_capacity(request.path.tokens().len() + 1);
    request.path.push_to(&mut buffer);
    let path = string(py, &buffer);
    class.create(
        py,
        [
            string(py, request.plane),
            trust(py, request.trust),
            request.port.into_pyobject(py)?.into_any(),
            host(py, request.source, &mut buffer),
            host(py, request.host, &mut buffer),
            string(py, request.slot),
            method(py, request.method),
            path,
        ],
    )
}

fn reply_address<'py>(py: Python<'py>, reply: microbus::Reply<'_>) -> PyResult<Any<'py>> {
    static CLASS: PyOnceLock<SlottedClass<4>> = PyOnceLock::new();
    let class = CLASS.get_or_try_init(py, || {
        let fields = ["plane", "source", "host", "id"];
        SlottedClass::import(py, MODULE, "ReplyAddress", fields)
    })?;
    let mut buffer = String::new();
    class.create(
        py,
        [
            string(py, reply.plane),
            host(py, reply.source, &mut buffer),
            host(py, reply.host, &mut buffer),
            string(py, reply.id),
        ],
    )
}

/// Decode a pattern in canonical form that subscribes to requests.
#[pyfunction]
pub fn decode_subscription<'py>(py: Python<'py>, pattern: &Any<'py>) -> PyResult<Any<'py>> {
    static CLASS: PyOnceLock<SlottedClass<7>> = PyOnceLock::new();
    let address = microbus::decode_subscription(text(pattern, "pattern")?)
        .map_err(|error| address_error(&error, &[("pattern", pattern)]))?;
    let class = CLASS.get_or_try_init(py, || {
        let fields = ["plane", "trust", "port", "host", "slot", "method", "path"];
        SlottedClass::import(py, MODULE, "SubscriptionAddress", fields)
    })?;
    class.create(
        py,
        [
            string(py, address.plane),
            trust(py, address.trust),
            address.port.into_pyobject(py)?.into_any(),
            host(py, address.host, &mut String::new()),
            string(py, address.slot),
            address
                .method
                .map_or_else(|| py.None().into_bound(py), |name| method(py, name)),
            string(py, &address.path.text()),
        ],
    )
}

fn string<'py>(py: Python<'py>, text: &str) -> Any<'py> {
    PyString::new(py, text).into_any()
}

/// The host of a token; `buffer` is used to decode it.
fn host<'py>(py: Python<'py>, token: HostToken<'_>, buffer: &mut String) -> Any<'py> {
    buffer.clear();
    token.push_to(buffer);
    string(py, buffer)
}

fn trust(py: Python<'_>, trust: Trust) -> Any<'_> {
    match trust {
        Trust::Safe => intern!(py, "safe"),
        Trust::Danger => intern!(py, "danger"),
    }
    .clone()
    .into_any()
}

/// The name of a method; of the frequent ones, always the same object.
fn method<'py>(py: Python<'py>, name: &str) -> Any<'py> {
    match name {
        "GET" => intern!(py, "GET").clone().into_any(),
        "POST" => intern!(py, "POST").clone().into_any(),
        _ => PyString::intern(py, name).into_any(),
    }
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
