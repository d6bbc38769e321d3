//! Pickles and deep copies of a `SubjectTrie`; a pickle is the same in both engines.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyAny, PyTuple};

use super::retained_values::value_in;
use super::shared_names::shared;
use super::subject_trie::SubjectTrie;
use super::subscription::Subscription;
use std::sync::atomic::Ordering;
use subtrie::raw::SubscriptionRef;

/// The handle if it is made, pattern, value, queue, id, turn.
type Row = (
    Option<Py<Subscription>>,
    String,
    Py<PyAny>,
    Option<String>,
    u64,
    u64,
);

/// The result of `__reduce__`. A value may refer to the index, so values are state.
pub fn reduce<'py>(trie: &SubjectTrie, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
    trie.ensure_index(py)?;
    let next = trie.next_id.load(Ordering::Relaxed);
    let rows: Vec<Row> = trie.state.read(py, |state| {
        let index = &state.index;
        let row = |found: SubscriptionRef| {
            let handle = state.handles.get(found.slot.index())?.get();
            Some((
                handle.map(|handle| handle.clone_ref(py)),
                index.pattern(found)?,
                value_in(py, state.single(found)?)?.unbind(),
                index.queue(found).map(Into::into),
                found.id,
                index.turn(found),
            ))
        };
        index.subscriptions().into_iter().filter_map(row).collect()
    })?;
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
