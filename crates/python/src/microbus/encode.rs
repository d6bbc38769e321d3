//! Encoding of addresses to `Subject` and `Pattern`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyString, PyTuple, PyType};

use super::args::{Any, address_error, new_text, or_empty, port_text, text};
use crate::args::OptionalArg;
use subtrie::error::Error;
use subtrie::grammar::Form;
use subtrie::microbus::{
    self, AbsoluteUrl, ReplyParts, RequestParts, RequestTarget, SubscriptionParts,
};

/// Arguments with their names.
macro_rules! named {
    ($($name:ident),+) => { &[$((stringify!($name), $name)),+] };
}

/// The text of an argument.
macro_rules! text {
    ($name:ident) => {
        text($name, stringify!($name))?
    };
}

/// Define a function that encodes its arguments to a `Subject` or a `Pattern`.
macro_rules! encoder {
    ($(#[$doc:meta])* $name:ident($($argument:ident),+ $(; $slot:ident, $signature:tt)?) -> $form:ident,
     $encode:expr) => {
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(
            signature = (*, $($argument,)+ $($slot=OptionalArg::default())?),
            $(text_signature = $signature)?
        )]
        #[allow(clippy::too_many_arguments)] // the parts of an address
        pub fn $name<'py>(
            py: Python<'py>,
            $($argument: &Any<'py>,)+
            $($slot: OptionalArg<'py>)?
        ) -> PyResult<Any<'py>> {
            $(let $slot = &or_empty(py, $slot);)?
            let encoded = $encode
                .map_err(|error| address_error(&error, named!($($argument),+ $(, $slot)?)))?;
            new_text(py, &encoded, Form::$form)
        }
    };
}

encoder! {
    /// Encode the subject of a request.
    encode_request(
        plane, port, source, host, method, path;
        slot, "(*, plane, port, source, host, method, path, slot='')"
    ) -> Subject,
    microbus::encode_request(&RequestParts {
        plane: text!(plane),
        port: port_text(port)?,
        source: text!(source),
        host: text!(host),
        method: text!(method),
        path: text!(path),
        slot: text!(slot),
    })
}

encoder! {
    /// Encode the pattern that subscribes to the requests of one endpoint.
    encode_subscription(
        plane, port, host, method, path; slot, "(*, plane, port, host, method, path, slot='')"
    ) -> Pattern,
    microbus::encode_subscription(&SubscriptionParts {
        plane: text!(plane),
        port: port_text(port)?,
        host: text!(host),
        method: text!(method),
        path: text!(path),
        slot: text!(slot),
    })
}

encoder! {
    /// Encode the subject of a reply from `source` to the instance `id` of `host`.
    encode_reply(plane, source, host, id) -> Subject,
    microbus::encode_reply(&ReplyParts {
        plane: text!(plane),
        source: text!(source),
        host: text!(host),
        id: text!(id),
    })
}

encoder! {
    /// Encode the pattern that subscribes to the replies to the instance `id` of `host`.
    encode_reply_subscription(plane, host, id) -> Pattern,
    microbus::encode_reply_subscription(text!(plane), text!(host), text!(id))
}

encoder! {
    /// Encode the subject of a request to a URL.
    request_from_url(plane, source, method, url) -> Subject,
    microbus::request_from_url(text!(plane), text!(source), text!(method), text!(url))
}

encoder! {
    /// Encode the pattern that subscribes to the requests of a route of the service `host`.
    subscription_from_route(
        plane, host, method, route; slot, "(*, plane, host, method, route, slot='')"
    ) -> Pattern,
    microbus::subscription_from_route(
        text!(plane), text!(host), text!(method), text!(route), text!(slot),
    )
}

/// Parse a URL to its text with the port, scheme, host, port, path and query.
#[pyfunction]
pub fn absolute_url<'py>(py: Python<'py>, url: &Any<'py>) -> PyResult<Bound<'py, PyTuple>> {
    let parsed =
        microbus::absolute_url(text!(url)).map_err(|error| address_error(&error, named!(url)))?;
    PyTuple::new(py, url_parts(&parsed))
}

/// The parts of a URL in the order of `ParsedURL`.
fn url_parts(url: &AbsoluteUrl) -> [&str; 6] {
    let (scheme, host) = (url.scheme(), url.host());
    [&url.text, scheme, host, url.port(), url.path(), url.query()]
}

/// Parse a URL, and encode the subject of a request to it.
#[pyfunction]
#[pyo3(signature = (*, plane, source, method, url))]
pub fn request_target<'py>(
    py: Python<'py>,
    plane: &Any<'py>,
    source: &Any<'py>,
    method: &Any<'py>,
    url: &Any<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let target = microbus::request_target(text!(plane), text!(source), text!(method), text!(url))
        .map_err(|error| target_error(py, &error, (plane, source), method, url))?;
    let subject = new_text(py, &target.subject, Form::Subject)?;
    target_parts(py, &target, subject)
}

/// The exception for a URL without a target; a position is one in the text with the port.
pub(super) fn target_error<'py>(
    py: Python<'py>,
    error: &Error,
    (plane, source): (&Any<'py>, &Any<'py>),
    method: &Any<'py>,
    url: &Any<'py>,
) -> PyErr {
    let with_port = text(url, "url")
        .ok()
        .and_then(|given| microbus::absolute_url(given).ok());
    let url = with_port.map_or_else(
        || url.clone(),
        |url| PyString::new(py, &url.text).into_any(),
    );
    let all = [
        ("plane", plane),
        ("source", source),
        ("method", method),
        ("url", &url),
    ];
    address_error(error, &all)
}

/// The parts of a target in the order of `request_target`.
pub(super) fn target_parts<'py>(
    py: Python<'py>,
    target: &RequestTarget,
    subject: Any<'py>,
) -> PyResult<Bound<'py, PyTuple>> {
    let url = &target.url;
    let scheme = match url.scheme() {
        "https" => intern!(py, "https").clone(),
        other => PyString::new(py, other),
    };
    let port = match url.port() {
        "443" => intern!(py, "443").clone(),
        other => PyString::new(py, other),
    };
    let path = PyString::new(py, url.path());
    let decoded = if target.path == url.path() {
        path.clone()
    } else {
        PyString::new(py, &target.path)
    };
    let [text, host, query] =
        [&url.text, url.host(), url.query()].map(|part| PyString::new(py, part));
    let parts = [
        text.into_any(),
        scheme.into_any(),
        host.into_any(),
        port.into_any(),
        path.into_any(),
        query.into_any(),
        decoded.into_any(),
        subject,
    ];
    PyTuple::new(py, parts)
}

/// Return the host, port and decoded path of a route.
#[pyfunction]
#[pyo3(signature = (*, host, route))]
pub fn resolve_route<'py>(
    py: Python<'py>,
    host: &Any<'py>,
    route: &Any<'py>,
) -> PyResult<Any<'py>> {
    static TARGET: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let target = microbus::resolve_route(text!(host), text!(route))
        .map_err(|error| address_error(&error, named!(host, route)))?;
    TARGET
        .import(py, "subtrie._core.address", "Target")?
        .call1((target.host, target.port, target.path))
}
