//! What every refusal says: which rule, where, and in which part of the input.
//!
//! A [`Reason`] is a stable code. The sentence a person reads, the hint and the HTTP status stand
//! once, beside the codes, in `python/subtrie/_reasons.py`; Rust callers get the code and the place.

use std::fmt;

/// A refused input: the rule that refused it, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The rule that refused the input: a stable code such as `empty-token`.
    pub reason: &'static str,
    /// Byte offset in the offending text, where one byte can be blamed.
    pub position: Option<usize>,
    /// Which argument, where a function takes several: `host`, `slot`, ….
    pub field: Option<&'static str>,
}

impl Error {
    /// A refusal at byte `position` of the only text given.
    #[must_use]
    pub const fn at(reason: &'static str, position: usize) -> Self {
        Self {
            reason,
            position: Some(position),
            field: None,
        }
    }

    /// A refusal of the whole: no byte is to blame.
    #[must_use]
    pub const fn new(reason: &'static str) -> Self {
        Self {
            reason,
            position: None,
            field: None,
        }
    }

    /// The same refusal, naming the argument it was found in.
    #[must_use]
    pub const fn in_field(mut self, field: &'static str) -> Self {
        self.field = Some(field);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)?;
        if let Some(field) = self.field {
            write!(f, " in {field}")?;
        }
        if let Some(position) = self.position {
            write!(f, " at byte {position}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
