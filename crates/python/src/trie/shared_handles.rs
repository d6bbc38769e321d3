//! Handles that an index and its copies share, although they are made after the copy.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use super::subscription::Subscription;

/// The handles of subscriptions that had none when the index was copied.
///
/// They are referred to weakly: a subscription that both indexes have removed keeps no value alive.
pub struct SharedHandles {
    pub ids: Range<u64>,
    made: Mutex<Made>,
}

#[derive(Default)]
struct Made {
    handles: HashMap<u64, Py<PyWeakrefReference>>,
    /// References of dead handles are removed when there are so many, twice those that were left the
    /// last time: so they cost a constant for each handle, in time and memory.
    prune_at: usize,
}

impl Made {
    fn insert(&mut self, py: Python<'_>, id: u64, reference: Py<PyWeakrefReference>) {
        if self.handles.len() >= self.prune_at.max(MIN_KEPT) {
            let is_alive =
                |reference: &Py<PyWeakrefReference>| reference.bind(py).upgrade().is_some();
            self.handles.retain(|_, reference| is_alive(reference));
            self.handles.shrink_to(2 * self.handles.len());
            self.prune_at = 2 * self.handles.len();
        }
        self.handles.insert(id, reference);
    }
}

/// References that are kept whether their handles are alive or not.
const MIN_KEPT: usize = 64;

impl SharedHandles {
    pub fn new(ids: Range<u64>) -> Self {
        Self {
            ids,
            made: Mutex::default(),
        }
    }

    // No Python code runs while the lock is held: a reference without a callback is dropped.
    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a subscription, if one of the indexes has made it.
    pub fn get(&self, py: Python<'_>, id: u64) -> Option<Py<Subscription>> {
        let made = self.made();
        let handle = made.handles.get(&id)?.bind(py).upgrade()?;
        handle.cast_into().ok().map(Bound::unbind)
    }

    /// Makes this the handle of a subscription, unless one is made. Returns the one that it has.
    pub fn keep(
        &self,
        py: Python<'_>,
        id: u64,
        handle: Py<Subscription>,
    ) -> PyResult<Py<Subscription>> {
        let reference = PyWeakrefReference::new(handle.bind(py))?.unbind();
        if let Some(other) = self.get(py, id) {
            return Ok(other);
        }
        self.made().insert(py, id, reference);
        Ok(handle)
    }
}
