//! The parser: it accepts a stream in pieces, and stops and resumes at any byte.
//!
//! An operation that lies completely in a piece is parsed in place. One that does not is buffered;
//! the buffer is bounded by the limits, not by the size that a line announces.

use super::args::LineError;
use super::conn::Conn;
use super::error::ParseError;
use super::limits::Limits;
use super::op::Op;
use super::state_machine::State;

/// A parser of one direction of one connection.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Limits, Parser};
///
/// let mut parser = Parser::new(Conn::ServerToClient, Limits::default());
/// for piece in [&b"MSG orders 1 2\r\no"[..], b"k\r\nPING\r\n"] {
///     parser.feed(piece, |op, _| println!("{} {:?}", op.kind.name(), op.payload()))?;
/// }
/// assert!(parser.is_complete());
/// # Ok::<(), subtrie_nats::wire::ParseError>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    conn: Conn,
    limits: Limits,
    max_line: usize,
    state: State,
    /// The bytes of an operation that is not complete.
    buffer: Vec<u8>,
    /// Offset in the stream of the operation that is being parsed.
    offset: u64,
    error: Option<ParseError>,
}

/// Maximum number of bytes of a line that are buffered before they are parsed. A smaller value parses
/// a long line in more steps; a larger one buffers more of a line that is too long.
const MAX_STEP: usize = 65_536;

impl Parser {
    /// Create a parser at the beginning of a stream.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// assert!(Parser::new(Conn::Client, Limits::default()).is_complete());
    /// ```
    #[must_use]
    pub fn new(conn: Conn, limits: Limits) -> Self {
        let factor = if conn == Conn::Client { 1 } else { 16 };
        Self {
            conn,
            limits,
            max_line: limits.max_control_line.saturating_mul(factor),
            state: State::new(conn),
            buffer: Vec::new(),
            offset: 0,
            error: None,
        }
    }

    /// Change the maximum number of bytes of a payload, for the lines that are parsed from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::ServerToClient, Limits::default());
    /// parser.set_max_payload(1);
    /// assert!(parser.feed(b"MSG orders 1 2\r\n", |_, _| ()).is_err());
    /// ```
    pub const fn set_max_payload(&mut self, bytes: usize) {
        self.limits.max_payload = bytes;
    }

    /// Return whether no operation is incomplete and no error was found.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Client, Limits::default());
    /// parser.feed(b"PIN", |_, _| ())?;
    /// assert!(!parser.is_complete());
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.error.is_none() && self.buffer.is_empty()
    }

    /// Return the offset in the stream after the last complete operation.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Client, Limits::default());
    /// parser.feed(b"PING\r\nPO", |_, _| ())?;
    /// assert_eq!(parser.offset(), 6);
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Return the number of bytes that are buffered.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Client, Limits::default());
    /// parser.feed(b"PING\r\nPO", |_, _| ())?;
    /// assert_eq!(parser.buffered(), 2);
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
    #[must_use]
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Parse the next piece of the stream, and pass each operation it completes to `sink`, with its
    /// offset in `data`, or `None` if it began in an earlier piece.
    ///
    /// Cost: each byte of a line is read once or twice, and a payload is skipped; nothing is allocated
    /// for operations that lie completely in the piece.
    ///
    /// # Errors
    ///
    /// The first error in the stream, after the operations before it: `unknown op`, `no delimiter`,
    /// `arg count`, `bad size`, `bad header size`, `bad sid`, `bad json`, `bad reply indicator`,
    /// `header larger than total`, `payload terminator`, `max control line`, `max payload`; in the
    /// strict dialect also `bad subject` and `line end`. Every later call returns the same error.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Client, Limits::default());
    /// let mut subjects = Vec::new();
    /// parser.feed(b"PUB orders.new 2\r\nok\r\n", |op, at| {
    ///     assert_eq!(at, Some(0));
    ///     subjects.extend(op.fields.subject.of(op.raw).map(<[u8]>::to_vec));
    /// })?;
    /// assert_eq!(subjects, [b"orders.new"]);
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
    pub fn feed(
        &mut self,
        data: &[u8],
        mut sink: impl FnMut(Op<'_>, Option<usize>),
    ) -> Result<(), ParseError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut at = 0;
        while at < data.len() {
            if self.buffer.is_empty() {
                let rest = &data[at..];
                match self
                    .state
                    .advance(rest, self.conn, &self.limits, self.max_line)
                {
                    Ok(Some(length)) => {
                        sink(self.state.op(self.conn, &rest[..length]), Some(at));
                        at += length;
                        self.start_next(length);
                    }
                    Ok(None) => {
                        self.buffer.extend_from_slice(rest);
                        return Ok(());
                    }
                    Err(error) => return Err(self.fail(error)),
                }
                continue;
            }
            at += self.fill_buffer(&data[at..]);
            let advanced = self
                .state
                .advance(&self.buffer, self.conn, &self.limits, self.max_line);
            match advanced {
                Ok(Some(length)) => {
                    sink(self.state.op(self.conn, &self.buffer[..length]), None);
                    self.buffer = Vec::new();
                    self.start_next(length);
                }
                Ok(None) => {}
                Err(error) => return Err(self.fail(error)),
            }
        }
        Ok(())
    }

    /// Buffer the bytes that may belong to the incomplete operation: a line up to its end, a payload
    /// up to its announced end. Return their number.
    fn fill_buffer(&mut self, rest: &[u8]) -> usize {
        let wanted = if let Some(length) = self.state.length() {
            length.saturating_sub(self.buffer.len())
        } else {
            let piece = &rest[..rest.len().min(MAX_STEP)];
            let line = memchr::memchr(b'\n', piece);
            line.map_or(piece.len(), |end| end + 1)
        };
        let taken = wanted.min(rest.len());
        self.buffer.extend_from_slice(&rest[..taken]);
        taken
    }

    fn start_next(&mut self, length: usize) {
        self.offset += length as u64;
        self.state = State::new(self.conn);
    }

    fn fail(&mut self, (kind, offset): LineError) -> ParseError {
        let error = ParseError {
            kind,
            position: self.offset + offset as u64,
            resume: self.offset,
            stage: self.state.stage(),
        };
        self.error = Some(error);
        self.buffer = Vec::new();
        error
    }
}
