//! Memory that lookups reuse, so that a lookup allocates only its result.
//!
//! Contains `unsafe` code: all threads take turns with one place, with the GIL held.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;

use pyo3::prelude::*;

use super::image::ImageValues;
use subtrie::raw::{Scratch, SubscriptionRef};

/// The memory of one lookup from Python.
#[derive(Default)]
pub struct LookupScratch {
    pub lookup: Scratch,
    pub found: Vec<SubscriptionRef>,
    pub objects: Vec<Py<PyAny>>,
    /// The values of the image in which the subject was looked up.
    pub image: Option<ImageValues>,
}

/// A place that is guarded by the GIL.
struct SharedScratch(UnsafeCell<Option<Box<LookupScratch>>>);

// SAFETY: `take` and `put` hold the GIL and run no Python code, so they never overlap.
unsafe impl Sync for SharedScratch {}

impl SharedScratch {
    #[inline]
    fn take(&self, _: Python<'_>) -> Option<Box<LookupScratch>> {
        // SAFETY: the GIL is held, and the reference ends here.
        unsafe { (*self.0.get()).take() }
    }

    #[inline]
    fn put(&self, _: Python<'_>, scratch: Box<LookupScratch>) {
        // SAFETY: as in `take`. What was in the place has no objects, so dropping it runs no Python.
        let before = unsafe { (*self.0.get()).replace(scratch) };
        debug_assert!(before.is_none_or(|before| before.objects.is_empty()));
    }
}

static PLACE: SharedScratch = SharedScratch(UnsafeCell::new(None));

/// After a result of more subscriptions the memory is returned instead of kept: 64 KiB.
const MAX_KEPT: usize = 4096;

/// Calls `work` with memory for a lookup. If `work` runs Python code that looks up something itself,
/// that lookup gets fresh memory.
#[inline]
pub fn with_scratch<R>(py: Python<'_>, work: impl FnOnce(&mut LookupScratch) -> R) -> R {
    let mut scratch = PLACE.take(py).unwrap_or_default();
    scratch.found.clear();
    let result = work(&mut scratch);
    scratch.objects.clear();
    if scratch.found.capacity() <= MAX_KEPT && !scratch.lookup.is_large() {
        PLACE.put(py, scratch);
    }
    result
}
