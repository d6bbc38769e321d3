//! The error of a stream that cannot be parsed further.

use std::fmt;

use crate::ErrorKind;

/// The part of an operation in which an error was found.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Limits, Parser, Stage};
///
/// let mut parser = Parser::new(Conn::Client, Limits::default());
/// let error = parser.feed(b"PUB a 1\r\nxyz", |_, _| ()).unwrap_err();
/// assert_eq!(error.stage, Stage::Payload);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The name of the operation.
    Name,
    /// Its arguments.
    Arguments,
    /// Its payload, or the line end after it.
    Payload,
}

impl Stage {
    /// Return the name that users see.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie_nats::wire::Stage::Payload.name(), "payload");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Arguments => "arguments",
            Self::Payload => "payload",
        }
    }
}

/// The reason why a stream cannot be parsed further, and where.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Limits, Parser};
///
/// let mut parser = Parser::new(Conn::Client, Limits::default());
/// let error = parser.feed(b"PING\r\nPUB a x\r\n", |_, _| ()).unwrap_err();
/// assert_eq!((error.kind.code(), error.position, error.resume), ("bad size", 12, 6));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseError {
    /// The rule that is broken.
    pub kind: ErrorKind,
    /// Offset in the stream of the byte or argument that is not valid.
    pub position: u64,
    /// Offset in the stream after the last complete operation.
    pub resume: u64,
    /// The part of the operation in which the error was found.
    pub stage: Stage,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.kind, self.position)
    }
}

impl std::error::Error for ParseError {}
