//! The GIL as a mutex, and what blocks with the GIL released, as `PyO3` does it.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::{LockResult, PoisonError, TryLockError};

use loom::sync::{Mutex, MutexGuard};

use crate::primitives::{RwLock, RwLockReadGuard, RwLockWriteGuard};

loom::lazy_static! {
    static ref GIL: Mutex<()> = Mutex::new(());
    /// That of `crates/python/src/fork.rs`.
    static ref FORK_LOCK: RwLock = RwLock::new(());
}

fn lock_gil() -> MutexGuard<'static, ()> {
    GIL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interpreter lock as a thread holds it while it runs Python code.
pub struct Attached {
    guard: RefCell<Option<MutexGuard<'static, ()>>>,
    waits: Cell<usize>,
}

/// Run `work` with the GIL held.
pub fn attach<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    let attached = Attached {
        guard: RefCell::new(Some(lock_gil())),
        waits: Cell::new(0),
    };
    work(Python(&attached))
}

/// Proof that the thread holds the GIL, as in `PyO3`.
#[derive(Clone, Copy)]
pub struct Python<'py>(&'py Attached);

impl Python<'_> {
    /// Release the GIL, wait, and take it back.
    fn detached<R>(self, wait: impl FnOnce() -> R) -> R {
        self.0.waits.set(self.0.waits.get() + 1);
        drop(self.0.guard.take());
        let result = wait();
        self.0.guard.replace(Some(lock_gil()));
        result
    }

    /// The number of times that this thread released the GIL to wait.
    pub fn waits(self) -> usize {
        self.0.waits.get()
    }
}

/// The visitor of the garbage collector.
pub struct PyVisit<'a>(PhantomData<&'a ()>);

/// Locks that are waited for with the GIL released.
pub trait RwLockExt {
    fn read_py_attached(&self, py: Python<'_>) -> LockResult<RwLockReadGuard<'_>>;
    fn write_py_attached(&self, py: Python<'_>) -> LockResult<RwLockWriteGuard<'_>>;
}

impl RwLockExt for RwLock {
    fn read_py_attached(&self, py: Python<'_>) -> LockResult<RwLockReadGuard<'_>> {
        match self.try_read() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(error)) => Err(error),
            Err(TryLockError::WouldBlock) => py.detached(|| self.read()),
        }
    }

    fn write_py_attached(&self, py: Python<'_>) -> LockResult<RwLockWriteGuard<'_>> {
        match self.try_write() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(error)) => Err(error),
            Err(TryLockError::WouldBlock) => py.detached(|| self.write()),
        }
    }
}

/// As `crates/python/src/fork.rs`.
pub fn block_fork<R>(work: impl FnOnce() -> R) -> R {
    let _guard = FORK_LOCK.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// As `crates/python/src/fork.rs`.
pub fn delay_fork(py: Python<'_>) -> RwLockReadGuard<'static> {
    let guard = FORK_LOCK.read_py_attached(py);
    guard.unwrap_or_else(PoisonError::into_inner)
}

/// Do what `before_fork` and `after_fork` do, with `forked` between them.
pub fn fork<R>(py: Python<'_>, forked: impl FnOnce() -> R) -> R {
    let guard = FORK_LOCK.write_py_attached(py);
    let _guard = guard.unwrap_or_else(PoisonError::into_inner);
    forked()
}
