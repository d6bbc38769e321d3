//! Values of removed subscriptions, retained while results of batches may still ask for them.
//!
//! Ids ascend, so a result of a batch asks for ids below the next id at its end. Results with the
//! same next id form a group. A removed value belongs to the newest group, and passes to the group
//! before when that one ends: so each value goes with the last result that may ask for it, and no
//! value is retained for results that are older than its subscription.

use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The group of batches that are not done: they may find any id.
const RUNNING: u64 = u64::MAX;

/// The value in the result of a lookup that finds one subscription.
#[inline]
pub fn value_in<'py>(py: Python<'py>, single: &Py<PyTuple>) -> Option<Bound<'py, PyAny>> {
    single.bind(py).get_item(0).ok()
}

/// The groups of live results by next id, and the values removed meanwhile by id.
#[derive(Default)]
pub struct RetainedValues(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    groups: BTreeMap<u64, RetainedGroup>,
    values: HashMap<u64, Py<PyAny>, RandomState>,
}

/// Results with the same next id.
#[derive(Default)]
struct RetainedGroup {
    results: usize,
    /// The ids of the values that belong to the group, the highest on top.
    removed: BinaryHeap<u64>,
}

/// A batch that is not done, until it is dropped.
pub struct RunningBatch<'a>(&'a RetainedValues);

impl Drop for RunningBatch<'_> {
    fn drop(&mut self) {
        self.0.remove_result(RUNNING);
    }
}

impl RetainedValues {
    // No Python code runs while the lock is held.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a batch, until what is returned is dropped.
    pub fn begin_batch(&self) -> RunningBatch<'_> {
        self.inner().add(RUNNING);
        RunningBatch(self)
    }

    /// Counts the result of a batch, with the next id at its end.
    pub fn add_result(&self, next_id: u64) {
        self.inner().add(next_id);
    }

    /// Counts one result less, and drops the values that no other one may ask for.
    pub fn remove_result(&self, next_id: u64) {
        let dropped = self.inner().remove(next_id);
        drop(dropped); // after the lock, as it may run Python
    }

    /// Whether there is a result, or a running batch, that may ask for a value removed now.
    pub fn has_results(&self) -> bool {
        !self.inner().groups.is_empty()
    }

    /// Retains the values of removed subscriptions, as far as a result may ask for them.
    ///
    /// To be called during the change that removes them, so that a reader finds each value in the
    /// index or here.
    pub fn retain<'a>(
        &self,
        py: Python<'_>,
        removed: impl IntoIterator<Item = (u64, &'a Py<PyTuple>)>,
    ) {
        let mut inner = self.inner();
        let Inner { groups, values } = &mut *inner;
        let Some(mut newest) = groups.last_entry() else {
            return;
        };
        let next_id = *newest.key();
        for (id, single) in removed {
            if id < next_id
                && let Some(value) = value_in(py, single)
            {
                values.insert(id, value.unbind());
                newest.get_mut().removed.push(id);
            }
        }
    }

    /// The value that a removed subscription had.
    pub fn get(&self, py: Python<'_>, id: u64) -> Option<Py<PyAny>> {
        let inner = self.inner();
        Some(inner.values.get(&id)?.clone_ref(py))
    }

    /// Visits the values for the garbage collector.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.0.try_lock() {
            Ok(inner) => inner
                .values
                .values()
                .try_for_each(|value| visit.call(value)),
            Err(_) => Ok(()),
        }
    }
}

impl Inner {
    fn add(&mut self, next_id: u64) {
        self.groups.entry(next_id).or_default().results += 1;
    }

    /// Counts one result less. Returns the values that no other one may ask for.
    fn remove(&mut self, next_id: u64) -> Vec<Py<PyAny>> {
        let Some(group) = self.groups.get_mut(&next_id) else {
            return Vec::new();
        };
        group.results -= 1;
        if group.results > 0 {
            return Vec::new();
        }
        let mut removed = self.groups.remove(&next_id).unwrap_or_default().removed;
        let values = &mut self.values;
        let mut dropped = Vec::new();
        if let Some((&bound, before)) = self.groups.range_mut(..next_id).next_back() {
            while let Some(highest) = removed.peek_mut()
                && *highest >= bound
            {
                dropped.extend(values.remove(&PeekMut::pop(highest)));
            }
            before.removed.append(&mut removed);
        }
        dropped.extend(removed.into_iter().filter_map(|id| values.remove(&id)));
        dropped
    }
}
