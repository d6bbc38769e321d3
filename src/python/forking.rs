//! A fork finds no lock taken: batches, which run without the GIL, hold still meanwhile.
//!
//! All else that takes a lock keeps the GIL, and so does whoever forks.

use std::cell::Cell;
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use pyo3::prelude::*;
use pyo3::types::PyDict;

static FORKING: RwLock<()> = RwLock::new(());

thread_local! {
    static HELD: Cell<Option<RwLockWriteGuard<'static, ()>>> = const { Cell::new(None) };
}

/// Does a portion of work during which the process is not forked.
pub fn hold_off(work: impl FnOnce()) {
    let _still = FORKING.read().unwrap_or_else(PoisonError::into_inner);
    work();
}

#[pyfunction]
fn before_fork() {
    let alone = FORKING.write().unwrap_or_else(PoisonError::into_inner);
    HELD.set(Some(alone));
}

#[pyfunction]
fn after_fork() {
    HELD.set(None);
}

/// Has Python tell of its forks.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let os = py.import("os")?;
    if !os.hasattr("register_at_fork")? {
        return Ok(()); // a system that does not fork
    }
    let hooks = PyDict::new(py);
    let after = wrap_pyfunction!(after_fork, py)?;
    hooks.set_item("before", wrap_pyfunction!(before_fork, py)?)?;
    hooks.set_item("after_in_parent", &after)?;
    hooks.set_item("after_in_child", after)?;
    os.call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
