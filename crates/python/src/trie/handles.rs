//! Handles: made for the rows that are added, or when they are asked for.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::build::{StateBuilder, ValidRow, texts};
use super::state::{Handle, HandleCell, Parts};
use super::subject_trie::SubjectTrie;
use super::subscription::{Fields, Subscription, pattern_of};

impl StateBuilder {
    /// Reserves ids, makes the handles without a lock, and inserts all rows in one change.
    pub fn subscribe<'py>(
        self,
        py: Python<'py>,
        trie: &SubjectTrie,
        valid: &[ValidRow<'py>],
    ) -> PyResult<Vec<Py<Subscription>>> {
        let (patterns, queues) = texts(py, valid)?;
        let bytes = patterns.iter().map(|pattern| pattern.len()).sum();
        let first = trie.reserve(py, valid.len(), bytes)?;
        let mut singles = Vec::with_capacity(valid.len());
        let mut made = Vec::with_capacity(valid.len());
        // In this order the number after the last possible id is not computed.
        for (row, id) in valid.iter().zip(first..) {
            let single = PyTuple::new(py, [&row.value])?.unbind();
            let fields = Fields {
                id,
                pattern: Mutex::new(row.pattern.clone_ref(py)),
                dialect: self.dialect,
                single: single.clone_ref(py),
                queue: row.queue.as_ref().map(|queue| queue.clone_ref(py)),
            };
            made.push(Subscription::create(py, fields)?);
            singles.push(single);
        }
        let row = |at: usize| (first + at as u64, queues[at], 0);
        let handles = made.iter().map(|made| HandleCell::from(made.clone_ref(py)));
        trie.state
            .write(py, |state| state.insert(&patterns, row, singles, handles))?;
        Ok(made)
    }
}

/// The `Pattern` of patterns that several subscriptions have, by number.
pub type Patterns = HashMap<u32, Py<PyString>>;

impl SubjectTrie {
    /// Makes the handles that are not made yet. Those of one pattern share its `Pattern`, as there
    /// may be very many of them: `patterns` has these.
    pub(super) fn made<'py>(
        &self,
        py: Python<'py>,
        handles: Vec<Handle>,
        patterns: &mut Patterns,
    ) -> PyResult<Vec<Bound<'py, Subscription>>> {
        let dialect = self.builder.dialect;
        let mut make = |handle| {
            let parts: Parts = match handle {
                Handle::Made(handle) => return Ok(handle.into_bound(py)),
                Handle::ToMake(parts) => parts,
            };
            let pattern = match parts.shared_pattern.map(|number| patterns.entry(number)) {
                None => PyString::new(py, &parts.pattern).unbind(),
                Some(Entry::Occupied(known)) => known.get().clone_ref(py),
                Some(Entry::Vacant(unknown)) => {
                    let made = pattern_of(py, &parts.pattern, dialect)?.unbind();
                    unknown.insert(made).clone_ref(py)
                }
            };
            let fields = Fields {
                id: parts.id,
                pattern: Mutex::new(pattern),
                dialect,
                single: parts.single,
                queue: parts.queue.map(|queue| PyString::new(py, &queue).unbind()),
            };
            self.keep_handle(py, parts.id, Subscription::create(py, fields)?)
        };
        handles.into_iter().map(&mut make).collect()
    }
}
