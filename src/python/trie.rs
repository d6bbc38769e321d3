//! `trie` for Python: `SubjectTrie`.

use std::sync::Arc;

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyIterator, PyList, PyTuple};

use super::convert::{Area, bounds, dialect, refused, text, wrong_type};
use super::matches::{Matches, match_batch};
use super::trie_rows::{Limit, Rules, Threads, bound, id_of, is_subscription, shared};
use super::trie_state::{Desk, Guarded, Kept, Lookup, Part, Row, State, at_desk, copied};
use crate::error::Error;
use crate::grammar::Dialect;
use crate::trie::{Index, Ticket};

/// An index of subscriptions by pattern, asked by subject.
///
/// `max_tokens` and `max_length` bound subjects and patterns, by dialect unless given (A37). Raises
/// `PatternError` for a pattern, `SubjectError` for a subject and `InvalidName` for a queue name
/// that breaks a rule, `TypeError` for what is no text; then nothing has changed. Safe under
/// threads and fork. Rules: M-05, S0-080, S0-081, S0-128, A17 to A19, A37, A39.
#[pyclass(frozen, module = "subtrie._subtrie", weakref)]
pub struct SubjectTrie {
    rules: Rules,
    given: (Option<u64>, Option<u64>),
    state: Guarded,
}

#[pymethods]
impl SubjectTrie {
    #[new]
    #[pyo3(signature = (*, dialect="strict", max_tokens=None, max_length=None))]
    fn new(
        dialect: &str,
        max_tokens: Option<&Bound<'_, PyAny>>,
        max_length: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let dialect = self::dialect(dialect)?;
        let given = (
            bound("max_tokens", max_tokens)?,
            bound("max_length", max_length)?,
        );
        Ok(Self::empty(dialect, given))
    }

    /// `strict` or `server`.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.rules.dialect.name()
    }

    /// Most tokens of a subject or pattern; None where only the bytes are bounded.
    #[getter]
    fn max_tokens(&self) -> Option<u64> {
        let own = self.rules.dialect.bounds().max_tokens;
        let own = (own != usize::MAX).then_some(own as u64);
        self.given.0.or(own)
    }

    /// Most bytes of a subject or pattern.
    #[getter]
    fn max_length(&self) -> u64 {
        self.given.1.unwrap_or(self.rules.bounds.max_length as u64)
    }

    /// Subscribes `value` to `pattern`, as a member of a queue group if one is named.
    #[pyo3(signature = (pattern, value, *, queue=None))]
    fn add<'py>(
        &self,
        pattern: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
        queue: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = pattern.py();
        let row = self.rules.admitted(pattern, value, queue)?;
        let made = self.rules.subscribe(py, &self.state, vec![row])?;
        made.into_iter()
            .next()
            .ok_or_else(|| PyTypeError::new_err("no row"))
    }

    /// Adds rows `(pattern, value[, queue])`: all, or none of them.
    fn update<'py>(&self, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = rows.py();
        let mut admitted = Vec::new();
        for row in rows.try_iter()? {
            admitted.push(self.rules.admitted_row(&row?)?);
        }
        PyList::new(py, self.rules.subscribe(py, &self.state, admitted)?)
    }

    /// Takes a subscription out. False if it is not, or no longer, in this index.
    fn remove(&self, subscription: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !is_subscription(subscription)? {
            return Err(wrong_type(subscription, "subscription", "Subscription"));
        }
        let gone = id_of(subscription)
            .and_then(|id| self.state.write(|state| state.remove(id, subscription)));
        Ok(gone.is_some()) // what is gone is dropped here, after the lock
    }

    /// Takes all subscriptions out. Ids are not given again.
    fn clear(&self) {
        drop(self.state.write(State::clear));
    }

    /// The values of all subscriptions that match, in order of insertion, queues or not.
    #[pyo3(name = "match")]
    fn match_<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.found(subject, Index::match_into, Part::Value)
    }

    fn __call__<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.found(subject, Index::match_into, Part::Value)
    }

    /// The subscriptions that match, in order of insertion.
    fn subscriptions<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.found(subject, Index::match_into, Part::Handle)
    }

    /// The values a broker would deliver to: all plain ones, one of each queue group (A19).
    fn select<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.found(subject, Index::select_into, Part::Value)
    }

    /// The values that match: plain ones, and by queue name over all patterns (A18).
    fn groups<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = subject.py();
        let (plain, queues) = asked(subject, |desk, text| {
            self.state.read(|state| {
                let groups = state.index.groups(text, &mut desk.scratch)?;
                let queues: Vec<(String, Vec<Py<PyAny>>)> = groups
                    .queues
                    .iter()
                    .map(|members| {
                        let name = members
                            .first()
                            .and_then(|&oldest| state.index.queue(oldest));
                        let values = state.parts(py, members, Part::Value);
                        (name.unwrap_or_default().to_owned(), values)
                    })
                    .collect();
                Ok((state.parts(py, &groups.plain, Part::Value), queues))
            })
        })?;
        let mapping = PyDict::new(py);
        for (name, members) in queues {
            mapping.set_item(name, PyTuple::new(py, members)?)?;
        }
        shared!(py, "Groups")?.call1((PyTuple::new(py, plain)?, mapping))
    }

    /// Matches a column: an Arrow string array, a stream of them, or an iterable of `str`.
    #[pyo3(
        signature = (subjects, *, threads=Threads(1)),
        text_signature = "($self, subjects, *, threads=1)"
    )]
    fn match_batch(&self, subjects: &Bound<'_, PyAny>, threads: Threads) -> PyResult<Matches> {
        match_batch(&self.state, subjects, threads)
    }

    /// Does any subscription match?
    fn has_interest(&self, subject: &Bound<'_, PyAny>) -> PyResult<bool> {
        asked(subject, |desk, text| {
            self.state
                .read(|state| state.index.has_interest(text, &mut desk.scratch))
        })
    }

    /// How many subscriptions match, queue members too.
    fn count(&self, subject: &Bound<'_, PyAny>) -> PyResult<usize> {
        asked(subject, |desk, text| {
            self.state
                .read(|state| state.index.count(text, &mut desk.scratch))
        })
    }

    /// The subscriptions whose pattern has a subject in common with `pattern`.
    fn matching<'py>(&self, pattern: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.related(pattern, Index::matching)
    }

    /// The subscriptions whose pattern matches nothing but what `pattern` matches.
    fn covered_by<'py>(&self, pattern: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.related(pattern, Index::covered_by)
    }

    /// The subscriptions that match, or up to `limit` nearest patterns.
    #[pyo3(
        signature = (subject, *, limit=Limit(3)),
        text_signature = "($self, subject, *, limit=3)"
    )]
    fn explain<'py>(
        &self,
        subject: &Bound<'py, PyAny>,
        limit: Limit,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = subject.py();
        let (matches, nearest) = asked(subject, |desk, text| {
            self.state.read(|state| {
                let found = state.index.explain(text, limit.0, &mut desk.scratch)?;
                let (tickets, places): (Vec<Ticket>, Vec<usize>) =
                    found.nearest.into_iter().unzip();
                let nearest = state.parts(py, &tickets, Part::Handle);
                let nearest: Vec<_> = nearest.into_iter().zip(places).collect();
                Ok((state.parts(py, &found.matches, Part::Handle), nearest))
            })
        })?;
        let text = text(subject, "subject", Area::Subject)?;
        shared!(py, "explained")?.call1((text, self.rules.dialect.name(), matches, nearest))
    }

    fn __len__(&self) -> usize {
        self.state.read(|state| state.index.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let handles = self
            .state
            .read(|state| state.parts(py, &state.index.tickets(), Part::Handle));
        PyList::new(py, handles)?.try_iter()
    }

    fn __contains__(&self, subscription: &Bound<'_, PyAny>) -> PyResult<bool> {
        if !is_subscription(subscription)? {
            return Ok(false);
        }
        let Some(id) = id_of(subscription) else {
            return Ok(false);
        };
        Ok(self.state.read(|state| {
            let kept = state.index.find(id).and_then(|ticket| state.get(ticket));
            kept.is_some_and(|kept| kept.handle.is(subscription))
        }))
    }

    fn __repr__(&self) -> String {
        format!(
            "<SubjectTrie of {} subscriptions, dialect '{}'>",
            self.__len__(),
            self.rules.dialect.name()
        )
    }

    fn __str__(&self) -> String {
        self.state.read(|state| state.index.to_string())
    }

    /// Counts and memory. Cost: all nodes.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (stats, slots) = self
            .state
            .read(|state| (state.index.stats(), state.kept.capacity()));
        shared!(py, "TrieStats")?.call1((
            stats.subscriptions,
            stats.patterns,
            stats.nodes,
            stats.queues,
            stats.depth,
            stats.memory + slots * size_of::<Option<Kept>>(),
        ))
    }

    /// An independent index with the same subscriptions, ids and turns.
    fn copy(&self, py: Python<'_>) -> Self {
        let twin = Self::empty(self.rules.dialect, self.given);
        let (index, kept) = self
            .state
            .read(|state| (Index::clone(&state.index), copied(py, &state.kept)));
        twin.state.write(|state| {
            *state = State {
                kept: Arc::new(kept),
                ..State::new(index)
            }
        });
        twin
    }

    fn __copy__(&self, py: Python<'_>) -> Self {
        self.copy(py)
    }

    /// The pickle is the same in both engines. Values may lead back here, so they travel as state.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (next, rows) = self.state.read(|state| {
            let index = &state.index;
            let row = |ticket: Ticket| {
                let kept = state.get(ticket)?;
                Some(Row {
                    id: ticket.id,
                    pattern: index.pattern(ticket),
                    queue: index.queue(ticket).map(str::to_owned),
                    turn: index.turn(ticket),
                    kept: Kept {
                        handle: kept.handle.clone_ref(py),
                        value: kept.value.clone_ref(py),
                    },
                })
            };
            let rows: Vec<Row> = index.tickets().into_iter().filter_map(row).collect();
            (index.next_id(), rows)
        });
        let rows = rows
            .into_iter()
            .map(|row| {
                let Kept { handle, value } = row.kept;
                (handle, row.pattern, value, row.queue, row.id, row.turn).into_pyobject(py)
            })
            .collect::<PyResult<Vec<_>>>()?;
        let state = (next, PyTuple::new(py, rows)?);
        let arguments = (self.rules.dialect.name(), self.given.0, self.given.1);
        (shared!(py, "empty_trie")?, arguments, state).into_pyobject(py)
    }

    fn __setstate__(&self, py: Python<'_>, state: (u64, Vec<Bound<'_, PyTuple>>)) -> PyResult<()> {
        let fresh = self.rules.restored(py, state.0, state.1)?;
        drop(self.state.write(|state| std::mem::replace(state, fresh)));
        Ok(())
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        static DEEPCOPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let this = slf.get();
        let twin = Bound::new(py, Self::empty(this.rules.dialect, this.given))?;
        memo.set_item(slf.as_ptr() as usize, &twin)?;
        let state = this.__reduce__(py)?.get_item(2)?;
        let state = DEEPCOPY
            .import(py, "copy", "deepcopy")?
            .call1((state, memo))?;
        twin.call_method1("__setstate__", (state,))?;
        Ok(twin)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // What a writer at work holds is not looked at: it is in use, so it stays.
        self.state
            .try_read(|state| {
                for kept in state.kept.iter().flatten() {
                    visit.call(&kept.handle)?;
                    visit.call(&kept.value)?;
                }
                Ok(())
            })
            .unwrap_or(Ok(()))
    }

    fn __clear__(&self) {
        self.clear();
    }
}

impl SubjectTrie {
    fn empty(dialect: Dialect, given: (Option<u64>, Option<u64>)) -> Self {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let bounds = bounds(dialect, given.0.map(size), given.1.map(size));
        let rules = Rules { dialect, bounds };
        Self {
            rules,
            given,
            state: Guarded::new(rules.empty()),
        }
    }

    fn found<'py>(
        &self,
        subject: &Bound<'py, PyAny>,
        lookup: Lookup,
        part: Part,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = subject.py();
        let text = text(subject, "subject", Area::Subject)?;
        at_desk(
            |desk| match desk.look_up(py, &self.state, text, lookup, part) {
                Ok(()) => PyTuple::new(py, desk.objects.drain(..)),
                Err(error) => Err(refused(py, &error, Area::Subject, text)),
            },
        )
    }

    fn related<'py>(
        &self,
        pattern: &Bound<'py, PyAny>,
        ask: fn(&Index, &str) -> Result<Vec<Ticket>, Error>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = pattern.py();
        let text = text(pattern, "pattern", Area::Pattern)?;
        let handles = self.state.read(|state| {
            ask(&state.index, text).map(|tickets| state.parts(py, &tickets, Part::Handle))
        });
        match handles {
            Ok(handles) => PyTuple::new(py, handles),
            Err(error) => Err(refused(py, &error, Area::Pattern, text)),
        }
    }
}

/// Runs a lookup that needs no Python objects made.
fn asked<R>(
    subject: &Bound<'_, PyAny>,
    ask: impl FnOnce(&mut Desk, &str) -> Result<R, Error>,
) -> PyResult<R> {
    let text = text(subject, "subject", Area::Subject)?;
    at_desk(|desk| ask(desk, text))
        .map_err(|error| refused(subject.py(), &error, Area::Subject, text))
}
