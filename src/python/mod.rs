//! The extension module: convert in, call the core, convert out. Nothing here decides anything.

mod arrow;
mod convert;
mod grammar;
mod matches;
mod trie;
mod trie_rows;
mod trie_state;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _subtrie {
    #[pymodule_export]
    use super::grammar::{check_pattern, check_subject, covers, matches, overlaps};
    #[pymodule_export]
    use super::matches::Matches;
    #[pymodule_export]
    use super::trie::SubjectTrie;
}
