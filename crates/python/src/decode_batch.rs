//! Bindings of `decode_batch`: from a column of subjects to an Arrow struct.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{Array, StructArray};
use arrow_schema::{DataType, FieldRef, Fields};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString, PyTuple};

use super::arrow::{arrow_error, columns, export, export_schema, row_index};
use super::display::shown;
use subtrie_columns::{decode_columns, decoded_fields};

/// Decoded subjects, as a sequence of dictionaries and as an Arrow struct (Arrow C interface).
///
/// `batch[i]` has the keys `kind`, `plane`, `trust`, `port`, `source`, `host`, `slot`, `method`,
/// `path` and `reason`, or those that were asked for, or is None if the input was null.
#[pyclass(frozen, module = "subtrie")]
pub struct Batch(StructArray);

/// Decode a column: an Arrow string array, a stream of them, or an iterable of `str`.
///
/// Each row is a request (`kind` 1), a reply (2; its id is in `slot`), or neither (0): then `reason` is
/// the code of the error and everything else is null. A null row gives None. Only the `fields` that
/// are asked for are made, in that order. Runs without the GIL.
#[pyfunction]
#[pyo3(signature = (subjects, fields=None))]
pub fn decode_batch(
    subjects: &Bound<'_, PyAny>,
    fields: Option<&Bound<'_, PyAny>>,
) -> PyResult<Batch> {
    let fields = fields.map_or_else(|| Ok(decoded_fields()), chosen)?;
    let columns = columns(subjects)?;
    let rows = subjects
        .py()
        .detach(|| decode_columns(&columns, &fields))
        .map_err(arrow_error)?;
    Ok(Batch(rows))
}

/// Return the fields with these names, each of which is named once.
fn chosen(names: &Bound<'_, PyAny>) -> PyResult<Fields> {
    if names.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "fields are several names, not one str",
        ));
    }
    let all = decoded_fields();
    let wrong = |what: String| {
        let known: Vec<_> = all.iter().map(|field| field.name().as_str()).collect();
        PyValueError::new_err(format!("{what}; the fields are {}", known.join(", ")))
    };
    let mut found: Vec<FieldRef> = Vec::new();
    for name in names.try_iter()? {
        let name = name?;
        let text = name.extract::<&str>().unwrap_or_default();
        let Some((_, field)) = all.find(text) else {
            return Err(wrong(format!("no field {}", name.repr()?)));
        };
        if found.iter().any(|other| other.name() == text) {
            return Err(wrong(format!("the field {} twice", name.repr()?)));
        }
        found.push(Arc::clone(field));
    }
    if found.is_empty() {
        return Err(wrong("no field at all".into()));
    }
    Ok(found.into())
}

#[pymethods]
impl Batch {
    #[new]
    fn not_constructible() -> PyResult<Self> {
        Err(PyTypeError::new_err("batches are made by decode_batch"))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        row: isize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let row =
            row_index(row, self.0.len()).ok_or_else(|| PyIndexError::new_err("no such row"))?;
        if self.0.is_null(row) {
            return Ok(None);
        }
        let found = PyDict::new(py);
        for (field, column) in self.0.fields().iter().zip(self.0.columns()) {
            found.set_item(field.name(), value(py, column, row)?)?;
        }
        Ok(Some(found))
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "batch_text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "batch_html")
    }

    /// Return the Arrow type, a struct.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.0.data_type())
    }

    /// Return the Arrow array; `requested_schema` is ignored, as the interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        export(py, &self.0.to_data())
    }
}

/// Convert one value of a column to a Python object.
fn value<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match column.data_type() {
        DataType::Int8 => Ok(column
            .as_primitive::<Int8Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any()),
        DataType::Int32 => Ok(column
            .as_primitive::<Int32Type>()
            .value(row)
            .into_pyobject(py)?
            .into_any()),
        DataType::Dictionary(..) => {
            let names = column.as_dictionary::<Int32Type>();
            value(py, names.values(), names.key(row).unwrap_or_default())
        }
        _ => Ok(column
            .as_string::<i32>()
            .value(row)
            .into_pyobject(py)?
            .into_any()),
    }
}
