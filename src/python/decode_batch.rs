//! `decode_batch` for Python: a column in, an Arrow struct out.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{Array, StructArray};
use arrow_schema::DataType;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyTuple};

use super::arrow::{arrow_error, columns, export, export_schema, wrapped};
use crate::arrow::{decode_columns, decoded_fields};

/// Decoded subjects: a sequence of dictionaries, and an Arrow struct through the C interface.
///
/// `batch[i]` has the keys `kind`, `plane`, `trust`, `port`, `source`, `host`, `slot`, `method`,
/// `path` and `reason`, or is None where the input was null.
#[pyclass(frozen, module = "subtrie._subtrie")]
pub struct Batch(StructArray);

/// Decodes a column: an Arrow string array, a stream of them, or an iterable of `str`.
///
/// Each row is a request (`kind` 1), a reply (2; its id stands in `slot`), or neither (0): then
/// `reason` says why and all else is null. A null row gives a null. Runs without the GIL.
#[pyfunction]
pub fn decode_batch(subjects: &Bound<'_, PyAny>) -> PyResult<Batch> {
    let columns = columns(subjects)?;
    let rows = subjects
        .py()
        .detach(|| decode_columns(&columns))
        .map_err(arrow_error)?;
    Ok(Batch(rows))
}

#[pymethods]
impl Batch {
    #[new]
    fn new_by_hand() -> PyResult<Self> {
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
        let row = wrapped(row, self.0.len()).ok_or_else(|| PyIndexError::new_err("no such row"))?;
        if self.0.is_null(row) {
            return Ok(None);
        }
        let found = PyDict::new(py);
        for (field, column) in self.0.fields().iter().zip(self.0.columns()) {
            found.set_item(field.name(), value(py, column, row)?)?;
        }
        Ok(Some(found))
    }

    /// The Arrow type: a struct of the ten columns.
    #[allow(clippy::unused_self)] // the interface asks for a method
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &DataType::Struct(decoded_fields()))
    }

    /// The Arrow array; `requested_schema` is not followed, as the interface allows.
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

/// One value of a column, as Python has it.
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
