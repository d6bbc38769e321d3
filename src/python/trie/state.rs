//! The state of a `SubjectTrie`: the index and, by slot, the Python objects.
//!
//! Objects that a change removes are returned and dropped later, because no Python code may run
//! during a change ([`SharedState`]).

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::image::OpenedImage;
use super::shared_state::SharedState;
use crate::trie::{Index, SubscriptionRef};

/// The Python objects of a subscription.
///
/// They are dropped in this order, so the last reference to the value is that of the handle. Python
/// deallocates nested handles without recursion; therefore tries within tries of any depth do not
/// exhaust the stack.
pub struct Objects {
    pub value: Py<PyAny>,
    /// The result of a lookup that finds this subscription only.
    pub singleton: Py<PyTuple>,
    /// Made when it is asked for.
    pub handle: OnceLock<Py<PyAny>>,
}

/// A handle, or what it is made of.
pub enum Handle {
    Made(Py<PyAny>),
    ToMake {
        id: u64,
        pattern: String,
        value: Py<PyAny>,
        queue: Option<String>,
    },
}

impl Objects {
    pub fn new(value: Bound<'_, PyAny>, handle: Option<Py<PyAny>>) -> PyResult<Self> {
        Ok(Self {
            singleton: PyTuple::new(value.py(), [&value])?.unbind(),
            value: value.unbind(),
            handle: handle.map_or_else(OnceLock::new, OnceLock::from),
        })
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        let handle = self.handle.get().map(|handle| handle.clone_ref(py));
        Self {
            value: self.value.clone_ref(py),
            singleton: self.singleton.clone_ref(py),
            handle: handle.map_or_else(OnceLock::new, OnceLock::from),
        }
    }

    /// Whether this is the handle.
    pub fn is_handle(&self, handle: &Bound<'_, PyAny>) -> bool {
        self.handle.get().is_some_and(|own| own.is(handle))
    }
}

/// A row to be inserted: validated, with its handle made and its id reserved.
pub struct NewRow {
    pub id: u64,
    pub pattern: Arc<str>,
    pub queue: Option<Arc<str>>,
    pub turn: u64,
    pub objects: Objects,
}

/// The index and, by slot, the objects.
pub struct State {
    pub index: Index,
    pub objects: Vec<Objects>,
    /// The image that subjects are looked up in instead, until the first change.
    pub image: Option<Arc<OpenedImage>>,
}

impl State {
    pub fn new(index: Index) -> Self {
        Self {
            index,
            objects: Vec::new(),
            image: None,
        }
    }

    /// An independent state with the same objects.
    pub fn copy(&self, py: Python<'_>) -> Self {
        Self {
            index: self.index.clone(),
            objects: self.objects.iter().map(|one| one.clone_ref(py)).collect(),
            image: self.image.clone(),
        }
    }

    /// The objects of a subscription that was just found.
    pub fn get(&self, found: SubscriptionRef) -> Option<&Objects> {
        self.objects.get(found.slot.index())
    }

    /// The values of several subscriptions.
    pub fn values(&self, py: Python<'_>, found: &[SubscriptionRef]) -> Vec<Py<PyAny>> {
        let objects = found.iter().filter_map(|&found| self.get(found));
        objects.map(|objects| objects.value.clone_ref(py)).collect()
    }

    /// The handles of several subscriptions, as far as they are made.
    pub fn handles(&self, py: Python<'_>, found: &[SubscriptionRef]) -> Vec<Handle> {
        let handle = |&found: &SubscriptionRef| {
            let objects = self.get(found)?;
            Some(match objects.handle.get() {
                Some(handle) => Handle::Made(handle.clone_ref(py)),
                None => Handle::ToMake {
                    id: found.id,
                    pattern: self.index.pattern(found)?,
                    value: objects.value.clone_ref(py),
                    queue: self.index.queue(found).map(Into::into),
                },
            })
        };
        found.iter().filter_map(handle).collect()
    }

    /// Inserts valid rows with consecutive ids. `queues` is empty if there are none.
    pub fn insert_columns(
        &mut self,
        first: u64,
        patterns: &[&str],
        queues: &[Option<&str>],
        objects: Vec<Objects>,
    ) {
        self.index.prepare_bulk_load(patterns.iter().copied());
        self.objects.reserve_exact(objects.len());
        for (row, (id, pattern)) in (first..).zip(patterns).enumerate() {
            let queue = queues.get(row).copied().flatten();
            self.index.insert_reserved(id, pattern, queue, 0);
        }
        self.objects.extend(objects);
    }

    /// Inserts rows. Cannot fail.
    pub fn insert(&mut self, rows: Vec<NewRow>) {
        self.index
            .prepare_bulk_load(rows.iter().map(|row| &*row.pattern));
        if rows.len() > 1 {
            self.objects.reserve_exact(rows.len());
        }
        for row in rows {
            self.index
                .insert_reserved(row.id, &row.pattern, row.queue.as_deref(), row.turn);
            self.objects.push(row.objects);
        }
    }

    /// Removes the subscription with this id if `handle` is its handle.
    pub fn remove(&mut self, id: u64, handle: &Bound<'_, PyAny>) -> Option<Objects> {
        let found = self.index.find(id)?;
        if !self.get(found)?.is_handle(handle) {
            return None;
        }
        let slot = self.index.remove(id)?;
        let removed = self.objects.swap_remove(slot.index());
        if self.objects.capacity() > 4 * self.objects.len() {
            self.objects.shrink_to(2 * self.objects.len());
        }
        Some(removed)
    }

    /// Removes everything, and returns the objects.
    pub fn clear(&mut self) -> (Vec<Objects>, Option<Arc<OpenedImage>>) {
        self.index.clear();
        (std::mem::take(&mut self.objects), self.image.take())
    }
}

/// Replaces the state, and returns the old one, to be dropped without a lock.
pub fn replace(py: Python<'_>, state: &SharedState<State>, fresh: State) -> State {
    state.write(py, |state| std::mem::replace(state, fresh))
}
