//! Values that left a trie while results of batches may still be asked for them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// How many results are about, and the values that went meanwhile, by id.
#[derive(Default)]
pub struct Departed(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    results: usize,
    values: HashMap<u64, Py<PyAny>>,
}

impl Departed {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more result may ask.
    pub fn expect(&self) {
        self.inner().results += 1;
    }

    /// One result less; with the last, the values are let go of.
    pub fn release(&self) {
        let gone = {
            let mut inner = self.inner();
            inner.results = inner.results.saturating_sub(1);
            if inner.results > 0 {
                return;
            }
            std::mem::take(&mut inner.values)
        };
        drop(gone); // after the lock: Python may run
    }

    /// Keeps a value if somebody may ask for it.
    pub fn take_in(&self, py: Python<'_>, id: u64, value: &Py<PyAny>) {
        let mut inner = self.inner();
        if inner.results > 0 {
            inner.values.insert(id, value.clone_ref(py));
        }
    }

    pub fn get(&self, py: Python<'_>, id: u64) -> Option<Py<PyAny>> {
        self.inner()
            .values
            .get(&id)
            .map(|value| value.clone_ref(py))
    }

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
