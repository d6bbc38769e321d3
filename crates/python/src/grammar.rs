//! Bindings of `grammar`: the functions that `Subject` and `Pattern` call.

use pyo3::prelude::*;

use super::args::{bound, dialect, text};
use super::errors::{ErrorClass, exception};
use subtrie::grammar::{self, Form};

fn check(
    value: &Bound<'_, PyAny>,
    class: ErrorClass,
    form: Form,
    name: &str,
    max_tokens: Option<&Bound<'_, PyAny>>,
    max_length: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let dialect = dialect(name)?;
    let overrides = (
        bound("max_tokens", max_tokens)?,
        bound("max_length", max_length)?,
    );
    let bounds = dialect.bounds_with(overrides);
    let text = text(value, "text", class)?;
    grammar::check(text, form, dialect, bounds)
        .map_err(|error| exception(value.py(), &error, class, text))
}

/// Raise `SubjectError` unless the text is a subject of the dialect.
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
        ErrorClass::Subject,
        Form::Subject,
        dialect,
        max_tokens,
        max_length,
    )
}

/// Raise `PatternError` unless the text is a pattern of the dialect.
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
        ErrorClass::Pattern,
        Form::Pattern,
        dialect,
        max_tokens,
        max_length,
    )
}

/// Return whether the pattern matches the subject. Both must have been validated.
#[pyfunction]
pub fn matches(pattern: &str, subject: &str) -> bool {
    grammar::matches(pattern, subject)
}

/// Return whether the pattern matches every subject that the other one matches. Both must have been
/// validated.
#[pyfunction]
pub fn covers(pattern: &str, other: &str) -> bool {
    grammar::covers(pattern, other)
}

/// Return a subject that both patterns match, or None. Both must have been validated.
#[pyfunction]
pub fn overlaps(pattern: &str, other: &str) -> Option<String> {
    grammar::overlaps(pattern, other)
}
