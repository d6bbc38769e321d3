//! Bindings of `grammar`: the functions that `Subject` and `Pattern` call.

use pyo3::prelude::*;

use super::args::{self, bound};
use super::errors::{ErrorClass, exception};
use subtrie::grammar::{self, Form};

/// Define a function that raises an exception unless the text is valid.
macro_rules! checker {
    ($(#[$doc:meta])* $name:ident, $form:ident) => {
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (text, dialect="strict", max_tokens=None, max_length=None))]
        pub fn $name(
            text: &Bound<'_, PyAny>,
            dialect: &str,
            max_tokens: Option<&Bound<'_, PyAny>>,
            max_length: Option<&Bound<'_, PyAny>>,
        ) -> PyResult<()> {
            let dialect = args::dialect(dialect)?;
            let overrides = (
                bound("max_tokens", max_tokens)?,
                bound("max_length", max_length)?,
            );
            let valid = args::text(text, "text", ErrorClass::$form)?;
            grammar::check(valid, Form::$form, dialect, dialect.bounds_with(overrides))
                .map_err(|error| exception(text.py(), &error, ErrorClass::$form, valid))
        }
    };
}

checker! {
    /// Raise `SubjectError` unless the text is a subject of the dialect.
    check_subject, Subject
}
checker! {
    /// Raise `PatternError` unless the text is a pattern of the dialect.
    check_pattern, Pattern
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
