//! The names of `subtrie._core.subscription` that both engines share.

/// A name of `subtrie._core.subscription`.
macro_rules! shared {
    ($py:expr, $name:literal) => {{
        static FOUND: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        FOUND.import($py, "subtrie._core.subscription", $name)
    }};
}
pub(super) use shared;
