//! Queries that may take long: they are computed without the GIL, so that other threads run, and
//! answered from one state.
//!
//! A query finds references into one state. Their handles are made with the GIL, a portion at a
//! time, and other threads run between two portions. If one of them has changed the index, the query
//! begins again; after a few attempts it keeps the GIL.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::handles::Patterns;
use super::state::State;
use super::subject_trie::SubjectTrie;
use super::subscription::Subscription;
use crate::args::text;
use crate::errors::{ErrorClass, exception};
use subtrie::error::Error;
use subtrie::raw::{Index, SubscriptionRef};

/// A query of fewer subscriptions keeps the GIL. Lower lets other threads run sooner, higher saves
/// small indexes a hand-over (some ten microseconds when another thread is waiting).
const DETACH_FROM: usize = 1_000;

/// The number of times that a query begins again after a change.
const ATTEMPTS: usize = 3;

/// The number of handles that are made before other threads run: about 0.1 ms.
const PORTION: usize = 512;

/// The handles of what a query found, and what else it found; or why the query is not valid.
type QueryAnswer<'py, R> = Result<(Vec<Bound<'py, Subscription>>, R), Error>;

impl SubjectTrie {
    /// Computes something from one state, without the GIL if the index is large.
    pub(super) fn compute<R: Send>(
        &self,
        py: Python<'_>,
        work: impl Fn(&State) -> R + Send + Sync,
    ) -> PyResult<R> {
        let is_large = |state: &State| state.index.len() >= DETACH_FROM;
        if self.state.read(py, is_large)? {
            Ok(py.detach(|| self.state.read_detached(work))?)
        } else {
            Ok(self.state.read(py, work)?)
        }
    }

    /// The handles of the subscriptions that `find` finds in one state.
    pub(super) fn answer<'py, R: Send>(
        &self,
        py: Python<'py>,
        find: impl Fn(&State) -> Result<(Vec<SubscriptionRef>, R), Error> + Send + Sync,
    ) -> PyResult<QueryAnswer<'py, R>> {
        self.ensure_index(py)?;
        for _ in 0..ATTEMPTS {
            let (changes, found) = self.compute(py, |state| (self.state.changes(), find(state)))?;
            let (found, rest) = match found {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            if let Some(handles) = self.handles_unless_changed(py, &found, changes)? {
                return Ok(Ok((handles, rest)));
            }
        }
        let found = self.state.read(py, |state| {
            let (found, rest) = find(state)?;
            Ok((state.handles(py, &found), rest))
        })?;
        match found {
            Ok((handles, rest)) => {
                let handles = self.made(py, handles, &mut Patterns::new())?;
                Ok(Ok((handles, rest)))
            }
            Err(error) => Ok(Err(error)),
        }
    }

    /// The handles of what was found after so many changes; `None` if there were more since.
    fn handles_unless_changed<'py>(
        &self,
        py: Python<'py>,
        found: &[SubscriptionRef],
        changes: u64,
    ) -> PyResult<Option<Vec<Bound<'py, Subscription>>>> {
        let mut made = Vec::with_capacity(found.len());
        let mut patterns = Patterns::new();
        for portion in found.chunks(PORTION) {
            if !made.is_empty() {
                py.detach(|| ());
            }
            let handles = self.state.read(py, |state| {
                let unchanged = self.state.changes() == changes;
                unchanged.then(|| state.handles(py, portion))
            })?;
            let Some(handles) = handles else {
                return Ok(None);
            };
            made.append(&mut self.made(py, handles, &mut patterns)?);
        }
        Ok(Some(made))
    }

    /// The handles of the subscriptions that a query by pattern finds.
    pub(super) fn query<'py>(
        &self,
        pattern: &Bound<'py, PyAny>,
        query: fn(&Index, &str) -> Result<Vec<SubscriptionRef>, Error>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = pattern.py();
        let text = text(pattern, "pattern", ErrorClass::Pattern)?;
        let find = |state: &State| query(&state.index, text).map(|found| (found, ()));
        match self.answer(py, find)? {
            Ok((handles, ())) => PyTuple::new(py, handles),
            Err(error) => Err(exception(py, &error, ErrorClass::Pattern, text)),
        }
    }

    /// Whether a key is a subscription of the index, or the pattern of one.
    pub(super) fn contains(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        self.ensure_index(py)?;
        if let Ok(pattern) = key.cast::<PyString>() {
            // No pattern has characters that UTF-8 does not have.
            let Ok(pattern) = pattern.to_str() else {
                return Ok(false);
            };
            let contains = |state: &State| state.index.contains_pattern(pattern);
            return Ok(self.state.read(py, contains)?);
        }
        let handle = key.cast::<Subscription>().ok();
        let Some(id) = handle.and_then(|handle| handle.get().id_if_set()) else {
            return Ok(false);
        };
        Ok(self.state.read(py, |state| state.is_handle(py, id, key))?)
    }

    /// All handles, in ascending id.
    pub(super) fn all_handles<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Vec<Bound<'py, Subscription>>> {
        let find = |state: &State| Ok((state.index.subscriptions(), ()));
        match self.answer(py, find)? {
            Ok((handles, ())) => Ok(handles),
            Err(error) => Err(exception(py, &error, ErrorClass::Pattern, "")),
        }
    }
}
