//! `grammar` for Python: the functions `Subject` and `Pattern` call.

use pyo3::prelude::*;

use super::convert::{Area, dialect, refused, text};
use super::numbers::bound;
use crate::grammar::{self, Form};

fn check(
    value: &Bound<'_, PyAny>,
    area: Area,
    form: Form,
    name: &str,
    max_tokens: Option<&Bound<'_, PyAny>>,
    max_length: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let dialect = dialect(name)?;
    let given = (
        bound("max_tokens", max_tokens)?,
        bound("max_length", max_length)?,
    );
    let bounds = dialect.bounds_given(given);
    let text = text(value, "text", area)?;
    grammar::check(text, form, dialect, bounds)
        .map_err(|error| refused(value.py(), &error, area, text))
}

/// Raises `SubjectError` unless the text is a subject of the dialect.
#[pyfunction]
#[pyo3(signature = (text, dialect="strict", max_tokens=None, max_length=None))]
pub fn check_subject(
    text: &Bound<'_, PyAny>,
    dialect: &str,
    max_tokens: Option<&Bound<'_, PyAny>>,
    max_length: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    check(
        text,
        Area::Subject,
        Form::Subject,
        dialect,
        max_tokens,
        max_length,
    )
}

/// Raises `PatternError` unless the text is a pattern of the dialect.
#[pyfunction]
#[pyo3(signature = (text, dialect="strict", max_tokens=None, max_length=None))]
pub fn check_pattern(
    text: &Bound<'_, PyAny>,
    dialect: &str,
    max_tokens: Option<&Bound<'_, PyAny>>,
    max_length: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    check(
        text,
        Area::Pattern,
        Form::Pattern,
        dialect,
        max_tokens,
        max_length,
    )
}

/// Does the pattern match the subject? Both must have been checked.
#[pyfunction]
pub fn matches(pattern: &str, subject: &str) -> bool {
    grammar::matches(pattern, subject)
}

/// Does the pattern match whatever the other one matches? Both must have been checked.
#[pyfunction]
pub fn covers(pattern: &str, other: &str) -> bool {
    grammar::covers(pattern, other)
}

/// A subject that both patterns match, or None. Both must have been checked.
#[pyfunction]
pub fn overlaps(pattern: &str, other: &str) -> Option<String> {
    grammar::overlaps(pattern, other)
}
