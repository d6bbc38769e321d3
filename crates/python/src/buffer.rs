//! The bytes of a Python object with the buffer protocol: borrowed if nothing can write to them, else
//! copied.
//!
//! One of the modules with `unsafe` code: an exported buffer stays in place until it is released,
//! and [`Bytes`] holds it until then.
#![allow(unsafe_code)]

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyMemoryView, PyType};

/// The bytes of a Python object. No Python code changes them; only who writes to the file of a
/// memory map does.
pub struct Bytes(Source);

enum Source {
    /// Memory of the object that no Python code can write to.
    Borrowed(PyBuffer<u8>),
    /// A copy of memory that Python code may write to at any time.
    Copied(Vec<u8>),
}

impl Bytes {
    /// The bytes of an object; `TypeError` without the buffer protocol, `BufferError` if they are
    /// not contiguous. Borrows `bytes` and read-only memory maps, also through a `memoryview`.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "an image must be contiguous bytes",
            ));
        }
        Ok(Self(if is_immutable(object)? {
            Source::Borrowed(buffer)
        } else {
            Source::Copied(buffer.to_vec(object.py())?)
        }))
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        let buffer = match &self.0 {
            Source::Borrowed(buffer) => buffer,
            Source::Copied(bytes) => return bytes,
        };
        let length = buffer.len_bytes();
        if length == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, exported for as long as `self` lives, and memory that no
        // Python code can write to ([`is_immutable`]).
        unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), length) }
    }
}

/// Whether no Python code can write to the memory of an object. That the buffer is read-only does
/// not say so: it may be a read-only view of a `bytearray`.
fn is_immutable(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static MMAP: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    let owner = match object.cast_exact::<PyMemoryView>() {
        Ok(view) => view.getattr("obj")?, // that of a view of a view is the object itself
        Err(_) => object.clone(),
    };
    if owner.is_exact_instance_of::<PyBytes>() {
        return Ok(true);
    }
    // A subclass may export other memory.
    let Ok(map) = MMAP.import(py, "mmap", "mmap") else {
        return Ok(false); // a platform without memory maps
    };
    Ok(owner.get_type().is(map) && PyBuffer::<u8>::get(&owner)?.readonly())
}
