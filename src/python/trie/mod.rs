//! The bindings of the index: `SubjectTrie`, and `Matches`, the result of a batch.
//!
//! From the bottom up: `retained_values` and `image`; `shared_state`, how readers and writers share a
//! state; `state`, the index and its Python objects;
//! `build` and `bulk_load`, which validate rows and build states; `subject_trie`, the class; `matches`, the
//! result of a batch; and `methods` and `fast_methods`, what Python calls.

mod build;
mod bulk_load;
mod collector;
mod fast_methods;
mod image;
mod matches;
mod methods;
mod nearest;
mod pickle;
mod retained_values;
mod scratch;
mod shared_state;
mod state;
mod subject_trie;

pub use matches::Matches;
pub use nearest::nearest_batch;
pub use subject_trie::SubjectTrie;

use pyo3::{PyResult, Python};

/// Prepares what depends on the interpreter.
pub fn register(py: Python<'_>) -> PyResult<()> {
    shared_state::register(py)?;
    fast_methods::register(py)
}
