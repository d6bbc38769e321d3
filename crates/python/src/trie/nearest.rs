//! `nearest_batch`: subjects in, the nearest patterns out as buffers.

use arrow_buffer::Buffer;
use pyo3::prelude::*;

use super::matches::{Trie, batch_error};
use super::subject_trie::SubjectTrie;
use crate::arrow::{columns, view};
use subtrie_columns::nearest_columns;

/// Return the id of the nearest pattern of each subject, and the first token that differs.
///
/// Both are `memoryview`s of int32, with -1 for a subject that is null, not valid, or matched. Runs
/// without the GIL; changes of the index wait.
#[pyfunction]
pub fn nearest_batch<'py>(
    trie: &Bound<'py, SubjectTrie>,
    subjects: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = trie.py();
    let columns = columns(subjects)?;
    let this = trie.get();
    let found = py
        .detach(|| nearest_columns(&Trie(&this.state), &columns))
        .map_err(|error| batch_error(&error))?;
    Ok((
        view(py, &Buffer::from_vec(found.ids), "i")?,
        view(py, &Buffer::from_vec(found.differs_at), "i")?,
    ))
}
