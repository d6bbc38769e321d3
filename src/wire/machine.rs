//! Where in an operation the reading is, and what the next byte may be.
//!
//! The states are nats-server's, run together where it only waits for the next letter of a name.

use super::args::{Line, Refused};
use super::conn::{Candidates, Conn, Kind, announces_payload};
use super::fault::Stage;
use super::limits::Limits;
use super::op::{Fields, Op, Span};
use super::payload::{Progress, progress};
use crate::grammar::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Name,
    Delimiter,
    Blanks,
    Arguments,
    /// After a name that is the whole operation: the broker looks for LF alone.
    Tail,
    /// A line that names no operation of a legacy route.
    Line,
    Payload,
}

/// Where in the operation that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    phase: Phase,
    candidates: Candidates,
    kind: Kind,
    /// The next byte to look at.
    at: usize,
    /// Where the arguments begin.
    start: usize,
    fields: Fields,
}

/// How a search for the end of a line went.
enum Ended {
    /// LF at this place; the arguments end here.
    At {
        line: usize,
        end: usize,
    },
    More,
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

    pub(super) const fn stage(&self) -> Stage {
        match self.phase {
            Phase::Name | Phase::Delimiter | Phase::Tail | Phase::Line => Stage::Name,
            Phase::Blanks | Phase::Arguments => Stage::Arguments,
            Phase::Payload => Stage::Payload,
        }
    }

    pub(super) const fn op<'a>(&self, conn: Conn, raw: &'a [u8]) -> Op<'a> {
        Op {
            conn,
            kind: self.kind,
            raw,
            fields: self.fields,
        }
    }

    /// The length of the operation, once its line has announced it.
    pub(super) fn length(&self) -> Option<usize> {
        (self.phase == Phase::Payload).then(|| self.fields.payload.end() + 2)
    }

    /// Goes on in the operation's bytes; its length once it is whole.
    pub(super) fn advance(
        &mut self,
        bytes: &[u8],
        conn: Conn,
        limits: &Limits,
        longest: usize,
    ) -> Result<Option<usize>, Refused> {
        let strict = limits.dialect == Dialect::Strict;
        loop {
            match self.phase {
                Phase::Payload => {
                    let end = self.fields.payload.end();
                    return match progress(bytes, end) {
                        Progress::Done => Ok(Some(end + 2)),
                        Progress::More => Ok(None),
                        Progress::Broken(place) => Err(("payload terminator", place)),
                    };
                }
                Phase::Tail => {
                    return Ok(match self.ended(bytes, strict, longest, 0)? {
                        Ended::At { line, end } => {
                            let stray = bytes[self.start..end].iter().position(|b| !is_space(*b));
                            if let (true, Some(offset)) = (strict, stray) {
                                return Err(("no delimiter", self.start + offset));
                            }
                            Some(line + 1)
                        }
                        Ended::More => None,
                    });
                }
                Phase::Line => {
                    let Ended::At { line, end } = self.ended(bytes, strict, longest, 0)? else {
                        return Ok(None);
                    };
                    let word = bytes[..end].split(|&b| is_space(b)).next();
                    if announces_payload(word.unwrap_or_default()) {
                        return Err(("unknown op", 0)); // its payload is no line
                    }
                    self.fields.text = Span::new(0, end);
                    return Ok(Some(line + 1));
                }
                Phase::Arguments => {
                    // The broker takes the first byte for text, whatever it is.
                    let skip = usize::from(!strict);
                    let Ended::At { line, end } = self.ended(bytes, strict, longest, skip)? else {
                        return Ok(None);
                    };
                    if conn == Conn::Client && self.kind == Kind::Hmsg {
                        // The broker reads nothing of this line and waits for CR LF behind it.
                        self.phase = Phase::Payload;
                        return Err(("payload terminator", line + 1));
                    }
                    let read = Line {
                        conn,
                        kind: self.kind,
                        raw: bytes,
                        start: self.start,
                        end,
                        next: line + 1,
                        limits,
                    };
                    self.fields = read.read()?;
                    if !self.kind.has_payload() {
                        return Ok(Some(line + 1));
                    }
                    self.phase = Phase::Payload;
                }
                _ => {
                    let Some(&byte) = bytes.get(self.at) else {
                        return Ok(None);
                    };
                    self.opening(byte, conn, strict, longest)?;
                }
            }
        }
    }

    /// One byte of a name, or of the blanks behind it.
    #[inline]
    fn opening(
        &mut self,
        byte: u8,
        conn: Conn,
        strict: bool,
        longest: usize,
    ) -> Result<(), Refused> {
        match self.phase {
            Phase::Delimiter if !is_space(byte) => return Err(("no delimiter", self.at)),
            Phase::Delimiter => {
                self.start = self.at;
                self.phase = Phase::Blanks;
                self.at += 1;
            }
            Phase::Blanks if is_space(byte) => {
                if self.at - self.start > longest {
                    return Err(("max control line", self.at));
                }
                self.at += 1;
            }
            Phase::Blanks => {
                self.start = self.at;
                self.phase = Phase::Arguments;
            }
            _ => match self.candidates.take(self.at, byte) {
                Ok(None) => self.at += 1,
                Ok(Some(kind)) => {
                    self.at += 1;
                    self.kind = kind;
                    self.start = self.at;
                    let optional = kind.has_json() && !strict && conn != Conn::ServerToClient;
                    self.phase = if kind.is_bare() {
                        Phase::Tail
                    } else if optional {
                        Phase::Blanks
                    } else {
                        Phase::Delimiter
                    };
                }
                Err(()) if conn == Conn::RouteLegacy && (self.at > 0 || is_letter(byte)) => {
                    self.kind = Kind::Unknown;
                    self.phase = Phase::Line;
                }
                Err(()) => return Err(("unknown op", self.at)),
            },
        }
        Ok(())
    }

    /// Looks for the end of the line whose text began at `start`.
    ///
    /// The broker ends a line at LF; one CR anywhere before it costs the last byte, so that CR LF
    /// is no part of the text. `strict` knows CR LF alone.
    #[inline]
    fn ended(
        &mut self,
        bytes: &[u8],
        strict: bool,
        longest: usize,
        skip: usize,
    ) -> Result<Ended, Refused> {
        let first = self.start + skip;
        let from = self.at.max(first).min(bytes.len());
        let (line, end) = if strict {
            let found = bytes[from..]
                .iter()
                .position(|b| matches!(b, b'\r' | b'\n'));
            let end = found.map_or(bytes.len(), |offset| from + offset);
            let line = bytes.get(end + 1).map(|_| end + 1);
            (line, end)
        } else {
            let found = line_feed(&bytes[from..]);
            let line = found.map(|offset| from + offset);
            let end = line.unwrap_or(bytes.len());
            let text = bytes.get(first..end).unwrap_or_default();
            // Only a line that ended, or is about to be too long, needs the look for a stray CR.
            let looked = line.is_some() || end - self.start > longest;
            let drop = looked && (text.last() == Some(&b'\r') || text.contains(&b'\r'));
            (line, end - usize::from(drop))
        };
        if end.saturating_sub(self.start) > longest {
            return Err(("max control line", self.start + longest));
        }
        if strict {
            match bytes.get(end..) {
                Some([b'\n', ..]) => return Err(("line end", end)),
                Some([b'\r', next, ..]) if *next != b'\n' => return Err(("line end", end + 1)),
                _ => {}
            }
        }
        if let Some(line) = line {
            return Ok(Ended::At { line, end });
        }
        // In strict a CR at the end waits for its LF.
        self.at = end;
        Ok(Ended::More)
    }
}

/// Where the first LF is, eight bytes at a look: in the difference to LF it is a zero byte, and the
/// lowest bit that the subtraction borrows for is that of the first one.
#[inline]
fn line_feed(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let (eights, rest) = bytes.as_chunks::<8>();
    for (place, eight) in eights.iter().enumerate() {
        let zero = u64::from_le_bytes(*eight) ^ (ONES * 0x0a);
        let found = zero.wrapping_sub(ONES) & !zero & HIGH;
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let found = rest.iter().position(|&byte| byte == b'\n');
    found.map(|offset| eights.len() * 8 + offset)
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'-')
}
