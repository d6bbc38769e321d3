//! The class `SubjectTrie`: its fields, and what several of its methods share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::build::StateBuilder;
use super::retained_values::RetainedValues;
use super::scratch::{LookupScratch, with_scratch};
use super::shared_state::SharedState;
use super::state::{State, replace, value_in};
use super::subscription::Subscription;
use crate::args::text;
use crate::errors::{ErrorClass, exception};
use subtrie::error::{Error, ErrorKind};
use subtrie::grammar::{BoundsOverride, Dialect};
use subtrie::trie::{Index, Scratch, SubscriptionRef};

/// An index of subscriptions to patterns, looked up by subject.
///
/// `max_tokens` and `max_length` bound subjects and patterns; the dialect has defaults. A pattern
/// that is not valid raises `PatternError`, a subject `SubjectError`, a queue name `InvalidName`, an
/// argument that is not a `str` `TypeError`; then nothing has changed. Safe with threads and fork.
// M-05, S0-080, S0-081, S0-128, A17 to A19, A37, A39.
#[pyclass(frozen, module = "subtrie", weakref)]
pub struct SubjectTrie {
    pub(super) builder: StateBuilder,
    pub(super) given: BoundsOverride,
    pub(super) state: SharedState<State>,
    pub(super) next_id: AtomicU64,
    /// Whether subjects are looked up in an image instead of the index.
    pub(super) is_image: AtomicBool,
    pub(super) retained: RetainedValues,
}

impl SubjectTrie {
    pub(super) fn empty(dialect: Dialect, given: BoundsOverride) -> Self {
        let bounds = dialect.bounds_with(given);
        let builder = StateBuilder { dialect, bounds };
        Self {
            builder,
            given,
            state: SharedState::new(builder.empty()),
            next_id: AtomicU64::new(0),
            is_image: AtomicBool::new(false),
            retained: RetainedValues::default(),
        }
    }

    /// The value that the subscription with this id has, or had when it was removed.
    pub fn value_of(&self, py: Python<'_>, id: u64) -> PyResult<Py<PyAny>> {
        let value = self.state.read(py, |state| {
            let single = state.index.find(id).and_then(|found| state.single(found));
            single.and_then(|single| value_in(py, single))
        });
        value
            .map(Bound::unbind)
            .or_else(|| self.retained.get(py, id))
            .ok_or_else(|| PyKeyError::new_err(id))
    }

    /// Reserves consecutive ids, if there is room for so many rows and bytes of patterns.
    pub(super) fn reserve(&self, py: Python<'_>, count: usize, bytes: usize) -> PyResult<u64> {
        let has_room = self
            .state
            .read(py, |state| state.index.has_room(count, bytes));
        let next = |next: u64| next.checked_add(count as u64).filter(|_| has_room);
        let reserved = self
            .next_id
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        reserved.map_err(|_| {
            exception(
                py,
                &Error::new(ErrorKind::IndexFull),
                ErrorClass::Pattern,
                "",
            )
        })
    }

    /// Makes this the handle of a subscription, unless it has one. Returns the handle that it has.
    pub(super) fn keep_handle<'py>(
        &self,
        py: Python<'py>,
        id: u64,
        made: Py<Subscription>,
    ) -> PyResult<Bound<'py, Subscription>> {
        let shared = self
            .state
            .read(py, |state| state.shared_handles(id).cloned());
        let made = match shared {
            Some(shared) => shared.keep(py, id, made)?,
            None => made,
        };
        // Another thread may have made it meanwhile, or removed the subscription.
        let other = self.state.read(py, |state| {
            let cell = state.handle_cell(id)?;
            let own = cell.get_or_init(|| made.clone_ref(py));
            Some(own.clone_ref(py))
        });
        Ok(other.unwrap_or(made).into_bound(py))
    }

    /// The handle of the subscription with this id, if it is made.
    pub(super) fn handle<'py>(&self, py: Python<'py>, id: u64) -> Option<Bound<'py, Subscription>> {
        self.state.read(py, |state| {
            let handle = state.handle_cell(id)?.get()?;
            Some(handle.bind(py).clone())
        })
    }

    /// Builds the index if subjects are looked up in an image instead.
    pub(super) fn ensure_index(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(image) = self.image(py) {
            let fresh = StateBuilder::restore_image(py, &image)?;
            let next = fresh.index.next_id();
            let replaced = self.state.write(py, |state| {
                // Another thread may have done so meanwhile, and changed the index.
                let now = state.image.as_ref();
                if now.is_some_and(|now| Arc::ptr_eq(now, &image)) {
                    self.next_id.store(next, Ordering::Relaxed);
                    self.is_image.store(false, Ordering::Release);
                    std::mem::replace(state, fresh)
                } else {
                    fresh
                }
            });
            drop(replaced); // without the lock
        }
        Ok(())
    }

    /// Replaces the state.
    pub(super) fn install(&self, py: Python<'_>, fresh: State) {
        let next = fresh.index.next_id();
        drop(replace(py, &self.state, fresh));
        self.next_id.store(next, Ordering::Relaxed);
        self.is_image.store(false, Ordering::Release);
    }

    /// The values that a lookup finds. A single one is returned in the tuple made when it was added.
    #[inline]
    pub(super) fn matched<'py>(
        &self,
        subject: &Bound<'py, PyAny>,
        lookup: impl Fn(&Index, &str, &mut Scratch, &mut Vec<SubscriptionRef>) -> Result<(), Error>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = subject.py();
        let text = text(subject, "subject", ErrorClass::Subject)?;
        with_scratch(py, |scratch| {
            let result = self.state.read(py, |state| {
                if state.image.is_some() {
                    return Ok(None);
                }
                let found = &mut scratch.found;
                lookup(&state.index, text, &mut scratch.lookup, found)?;
                match found[..] {
                    [] => Ok(Some(PyTuple::empty(py).unbind())),
                    [one] => Ok(state.single(one).map(|single| single.clone_ref(py))),
                    _ => {
                        scratch.objects.extend(state.values(py, found));
                        Ok(None)
                    }
                }
            });
            match result {
                Ok(Some(tuple)) => Ok(tuple.into_bound(py)),
                Ok(None) if !scratch.objects.is_empty() => {
                    PyTuple::new(py, scratch.objects.drain(..))
                }
                Ok(None) => self.matched_in_image(py, text, scratch),
                Err(error) => Err(exception(py, &error, ErrorClass::Subject, text)),
            }
        })
    }

    #[cold]
    fn matched_in_image<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        scratch: &mut LookupScratch,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let Some(image) = self.state.read(py, |state| state.image.clone()) else {
            return Ok(PyTuple::empty(py));
        };
        image
            .matched(py, text, &mut scratch.lookup, &mut scratch.found)?
            .map_err(|error| exception(py, &error, ErrorClass::Subject, text))
    }
}

/// Calls `look_up` with the text of a subject and scratch memory.
pub fn look_up<R>(
    subject: &Bound<'_, PyAny>,
    look_up: impl FnOnce(&mut LookupScratch, &str) -> Result<R, Error>,
) -> PyResult<R> {
    let text = text(subject, "subject", ErrorClass::Subject)?;
    let py = subject.py();
    with_scratch(py, |scratch| look_up(scratch, text))
        .map_err(|error| exception(py, &error, ErrorClass::Subject, text))
}
