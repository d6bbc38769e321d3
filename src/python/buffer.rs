//! The bytes of a Python object with the buffer protocol: borrowed if they are read-only, else
//! copied.
//!
//! One of the modules with `unsafe` code: an exported buffer stays in place until it is released,
//! and [`Bytes`] holds it until then.
#![allow(unsafe_code)]

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// The bytes of a Python object. They do not change.
pub struct Bytes(Source);

enum Source {
    /// Read-only memory of the object.
    Borrowed(PyBuffer<u8>),
    /// A copy of memory that Python code may write to at any time.
    Copied(Vec<u8>),
}

impl Bytes {
    /// The bytes of an object; `TypeError` without the buffer protocol, `BufferError` if they are
    /// not contiguous. Copies a writable buffer, such as that of a `bytearray`.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "an image must be contiguous bytes",
            ));
        }
        Ok(Self(if buffer.readonly() {
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
        // SAFETY: the buffer is contiguous, read-only, and exported for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), length) }
    }
}
