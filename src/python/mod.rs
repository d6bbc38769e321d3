//! The extension module: convert in, call the core, convert out. Nothing here decides anything.

mod arrow;
mod convert;
mod grammar;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _subtrie {
    #[pymodule_export]
    use super::grammar::{check_pattern, check_subject, covers, matches, overlaps};
}
