//! One state for readers and a writer: a lookup that holds the GIL takes no lock.
//!
//! Contains `unsafe` code: the GIL, which Rust does not know, stands for a lock. The argument:
//!
//! - A *scalar reader* and a *writer* hold the GIL, so neither begins while another is at work,
//!   unless the one at work releases the GIL. `borrow` counts the readers at work and marks the
//!   writer, as `RefCell` does, so a breach is a panic and not a data race. It is only touched with
//!   the GIL held.
//! - A *batch* does not hold the GIL. It holds the lock for reading, a chunk at a time. A writer
//!   holds the lock for writing during its whole change. While it waits for the lock it has released
//!   the GIL, and it marks `borrow` only afterwards.
//! - In a build of Python without the GIL, scalar readers hold the lock for reading as well.
//!
//! No Python code runs while the lock is held: no object is made, hashed, compared or dropped. So
//! the holder of a lock never waits for a thread that waits for the lock.
//!
//! `make interleavings` compiles this file with the primitives of a model checker, and tries every
//! order of the steps of a few threads.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::Ordering;
use std::sync::{PoisonError, TryLockError};

use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;

use super::primitives::{
    AtomicU64, AtomicUsize, MAX_YIELDS, Patience, RwLock, RwLockWriteGuard, has_gil, spin_loop,
    yield_now,
};
use crate::fork;

/// The value of `borrow` during a change.
const CHANGING: usize = usize::MAX;

/// A value that is read with the GIL or with a lock, and changed with both.
pub struct SharedState<T> {
    lock: RwLock,
    /// The number of scalar readers at work, or `CHANGING`. Guarded by the GIL.
    borrow: AtomicUsize,
    /// The number of writers that wait with the GIL held: batches let them go first.
    waiting_writers: AtomicUsize,
    /// The number of changes begun.
    changes: AtomicU64,
    state: UnsafeCell<T>,
}

// SAFETY: see the argument above: `state` is changed by one thread at a time, which excludes readers.
unsafe impl<T: Send + Sync> Sync for SharedState<T> {}

/// Counts a reader, until it is dropped.
struct ReaderCount<'a>(&'a AtomicUsize);

impl<'a> ReaderCount<'a> {
    #[inline]
    fn begin(borrow: &'a AtomicUsize) -> Self {
        let readers = borrow.load(Ordering::Relaxed);
        assert!(readers < CHANGING - 1, "read during a change");
        borrow.store(readers + 1, Ordering::Relaxed);
        Self(borrow)
    }
}

impl Drop for ReaderCount<'_> {
    #[inline]
    fn drop(&mut self) {
        let readers = self.0.load(Ordering::Relaxed);
        self.0.store(readers.wrapping_sub(1), Ordering::Relaxed);
    }
}

/// Marks a writer, until it is dropped.
struct Changing<'a>(&'a AtomicUsize);

impl<'a> Changing<'a> {
    fn begin(borrow: &'a AtomicUsize) -> Self {
        let readers = borrow.load(Ordering::Relaxed);
        assert!(readers == 0, "changed during a read");
        borrow.store(CHANGING, Ordering::Relaxed);
        Self(borrow)
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl<T> SharedState<T> {
    pub fn new(state: T) -> Self {
        Self {
            lock: RwLock::new(()),
            borrow: AtomicUsize::new(0),
            waiting_writers: AtomicUsize::new(0),
            changes: AtomicU64::new(0),
            state: UnsafeCell::new(state),
        }
    }

    /// Reads a state between two changes. Never blocks if Python has the GIL.
    ///
    /// `read` must not run Python code, or a change made by it panics.
    #[inline]
    pub fn read<R>(&self, py: Python<'_>, read: impl FnOnce(&T) -> R) -> R {
        if !has_gil() {
            return self.read_locked(py, read);
        }
        let _reading = ReaderCount::begin(&self.borrow);
        // SAFETY: this thread holds the GIL (`py`), and no writer is at work (`ReaderCount::begin`). A
        // writer that begins before `read` returns panics, as it finds this reader counted.
        read(unsafe { &*self.state.get() })
    }

    #[cold]
    fn read_locked<R>(&self, py: Python<'_>, read: impl FnOnce(&T) -> R) -> R {
        let lock = self.lock.read_py_attached(py);
        let _lock = lock.unwrap_or_else(PoisonError::into_inner);
        // SAFETY: writers hold the lock during a change.
        read(unsafe { &*self.state.get() })
    }

    /// Reads without the GIL. A writer waits meanwhile, and so does a fork, so a batch reads in
    /// chunks.
    pub fn read_detached<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        for _ in 0..MAX_YIELDS {
            if self.waiting_writers.load(Ordering::Relaxed) == 0 {
                break;
            }
            yield_now();
        }
        fork::block_fork(|| {
            let _lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: writers hold the lock during a change.
            read(unsafe { &*self.state.get() })
        })
    }

    /// Makes a change. Blocks on batches and on other writers: for a moment as it is, then with the
    /// GIL released.
    pub fn write<R>(&self, py: Python<'_>, change: impl FnOnce(&mut T) -> R) -> R {
        let mut _fork = None;
        let _lock = self.lock_soon().unwrap_or_else(|| {
            // A fork now would leave the lock to a thread that the child does not have.
            _fork = Some(fork::delay_fork(py));
            let lock = self.lock.write_py_attached(py);
            lock.unwrap_or_else(PoisonError::into_inner)
        });
        let _changing = has_gil().then(|| Changing::begin(&self.borrow));
        self.changes.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the lock excludes batches and, without the GIL, all readers; the GIL, which is not
        // released before the end, and `Changing::begin` exclude scalar readers.
        change(unsafe { &mut *self.state.get() })
    }

    /// The number of changes made so far. Two reads that see one number see one state.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Takes the lock if batches give it back at the end of their chunks.
    ///
    /// A writer that releases the GIL gets it back a switch interval later, which is much longer
    /// than a chunk.
    fn lock_soon(&self) -> Option<RwLockWriteGuard<'_>> {
        let lock = || match self.lock.try_write() {
            Ok(lock) => Some(lock),
            Err(TryLockError::Poisoned(lock)) => Some(lock.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(lock) = lock() {
            return Some(lock);
        }
        self.waiting_writers.fetch_add(1, Ordering::Relaxed);
        let mut patience = Patience::begin();
        let mut found = lock();
        while found.is_none() && patience.lasts() {
            spin_loop();
            found = lock();
        }
        self.waiting_writers.fetch_sub(1, Ordering::Relaxed);
        found
    }

    /// Reads for the garbage collector, which must not block; `None` during a change.
    pub fn read_for_collector<R>(&self, _: &PyVisit<'_>, read: impl FnOnce(&T) -> R) -> Option<R> {
        let _lock = match (has_gil(), self.lock.try_read()) {
            (true, _) => None,
            (false, Ok(lock)) => Some(lock),
            (false, Err(TryLockError::Poisoned(lock))) => Some(lock.into_inner()),
            (false, Err(TryLockError::WouldBlock)) => return None,
        };
        if self.borrow.load(Ordering::Relaxed) == CHANGING {
            return None;
        }
        // SAFETY: the collector (`PyVisit`) runs with the GIL held, or with the lock; no writer is at
        // work, and none begins, because a traversal runs no Python code.
        Some(read(unsafe { &*self.state.get() }))
    }
}
