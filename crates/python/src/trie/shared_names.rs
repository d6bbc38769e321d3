//! The names of `subtrie._subscription` that both engines share.

/// A name of `subtrie._subscription`.
macro_rules! shared {
    ($py:expr, $name:literal) => {{
        static FOUND: pyo3::sync::PyOnceLock<Py<PyAny>> = pyo3::sync::PyOnceLock::new();
        FOUND.import($py, "subtrie._subscription", $name)
    }};
}
pub(super) use shared;
