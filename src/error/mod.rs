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
/// assert_eq!((error.reason(), error.position), ("empty-token", Some(2)));
/// assert_eq!(error.to_string(), "a token is empty, at byte 2");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The rule that rejected the input.
    pub kind: ErrorKind,
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
    /// use subtrie::error::{Error, ErrorKind};
    ///
    /// assert_eq!(Error::at(ErrorKind::EmptyToken, 2).position, Some(2));
    /// ```
    #[must_use]
    pub const fn at(kind: ErrorKind, position: usize) -> Self {
        Self {
            kind,
            position: Some(position),
            field: None,
        }
    }

    /// Create an error about the whole text, without a position.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::error::{Error, ErrorKind};
    ///
    /// assert_eq!(Error::new(ErrorKind::PortRange).position, None);
    /// ```
    #[must_use]
    pub const fn new(kind: ErrorKind) -> Self {
        Self {
            kind,
            position: None,
            field: None,
        }
    }

    /// Return the same error with the name of the rejected argument.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::error::{Error, ErrorKind};
    ///
    /// let error = Error::at(ErrorKind::HostEmpty, 0).in_field("host");
    /// assert_eq!(error.to_string(), "host: the host is empty, at byte 0");
    /// ```
    #[must_use]
    pub const fn in_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }

    /// Return the stable code of the reason, such as `empty-token`.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::{Dialect, SubjectTrie};
    ///
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// assert_eq!(trie.insert("orders.>.new", 1).unwrap_err().reason(), "tail-not-last");
    /// ```
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        self.kind.code()
    }
}

impl fmt::Display for Error {
    /// Writes the argument, the sentence and the place: `slot: a slot is …, at byte 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(self.kind.sentence())?;
        if let Some(position) = self.position {
            write!(f, ", at byte {position}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
