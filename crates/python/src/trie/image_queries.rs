//! Queries of an opened image in place: by pattern, explanations, and the subscriptions of a subject.
//!
//! Handles are made when a query finds them, and the index that the first change makes has the same.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use super::build::StateBuilder;
use super::image::{OpenedImage, image_error};
use super::shared_names::shared;
use super::subject_trie::SubjectTrie;
use super::subscription::{Fields, Subscription, pattern_of};
use crate::errors::{ErrorClass, exception};
use subtrie::error::{Error, ErrorKind};
use subtrie::trie::{Image, ImageSubscription, Scratch};

/// The text and the `Pattern` of patterns that several subscriptions have, by address.
type Patterns = HashMap<*const u8, (Py<PyString>, Py<PyAny>)>;

impl SubjectTrie {
    /// The image in which queries are answered; `None` after the first change.
    pub(super) fn image(&self, py: Python<'_>) -> Option<Arc<OpenedImage>> {
        if !self.is_image.load(Ordering::Acquire) {
            return None;
        }
        self.state.read(py, |state| state.image.clone())
    }
}

/// The exception for a query of an image.
fn query_error(py: Python<'_>, error: &Error, class: ErrorClass, text: &str) -> PyErr {
    if error.kind == ErrorKind::ImageDamaged {
        return image_error(py, error);
    }
    exception(py, error, class, text)
}

impl OpenedImage {
    /// The handles of what `query` finds in the image, computed without the GIL.
    pub(super) fn query<'py>(
        &self,
        py: Python<'py>,
        builder: StateBuilder,
        (class, text): (ErrorClass, &str),
        query: impl Fn(&Image<'_>) -> Result<Vec<ImageSubscription>, Error> + Send + Sync,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let found = py
            .detach(|| self.read(query))
            .map_err(|error| query_error(py, &error, class, text))?;
        PyTuple::new(py, self.made(py, builder, &found)?)
    }

    /// The explanation of a subject, computed without the GIL.
    pub(super) fn explain<'py>(
        &self,
        py: Python<'py>,
        builder: StateBuilder,
        subject: &str,
        limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let explain = |image: &Image<'_>| image.explain(subject, limit, &mut Scratch::default());
        let explanation = py
            .detach(|| self.read(explain))
            .map_err(|error| query_error(py, &error, ErrorClass::Subject, subject))?;
        let matches = self.made(py, builder, &explanation.matches)?;
        let (nearest, tokens): (Vec<_>, Vec<_>) = explanation.nearest.into_iter().unzip();
        let nearest = self.made(py, builder, &nearest)?.into_iter().zip(tokens);
        let nearest: Vec<_> = nearest.collect();
        shared!(py, "explained")?.call1((subject, builder.dialect.name(), matches, nearest))
    }

    /// The handles of subscriptions, made unless they were before.
    fn made<'py>(
        &self,
        py: Python<'py>,
        builder: StateBuilder,
        found: &[ImageSubscription],
    ) -> PyResult<Vec<Bound<'py, Subscription>>> {
        let mut patterns = Patterns::new();
        let make = |one: &ImageSubscription| {
            if let Some(handle) = self.handles.get(py, one.id) {
                return Ok(handle.into_bound(py));
            }
            let (text, pattern) = text_of(py, builder, &one.pattern, &mut patterns)?;
            let fields = Fields {
                id: one.id,
                text,
                dialect: builder.dialect,
                pattern,
                single: PyTuple::new(py, [self.values.get(py, one.id)?])?.unbind(),
                queue: one
                    .queue
                    .as_deref()
                    .map(|name| PyString::new(py, name).unbind()),
            };
            let handle = self
                .handles
                .keep(py, one.id, Subscription::create(py, fields)?)?;
            Ok(handle.into_bound(py))
        };
        found.iter().map(make).collect()
    }
}

/// The text of a pattern, and its `Pattern` if several of the subscriptions have it.
fn text_of(
    py: Python<'_>,
    builder: StateBuilder,
    pattern: &Arc<str>,
    patterns: &mut Patterns,
) -> PyResult<(Py<PyString>, OnceLock<Py<PyAny>>)> {
    let text = || PyString::new(py, pattern).unbind();
    if Arc::strong_count(pattern) == 1 {
        return Ok((text(), OnceLock::new()));
    }
    let key = pattern.as_ptr();
    let (text, made) = match patterns.entry(key) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => {
            let made = pattern_of(py, pattern, builder.dialect)?.unbind();
            entry.insert((text(), made))
        }
    };
    Ok((text.clone_ref(py), OnceLock::from(made.clone_ref(py))))
}
