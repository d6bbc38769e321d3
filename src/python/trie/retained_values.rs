//! Values of removed subscriptions, retained while results of batches may still ask for them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// The number of live batch results, and the values removed meanwhile, by id.
#[derive(Default)]
pub struct RetainedValues(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    results: usize,
    values: HashMap<u64, Py<PyAny>>,
}

impl RetainedValues {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more result that may ask.
    pub fn add_result(&self) {
        self.inner().results += 1;
    }

    /// Counts one result less; the last one drops the values.
    pub fn remove_result(&self) {
        let dropped = {
            let mut inner = self.inner();
            inner.results = inner.results.saturating_sub(1);
            if inner.results > 0 {
                return;
            }
            std::mem::take(&mut inner.values)
        };
        drop(dropped); // after the lock, as it may run Python
    }

    /// Retains a value if any result may ask for it.
    pub fn retain(&self, id: u64, value: Bound<'_, PyAny>) {
        let mut inner = self.inner();
        if inner.results > 0 {
            inner.values.insert(id, value.unbind());
        }
    }

    /// The value that a removed subscription had.
    pub fn get(&self, py: Python<'_>, id: u64) -> Option<Py<PyAny>> {
        self.inner()
            .values
            .get(&id)
            .map(|value| value.clone_ref(py))
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
