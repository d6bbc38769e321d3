//! The state of a `SubjectTrie`: the index and, by slot, the Python objects.
//!
//! Objects that a change removes are returned and dropped later, because no Python code may run
//! during a change ([`SharedState`]).

use std::sync::Arc;

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
    pub handle: Py<PyAny>,
}

/// The object of a subscription that a method returns.
#[derive(Clone, Copy)]
pub enum ObjectKind {
    Handle,
    Value,
}

impl Objects {
    pub fn new(value: Bound<'_, PyAny>, handle: Py<PyAny>) -> PyResult<Self> {
        Ok(Self {
            singleton: PyTuple::new(value.py(), [&value])?.unbind(),
            value: value.unbind(),
            handle,
        })
    }

    pub fn object(&self, py: Python<'_>, kind: ObjectKind) -> Py<PyAny> {
        match kind {
            ObjectKind::Handle => self.handle.clone_ref(py),
            ObjectKind::Value => self.value.clone_ref(py),
        }
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Self {
        Self {
            value: self.value.clone_ref(py),
            singleton: self.singleton.clone_ref(py),
            handle: self.handle.clone_ref(py),
        }
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

    /// The objects of one kind of several subscriptions.
    pub fn objects(
        &self,
        py: Python<'_>,
        found: &[SubscriptionRef],
        kind: ObjectKind,
    ) -> Vec<Py<PyAny>> {
        let mut objects = Vec::with_capacity(found.len());
        self.objects_into(py, found, kind, &mut objects);
        objects
    }

    pub fn objects_into(
        &self,
        py: Python<'_>,
        found: &[SubscriptionRef],
        kind: ObjectKind,
        into: &mut Vec<Py<PyAny>>,
    ) {
        let objects = found.iter().filter_map(|&found| self.get(found));
        into.extend(objects.map(|objects| objects.object(py, kind)));
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
        if !self.get(found)?.handle.is(handle) {
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
