//! The bindings of the index: `SubjectTrie`, and `Matches`, the result of a batch.
//!
//! From the bottom up: `shared_names` and `retained_values`; `subscription` and `shared_handles`, the
//! handles; `image`; `shared_state`, how readers and writers share a state; `state`, the index and its
//! Python objects; `build`, which validates rows and builds states; `subject_trie`, the class; `handles`,
//! which makes handles, and `bulk_load`; `matches`, the result of a batch; `query`,
//! what may take long; and `methods` and `fast_methods`, what Python calls.

mod build;
mod bulk_load;
mod collector;
mod fast_methods;
mod handles;
mod image;
mod matches;
mod methods;
mod nearest;
mod pickle;
mod primitives;
mod query;
mod retained_values;
mod scratch;
mod shared_handles;
mod shared_names;
mod shared_state;
mod state;
mod subject_trie;
mod subscription;

pub use matches::Matches;
pub use nearest::nearest_batch;
pub use subject_trie::SubjectTrie;
pub use subscription::{Subscription, blank_subscription};

use pyo3::{PyResult, Python};

/// Prepares what depends on the interpreter.
pub fn register(py: Python<'_>) -> PyResult<()> {
    fast_methods::register(py)
}
