//! Bindings of the reader of trace logs: bytes in, Arrow batches of events out.

use std::ops::Range;

use arrow_array::{Array, StructArray};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};

use super::args::Texts;
use super::arrow::{arrow_error, export, export_schema};
use super::buffer::Bytes;
use subtrie_trace::EventColumns;
use subtrie_trace::{Divider, Lines, Reader};

/// Reads the lines of a trace log that begin in a range of positions, and decides which deliveries
/// belong to which publish.
///
/// Feed it the bytes from `start` on, until it is done or the log ends; then call `finish`.
#[pyclass(module = "subtrie._subtrie")]
pub struct TraceReader {
    reader: Reader,
    lines: Lines,
    columns: EventColumns,
    done: bool,
}

#[pymethods]
impl TraceReader {
    #[new]
    #[pyo3(signature = (columns, start=0, end=None, *, state=None, base=0))]
    #[allow(clippy::needless_pass_by_value)] // pyo3 converts a list to a vector
    fn new(
        columns: Texts,
        start: u64,
        end: Option<u64>,
        state: Option<&Bound<'_, PyAny>>,
        base: u64,
    ) -> PyResult<Self> {
        let reader = restored(start..end.unwrap_or(u64::MAX), state)?;
        let columns = EventColumns::new(columns.0.iter().map(String::as_str), base)
            .ok_or_else(|| PyValueError::new_err("not a column of events"))?;
        Ok(Self {
            reader,
            lines: Lines::new(start),
            columns,
            done: false,
        })
    }

    /// Read the next bytes of the log; return whether the rest of it is not needed.
    ///
    /// Runs without the GIL.
    fn feed(&mut self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<bool> {
        let data = Bytes::of(data)?;
        let data = data.as_slice();
        py.detach(|| {
            let Self {
                reader,
                lines,
                columns,
                done,
            } = self;
            lines.feed(data, |position, line| {
                *done = *done || reader.is_done(position);
                if !*done {
                    reader.line(position, line, columns);
                }
                !*done
            });
        });
        Ok(self.done)
    }

    /// End the log here: read its last line, and close all windows.
    fn finish(&mut self) {
        let Self {
            reader,
            lines,
            columns,
            done,
        } = self;
        lines.finish(|position, line| {
            reader.line(position, line, columns);
            true
        });
        reader.finish(lines.position(), columns);
        *done = true;
    }

    /// Return the complete rows; those whose outcome is not known come later.
    fn take(&mut self, py: Python<'_>) -> PyResult<EventBatch> {
        let columns = &mut self.columns;
        py.detach(|| columns.take())
            .map(EventBatch)
            .map_err(arrow_error)
    }

    /// The number of rows that wait to be taken.
    fn __len__(&self) -> usize {
        self.columns.len()
    }

    /// Two processes whose lines alternate, and the position of the first line that shows it.
    #[getter]
    fn alternating(&self) -> Option<(String, String, u64)> {
        alternating(&self.reader)
    }

    /// The number of lines of the range by category, and of deliveries that no publish took.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.reader.counts();
        let found = PyDict::new(py);
        found.set_item("operations", counts.operations)?;
        found.set_item("payloads", counts.payloads)?;
        found.set_item("server", counts.server)?;
        found.set_item("unparseable_lines", counts.unparseable)?;
        found.set_item("unmatched", counts.unmatched)?;
        Ok(found)
    }
}

fn alternating(reader: &Reader) -> Option<(String, String, u64)> {
    let found = reader.alternating()?;
    Some((found.process.clone(), found.other.clone(), found.position))
}

/// Return a reader of a range, with the state at its start.
fn restored(range: Range<u64>, state: Option<&Bound<'_, PyAny>>) -> PyResult<Reader> {
    match state {
        None => Ok(Reader::new(range)),
        Some(state) => Reader::restore(range, Bytes::of(state)?.as_slice())
            .ok_or_else(|| PyValueError::new_err("not the state of a reader")),
    }
}

/// Rows of events, or of their sums, as an Arrow struct (Arrow C interface).
#[pyclass(frozen, module = "subtrie._subtrie")]
pub struct EventBatch(pub(super) StructArray);

#[pymethods]
impl EventBatch {
    #[new]
    fn not_constructible() -> PyResult<Self> {
        Err(PyTypeError::new_err(
            "batches of events are made by TraceReader",
        ))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Return the Arrow type, a struct of the requested columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        export_schema(py, &DataType::Struct(self.0.fields().clone()))
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

/// Divides a trace log at lines near given positions, and saves the state of a reader at each.
///
/// With `skim`, a number of bytes, lines that are farther than that from a position are skimmed.
#[pyclass(module = "subtrie._subtrie")]
pub struct LogDivider {
    divider: Divider,
    lines: Lines,
    reached: Vec<(u64, Vec<u8>)>,
}

#[pymethods]
impl LogDivider {
    #[new]
    #[pyo3(signature = (targets, start=0, *, state=None, skim=None))]
    fn new(
        targets: Vec<u64>,
        start: u64,
        state: Option<&Bound<'_, PyAny>>,
        skim: Option<u64>,
    ) -> PyResult<Self> {
        let reader = restored(u64::MAX..u64::MAX, state)?;
        Ok(Self {
            divider: Divider::new(reader, targets, start, skim),
            lines: Lines::new(start),
            reached: Vec::new(),
        })
    }

    /// The position before which the deliveries of every message are decided by the lines so far.
    #[getter]
    fn settled(&self) -> u64 {
        let settled = self.divider.reader.settled();
        settled.unwrap_or_else(|| self.lines.position())
    }

    /// The position of the next line.
    #[getter]
    fn position(&self) -> u64 {
        self.lines.position()
    }

    /// Two processes whose lines alternate, and the position of the first line that shows it.
    #[getter]
    fn alternating(&self) -> Option<(String, String, u64)> {
        alternating(&self.divider.reader)
    }

    /// Whether the next position cannot be reached by skimming: begin again at the last division,
    /// without `skim`.
    #[getter]
    fn failed(&self) -> bool {
        self.divider.failed()
    }

    /// Return the state before the next line.
    fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.divider.reader.save())
    }

    /// End the log here: read its last line, and close all windows.
    fn finish(&mut self) {
        let Self { divider, lines, .. } = self;
        lines.finish(|position, line| {
            divider.line(position, line);
            true
        });
        divider.finish(lines.position());
    }

    /// Read the next bytes of the log; return whether the rest of it is not needed.
    ///
    /// Runs without the GIL.
    fn feed(&mut self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<bool> {
        let data = Bytes::of(data)?;
        let data = data.as_slice();
        let Self {
            divider,
            lines,
            reached,
        } = self;
        py.detach(|| {
            lines.feed(data, |position, line| {
                if divider.divides(position) {
                    reached.push((position, divider.reader.save()));
                }
                if !divider.is_done() {
                    divider.line(position, line);
                }
                !divider.is_done()
            });
        });
        Ok(self.divider.is_done())
    }

    /// Return the new divisions: the position of a line, and the state before it.
    fn take<'py>(&mut self, py: Python<'py>) -> Vec<(u64, Bound<'py, PyBytes>)> {
        self.reached
            .drain(..)
            .map(|(position, state)| (position, PyBytes::new(py, &state)))
            .collect()
    }
}
