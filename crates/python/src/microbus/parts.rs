//! Validation and conversion of single parts of an address: hosts, slots, localities, path segments.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{Any, address_error, text};
use subtrie::microbus;

/// Define a function of one text; its errors name that text.
macro_rules! of_one_text {
    ($(#[$doc:meta])* $name:ident($argument:ident) -> $result:ty) => {
        $(#[$doc])*
        #[pyfunction]
        pub fn $name($argument: &Any<'_>) -> PyResult<$result> {
            microbus::$name(text($argument, stringify!($argument))?)
                .map(Into::into)
                .map_err(|error| {
                    let name = stringify!($argument);
                    address_error(&error.in_field(name), &[(name, $argument)])
                })
        }
    };
}

of_one_text! {
    /// Return the host of a token in canonical form.
    unflatten_host(token) -> String
}
of_one_text! {
    /// Return the path segment of a token in canonical form.
    unescape_segment(token) -> String
}
of_one_text! {
    /// Validate the host of a service.
    check_identity_host(host) -> String
}
of_one_text! {
    /// Validate a host that a route names, and return it in lower case.
    check_route_host(host) -> String
}
of_one_text! {
    /// Validate the path arguments of a route, and return the path with one leading slash.
    check_route_path(path) -> String
}
of_one_text! {
    /// Validate a plane.
    check_plane(plane) -> String
}
of_one_text! {
    /// Return a method in upper case: one of the nine, or ANY.
    check_method(method) -> String
}
of_one_text! {
    /// Validate a locality, and return it broadest part first.
    check_locality(locality) -> String
}
of_one_text! {
    /// Return the slot of one whole locality, empty for an empty locality.
    locality_slot(locality) -> String
}

/// Escape a host as a token, in lower case.
#[pyfunction]
pub fn flatten_host(host: &Any<'_>) -> PyResult<String> {
    Ok(microbus::flatten_host(text(host, "host")?))
}

/// Escape one path segment as a token.
#[pyfunction]
pub fn escape_segment(segment: &Any<'_>) -> PyResult<String> {
    Ok(microbus::escape_segment(text(segment, "segment")?))
}

/// Split a leading `id-…` or `loc-…` label off a host.
#[pyfunction]
pub fn cut_slot(host: &Any<'_>) -> PyResult<(String, String)> {
    microbus::cut_slot(text(host, "host")?)
        .map(|(rest, slot)| (rest.to_owned(), slot))
        .map_err(|error| address_error(&error.in_field("host"), &[("host", host)]))
}

/// Return one slot for each prefix of a locality, broadest first.
#[pyfunction]
pub fn locality_slots<'py>(py: Python<'py>, locality: &Any<'py>) -> PyResult<Bound<'py, PyTuple>> {
    let slots = microbus::locality_slots(text(locality, "locality")?)
        .map_err(|error| address_error(&error.in_field("locality"), &[("locality", locality)]))?;
    PyTuple::new(py, slots)
}

/// Return the longest common prefix of two localities in whole parts.
#[pyfunction]
pub fn common_locality(one: &Any<'_>, other: &Any<'_>) -> PyResult<String> {
    let (one, other) = (text(one, "one")?, text(other, "other")?);
    Ok(microbus::common_locality(one, other).to_owned())
}
