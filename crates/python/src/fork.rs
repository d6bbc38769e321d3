//! Guard against forks: no fork happens while a thread without the GIL holds a lock or waits for one.
//!
//! Everything else that takes a lock holds the GIL, and so does the thread that forks.

use std::cell::Cell;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use pyo3::prelude::*;
use pyo3::sync::RwLockExt;
use pyo3::types::PyDict;

static FORK_LOCK: RwLock<()> = RwLock::new(());

thread_local! {
    static WRITE_GUARD: Cell<Option<RwLockWriteGuard<'static, ()>>> = const { Cell::new(None) };
}

/// Run `work` without the GIL; the process cannot be forked meanwhile.
pub fn block_fork<R>(work: impl FnOnce() -> R) -> R {
    let _guard = FORK_LOCK.read().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Delay forks until the guard is dropped; waits for one that has begun, with the GIL released.
pub fn delay_fork(py: Python<'_>) -> RwLockReadGuard<'static, ()> {
    let guard = FORK_LOCK.read_py_attached(py);
    guard.unwrap_or_else(PoisonError::into_inner)
}

// Waits with the GIL released: a writer that delays the fork needs the GIL to end.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    let guard = FORK_LOCK.write_py_attached(py);
    WRITE_GUARD.set(Some(guard.unwrap_or_else(PoisonError::into_inner)));
}

#[pyfunction]
fn after_fork() {
    WRITE_GUARD.set(None);
}

/// Register the guard with `os.register_at_fork`, if the system has it.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(());
    }
    let hooks = PyDict::new(py);
    let after = wrap_pyfunction!(after_fork, py)?;
    hooks.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
    hooks.set_item("after_in_parent", &after)?;
    hooks.set_item("after_in_child", after)?;
    os.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
