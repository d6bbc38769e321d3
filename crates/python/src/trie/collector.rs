//! A pause of the garbage collector while many objects are made that are all kept.

use pyo3::prelude::*;
use pyo3::types::PyModule;

/// Enables the collector again when it is dropped, if it was enabled.
pub struct CollectorPause<'py>(Option<Bound<'py, PyModule>>);

impl<'py> CollectorPause<'py> {
    pub fn begin(py: Python<'py>) -> PyResult<Self> {
        let gc = py.import("gc")?;
        if !gc.call_method0("isenabled")?.is_truthy()? {
            return Ok(Self(None));
        }
        gc.call_method0("disable")?;
        Ok(Self(Some(gc)))
    }
}

impl Drop for CollectorPause<'_> {
    fn drop(&mut self) {
        if let Some(gc) = &self.0 {
            // Only fails if the program has replaced the function.
            let _ = gc.call_method0("enable");
        }
    }
}
