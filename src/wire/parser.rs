//! The machine: fed in pieces, it stops at any byte and goes on at the next.
//!
//! An operation that lies whole in a piece is read where it lies. One that does not is collected;
//! what is kept is bounded by the limits, never by what a line announces.

use super::args::Refused;
use super::conn::Conn;
use super::fault::Fault;
use super::limits::Limits;
use super::machine::State;
use super::op::Op;

/// Reads one direction of one connection.
#[derive(Debug)]
pub struct Parser {
    conn: Conn,
    limits: Limits,
    longest: usize,
    state: State,
    /// What came of an operation that is not whole yet.
    held: Vec<u8>,
    /// Offset of the operation that is being read.
    offset: u64,
    fault: Option<Fault>,
}

/// Most bytes that are collected before they are looked at.
const PIECE: usize = 65_536;

impl Parser {
    /// A parser at the beginning of a stream.
    #[must_use]
    pub fn new(conn: Conn, limits: Limits) -> Self {
        let times = if conn == Conn::Client { 1 } else { 16 };
        Self {
            conn,
            limits,
            longest: limits.max_control_line.saturating_mul(times),
            state: State::new(conn),
            held: Vec::new(),
            offset: 0,
            fault: None,
        }
    }

    /// Is no operation half-read?
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.fault.is_none() && self.held.is_empty()
    }

    /// Bytes of the stream that whole operations account for.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes that are kept of the operation that is being read.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the next piece of the stream and hands out every operation it completes, each with
    /// where it begins in `data`: `None` when it began in an earlier piece.
    ///
    /// After a fault every call returns it again. Cost: each byte of a line is looked at once or
    /// twice, a payload is skipped; nothing is allocated for what lies whole in the piece.
    pub fn feed(
        &mut self,
        data: &[u8],
        mut sink: impl FnMut(Op<'_>, Option<usize>),
    ) -> Result<(), Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut at = 0;
        while at < data.len() {
            if self.held.is_empty() {
                let rest = &data[at..];
                match self
                    .state
                    .advance(rest, self.conn, &self.limits, self.longest)
                {
                    Ok(Some(length)) => {
                        sink(self.state.op(self.conn, &rest[..length]), Some(at));
                        at += length;
                        self.next(length);
                    }
                    Ok(None) => {
                        self.held.extend_from_slice(rest);
                        return Ok(());
                    }
                    Err(refused) => return Err(self.fail(refused)),
                }
                continue;
            }
            at += self.collect(&data[at..]);
            let step = self
                .state
                .advance(&self.held, self.conn, &self.limits, self.longest);
            match step {
                Ok(Some(length)) => {
                    sink(self.state.op(self.conn, &self.held[..length]), None);
                    self.held = Vec::new();
                    self.next(length);
                }
                Ok(None) => {}
                Err(refused) => return Err(self.fail(refused)),
            }
        }
        Ok(())
    }

    /// Takes over what may belong to the operation that was begun: a line up to its end, a payload
    /// up to the last byte it may have.
    fn collect(&mut self, rest: &[u8]) -> usize {
        let most = if let Some(length) = self.state.length() {
            length.saturating_sub(self.held.len())
        } else {
            let piece = &rest[..rest.len().min(PIECE)];
            let line = piece.iter().position(|&byte| byte == b'\n');
            line.map_or(piece.len(), |end| end + 1)
        };
        let taken = most.min(rest.len());
        self.held.extend_from_slice(&rest[..taken]);
        taken
    }

    fn next(&mut self, length: usize) {
        self.offset += length as u64;
        self.state = State::new(self.conn);
    }

    fn fail(&mut self, (reason, place): Refused) -> Fault {
        let fault = Fault {
            reason,
            position: self.offset + place as u64,
            resume: self.offset,
            stage: self.state.stage(),
        };
        self.fault = Some(fault);
        self.held = Vec::new();
        fault
    }
}
