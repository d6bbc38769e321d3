//! Import and export of columns: the Arrow `PyCapsule` interface, and iterables of `str`.
//!
//! Contains `unsafe` code: the name of a capsule is the only evidence that its pointer is an Arrow
//! structure, and the interface defines that the name suffices.
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

use subtrie_columns::Column;

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_array";
const STREAM: &CStr = c"arrow_array_stream";

/// Read subjects from an object with the Arrow C interface, or from an iterable of `str`.
///
/// Arrow memory is borrowed; an iterable is copied once. A stream gives one column for each chunk.
pub fn columns(subjects: &Bound<'_, PyAny>) -> PyResult<Vec<Column>> {
    match arrow_columns(subjects)? {
        Some(columns) => Ok(columns),
        None => Ok(vec![column(from_iterable(subjects)?)?]),
    }
}

/// Borrow the texts of an object with the Arrow C interface; `None` for any other object.
pub fn arrow_columns(texts: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Column>>> {
    let chunks = if texts.hasattr("__arrow_c_array__")? {
        vec![import_array(&texts.call_method0("__arrow_c_array__")?)?]
    } else if texts.hasattr("__arrow_c_stream__")? {
        import_stream(&texts.call_method0("__arrow_c_stream__")?)?
    } else {
        return Ok(None);
    };
    let columns: PyResult<_> = chunks.into_iter().map(column).collect();
    columns.map(Some)
}

/// Borrow the array of an object with the Arrow C interface, a record batch among others.
pub fn array(object: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    import_array(&object.call_method0("__arrow_c_array__")?)
}

fn column(data: ArrayData) -> PyResult<Column> {
    Column::new(data).map_err(arrow_error)
}

/// Convert an error of Arrow to a `ValueError`.
#[expect(clippy::needless_pass_by_value, reason = "used in map_err")]
pub fn arrow_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Export an array: the pair of capsules that `__arrow_c_array__` returns.
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

/// Export a type: the capsule that `__arrow_c_schema__` returns.
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
    // moved out as the interface requires, which marks the capsule's copy as released.
    let (array, schema) = unsafe { (FFI_ArrowArray::from_raw(array.as_ptr()), schema.as_ref()) };
    import(array, schema)
}

/// Import an array of the type that the schema describes.
///
/// A released array, and lengths that contradict each other, are a `ValueError`; pointers cannot be
/// validated.
fn import(array: FFI_ArrowArray, schema: &FFI_ArrowSchema) -> PyResult<ArrayData> {
    // A producer may leave dangling pointers in a released array.
    if array.is_released() || schema.release.is_none() {
        return Err(PyValueError::new_err("the Arrow array has been released"));
    }
    // SAFETY: array and schema come from one producer, and neither is released. The import asserts
    // that lengths agree, so a malformed array panics; the panic becomes a `ValueError`.
    catch_unwind(AssertUnwindSafe(|| unsafe { from_ffi(array, schema) }))
        .map_err(|_| PyValueError::new_err("the Arrow array is malformed"))?
        .map_err(arrow_error)
}

fn import_stream(capsule: &Bound<'_, PyAny>) -> PyResult<Vec<ArrayData>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    let pointer = capsule
        .pointer_checked(Some(STREAM))?
        .cast::<FFI_ArrowArrayStream>();
    // SAFETY: the capsule carries the name of the interface, is alive here, and the stream is moved
    // out as the interface requires.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) };
    let released = || PyValueError::new_err("the Arrow stream has been released");
    let (get_schema, get_next) = (
        stream.get_schema.ok_or_else(released)?,
        stream.get_next.ok_or_else(released)?,
    );
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream's own function, with the stream and a structure for the result.
    let status = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    stream_status(&mut stream, status)?;
    let mut chunks = Vec::new();
    loop {
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: as for `get_schema`.
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
    // SAFETY: the stream's own function; it returns null or a text that lives until the next call.
    let text = stream.get_last_error.map(|last| unsafe { last(stream) });
    let text = match text {
        Some(text) if !text.is_null() => {
            // SAFETY: not null, and zero-terminated by the definition of the interface.
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

/// Copy an iterable of `str` and `None` into one array; lone surrogates are encoded as three bytes.
fn from_iterable(subjects: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    let expected = "subjects must be an Arrow string array or an iterable of str";
    if subjects.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(format!(
            "{expected}, not a single str"
        )));
    }
    let items = subjects.try_iter().map_err(|_| {
        let kind = subjects
            .get_type()
            .name()
            .map(|name| name.to_string())
            .unwrap_or_default();
        PyTypeError::new_err(format!("{expected}, not {kind}"))
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

/// Convert a Python index, counted from the end if negative, to a row; `None` if it is out of range.
pub fn row_index(row: isize, rows: usize) -> Option<usize> {
    let row = if row < 0 {
        rows.checked_sub(row.unsigned_abs())?
    } else {
        row.unsigned_abs()
    };
    (row < rows).then_some(row)
}

/// Return a read-only `memoryview` of a buffer, with items of the given `struct` format.
pub fn view<'py>(py: Python<'py>, buffer: &Buffer, format: &str) -> PyResult<Bound<'py, PyAny>> {
    let memory = Bound::new(py, Memory(buffer.clone()))?;
    PyMemoryView::from(memory.as_any())?.call_method1("cast", (format,))
}

/// Arrow memory that Python views borrow; it lives as long as they do.
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
        // SAFETY: the buffer never changes and lives as long as `slf`, to which the view holds a
        // reference; it is exported read-only.
        let status =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start.cast(), length, 1, flags) };
        if status == 0 {
            Ok(())
        } else {
            Err(PyErr::fetch(slf.py()))
        }
    }
}
