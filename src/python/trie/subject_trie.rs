//! What a `SubjectTrie` holds, and how it is asked and filled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::departed::Departed;
use super::rows::Rules;
use super::state::{Desk, Guarded, Part, State, at_desk, replace};
use crate::error::Error;
use crate::grammar::{BoundsOverride, Dialect};
use crate::python::args::text;
use crate::python::errors::{ErrorClass, exception};
use crate::trie::{Index, Scratch, Ticket};

/// An index of subscriptions by pattern, asked by subject.
///
/// `max_tokens` and `max_length` bound subjects and patterns, by dialect unless given (A37). Raises
/// `PatternError` for a pattern, `SubjectError` for a subject and `InvalidName` for a queue name
/// that breaks a rule, `TypeError` for what is no text; then nothing has changed. Safe under
/// threads and fork. Rules: M-05, S0-080, S0-081, S0-128, A17 to A19, A37, A39.
#[pyclass(frozen, module = "subtrie._subtrie", weakref)]
pub struct SubjectTrie {
    pub(super) rules: Rules,
    pub(super) given: BoundsOverride,
    pub(super) state: Guarded,
    pub(super) next_id: AtomicU64,
    /// Is an image asked in place of the index?
    pub(super) is_image: AtomicBool,
    pub(super) departed: Departed,
}

impl SubjectTrie {
    pub(super) fn empty(dialect: Dialect, given: BoundsOverride) -> Self {
        let bounds = dialect.bounds_with(given);
        let rules = Rules { dialect, bounds };
        Self {
            rules,
            given,
            state: {
                let state = rules.empty();
                let twin = State::new(state.index.twin());
                Guarded::new(state, twin)
            },
            next_id: AtomicU64::new(0),
            is_image: AtomicBool::new(false),
            departed: Departed::default(),
        }
    }

    /// The value that the subscription with this id has, or had when it went.
    pub fn value_of(&self, py: Python<'_>, id: u64) -> PyResult<Py<PyAny>> {
        let (held, image) = self.state.read(|state| {
            let kept = state.index.find(id).and_then(|ticket| state.get(ticket));
            (
                kept.map(|kept| kept.value.clone_ref(py)),
                state.image.clone(),
            )
        });
        if let Some(image) = image {
            return image.value(py, id).map(Bound::unbind);
        }
        held.or_else(|| self.departed.get(py, id))
            .ok_or_else(|| PyKeyError::new_err(id))
    }

    /// Builds the index if an image stands in its place.
    pub(super) fn live(&self, py: Python<'_>) -> PyResult<()> {
        if !self.is_image.load(Ordering::Acquire) {
            return Ok(());
        }
        if let Some(image) = self.state.read(|state| state.image.clone()) {
            let fresh = self.rules.built(py, &image)?;
            self.install(py, fresh);
        }
        Ok(())
    }

    /// Puts another content in place.
    pub(super) fn install(&self, py: Python<'_>, fresh: State) {
        let next = fresh.index.next_id();
        drop(replace(py, &self.state, fresh));
        self.next_id.store(next, Ordering::Relaxed);
        self.is_image.store(false, Ordering::Release);
    }

    /// The values that a lookup finds: a tuple that is there already, where it finds one.
    #[inline]
    pub(super) fn matched<'py>(
        &self,
        subject: &Bound<'py, PyAny>,
        lookup: impl Fn(&Index, &str, &mut Scratch, &mut Vec<Ticket>) -> Result<(), Error>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = subject.py();
        let text = text(subject, "subject", ErrorClass::Subject)?;
        at_desk(|desk| {
            let found = self.state.read(|state| {
                if state.image.is_some() {
                    return Ok(None);
                }
                let tickets = &mut desk.tickets;
                lookup(&state.index, text, &mut desk.scratch, tickets)?;
                match tickets[..] {
                    [] => Ok(Some(PyTuple::empty(py).unbind())),
                    [one] => Ok(state.get(one).map(|kept| kept.alone.clone_ref(py))),
                    _ => {
                        state.parts_into(py, tickets, Part::Value, &mut desk.objects);
                        Ok(None)
                    }
                }
            });
            match found {
                Ok(Some(tuple)) => Ok(tuple.into_bound(py)),
                Ok(None) if !desk.objects.is_empty() => PyTuple::new(py, desk.objects.drain(..)),
                Ok(None) => self.matched_in_image(py, text, desk),
                Err(error) => Err(exception(py, &error, ErrorClass::Subject, text)),
            }
        })
    }

    #[cold]
    fn matched_in_image<'py>(
        &self,
        py: Python<'py>,
        text: &str,
        desk: &mut Desk,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let Some(image) = self.state.read(|state| state.image.clone()) else {
            return Ok(PyTuple::empty(py));
        };
        image
            .matched(py, text, &mut desk.scratch, &mut desk.tickets)?
            .map_err(|error| exception(py, &error, ErrorClass::Subject, text))
    }

    pub(super) fn related<'py>(
        &self,
        pattern: &Bound<'py, PyAny>,
        ask: fn(&Index, &str) -> Result<Vec<Ticket>, Error>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = pattern.py();
        let text = text(pattern, "pattern", ErrorClass::Pattern)?;
        self.live(py)?;
        let handles = self.state.read_alone(|state| {
            ask(&state.index, text).map(|tickets| state.parts(py, &tickets, Part::Handle))
        });
        match handles {
            Ok(handles) => PyTuple::new(py, handles),
            Err(error) => Err(exception(py, &error, ErrorClass::Pattern, text)),
        }
    }
}

/// Runs a lookup that needs no Python objects made.
pub fn asked<R>(
    subject: &Bound<'_, PyAny>,
    ask: impl FnOnce(&mut Desk, &str) -> Result<R, Error>,
) -> PyResult<R> {
    let text = text(subject, "subject", ErrorClass::Subject)?;
    at_desk(|desk| ask(desk, text))
        .map_err(|error| exception(subject.py(), &error, ErrorClass::Subject, text))
}
