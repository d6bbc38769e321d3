//! The state machine of one operation: it stops at any byte and resumes at the next one.
//!
//! The states are those of nats-server's parser, merged if they only wait for the next letter of a
//! name.

use super::args::{ArgumentLine, LineError};
use super::conn::{Candidates, Conn, Kind, announces_payload};
use super::error::Stage;
use super::limits::Limits;
use super::op::{Fields, Op, Span};
use crate::ErrorKind;
use subtrie::grammar::Dialect;

/// The part of an operation that the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Name,
    /// The blank after a name.
    Delimiter,
    /// Further blanks before the arguments.
    Blanks,
    Arguments,
    /// The rest of the line of an operation without arguments; the broker skips it up to LF.
    RestOfLine,
    /// A line of a legacy route that begins with an unknown word.
    UnknownLine,
    Payload,
}

/// The state of the operation that is being parsed.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    phase: Phase,
    candidates: Candidates,
    kind: Kind,
    /// Offset of the next byte.
    at: usize,
    /// Offset of the arguments.
    start: usize,
    fields: Fields,
}

/// The result of the search for the end of a line.
enum LineEnd {
    /// LF at offset `line_feed`; the text ends at offset `end`.
    Found { line_feed: usize, end: usize },
    /// The line is not complete.
    Incomplete,
}

impl State {
    pub(super) const fn new(conn: Conn) -> Self {
        Self {
            phase: Phase::Name,
            candidates: Candidates::of(conn),
            kind: Kind::Unknown,
            at: 0,
            start: 0,
            fields: Fields::NONE,
        }
    }

    /// The part of the operation that is being parsed.
    pub(super) const fn stage(&self) -> Stage {
        match self.phase {
            Phase::Name | Phase::Delimiter | Phase::RestOfLine | Phase::UnknownLine => Stage::Name,
            Phase::Blanks | Phase::Arguments => Stage::Arguments,
            Phase::Payload => Stage::Payload,
        }
    }

    /// The operation, once `advance` has returned its length.
    pub(super) const fn op<'a>(&self, conn: Conn, raw: &'a [u8]) -> Op<'a> {
        Op {
            conn,
            kind: self.kind,
            raw,
            fields: self.fields,
        }
    }

    /// The length of the operation, once its line has been parsed.
    pub(super) fn length(&self) -> Option<usize> {
        (self.phase == Phase::Payload).then(|| self.fields.payload.end() + 2)
    }

    /// Resume in the bytes of the operation; return its length once it is complete.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        conn: Conn,
        limits: &Limits,
        max_line: usize,
    ) -> Result<Option<usize>, LineError> {
        let strict = limits.dialect == Dialect::Strict;
        loop {
            match self.phase {
                Phase::Payload => {
                    let end = self.fields.payload.end();
                    return Ok(payload_is_complete(bytes, end)?.then_some(end + 2));
                }
                Phase::RestOfLine => {
                    return Ok(match self.find_line_end(bytes, strict, max_line, 0)? {
                        LineEnd::Found { line_feed, end } => {
                            let stray = bytes[self.start..end].iter().position(|b| !is_space(*b));
                            if let (true, Some(offset)) = (strict, stray) {
                                return Err((ErrorKind::NoDelimiter, self.start + offset));
                            }
                            Some(line_feed + 1)
                        }
                        LineEnd::Incomplete => None,
                    });
                }
                Phase::UnknownLine => {
                    let found = self.find_line_end(bytes, strict, max_line, 0)?;
                    let LineEnd::Found { line_feed, end } = found else {
                        return Ok(None);
                    };
                    let word = bytes[..end].split(|&b| is_space(b)).next();
                    if announces_payload(word.unwrap_or_default()) {
                        return Err((ErrorKind::UnknownOp, 0)); // its payload cannot be skipped as a line
                    }
                    self.fields.text = Span::new(0, end);
                    return Ok(Some(line_feed + 1));
                }
                Phase::Arguments => {
                    // The broker reads the first byte as text, even if it is LF.
                    let skip = usize::from(!strict);
                    let found = self.find_line_end(bytes, strict, max_line, skip)?;
                    let LineEnd::Found { line_feed, end } = found else {
                        return Ok(None);
                    };
                    if conn == Conn::Client && self.kind == Kind::Hmsg {
                        // The broker ignores this line and expects CR LF after it.
                        self.phase = Phase::Payload;
                        return Err((ErrorKind::PayloadTerminator, line_feed + 1));
                    }
                    let line = ArgumentLine {
                        conn,
                        kind: self.kind,
                        raw: bytes,
                        start: self.start,
                        end,
                        payload_start: line_feed + 1,
                        limits,
                    };
                    self.fields = line.parse()?;
                    if !self.kind.has_payload() {
                        return Ok(Some(line_feed + 1));
                    }
                    self.phase = Phase::Payload;
                }
                _ => {
                    let Some(&byte) = bytes.get(self.at) else {
                        return Ok(None);
                    };
                    self.read_name_byte(byte, conn, strict, max_line)?;
                }
            }
        }
    }

    /// Read one byte of a name, or of the blanks after it.
    #[inline]
    fn read_name_byte(
        &mut self,
        byte: u8,
        conn: Conn,
        strict: bool,
        max_line: usize,
    ) -> Result<(), LineError> {
        match self.phase {
            Phase::Delimiter if !is_space(byte) => return Err((ErrorKind::NoDelimiter, self.at)),
            Phase::Delimiter => {
                self.start = self.at;
                self.phase = Phase::Blanks;
                self.at += 1;
            }
            Phase::Blanks if is_space(byte) => {
                if self.at - self.start > max_line {
                    return Err((ErrorKind::MaxControlLine, self.at));
                }
                self.at += 1;
            }
            Phase::Blanks => {
                self.start = self.at;
                self.phase = Phase::Arguments;
            }
            _ => match self.candidates.advance(self.at, byte) {
                Ok(None) => self.at += 1,
                Ok(Some(kind)) => {
                    self.at += 1;
                    self.kind = kind;
                    self.start = self.at;
                    let optional = kind.has_json() && !strict && conn != Conn::ServerToClient;
                    self.phase = if kind.is_bare() {
                        Phase::RestOfLine
                    } else if optional {
                        Phase::Blanks
                    } else {
                        Phase::Delimiter
                    };
                }
                Err(()) if conn == Conn::RouteLegacy && (self.at > 0 || is_letter(byte)) => {
                    self.kind = Kind::Unknown;
                    self.phase = Phase::UnknownLine;
                }
                Err(()) => return Err((ErrorKind::UnknownOp, self.at)),
            },
        }
        Ok(())
    }

    /// Find the end of the line whose text begins at `start`.
    ///
    /// The broker ends a line at LF and drops the last byte of the text if there is a CR anywhere in
    /// it. `strict` accepts CR LF only.
    #[inline]
    fn find_line_end(
        &mut self,
        bytes: &[u8],
        strict: bool,
        max_line: usize,
        skip: usize,
    ) -> Result<LineEnd, LineError> {
        let first = self.start + skip;
        let from = self.at.max(first).min(bytes.len());
        let (line_feed, end) = if strict {
            let found = memchr::memchr2(b'\r', b'\n', &bytes[from..]);
            let end = found.map_or(bytes.len(), |offset| from + offset);
            (bytes.get(end + 1).map(|_| end + 1), end)
        } else {
            let found = memchr::memchr(b'\n', &bytes[from..]);
            let line_feed = found.map(|offset| from + offset);
            let end = line_feed.unwrap_or(bytes.len());
            let text = bytes.get(first..end).unwrap_or_default();
            // Search for a stray CR only at the end of the line or at its maximum length.
            let search = line_feed.is_some() || end - self.start > max_line;
            let drop =
                search && (text.last() == Some(&b'\r') || memchr::memchr(b'\r', text).is_some());
            (line_feed, end - usize::from(drop))
        };
        if end.saturating_sub(self.start) > max_line {
            return Err((ErrorKind::MaxControlLine, self.start + max_line));
        }
        if strict {
            match bytes.get(end..) {
                Some([b'\n', ..]) => return Err((ErrorKind::LineEnd, end)),
                Some([b'\r', next, ..]) if *next != b'\n' => {
                    return Err((ErrorKind::LineEnd, end + 1));
                }
                _ => {}
            }
        }
        if let Some(line_feed) = line_feed {
            return Ok(LineEnd::Found { line_feed, end });
        }
        // In strict a CR at the end waits for its LF.
        self.at = end;
        Ok(LineEnd::Incomplete)
    }
}

/// Whether the payload that ends before `end` and the CR LF after it are complete.
// S1-012
#[inline]
fn payload_is_complete(bytes: &[u8], end: usize) -> Result<bool, LineError> {
    match bytes.get(end..) {
        Some([b'\r', b'\n', ..]) => Ok(true),
        None | Some([] | [b'\r']) => Ok(false),
        Some([b'\r', ..]) => Err((ErrorKind::PayloadTerminator, end + 1)),
        Some(_) => Err((ErrorKind::PayloadTerminator, end)),
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'-')
}
