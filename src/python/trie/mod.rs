//! The bindings of the index: `SubjectTrie`, and `Matches`, the result of a batch.
//!
//! From the bottom up: `retained_values` and `image`; `shared_state`, how readers and writers share a
//! state; `state`, the index and its Python objects;
//! `build`, which validates rows and builds states; `subject_trie`, the class; `matches`, the
//! result of a batch; and `methods`, what Python calls.

mod build;
mod image;
mod matches;
mod methods;
mod retained_values;
mod shared_state;
mod state;
mod subject_trie;

pub use matches::Matches;
pub use shared_state::register;
pub use subject_trie::SubjectTrie;
