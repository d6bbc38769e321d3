//! The parts of an address on their own: hosts, slots, localities, path parts.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::args::{Any, raised, text};
use crate::microbus;

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
                    raised(&error.in_field(name), &[(name, $argument)])
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
        .map_err(|error| raised(&error.in_field("host"), &[("host", host)]))
}

/// The slots of a locality, broadest first.
#[pyfunction]
pub fn locality_slots<'py>(py: Python<'py>, locality: &Any<'py>) -> PyResult<Bound<'py, PyTuple>> {
    let slots = microbus::locality_slots(text(locality, "locality")?)
        .map_err(|error| raised(&error.in_field("locality"), &[("locality", locality)]))?;
    PyTuple::new(py, slots)
}

/// The longest common prefix of two localities, by whole parts.
#[pyfunction]
pub fn common_locality(one: &Any<'_>, other: &Any<'_>) -> PyResult<String> {
    let (one, other) = (text(one, "one")?, text(other, "other")?);
    Ok(microbus::common_locality(one, other).to_owned())
}
