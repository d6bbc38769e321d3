//! The primitives of the protocol of readers and a writer (`shared_state`).
//!
//! `tests/interleavings` compiles that file with other primitives, those of a model checker.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

pub use std::hint::spin_loop;
pub use std::sync::atomic::{AtomicU64, AtomicUsize};
pub use std::thread::yield_now;

pub type RwLock = std::sync::RwLock<()>;
pub type RwLockWriteGuard<'a> = std::sync::RwLockWriteGuard<'a, ()>;

/// The number of times that a batch yields to writers: enough for `PATIENCE` on a free core.
pub const MAX_YIELDS: usize = 1_000;

/// The time for which a writer waits with the GIL held. A few chunks of a batch take less; all other
/// threads wait as well.
const PATIENCE: Duration = Duration::from_micros(300);

/// The wait of a writer with the GIL held.
pub struct Patience(Instant);

impl Patience {
    pub fn begin() -> Self {
        Self(Instant::now())
    }

    pub fn lasts(&mut self) -> bool {
        self.0.elapsed() < PATIENCE
    }
}

/// Whether Python has no GIL, so that readers exclude writers by the lock.
static WITHOUT_GIL: AtomicBool = AtomicBool::new(false);

/// Notes whether this build of Python has a GIL.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let version: String = py.import("sys")?.getattr("version")?.extract()?;
    // A build without the GIL may have it switched on, and off again after an import.
    WITHOUT_GIL.store(version.contains("free-threading"), Ordering::Relaxed);
    Ok(())
}

/// Whether `Python<'_>` excludes other threads.
#[inline]
pub fn has_gil() -> bool {
    !WITHOUT_GIL.load(Ordering::Relaxed)
}
