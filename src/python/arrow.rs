//! Columns across the border: the Arrow `PyCapsule` interface, and plain sequences of `str`.
//!
//! This file alone holds `unsafe`: a capsule's name is the only promise that its pointer is an
//! Arrow structure, and the interface says that the name is enough.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::Array;
use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyMemoryView, PyString, PyTuple};

use crate::arrow::Column;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Reads subjects from anything that offers the Arrow C interface, or from an iterable of `str`.
///
/// Arrow memory is borrowed, an iterable is copied once. A stream gives one column a chunk.
pub fn columns(subjects: &Bound<'_, PyAny>) -> PyResult<Vec<Column>> {
    let chunks = if subjects.hasattr("__arrow_c_array__")? {
        vec![import_array(&subjects.call_method0("__arrow_c_array__")?)?]
    } else if subjects.hasattr("__arrow_c_stream__")? {
        import_stream(&subjects.call_method0("__arrow_c_stream__")?)?
    } else {
        vec![from_iterable(subjects)?]
    };
    chunks
        .into_iter()
        .map(|data| Column::new(data).map_err(arrow_error))
        .collect()
}

/// What Arrow refuses becomes a `ValueError`.
#[expect(clippy::needless_pass_by_value, reason = "stands in map_err")]
pub fn arrow_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Hands an array over: the pair of capsules that `__arrow_c_array__` returns.
pub fn export<'py>(py: Python<'py>, data: &ArrayData) -> PyResult<Bound<'py, PyTuple>> {
    let (array, schema) = to_ffi(data).map_err(arrow_error)?;
    PyTuple::new(
        py,
        [
            PyCapsule::new_with_value(py, schema, SCHEMA)?,
            PyCapsule::new_with_value(py, array, ARRAY)?,
        ],
    )
}

/// Hands a type over: the capsule that `__arrow_c_schema__` returns.
pub fn export_schema<'py>(py: Python<'py>, kind: &DataType) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(kind).map_err(arrow_error)?;
    PyCapsule::new_with_value(py, schema, SCHEMA)
}

fn import_array(pair: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema = schema
        .pointer_checked(Some(SCHEMA))?
        .cast::<FFI_ArrowSchema>();
    let array = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsules carry the names of the interface, are alive here, and the array is
    // moved out as the interface asks, which marks the capsule's copy as released.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    import(array, schema)
}

/// Takes in an array that is not released, of the type that the schema says.
///
/// A producer's numbers that contradict each other are a `ValueError`; pointers must be believed.
fn import(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayData> {
    // What is released is often not wiped: its pointers lead into memory that is gone.
    if array.is_released() || schema.release.is_none() {
        return Err(PyValueError::new_err("the Arrow array has been released"));
    }
    // SAFETY: array and schema come from one producer, and neither is released. The import asserts
    // much of what it is told, so a lie ends in a panic, which must not pass for the caller's.
    catch_unwind(AssertUnwindSafe(|| unsafe { from_ffi(array, schema) }))
        .map_err(|_| PyValueError::new_err("the Arrow array is malformed"))?
        .map_err(arrow_error)
}

fn import_stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayData>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: named by the interface, alive here, and moved out as the interface asks.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let released = || PyValueError::new_err("the Arrow stream has been released");
    let (get_schema, get_next) = (
        stream.get_schema.ok_or_else(released)?,
        stream.get_next.ok_or_else(released)?,
    );
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream's own functions, on the stream and a structure for the answer.
    let status = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    stream_status(&mut stream, status)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as above.
        let status = unsafe { get_next(&raw mut stream, &raw mut array) };
        stream_status(&mut stream, status)?;
        if array.is_released() {
            return Ok(chunks);
        }
        chunks.push(import(array, &schema)?);
    }
}

fn stream_status(stream: &mut FFI_ArrowArrayStream, status: i32) -> PyResult<()> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: the stream's own function; it answers null or a text it keeps until the next call.
    let text = stream.get_last_error.map(|last| unsafe { last(stream) });
    let text = match text {
        Some(text) if !text.is_null() => {
            // SAFETY: not null, and ended by a zero byte by the interface.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        }
        _ => format!("status {status}"),
    };
    Err(PyValueError::new_err(format!(
        "the Arrow stream failed: {text}"
    )))
}

/// Copies an iterable of `str` and `None` into one array. Lone surrogates stay recognisable.
fn from_iterable(subjects: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    let wanted = "subjects must be an Arrow string array or an iterable of str";
    if subjects.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!("{wanted}, not a single str")));
    }
    let items = subjects.try_iter().map_err(|_| {
        let kind = subjects
            .get_type()
            .name()
            .map(|name| name.to_string())
            .unwrap_or_default();
        PyTypeError::new_err(format!("{wanted}, not {kind}"))
    })?;
    let mut builder = LargeBinaryBuilder::new();
    for (row, item) in items.enumerate() {
        let item = item?;
        if item.is_none() {
            builder.append_null();
        } else if let Ok(text) = item.cast::<PyString>() {
            match text.to_str() {
                Ok(text) => builder.append_value(text),
                Err(_) => builder.append_value(
                    item.call_method1("encode", ("utf-8", "surrogatepass"))?
                        .extract::<&[u8]>()?,
                ),
            }
        } else {
            let kind = item.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "row {row} must be str or None, not {kind}"
            )));
        }
    }
    Ok(builder.finish().into_data())
}

/// A Python index: from the end where negative.
pub fn wrapped(row: isize, rows: usize) -> Option<usize> {
    let row = if row < 0 {
        rows.checked_sub(row.unsigned_abs())?
    } else {
        row.unsigned_abs()
    };
    (row < rows).then_some(row)
}

/// A read-only `memoryview` of a buffer, of items of the given `struct` format.
pub fn view<'py>(py: Python<'py>, buffer: &Buffer, format: &str) -> PyResult<Bound<'py, PyAny>> {
    let memory = Bound::new(py, Memory(buffer.clone()))?;
    PyMemoryView::from(memory.as_any())?.call_method1("cast", (format,))
}

/// Arrow memory lent to Python for as long as a view of it lives.
#[pyclass(frozen, module = "subtrie._subtrie")]
struct Memory(Buffer);

#[pymethods]
impl Memory {
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let buffer = &slf.get().0;
        let (start, length) = (buffer.as_ptr().cast_mut(), buffer.len().cast_signed());
        // SAFETY: the buffer never changes and lives as long as `slf`, which the view holds; it
        // is lent read-only.
        let status =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast(), length, 1, flags) };
        if status == 0 {
            Ok(())
        } else {
            Err(PyErr::fetch(slf.py()))
        }
    }
}
