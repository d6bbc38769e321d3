//! `trie` for Python: `SubjectTrie`, and the results of its batches.
//!
//! From the ground up: `departed` and `opened`, the `state` behind an index, the `rows` that go in,
//! the `subject_trie` itself, `matches` of a batch, and the `methods` that Python calls.

mod departed;
mod matches;
mod methods;
mod opened;
mod rows;
mod state;
mod subject_trie;

pub use matches::Matches;
pub use subject_trie::SubjectTrie;
