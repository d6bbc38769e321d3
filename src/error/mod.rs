//! The error type of the crate: a stable code with its sentence, the byte offset, and the argument.
//!
//! The hint and the HTTP status belong to the Python package.

mod kind;

use std::fmt;

pub use kind::ErrorKind;

/// A rejected input: the rule that rejected it, and where.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Dialect, Form, check};
///
/// let dialect = Dialect::Strict;
/// let error = check("a..b", Form::Subject, dialect, dialect.bounds()).unwrap_err();
/// assert_eq!((error.reason, error.position), ("empty-token", Some(2)));
/// assert_eq!(error.to_string(), "a token is empty, at byte 2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The rule that rejected the input: a stable code such as `empty-token`.
    pub reason: &'static str,
    /// Byte offset in the rejected text, if the error has a place in it.
    pub position: Option<usize>,
    /// Name of the rejected argument, if the function takes several: `host`, `slot`, ….
    pub field: Option<&'static str>,
}

impl Error {
    /// Create an error at byte `position` of the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::error::Error;
    ///
    /// assert_eq!(Error::at("empty-token", 2).position, Some(2));
    /// ```
    #[must_use]
    pub const fn at(reason: &'static str, position: usize) -> Self {
        Self {
            reason,
            position: Some(position),
            field: None,
        }
    }

    /// Create an error about the whole text, without a position.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::error::Error;
    ///
    /// assert_eq!(Error::new("port-range").position, None);
    /// ```
    #[must_use]
    pub const fn new(reason: &'static str) -> Self {
        Self {
            reason,
            position: None,
            field: None,
        }
    }

    /// Return the same error with the name of the rejected argument.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::error::Error;
    ///
    /// let error = Error::at("host-empty", 0).in_field("host");
    /// assert_eq!(error.to_string(), "host: the host is empty, at byte 0");
    /// ```
    #[must_use]
    pub const fn in_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// Return the reason as an enum; `None` for a code that is not the core's own.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::{Dialect, ErrorKind, SubjectTrie};
    ///
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let error = trie.insert("orders.>.new", 1).unwrap_err();
    /// assert_eq!(error.kind(), Some(ErrorKind::TailNotLast));
    /// ```
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        ErrorKind::from_code(self.reason)
    }
}

/// The sentence of a code, or the code itself.
pub(crate) fn sentence(code: &'static str) -> &'static str {
    ErrorKind::from_code(code).map_or(code, ErrorKind::sentence)
}

impl fmt::Display for Error {
    /// Writes the argument, the sentence and the place: `slot: a slot is …, at byte 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(sentence(self.reason))?;
        if let Some(position) = self.position {
            write!(f, ", at byte {position}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
