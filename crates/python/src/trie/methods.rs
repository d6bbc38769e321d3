//! The methods of `SubjectTrie`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use pyo3::exceptions::PyTypeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyGenericAlias, PyIterator, PyList, PyTuple, PyType};

use super::collector::CollectorPause;
use super::handles::Patterns;
use super::image::OpenedImage;
use super::matches::{Matches, match_batch};
use super::pickle;
use super::scratch::LookupScratch;
use super::shared_names::shared;
use super::state::{HandleCell, State};
use super::subject_trie::{SubjectTrie, subject_text};
use super::subscription::Subscription;
use crate::args::{Limit, Threads, bound, dialect};
use crate::display::shown;
use crate::errors::{ErrorClass, exception, type_error};
use subtrie::raw::{Index, Scratch, SubscriptionRef};

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

    /// Return the class with the type of its values, for annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyGenericAlias>> {
        PyGenericAlias::new(class.py(), class, values)
    }

    /// The dialect: `strict` or `server`.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.builder.dialect.name()
    }

    /// The most tokens of a subject or pattern; None if only the bytes are bounded.
    #[getter]
    fn max_tokens(&self) -> Option<u64> {
        let own = self.builder.dialect.bounds().max_tokens;
        let own = (own != usize::MAX).then_some(own as u64);
        self.given.0.or(own)
    }

    /// The most bytes of a subject or pattern.
    #[getter]
    fn max_length(&self) -> u64 {
        self.given
            .1
            .unwrap_or(self.builder.bounds.max_length as u64)
    }

    /// Add a subscription of `value` to `pattern`, as a member of the queue group `queue` if given.
    #[pyo3(signature = (pattern, value, *, queue=None))]
    fn add<'py>(
        &self,
        pattern: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
        queue: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Py<Subscription>> {
        let py = pattern.py();
        let row = self.builder.validate(pattern, value, queue)?;
        self.ensure_index(py)?;
        let made = self.builder.subscribe(py, self, &[row])?;
        made.into_iter()
            .next()
            .ok_or_else(|| PyTypeError::new_err("no row"))
    }

    /// Add rows `(pattern, value[, queue])`, or columns: all of them, or on an error none.
    #[pyo3(
        signature = (rows=None, *, patterns=None, values=None, queues=None),
        text_signature = "($self, rows=None, *, patterns=None, values=None, queues=None)"
    )]
    fn update<'py>(
        slf: &Bound<'py, Self>,
        rows: Option<&Bound<'py, PyAny>>,
        patterns: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
        queues: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let _pause = CollectorPause::begin(py)?;
        match (rows, patterns, values, queues) {
            (Some(rows), None, None, None) => {
                let mut valid = Vec::new();
                for row in rows.try_iter()? {
                    valid.push(this.builder.validate_row(&row?)?);
                }
                this.ensure_index(py)?;
                let made = this.builder.subscribe(py, this, &valid)?;
                Ok(PyList::new(py, made)?.into_any())
            }
            (None, Some(patterns), Some(values), queues) => {
                this.builder.load(slf, patterns, values, queues)
            }
            _ => Err(PyTypeError::new_err(
                "update takes rows, or patterns and values with or without queues",
            )),
        }
    }

    /// Remove a subscription. Return False if it is not in this index, or no longer.
    fn remove(&self, subscription: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(subscription) = subscription.cast::<Subscription>() else {
            return Err(type_error(subscription, "subscription", "Subscription"));
        };
        let Some(id) = subscription.get().id_if_set() else {
            return Ok(false);
        };
        let py = subscription.py();
        self.ensure_index(py)?;
        let remove = |state: &mut State| state.remove(id, subscription, &self.retained);
        let removed = self.state.write(py, remove)?;
        Ok(removed.is_some()) // the objects are dropped here, after the lock
    }

    /// Remove all subscriptions. Their ids are not given again.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let mut fresh = self.builder.empty();
        fresh
            .index
            .set_next_id(self.next_id.load(Ordering::Relaxed));
        let removed = self.state.replace(py, |state, is_poisoned| {
            if !is_poisoned {
                state.retain_all(py, &self.retained);
            }
            std::mem::replace(state, fresh)
        })?;
        drop(removed); // after the lock
        Ok(())
    }

    /// Return the values of all subscriptions that match, with or without a queue, in order of
    /// insertion.
    #[pyo3(name = "match")]
    fn match_<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.matched(subject.py(), subject_text(subject)?)
    }

    fn __call__<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.matched(subject.py(), subject_text(subject)?)
    }

    /// Return the subscriptions that match, in order of insertion.
    fn subscriptions<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        let py = subject.py();
        let text = subject_text(subject)?;
        self.ensure_index(py)?;
        let handles = self.look_up(py, text, |state, LookupScratch { lookup, found, .. }| {
            state.index.match_into(text, lookup, found)?;
            Ok(state.handles(py, found))
        })?;
        PyTuple::new(py, self.made(py, handles, &mut Patterns::new())?)
    }

    /// Return the values that a broker would deliver to: those of all subscriptions without a queue,
    /// and one of each queue group, in turn.
    // A19.
    fn select<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.selected(subject.py(), subject_text(subject)?)
    }

    /// Return the values that match: those without a queue, and those of each queue group.
    // A18.
    fn groups<'py>(&self, subject: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = subject.py();
        let text = subject_text(subject)?;
        self.ensure_index(py)?;
        let (plain, queues) = self.look_up(py, text, |state, scratch| {
            let groups = state.index.groups(text, &mut scratch.lookup)?;
            Ok(state.group_values(py, &groups))
        })?;
        let mapping = PyDict::new(py);
        for (name, members) in queues {
            mapping.set_item(name, PyTuple::new(py, members)?)?;
        }
        shared!(py, "Groups")?.call1((PyTuple::new(py, plain)?, mapping))
    }

    /// Match many subjects: an Arrow string array, a stream of them, or an iterable of `str`.
    #[pyo3(
        signature = (subjects, *, threads=Threads(1)),
        text_signature = "($self, subjects, *, threads=1)"
    )]
    fn match_batch(
        slf: &Bound<'_, Self>,
        subjects: &Bound<'_, PyAny>,
        threads: Threads,
    ) -> PyResult<Matches> {
        match_batch(slf, subjects, threads)
    }

    /// Return whether any subscription matches.
    fn has_interest(&self, subject: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.is_heard(subject.py(), subject_text(subject)?)
    }

    /// Return how many subscriptions match, with or without a queue.
    fn count(&self, subject: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.counted(subject.py(), subject_text(subject)?)
    }

    /// Return the subscriptions whose pattern has a subject in common with `pattern`.
    fn matching<'py>(&self, pattern: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.query(pattern, Index::matching)
    }

    /// Return the subscriptions whose pattern matches only subjects that `pattern` matches.
    fn covered_by<'py>(&self, pattern: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        self.query(pattern, Index::covered_by)
    }

    /// Explain a subject: the subscriptions that match, or else up to `limit` nearest patterns.
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
        let text = subject_text(subject)?;
        let answer = self.answer(py, |state| {
            let mut scratch = Scratch::default();
            let explanation = state.index.explain(text, limit.0, &mut scratch)?;
            let (nearest, tokens): (Vec<SubscriptionRef>, Vec<usize>) =
                explanation.nearest.into_iter().unzip();
            let mut found = explanation.matches;
            let matches = found.len();
            found.extend(nearest);
            Ok((found, (matches, tokens)))
        })?;
        let (mut matches, (count, tokens)) =
            answer.map_err(|error| exception(py, &error, ErrorClass::Subject, text))?;
        let nearest = matches.split_off(count).into_iter().zip(tokens);
        let nearest: Vec<_> = nearest.collect();
        shared!(py, "explained")?.call1((text, self.builder.dialect.name(), matches, nearest))
    }

    #[allow(clippy::redundant_closure_for_method_calls)] // the method has one lifetime only
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let length = |state: &State| state.with_target(|target| target.subscriptions());
        Ok(self.state.read(py, length)?)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.all_handles(py)?)?.try_iter()
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.contains(key)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "<SubjectTrie of {} subscriptions, dialect '{}'>",
            self.__len__(py)?,
            self.builder.dialect.name()
        ))
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        self.ensure_index(py)?;
        self.compute(py, |state| state.index.to_string())
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        shown(slf, "tree_html")
    }

    /// Draw the tree as `text`, for Graphviz as `dot`, or as `mermaid`.
    #[pyo3(signature = (format="text"))]
    fn draw<'py>(slf: &Bound<'py, Self>, format: &str) -> PyResult<Bound<'py, PyAny>> {
        static DRAW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        DRAW.import(slf.py(), "subtrie._core.drawing", "draw")?
            .call1((slf, format))
    }

    /// Return the index as an image for `from_bytes`, without the values.
    ///
    /// Cost: the whole index.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.ensure_index(py)?;
        let image = self.compute(py, |state| state.index.to_image(self.given))?;
        Ok(PyBytes::new(py, &image))
    }

    /// Open an image: any object with the buffer protocol, such as `bytes` or a memory map.
    ///
    /// `bytes` and a read-only memory map are looked up in place; any other buffer is copied, as other
    /// code may write to it. The file of a map must not change. `values` maps ids to values, as a
    /// mapping or a sequence; without it the ids are the values. `verify` compares the checksum of the
    /// whole image; without it only the header is read. `match`, `count`, `has_interest` and
    /// `match_batch` read the image in place; the first other call makes an index of it.
    #[classmethod]
    #[pyo3(signature = (image, values=None, *, verify=true))]
    fn from_bytes(
        _cls: &Bound<'_, PyType>,
        image: &Bound<'_, PyAny>,
        values: Option<Bound<'_, PyAny>>,
        verify: bool,
    ) -> PyResult<Self> {
        let py = image.py();
        let opened = OpenedImage::open(image, values.map(Bound::unbind), verify)?;
        let (dialect, given, next, has_table) = opened.header();
        let trie = Self::empty(dialect, given);
        let opened = Arc::new(opened);
        trie.state.write(py, |state| state.image = Some(opened))?;
        trie.next_id.store(next, Ordering::Relaxed);
        if !has_table {
            trie.ensure_index(py)?;
        }
        Ok(trie)
    }

    /// Return counts and memory. Cost: all patterns are read.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ensure_index(py)?;
        let (stats, slots) =
            self.compute(py, |state| (state.index.stats(), state.singles.capacity()))?;
        shared!(py, "TrieStats")?.call1((
            stats.subscriptions,
            stats.patterns,
            stats.nodes,
            stats.queues,
            stats.depth,
            stats.shapes,
            stats.memory + slots * (size_of::<Py<PyTuple>>() + size_of::<HandleCell>()),
        ))
    }

    /// Return an independent index with the same subscriptions, ids and turns.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        self.ensure_index(py)?;
        self.state.write(py, State::share_handles)?;
        let copy = Self::empty(self.builder.dialect, self.given);
        let fresh = self.state.read(py, |state| state.copy(py))?;
        copy.install(py, fresh)?;
        let next = self.next_id.load(Ordering::Relaxed);
        copy.next_id.store(next, Ordering::Relaxed);
        Ok(copy)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        pickle::reduce(self, py)
    }

    fn __setstate__(&self, py: Python<'_>, state: (u64, Vec<Bound<'_, PyTuple>>)) -> PyResult<()> {
        let (next, rows) = state;
        let fresh = self.builder.restore_pickle(next, &rows)?;
        self.install(py, fresh)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        pickle::deepcopy(slf, memo)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.retained.traverse(&visit)?;
        // During a change nothing is visited: the objects are in use, so they stay.
        let visited = self.state.read_for_collector(&visit, |state| {
            for handle in state.handles.iter().filter_map(HandleCell::get) {
                visit.call(handle)?;
            }
            if let Some(image) = &state.image {
                image.values.traverse(&visit)?;
            }
            state.singles.iter().try_for_each(|one| visit.call(one))
        });
        visited.unwrap_or(Ok(()))
    }

    fn __clear__(&self, py: Python<'_>) {
        // Refused only by a read in progress, whose objects are in use.
        let _ = self.clear(py);
    }
}
