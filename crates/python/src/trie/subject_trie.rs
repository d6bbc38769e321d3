//! The class `SubjectTrie`: its fields, and what several of its methods share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::build::StateBuilder;
use super::image::OpenedImage;
use super::retained_values::{RetainedValues, value_in};
use super::scratch::{LookupScratch, with_scratch};
use super::shared_state::SharedState;
use super::state::State;
use super::subscription::Subscription;
use crate::args::text;
use crate::errors::{ErrorClass, exception};
use subtrie::error::{Error, ErrorKind};
use subtrie::grammar::{BoundsOverride, Dialect};

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
            retained: RetainedValues::default(),
        }
    }

    /// The value that the subscription with this id has, or had when it was removed.
    pub fn value_of(&self, py: Python<'_>, id: u64) -> PyResult<Py<PyAny>> {
        let value = self.state.read(py, |state| {
            let single = state.index.find(id).and_then(|found| state.single(found));
            single.and_then(|single| value_in(py, single))
        })?;
        value
            .map(Bound::unbind)
            .or_else(|| self.retained.get(py, id))
            .ok_or_else(|| PyKeyError::new_err(id))
    }

    /// Reserves consecutive ids, if there is room for so many rows and bytes of patterns.
    pub(super) fn reserve(&self, py: Python<'_>, count: usize, bytes: usize) -> PyResult<u64> {
        let has_room = self
            .state
            .read(py, |state| state.index.has_room(count, bytes))?;
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
            .read(py, |state| state.shared_handles(id).cloned())?;
        let made = match shared {
            Some(shared) => shared.keep(py, id, made)?,
            None => made,
        };
        // Another thread may have made it meanwhile, or removed the subscription.
        let other = self.state.read(py, |state| {
            let cell = state.handle_cell(id)?;
            let own = cell.get_or_init(|| made.clone_ref(py));
            Some(own.clone_ref(py))
        })?;
        Ok(other.unwrap_or(made).into_bound(py))
    }

    /// The handle of the subscription with this id, if it is made.
    pub(super) fn handle<'py>(
        &self,
        py: Python<'py>,
        id: u64,
    ) -> PyResult<Option<Bound<'py, Subscription>>> {
        Ok(self.state.read(py, |state| {
            let handle = state.handle_cell(id)?.get()?;
            Some(handle.bind(py).clone())
        })?)
    }

    /// Builds the index if subjects are looked up in an image instead.
    pub(super) fn ensure_index(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(image) = self.image(py)? {
            let fresh = StateBuilder::restore_image(py, &image)?;
            let next = fresh.index.next_id();
            let replaced = self.state.write(py, |state| {
                // Another thread may have done so meanwhile, and changed the index.
                let now = state.image.as_ref();
                if now.is_some_and(|now| Arc::ptr_eq(now, &image)) {
                    self.next_id.store(next, Ordering::Relaxed);
                    std::mem::replace(state, fresh)
                } else {
                    fresh
                }
            })?;
            drop(replaced); // without the lock
        }
        Ok(())
    }

    /// Replaces the state.
    pub(super) fn install(&self, py: Python<'_>, fresh: State) -> PyResult<()> {
        let next = fresh.index.next_id();
        let replaced = self
            .state
            .replace(py, |state, _| std::mem::replace(state, fresh))?;
        self.next_id.store(next, Ordering::Relaxed);
        drop(replaced); // without the lock
        Ok(())
    }

    /// The image in which subjects are looked up; `None` after the first change.
    pub(super) fn image(&self, py: Python<'_>) -> PyResult<Option<Arc<OpenedImage>>> {
        Ok(self.state.read(py, |state| state.image.clone())?)
    }

    /// The values that a lookup finds. A single one of an index is returned in the tuple made when it
    /// was added.
    #[inline]
    pub(super) fn values<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        look_up: impl Fn(&State, &str, &mut LookupScratch) -> Result<(), Error>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        with_scratch(py, |scratch| {
            // No object is made during the read: the collector may run Python code then.
            let single = self.state.read(py, |state| {
                look_up(state, text, scratch)?;
                if let Some(image) = &state.image {
                    scratch.image = Some(image.values.clone_ref(py));
                    return Ok(None);
                }
                if let [one] = scratch.found[..] {
                    return Ok(state.single(one).map(|single| single.clone_ref(py)));
                }
                scratch.objects.extend(state.values(py, &scratch.found));
                Ok(None)
            })?;
            match single {
                Ok(Some(single)) => Ok(single.into_bound(py)),
                Ok(None) => match scratch.image.take() {
                    None => PyTuple::new(py, scratch.objects.drain(..)),
                    Some(values) => values.of(py, &scratch.found),
                },
                Err(error) => Err(exception(py, &error, ErrorClass::Subject, text)),
            }
        })
    }

    /// [`SubjectTrie::values`] of all subscriptions that match.
    #[inline]
    pub(super) fn matched<'py>(
        &self,
        py: Python<'py>,
        text: &str,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.values(
            py,
            text,
            |state, text, LookupScratch { lookup, found, .. }| {
                state.with_target(|target| target.match_into(text, lookup, found))
            },
        )
    }

    /// [`SubjectTrie::values`] of those that a broker would deliver to.
    #[inline]
    pub(super) fn selected<'py>(
        &self,
        py: Python<'py>,
        text: &str,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.ensure_index(py)?;
        self.values(
            py,
            text,
            |state, text, LookupScratch { lookup, found, .. }| {
                state.index.select_into(text, lookup, found)
            },
        )
    }

    /// The number of subscriptions that match.
    #[inline]
    pub(super) fn counted(&self, py: Python<'_>, text: &str) -> PyResult<usize> {
        self.look_up(py, text, |state, scratch| {
            state.with_target(|target| target.count(text, &mut scratch.lookup))
        })
    }

    /// Whether any subscription matches.
    #[inline]
    pub(super) fn is_heard(&self, py: Python<'_>, text: &str) -> PyResult<bool> {
        self.look_up(py, text, |state, scratch| {
            state.with_target(|target| target.has_interest(text, &mut scratch.lookup))
        })
    }

    /// Calls `look_up` with the state and scratch memory.
    #[inline]
    pub(super) fn look_up<R>(
        &self,
        py: Python<'_>,
        text: &str,
        look_up: impl FnOnce(&State, &mut LookupScratch) -> Result<R, Error>,
    ) -> PyResult<R> {
        let found = with_scratch(py, |scratch| {
            self.state.read(py, |state| look_up(state, scratch))
        })?;
        found.map_err(|error| exception(py, &error, ErrorClass::Subject, text))
    }
}

/// The text of a subject.
pub fn subject_text<'a>(subject: &'a Bound<'_, PyAny>) -> PyResult<&'a str> {
    text(subject, "subject", ErrorClass::Subject)
}
