//! One state for readers and a writer: a lookup that holds the GIL takes no lock.
//!
//! Contains `unsafe` code: the GIL, which Rust does not know, stands for a lock. The argument:
//!
//! - A *scalar reader* and a *writer* hold the GIL, so neither begins while another is at work,
//!   unless the one at work releases the GIL. `borrow` counts the readers at work and marks the
//!   writer, as `RefCell` does, so a breach is an exception and not a data race. It is only changed with
//!   the GIL held.
//! - A *batch* does not hold the GIL. It holds the lock for reading, a chunk at a time. A writer
//!   holds the lock for writing during its whole change. While it waits for the lock it has released
//!   the GIL, and it marks `borrow` only afterwards.
//!
//! A change that panics, which only a bug can cause, poisons the state: `borrow` stays marked, and each
//! later use is refused until the content is replaced. An error is not a panic, and changes nothing.
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
    AtomicU64, AtomicUsize, MAX_YIELDS, Patience, RwLock, RwLockWriteGuard, spin_loop, yield_now,
};
use crate::fork;

/// The value of `borrow` during a change.
const CHANGING: usize = usize::MAX;

/// The value of `borrow` after a change that panicked.
const POISONED: usize = usize::MAX - 1;

/// The reason for which a state is not read or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// A change before panicked.
    Poisoned,
    /// A change is made by this thread at the moment, or a change is begun during a read.
    InUse,
}

impl Refused {
    #[cold]
    const fn by(borrow: usize) -> Self {
        if borrow == POISONED {
            Self::Poisoned
        } else {
            Self::InUse
        }
    }
}

/// A value that is read with the GIL or with a lock, and changed with both; poisoned by a panic.
pub struct SharedState<T> {
    lock: RwLock,
    /// The number of scalar readers at work, `CHANGING` or `POISONED`. Guarded by the GIL.
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
    fn begin(borrow: &'a AtomicUsize) -> Result<Self, Refused> {
        let readers = borrow.load(Ordering::Relaxed);
        if readers >= POISONED - 1 {
            return Err(Refused::by(readers));
        }
        borrow.store(readers + 1, Ordering::Relaxed);
        Ok(Self(borrow))
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
struct Changing<'a> {
    borrow: &'a AtomicUsize,
    /// The value of `borrow` afterwards.
    then: usize,
}

impl<'a> Changing<'a> {
    fn begin(borrow: &'a AtomicUsize) -> Self {
        borrow.store(CHANGING, Ordering::Relaxed);
        let then = POISONED;
        Self { borrow, then }
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.borrow.store(self.then, Ordering::Relaxed);
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

    /// Reads a state between two changes. Never blocks.
    ///
    /// `read` must not run Python code, or a change made by it is refused.
    #[inline]
    pub fn read<R>(&self, _: Python<'_>, read: impl FnOnce(&T) -> R) -> Result<R, Refused> {
        let _reading = ReaderCount::begin(&self.borrow)?;
        // SAFETY: this thread holds the GIL (`Python`), and no writer is at work
        // (`ReaderCount::begin`). A writer that begins before `read` returns is refused, as it finds
        // this reader counted.
        Ok(read(unsafe { &*self.state.get() }))
    }

    /// Reads without the GIL. A writer waits meanwhile, and so does a fork, so a batch reads in
    /// chunks.
    pub fn read_detached<R>(&self, read: impl FnOnce(&T) -> R) -> Result<R, Refused> {
        for _ in 0..MAX_YIELDS {
            if self.waiting_writers.load(Ordering::Relaxed) == 0 {
                break;
            }
            yield_now();
        }
        fork::block_fork(|| {
            let _lock = self.lock.read().unwrap_or_else(PoisonError::into_inner);
            // What a writer left there is seen once it has given the lock back.
            if self.borrow.load(Ordering::Relaxed) == POISONED {
                return Err(Refused::Poisoned);
            }
            // SAFETY: writers hold the lock during a change.
            Ok(read(unsafe { &*self.state.get() }))
        })
    }

    /// Makes a change. Blocks on batches and on other writers: for a moment as it is, then with the
    /// GIL released.
    pub fn write<R>(&self, py: Python<'_>, change: impl FnOnce(&mut T) -> R) -> Result<R, Refused> {
        self.write_unless(py, POISONED, |state, _| change(state))
    }

    /// As [`SharedState::write`], of a state that may be poisoned: `replace` is told whether it is, and
    /// replaces the content.
    pub fn replace<R>(
        &self,
        py: Python<'_>,
        replace: impl FnOnce(&mut T, bool) -> R,
    ) -> Result<R, Refused> {
        self.write_unless(py, CHANGING, replace)
    }

    fn write_unless<R>(
        &self,
        py: Python<'_>,
        refused: usize,
        change: impl FnOnce(&mut T, bool) -> R,
    ) -> Result<R, Refused> {
        let mut _fork = None;
        let _lock = self.lock_soon().unwrap_or_else(|| {
            // A fork now would leave the lock to a thread that the child does not have.
            _fork = Some(fork::delay_fork(py));
            let lock = self.lock.write_py_attached(py);
            lock.unwrap_or_else(PoisonError::into_inner)
        });
        let borrow = self.borrow.load(Ordering::Relaxed);
        let is_poisoned = borrow == POISONED;
        if borrow != 0 && (borrow == refused || !is_poisoned) {
            return Err(Refused::by(borrow));
        }
        let mut changing = Changing::begin(&self.borrow);
        self.changes.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the lock excludes batches; the GIL, which is not released before the end, and
        // `borrow`, which counted no reader, exclude scalar readers.
        let result = change(unsafe { &mut *self.state.get() }, is_poisoned);
        changing.then = 0;
        Ok(result)
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
        if self.borrow.load(Ordering::Relaxed) == CHANGING {
            return None;
        }
        // SAFETY: the collector (`PyVisit`) runs with the GIL held; no writer is at work, and none
        // begins, because a traversal runs no Python code.
        Some(read(unsafe { &*self.state.get() }))
    }
}
