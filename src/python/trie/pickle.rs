//! Pickles and deep copies of a `SubjectTrie`; a pickle is the same in both engines.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyTuple};

use super::build::shared;
use super::state::{NewRow, Objects};
use super::subject_trie::SubjectTrie;
use crate::trie::SubscriptionRef;
use std::sync::atomic::Ordering;

/// The result of `__reduce__`. A value may refer to the index, so values are state.
pub fn reduce<'py>(trie: &SubjectTrie, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
    trie.all_handles(py)?;
    let rows: Vec<NewRow> = trie.state.read(py, |state| {
        let index = &state.index;
        let row = |found: SubscriptionRef| {
            let objects = state.get(found)?;
            Some(NewRow {
                id: found.id,
                pattern: index.pattern(found)?.into(),
                queue: index.queue(found).map(Into::into),
                turn: index.turn(found),
                objects: objects.clone_ref(py),
            })
        };
        index.subscriptions().into_iter().filter_map(row).collect()
    });
    let next = trie.next_id.load(Ordering::Relaxed);
    let rows = rows
        .into_iter()
        .map(|row| {
            let Objects { handle, value, .. } = row.objects;
            let handle = handle.into_inner();
            let queue = row.queue.as_deref();
            (handle, &*row.pattern, value, queue, row.id, row.turn).into_pyobject(py)
        })
        .collect::<PyResult<Vec<_>>>()?;
    let state = (next, PyTuple::new(py, rows)?);
    let arguments = (trie.builder.dialect.name(), trie.given.0, trie.given.1);
    (shared!(py, "empty_trie")?, arguments, state).into_pyobject(py)
}

/// A copy whose values and handles are copied as well.
pub fn deepcopy<'py>(
    trie: &Bound<'py, SubjectTrie>,
    memo: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, SubjectTrie>> {
    static DEEPCOPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = trie.py();
    let this = trie.get();
    let copy = Bound::new(py, SubjectTrie::empty(this.builder.dialect, this.given))?;
    memo.set_item(trie.as_ptr() as usize, &copy)?;
    let state = reduce(this, py)?.get_item(2)?;
    let deepcopy = DEEPCOPY.import(py, "copy", "deepcopy")?;
    copy.call_method1("__setstate__", (deepcopy.call1((state, memo))?,))?;
    Ok(copy)
}
