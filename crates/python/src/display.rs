//! The text and the HTML of an object for notebooks, from `subtrie._core.display`, for both engines.

use pyo3::prelude::*;

/// Return what a function of `subtrie._core.display` makes of an object.
///
/// # Errors
/// What the function raises.
pub fn shown<'py>(of: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    of.py()
        .import("subtrie._core.display")?
        .call_method1(function, (of,))
}
