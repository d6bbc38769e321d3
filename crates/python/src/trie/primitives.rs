//! The primitives of the protocol of readers and a writer (`shared_state`).
//!
//! `tests/interleavings` compiles that file with other primitives, those of a model checker.

use std::time::{Duration, Instant};

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
