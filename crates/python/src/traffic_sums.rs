//! `TrafficSums`: batches of events in, sums by subject and connection out.

use std::collections::HashMap;

use arrow_data::ArrayData;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrow::{array, arrow_error};
use super::trace_reader::EventBatch;
use subtrie_trace::{NumberedSums, TakenSums, TrafficSums as Core, added_rates as added};

/// Adds up messages and deliveries of clients by subject and connection.
#[pyclass(module = "subtrie._subtrie")]
pub struct TrafficSums(Core);

/// Publishes, deliveries, the starts of the buckets of both, and the planes.
type Parts = (EventBatch, EventBatch, Vec<i64>, Vec<i64>, Vec<String>);

/// Publishes, deliveries, subjects and addresses.
type NumberedParts = (EventBatch, EventBatch, EventBatch, EventBatch);

#[pymethods]
impl TrafficSums {
    #[new]
    #[pyo3(signature = (*, window=None, follow=false, days=false, buckets=1))]
    fn new(window: Option<i64>, follow: bool, days: bool, buckets: u32) -> Self {
        Self(Core::new(window, follow, days, buckets))
    }

    /// Add the rows of a batch of events; return what each row is beside that, in two bytes each.
    ///
    /// `constants` are the columns that have one text in all rows. Runs without the GIL.
    #[pyo3(signature = (batch, constants=None))]
    fn add_events<'py>(
        &mut self,
        py: Python<'py>,
        batch: &Bound<'py, PyAny>,
        constants: Option<HashMap<String, String>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let batch = array(batch)?;
        let constants = constants.unwrap_or_default().into_iter().collect();
        let sums = &mut self.0;
        let flags = py
            .detach(|| sums.add_events(batch, constants))
            .map_err(arrow_error)?;
        let bytes: Vec<u8> = flags.into_iter().flat_map(u16::to_ne_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Add the messages of other sums.
    fn add_publishes(&mut self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add(py, batch, Core::add_publishes)
    }

    /// Add the deliveries of other sums.
    fn add_deliveries(&mut self, py: Python<'_>, batch: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add(py, batch, Core::add_deliveries)
    }

    /// Return all sums, sorted by bucket, and begin again.
    fn take(&mut self, py: Python<'_>) -> PyResult<Parts> {
        let sums = &mut self.0;
        let TakenSums {
            publishes,
            deliveries,
            publish_starts,
            delivery_starts,
            planes,
        } = py.detach(|| sums.take()).map_err(arrow_error)?;
        Ok((
            EventBatch(publishes),
            EventBatch(deliveries),
            publish_starts,
            delivery_starts,
            planes,
        ))
    }

    /// Return all sums with numbers of subjects, the subjects and their addresses; begin again.
    fn take_numbered(&mut self, py: Python<'_>) -> PyResult<NumberedParts> {
        let sums = &mut self.0;
        let found = py.detach(|| sums.take_numbered()).map_err(arrow_error)?;
        Ok(numbered(found))
    }

    /// Return all sums by address as `take_numbered` does, the subjects with the most messages, and
    /// how many messages a subject has at most that is not among them; begin again.
    #[expect(clippy::needless_pass_by_value, reason = "of Python")]
    fn take_by_address(
        &mut self,
        py: Python<'_>,
        planes: Vec<String>,
        most: usize,
        also: Vec<String>,
    ) -> PyResult<(NumberedParts, EventBatch, i64)> {
        let sums = &mut self.0;
        let found = py
            .detach(|| sums.take_by_address(&planes, most, &also))
            .map_err(arrow_error)?;
        Ok((numbered(found.sums), EventBatch(found.most), found.unnamed))
    }

    /// The number of distinct keys and subjects that wait to be taken.
    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Add up the rates of a batch by the number of their group.
#[pyfunction]
pub fn added_rates(
    py: Python<'_>,
    batch: &Bound<'_, PyAny>,
    groups: usize,
) -> PyResult<EventBatch> {
    let batch = array(batch)?;
    let found = py.detach(|| added(batch, groups)).map_err(arrow_error)?;
    Ok(EventBatch(found))
}

fn numbered(sums: NumberedSums) -> NumberedParts {
    (
        EventBatch(sums.publishes),
        EventBatch(sums.deliveries),
        EventBatch(sums.subjects),
        EventBatch(sums.addresses),
    )
}

impl TrafficSums {
    fn add(
        &mut self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        add: impl FnOnce(&mut Core, ArrayData) -> Result<(), arrow_schema::ArrowError> + Send,
    ) -> PyResult<()> {
        let batch = array(batch)?;
        let sums = &mut self.0;
        py.detach(|| add(sums, batch)).map_err(arrow_error)
    }
}
