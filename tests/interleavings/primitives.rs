//! The primitives of loom, with waits that end soon.

use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use loom::sync::{Condvar, Mutex, MutexGuard};

pub use loom::hint::spin_loop;
pub use loom::sync::atomic::{AtomicU64, AtomicUsize};
pub use loom::thread::yield_now;

/// More make more orders, and no new kind of order.
pub const MAX_YIELDS: usize = 1;

/// A wait that has ended: loom would only let the others go on, and never show one that lasts too long.
pub struct Patience;

impl Patience {
    pub const fn begin() -> Self {
        Self
    }

    pub const fn lasts(&mut self) -> bool {
        false
    }
}

/// A lock for many readers or one writer. That of loom blocks a thread that only tries to take it.
pub struct RwLock {
    holders: Mutex<Holders>,
    released: Condvar,
}

#[derive(Default)]
struct Holders {
    readers: usize,
    writer: bool,
}

pub struct RwLockReadGuard<'a>(&'a RwLock);
pub struct RwLockWriteGuard<'a>(&'a RwLock);

impl RwLock {
    pub fn new((): ()) -> Self {
        Self {
            holders: Mutex::new(Holders::default()),
            released: Condvar::new(),
        }
    }

    fn holders(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_>> {
        let mut holders = self.holders();
        if holders.writer {
            return Err(TryLockError::WouldBlock);
        }
        holders.readers += 1;
        Ok(RwLockReadGuard(self))
    }

    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_>> {
        let mut holders = self.holders();
        if holders.writer || holders.readers > 0 {
            return Err(TryLockError::WouldBlock);
        }
        holders.writer = true;
        Ok(RwLockWriteGuard(self))
    }

    pub fn read(&self) -> LockResult<RwLockReadGuard<'_>> {
        let mut holders = self.holders();
        while holders.writer {
            holders = (self.released.wait(holders)).unwrap_or_else(PoisonError::into_inner);
        }
        holders.readers += 1;
        Ok(RwLockReadGuard(self))
    }

    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_>> {
        let mut holders = self.holders();
        while holders.writer || holders.readers > 0 {
            holders = (self.released.wait(holders)).unwrap_or_else(PoisonError::into_inner);
        }
        holders.writer = true;
        Ok(RwLockWriteGuard(self))
    }
}

impl Drop for RwLockReadGuard<'_> {
    fn drop(&mut self) {
        self.0.holders().readers -= 1;
        self.0.released.notify_all();
    }
}

impl Drop for RwLockWriteGuard<'_> {
    fn drop(&mut self) {
        self.0.holders().writer = false;
        self.0.released.notify_all();
    }
}
