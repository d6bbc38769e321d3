//! Bytes across the border without a copy: anything with the buffer protocol.
//!
//! One of the places that hold `unsafe`: an exported buffer stays where it is until it is released,
//! and this keeps it until then.
#![allow(unsafe_code)]

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

/// Bytes that somebody else owns and has lent. Nobody may write to them meanwhile.
pub struct Borrowed(PyBuffer<u8>);

impl Borrowed {
    /// Borrows the bytes of an object; `TypeError` or `BufferError` where it has none in one piece.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::<u8>::get(object)?;
        if !buffer.is_c_contiguous() {
            return Err(pyo3::exceptions::PyBufferError::new_err(
                "an image must be one piece of bytes",
            ));
        }
        Ok(Self(buffer))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        let length = self.0.len_bytes();
        if length == 0 {
            return &[];
        }
        // SAFETY: the buffer is contiguous, and exported for as long as `self` lives.
        unsafe { std::slice::from_raw_parts(self.0.buf_ptr().cast::<u8>(), length) }
    }
}
