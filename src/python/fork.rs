//! Guard against forks: no fork happens while a batch, which runs without the GIL, holds a lock.
//!
//! Everything else that takes a lock holds the GIL, and so does the thread that forks.

use std::cell::Cell;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use pyo3::prelude::*;
use pyo3::types::PyDict;

static FORK_LOCK: RwLock<()> = RwLock::new(());

thread_local! {
    static WRITE_GUARD: Cell<Option<RwLockWriteGuard<'static, ()>>> = const { Cell::new(None) };
}

/// Run `work`, during which the process cannot be forked.
pub fn block_fork(work: impl FnOnce()) {
    let _guard = FORK_LOCK.read().unwrap_or_else(PoisonError::into_inner);
    work();
}

#[pyfunction]
fn before_fork() {
    let guard = FORK_LOCK.write().unwrap_or_else(PoisonError::into_inner);
    WRITE_GUARD.set(Some(guard));
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
