//! `match_batch` and its result: subjects in, ids out as buffers and as Arrow.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow_array::{Array, Int32Array, LargeListArray, ListArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use super::image::ImageValues;
use super::shared_state::{Refused, SharedState};
use super::state::State;
use super::subject_trie::SubjectTrie;
use crate::args::Threads;
use crate::arrow::{columns, export, export_schema, row_index, view};
use crate::display::shown;
use subtrie::raw::LookupTarget;
use subtrie_columns::{BatchError, LookupSource, Offsets, match_columns};

/// The subscriptions that many subjects match: ids, row after row.
///
/// Row `i` has `ids[offsets[i]:offsets[i + 1]]`, in order of insertion. `valid` is an Arrow bitmap
/// (least bit first): it is 0 for a null and for a row that is not a valid subject, which match
/// nothing. The Arrow C interface gives `list<int32>`, null for a row that is not valid. Values of
/// subscriptions removed afterwards are still returned.
#[pyclass(frozen, module = "subtrie")]
pub struct Matches {
    rows: usize,
    offsets: RowOffsets,
    ids: Buffer,
    valid: Buffer,
    trie: Py<SubjectTrie>,
    /// The next id at the end of the batch: no id is as high.
    next_id: u64,
    /// The values of an opened image, if the batch began before its first change.
    image_values: Option<ImageValues>,
}

/// Offsets in int32, or in int64 if there are too many ids.
enum RowOffsets {
    Short(ScalarBuffer<i32>),
    Long(ScalarBuffer<i64>),
}

/// A state that is looked up without the GIL.
pub(super) struct Trie<'a>(pub(super) &'a SharedState<State>);

impl LookupSource for Trie<'_> {
    type Refused = Refused;

    fn with_target(&self, work: &mut dyn FnMut(LookupTarget<'_>)) -> Result<(), Refused> {
        self.0.read_detached(|state| state.with_target(work))
    }
}

/// The exception for a batch that failed.
pub(super) fn batch_error(error: &BatchError<Refused>) -> PyErr {
    match error {
        BatchError::IdTooLarge => {
            PyOverflowError::new_err("an id is beyond int32: build the index anew")
        }
        BatchError::Refused(refused) => (*refused).into(),
    }
}

/// Matches subjects without the GIL. Changes are made between two portions of lookups.
pub fn match_batch(
    trie: &Bound<'_, SubjectTrie>,
    subjects: &Bound<'_, PyAny>,
    threads: Threads,
) -> PyResult<Matches> {
    let py = subjects.py();
    let columns = columns(subjects)?;
    let this = trie.get();
    let image = this.image(py)?;
    let running = this.retained.begin_batch();
    let found = py
        .detach(|| match_columns(&Trie(&this.state), &columns, threads.0))
        .map_err(|error| batch_error(&error))?;
    let next_id = this.next_id.load(Ordering::Relaxed);
    this.retained.add_result(next_id);
    drop(running);
    Ok(Matches {
        rows: found.rows,
        offsets: match found.offsets {
            Offsets::Short(offsets) => RowOffsets::Short(offsets.into()),
            Offsets::Long(offsets) => RowOffsets::Long(offsets.into()),
        },
        ids: found.ids,
        valid: found.valid,
        trie: trie.clone().unbind(),
        next_id,
        image_values: image.map(|image| image.values.clone_ref(py)),
    })
}

impl Drop for Matches {
    fn drop(&mut self) {
        self.trie.get().retained.remove_result(self.next_id);
    }
}

impl Matches {
    fn array(&self) -> ArrayData {
        let field = Arc::new(Field::new_list_field(DataType::Int32, true));
        let ids = Arc::new(Int32Array::new(ScalarBuffer::from(self.ids.clone()), None));
        let valid = BooleanBuffer::new(self.valid.clone(), 0, self.rows);
        let nulls = Some(NullBuffer::new(valid));
        match &self.offsets {
            RowOffsets::Short(offsets) => {
                ListArray::new(field, OffsetBuffer::new(offsets.clone()), ids, nulls).into_data()
            }
            RowOffsets::Long(offsets) => {
                let offsets = OffsetBuffer::new(offsets.clone());
                LargeListArray::new(field, offsets, ids, nulls).into_data()
            }
        }
    }

    /// The value that a subscription has, or had when it was removed.
    fn value(&self, py: Python<'_>, id: u64) -> PyResult<Py<PyAny>> {
        match &self.image_values {
            Some(values) if values.has(id) => values.get(py, id).map(Bound::unbind),
            _ => self.trie.get().value_of(py, id),
        }
    }

    /// The start and end of a row in the ids.
    fn range(&self, row: usize) -> Option<(usize, usize)> {
        let at = |index: usize| match &self.offsets {
            RowOffsets::Short(offsets) => usize::try_from(*offsets.get(index)?).ok(),
            RowOffsets::Long(offsets) => usize::try_from(*offsets.get(index)?).ok(),
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

    /// The start of each row in `ids`, and the end of the last one: int32, or int64 if needed.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.offsets {
            RowOffsets::Short(offsets) => view(py, offsets.inner(), "i"),
            RowOffsets::Long(offsets) => view(py, offsets.inner(), "q"),
        }
    }

    /// The subscription ids of all rows, int32.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        view(py, &self.ids, "i")
    }

    /// The bitmap of rows that are valid subjects, least bit first.
    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        view(py, &self.valid, "B")
    }

    /// Return the values that row `row` matches, in order of insertion.
    fn values<'py>(&self, py: Python<'py>, row: isize) -> PyResult<Bound<'py, PyTuple>> {
        let range = row_index(row, self.rows).and_then(|row| self.range(row));
        let (start, end) = range.ok_or_else(|| PyIndexError::new_err("no such row"))?;
        let ids: &[i32] = self.ids.typed_data();
        let row = ids.get(start..end).unwrap_or_default();
        let values = row
            .iter()
            .map(|&id| self.value(py, u64::from(id.cast_unsigned())));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }

    const fn __len__(&self) -> usize {
        self.rows
    }

    fn __getitem__<'py>(&self, py: Python<'py>, row: isize) -> PyResult<Bound<'py, PyTuple>> {
        self.values(py, row)
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "matches_text")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "matches_html")
    }

    /// Return the Arrow type, `list<int32>`.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, self.array().data_type())
    }

    /// Return the Arrow array. `requested_schema` is ignored, as the interface allows.
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
        if let Some(values) = &self.image_values {
            values.traverse(&visit)?;
        }
        visit.call(&self.trie)
    }
}
