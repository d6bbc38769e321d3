//! `match_batch` for Python: a column in, ids out as buffers and as Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, Int32Array, LargeListArray, ListArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::arrow::{columns, export, export_schema, view, wrapped};
use super::trie_state::Guarded;
use crate::arrow::{Found, match_columns};

/// What each subject of a column matches: ids of subscriptions, row after row.
///
/// Row `i` has `ids[offsets[i]:offsets[i + 1]]`, in order of insertion. `valid` is an Arrow bitmap
/// (least bit first): a null or a row that is no subject is marked 0 and matches nothing. The C
/// interface gives `list<int32>`, null where not valid.
#[pyclass(frozen, module = "subtrie._subtrie")]
pub struct Matches {
    rows: usize,
    offsets: Offsets,
    ids: Buffer,
    valid: Buffer,
    values: HashMap<i32, Py<PyAny>>,
}

/// Arrow counts in int32 for as long as it can.
enum Offsets {
    Short(ScalarBuffer<i32>),
    Long(ScalarBuffer<i64>),
}

/// Matches a column: the lookups run on a snapshot of the index, without the GIL.
pub fn match_batch(
    state: &Guarded,
    subjects: &Bound<'_, PyAny>,
    threads: usize,
) -> PyResult<Matches> {
    let py = subjects.py();
    let columns = columns(subjects)?;
    let (index, kept) = state.read(|state| (state.index.clone(), state.kept.clone()));
    let found = py.detach(|| match_columns(&index, &columns, threads));
    let mut values = HashMap::new();
    let mut ids = Vec::with_capacity(found.tickets.len());
    for ticket in &found.tickets {
        let id = i32::try_from(ticket.id)
            .map_err(|_| PyOverflowError::new_err("an id is beyond int32: build the index anew"))?;
        ids.push(id);
        if let Some(Some(kept)) = kept.get(ticket.slot as usize) {
            values.entry(id).or_insert_with(|| kept.value.clone_ref(py));
        }
    }
    Ok(Matches::new(&found, ids, values))
}

impl Matches {
    fn new(found: &Found, ids: Vec<i32>, values: HashMap<i32, Py<PyAny>>) -> Self {
        let rows = found.offsets.len() - 1;
        let short: Option<Vec<i32>> = i32::try_from(ids.len()).ok().and_then(|_| {
            found
                .offsets
                .iter()
                .map(|&at| i32::try_from(at).ok())
                .collect()
        });
        let offsets = short.map_or_else(
            || {
                Offsets::Long(
                    found
                        .offsets
                        .iter()
                        .map(|&at| at.cast_signed() as i64)
                        .collect(),
                )
            },
            |short| Offsets::Short(short.into()),
        );
        let valid = Buffer::from(found.valid.as_slice());
        Self {
            rows,
            offsets,
            ids: Buffer::from_vec(ids),
            valid,
            values,
        }
    }

    fn array(&self) -> ArrayData {
        let field = Arc::new(Field::new_list_field(DataType::Int32, true));
        let ids = Arc::new(Int32Array::new(ScalarBuffer::from(self.ids.clone()), None));
        let valid = BooleanBuffer::new(self.valid.clone(), 0, self.rows);
        let nulls = Some(NullBuffer::new(valid));
        match &self.offsets {
            Offsets::Short(offsets) => {
                ListArray::new(field, OffsetBuffer::new(offsets.clone()), ids, nulls).into_data()
            }
            Offsets::Long(offsets) => {
                let offsets = OffsetBuffer::new(offsets.clone());
                LargeListArray::new(field, offsets, ids, nulls).into_data()
            }
        }
    }

    /// Where row `row` begins and ends in the ids.
    fn range(&self, row: usize) -> Option<(usize, usize)> {
        let at = |index: usize| match &self.offsets {
            Offsets::Short(offsets) => usize::try_from(*offsets.get(index)?).ok(),
            Offsets::Long(offsets) => usize::try_from(*offsets.get(index)?).ok(),
        };
        Some((at(row)?, at(row + 1)?))
    }
}

#[pymethods]
impl Matches {
    #[new]
    fn new_by_hand() -> PyResult<Self> {
        Err(PyTypeError::new_err(
            "matches are made by SubjectTrie.match_batch",
        ))
    }

    /// Where each row begins in `ids`: one more number than rows, int32 (int64 where needed).
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.offsets {
            Offsets::Short(offsets) => view(py, offsets.inner(), "i"),
            Offsets::Long(offsets) => view(py, offsets.inner(), "q"),
        }
    }

    /// The subscription ids of all rows, int32.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        view(py, &self.ids, "i")
    }

    /// The bitmap of rows that are subjects, least bit first.
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        view(py, &self.valid, "B")
    }

    /// The values that row `row` matches, in order of insertion.
    fn values<'py>(&self, py: Python<'py>, row: isize) -> PyResult<Bound<'py, PyTuple>> {
        let range = wrapped(row, self.rows).and_then(|row| self.range(row));
        let (start, end) = range.ok_or_else(|| PyIndexError::new_err("no such row"))?;
        let ids: &[i32] = self.ids.typed_data();
        let row = ids.get(start..end).unwrap_or_default();
        PyTuple::new(
            py,
            row.iter()
                .filter_map(|id| self.values.get(id))
                .collect::<Vec<_>>(),
        )
    }

    const fn __len__(&self) -> usize {
        self.rows
    }

    /// The Arrow type, `list<int32>`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.array().data_type())
    }

    /// The Arrow array; `requested_schema` is not followed, as the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema);
        export(py, &self.array())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.values.values().try_for_each(|value| visit.call(value))
    }
}
