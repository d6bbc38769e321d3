//! `microbus` for Python: arguments in, `Subject`, `Pattern` and addresses out.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyString, PyTuple, PyType};

use super::convert::{Area, refused_any};
use crate::error::Error;
use crate::grammar::Form;
use crate::microbus::{self, Address, Port, ReplyParts, RequestParts, SubscriptionParts};

type Any<'py> = Bound<'py, PyAny>;

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
    fn or_empty(self, py: Python<'py>) -> Any<'py> {
        self.0.unwrap_or_else(|| PyString::new(py, "").into_any())
    }
}

fn wrong_type(value: &Any<'_>, name: &str, wanted: &str) -> PyErr {
    match value.get_type().name() {
        Ok(given) => PyTypeError::new_err(format!("{name} must be {wanted}, not {given}")),
        Err(error) => error,
    }
}

/// The UTF-8 of an argument; anything but `str` is a `TypeError`, a lone surrogate a refusal.
fn text<'a>(value: &'a Any<'_>, name: &str) -> PyResult<&'a str> {
    let Ok(string) = value.cast::<PyString>() else {
        return Err(wrong_type(value, name, "str"));
    };
    string
        .to_str()
        .map_err(|_| refused_any(value, Area::Address, "surrogate", None, Some(name)))
}

/// A port: an `int` of any size (but no `bool`), or text.
fn port_text<'a>(value: &'a Any<'_>) -> PyResult<Port<'a>> {
    if value.is_instance_of::<PyString>() {
        return text(value, "port").map(Port::Text);
    }
    if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Ok(Port::Number(value.extract().unwrap_or(i64::MAX)));
    }
    Err(wrong_type(value, "port", "int or str"))
}

/// The exception for a refusal. It shows the argument that is blamed, else the last of them.
fn raised(error: &Error, arguments: &[(&str, &Any<'_>)]) -> PyErr {
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
fn checked<'py>(py: Python<'py>, text: &str, class: Form) -> PyResult<Any<'py>> {
    static SUBJECT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static PATTERN: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = match class {
        Form::Subject => SUBJECT.import(py, "subtrie.subject", "Subject")?,
        Form::Pattern => PATTERN.import(py, "subtrie.subject", "Pattern")?,
    };
    class.call_method1("_of", (text, "strict"))
}

/// The subject of a request.
#[pyfunction]
#[pyo3(
    signature = (*, plane, port, source, host, method, path, slot=Optional::default()),
    text_signature = "(*, plane, port, source, host, method, path, slot='')"
)]
#[expect(clippy::too_many_arguments, reason = "the parts of an address")]
pub fn encode_request<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    port: &Any<'py>,
    source: &Any<'py>,
    host: &Any<'py>,
    method: &Any<'py>,
    path: &Any<'py>,
    slot: Optional<'py>,
) -> PyResult<Any<'py>> {
    let slot = &slot.or_empty(py);
    let parts = RequestParts {
        plane: text(plane, "plane")?,
        port: port_text(port)?,
        source: text(source, "source")?,
        host: text(host, "host")?,
        method: text(method, "method")?,
        path: text(path, "path")?,
        slot: text(slot, "slot")?,
    };
    let subject = microbus::encode_request(&parts).map_err(|error| {
        let all = [
            ("plane", plane),
            ("port", port),
            ("source", source),
            ("host", host),
            ("method", method),
            ("slot", slot),
            ("path", path),
        ];
        raised(&error, &all)
    })?;
    checked(py, &subject, Form::Subject)
}

/// The pattern that receives requests to one endpoint.
#[pyfunction]
#[pyo3(
    signature = (*, plane, port, host, method, path, slot=Optional::default()),
    text_signature = "(*, plane, port, host, method, path, slot='')"
)]
pub fn encode_subscription<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    port: &Any<'py>,
    host: &Any<'py>,
    method: &Any<'py>,
    path: &Any<'py>,
    slot: Optional<'py>,
) -> PyResult<Any<'py>> {
    let slot = &slot.or_empty(py);
    let parts = SubscriptionParts {
        plane: text(plane, "plane")?,
        port: port_text(port)?,
        host: text(host, "host")?,
        method: text(method, "method")?,
        path: text(path, "path")?,
        slot: text(slot, "slot")?,
    };
    let pattern = microbus::encode_subscription(&parts).map_err(|error| {
        let all = [
            ("plane", plane),
            ("port", port),
            ("host", host),
            ("method", method),
            ("slot", slot),
            ("path", path),
        ];
        raised(&error, &all)
    })?;
    checked(py, &pattern, Form::Pattern)
}

/// The subject of a reply from `source` to the instance `id` of `host`.
#[pyfunction]
#[pyo3(signature = (*, plane, source, host, id))]
pub fn encode_reply<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    source: &Any<'py>,
    host: &Any<'py>,
    id: &Any<'py>,
) -> PyResult<Any<'py>> {
    let parts = ReplyParts {
        plane: text(plane, "plane")?,
        source: text(source, "source")?,
        host: text(host, "host")?,
        id: text(id, "id")?,
    };
    let subject = microbus::encode_reply(&parts).map_err(|error| {
        let all = [
            ("plane", plane),
            ("source", source),
            ("id", id),
            ("host", host),
        ];
        raised(&error, &all)
    })?;
    checked(py, &subject, Form::Subject)
}

/// The pattern that receives the replies to the instance `id` of `host`.
#[pyfunction]
#[pyo3(signature = (*, plane, host, id))]
pub fn encode_reply_subscription<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    host: &Any<'py>,
    id: &Any<'py>,
) -> PyResult<Any<'py>> {
    let pattern = microbus::encode_reply_subscription(
        text(plane, "plane")?,
        text(host, "host")?,
        text(id, "id")?,
    )
    .map_err(|error| raised(&error, &[("plane", plane), ("id", id), ("host", host)]))?;
    checked(py, &pattern, Form::Pattern)
}

/// The subject of a request to a URL.
#[pyfunction]
#[pyo3(signature = (*, plane, source, method, url))]
pub fn request_from_url<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    source: &Any<'py>,
    method: &Any<'py>,
    url: &Any<'py>,
) -> PyResult<Any<'py>> {
    let subject = microbus::request_from_url(
        text(plane, "plane")?,
        text(source, "source")?,
        text(method, "method")?,
        text(url, "url")?,
    )
    .map_err(|error| {
        let all = [
            ("plane", plane),
            ("source", source),
            ("method", method),
            ("url", url),
        ];
        raised(&error, &all)
    })?;
    checked(py, &subject, Form::Subject)
}

/// The pattern of an endpoint of the service `host`.
#[pyfunction]
#[pyo3(
    signature = (*, plane, host, method, route, slot=Optional::default()),
    text_signature = "(*, plane, host, method, route, slot='')"
)]
pub fn subscription_from_route<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    host: &Any<'py>,
    method: &Any<'py>,
    route: &Any<'py>,
    slot: Optional<'py>,
) -> PyResult<Any<'py>> {
    let slot = &slot.or_empty(py);
    let pattern = microbus::subscription_from_route(
        text(plane, "plane")?,
        text(host, "host")?,
        text(method, "method")?,
        text(route, "route")?,
        text(slot, "slot")?,
    )
    .map_err(|error| {
        let all = [
            ("plane", plane),
            ("host", host),
            ("method", method),
            ("slot", slot),
            ("route", route),
        ];
        raised(&error, &all)
    })?;
    checked(py, &pattern, Form::Pattern)
}

/// The host, port and decoded path of a route.
#[pyfunction]
#[pyo3(signature = (*, host, route))]
pub fn resolve_route<'py>(
    py: Python<'py>,
    host: &Any<'py>,
    route: &Any<'py>,
) -> PyResult<Any<'py>> {
    static TARGET: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let target = microbus::resolve_route(text(host, "host")?, text(route, "route")?)
        .map_err(|error| raised(&error, &[("host", host), ("route", route)]))?;
    TARGET
        .import(py, "subtrie.address", "Target")?
        .call1((target.host, target.port, target.path))
}

/// The address of a canonical subject.
#[pyfunction]
pub fn decode<'py>(py: Python<'py>, subject: &Any<'py>) -> PyResult<Any<'py>> {
    static REQUEST: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    static REPLY: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let address = microbus::decode(text(subject, "subject")?)
        .map_err(|error| raised(&error, &[("subject", subject)]))?;
    match address {
        Address::Request(request) => REQUEST
            .import(py, "subtrie.address", "RequestAddress")?
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
        Address::Reply(reply) => REPLY.import(py, "subtrie.address", "ReplyAddress")?.call1((
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
        .import(py, "subtrie.address", "SubscriptionAddress")?
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

/// Text, or `None` where a lone surrogate is in it, which no message can carry.
fn encodable<'a>(value: &'a Any<'_>, name: &str) -> PyResult<Option<&'a str>> {
    let string = value
        .cast::<PyString>()
        .map_err(|_| wrong_type(value, name, "str"))?;
    Ok(string.to_str().ok())
}

/// A function of one text, whose refusal blames that text.
macro_rules! of_one_text {
    ($(#[$doc:meta])* $name:ident($argument:ident) -> $result:ty) => {
        $(#[$doc])*
        #[pyfunction]
        pub fn $name($argument: &Any<'_>) -> PyResult<$result> {
            microbus::$name(text($argument, stringify!($argument))?)
                .map(Into::into)
                .map_err(|error| {
                    let name = stringify!($argument);
                    raised(&error.of(name), &[(name, $argument)])
                })
        }
    };
}

of_one_text! {
    /// The host of a canonical token.
    unflatten_host(token) -> String
}
of_one_text! {
    /// The path part of a canonical token.
    unescape_segment(token) -> String
}
of_one_text! {
    /// The host, if a service may have it.
    check_identity_host(host) -> String
}
of_one_text! {
    /// The host in lower case, if a route may name it.
    check_route_host(host) -> String
}
of_one_text! {
    /// The path with its leading slash, if its arguments are well formed.
    check_route_path(path) -> String
}
of_one_text! {
    /// The plane, if it is one.
    check_plane(plane) -> String
}
of_one_text! {
    /// The method in upper case, if it is one of the nine or ANY.
    check_method(method) -> String
}
of_one_text! {
    /// The locality, broadest first.
    check_locality(locality) -> String
}
of_one_text! {
    /// The slot of one whole locality; empty text has none.
    locality_slot(locality) -> String
}

/// The token of a host, in lower case.
#[pyfunction]
pub fn flatten_host(host: &Any<'_>) -> PyResult<String> {
    Ok(microbus::flatten_host(text(host, "host")?))
}

/// The token of one path part.
#[pyfunction]
pub fn escape_segment(segment: &Any<'_>) -> PyResult<String> {
    Ok(microbus::escape_segment(text(segment, "segment")?))
}

/// Lifts a leading `id-…` or `loc-…` label off a host.
#[pyfunction]
pub fn cut_slot(host: &Any<'_>) -> PyResult<(String, String)> {
    microbus::cut_slot(text(host, "host")?)
        .map(|(rest, slot)| (rest.to_owned(), slot))
        .map_err(|error| raised(&error.of("host"), &[("host", host)]))
}

/// The slots of a locality, broadest first.
#[pyfunction]
pub fn locality_slots<'py>(py: Python<'py>, locality: &Any<'py>) -> PyResult<Bound<'py, PyTuple>> {
    let slots = microbus::locality_slots(text(locality, "locality")?)
        .map_err(|error| raised(&error.of("locality"), &[("locality", locality)]))?;
    PyTuple::new(py, slots)
}

/// The longest common prefix of two localities, by whole parts.
#[pyfunction]
pub fn common_locality(one: &Any<'_>, other: &Any<'_>) -> PyResult<String> {
    let (one, other) = (text(one, "one")?, text(other, "other")?);
    Ok(microbus::common_locality(one, other).to_owned())
}
