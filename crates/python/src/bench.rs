//! A function for the benchmarks alone: built with the feature `bench`, and not in any wheel.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Return an empty tuple: the cost of a native call that looks up nothing.
#[pyfunction]
pub fn _empty_call<'py>(subject: &Bound<'py, PyAny>) -> Bound<'py, PyTuple> {
    PyTuple::empty(subject.py())
}
