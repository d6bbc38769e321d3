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
    made: Mutex<HashMap<u64, Py<PyWeakrefReference>>>,
}

impl SharedHandles {
    pub fn new(ids: Range<u64>) -> Self {
        Self {
            ids,
            made: Mutex::default(),
        }
    }

    // No Python code runs while the lock is held: a reference without a callback is dropped.
    fn made(&self) -> MutexGuard<'_, HashMap<u64, Py<PyWeakrefReference>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The handle of a subscription, if one of the indexes has made it.
    pub fn get(&self, py: Python<'_>, id: u64) -> Option<Py<Subscription>> {
        let made = self.made();
        let handle = made.get(&id)?.bind(py).upgrade()?;
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
        self.made().insert(id, reference);
        Ok(handle)
    }
}
