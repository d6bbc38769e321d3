//! One operation: which bytes it was, and where in them its parts are.

use super::conn::{Conn, Kind};

/// A stretch of an operation's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// No such part.
    pub const NONE: Self = Self { start: 1, end: 0 };

    /// From `start` up to `end`. No operation has four gigabytes.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::NONE,
        }
    }

    /// Where the part begins, in the operation.
    #[must_use]
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// Where it ends.
    #[must_use]
    pub const fn end(self) -> usize {
        self.end as usize
    }

    /// The part, `None` where the operation has none.
    #[must_use]
    #[inline]
    pub fn of(self, raw: &[u8]) -> Option<&[u8]> {
        raw.get(self.start as usize..self.end as usize)
    }
}

/// Where the parts of an operation are, and its numbers.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Fields {
    pub account: Span,
    pub origin: Span,
    pub subject: Span,
    pub reply: Span,
    pub queue: Span,
    /// All queue names of a routed message, with the blanks between them.
    pub queues: Span,
    pub sid: Span,
    /// The sid that seed 004 prints before the RSID of UNSUB (A53).
    pub printed_sid: Span,
    /// JSON, the text of an error, or a line nobody knows.
    pub text: Span,
    pub payload: Span,
    pub header_size: Option<u32>,
    pub max: Option<u32>,
    /// −1 where the broker found no number.
    pub weight: Option<i64>,
}

impl Fields {
    /// No parts at all.
    pub const NONE: Self = Self {
        account: Span::NONE,
        origin: Span::NONE,
        subject: Span::NONE,
        reply: Span::NONE,
        queue: Span::NONE,
        queues: Span::NONE,
        sid: Span::NONE,
        printed_sid: Span::NONE,
        text: Span::NONE,
        payload: Span::NONE,
        header_size: None,
        max: None,
        weight: None,
    };
}

/// The id of a subscription on a legacy route: `RSID:<cid>:<sid>` or `QRSID:<cid>:<sid>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rsid<'a> {
    /// Of a queue group?
    pub is_queue: bool,
    /// The client connection on the sending server (the seed's ssid).
    pub cid: u64,
    /// The client's own id.
    pub sid: &'a [u8],
}

impl<'a> Rsid<'a> {
    /// Reads one; `None` where the text is none, such as the bare ids of the seed's MSG (A55, A61).
    #[must_use]
    pub fn read(text: &'a [u8]) -> Option<Self> {
        let (is_queue, rest) = match text.strip_prefix(b"QRSID:") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(b"RSID:")?),
        };
        let colon = rest.iter().position(|&byte| byte == b':')?;
        let (digits, sid) = (&rest[..colon], &rest[colon + 1..]);
        if digits.is_empty() || digits.len() > 18 || sid.is_empty() {
            return None;
        }
        let cid = digits.iter().try_fold(0u64, |sum, byte| match byte {
            b'0'..=b'9' => Some(sum * 10 + u64::from(byte - b'0')),
            _ => None,
        })?;
        Some(Self { is_queue, cid, sid })
    }
}

/// An operation that was read.
#[derive(Debug, Clone, Copy)]
pub struct Op<'a> {
    /// The connection it was read from.
    pub conn: Conn,
    /// Its name.
    pub kind: Kind,
    /// Its bytes, line end and payload included.
    pub raw: &'a [u8],
    /// Where its parts are.
    pub fields: Fields,
}

/// What separates arguments wherever both CR and LF may stand among them.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl<'a> Op<'a> {
    /// The queue names of a routed message, in order.
    pub fn queues(&self) -> impl Iterator<Item = &'a [u8]> {
        let names = self.fields.queues.of(self.raw).unwrap_or_default();
        names
            .split(|&byte| is_blank(byte))
            .filter(|name| !name.is_empty())
    }

    /// The payload, headers included; empty where the operation has none.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.fields.payload.of(self.raw).unwrap_or_default()
    }

    /// The one way to write this operation: it reads back as an equal one, and only one.
    pub fn write_into(&self, out: &mut Vec<u8>) {
        let fields = &self.fields;
        if self.kind == Kind::Unknown {
            out.extend_from_slice(fields.text.of(self.raw).unwrap_or_default());
            out.extend_from_slice(b"\r\n");
            return;
        }
        out.extend_from_slice(self.kind.name().as_bytes());
        let mut part = |span: Span| {
            if let Some(text) = span.of(self.raw) {
                out.push(b' ');
                out.extend_from_slice(text);
            }
        };
        part(fields.origin);
        part(fields.account);
        part(fields.subject);
        match self.kind {
            Kind::Rmsg | Kind::Lmsg | Kind::Hmsg if self.conn != Conn::ServerToClient => {
                self.write_reply(out);
            }
            // The sid of a delivery stands before its reply.
            Kind::Msg | Kind::Hmsg => [fields.sid, fields.reply].into_iter().for_each(part),
            _ => [fields.reply, fields.queue, fields.sid, fields.text]
                .into_iter()
                .for_each(part),
        }
        let numbers = [
            fields.weight,
            fields.max.map(i64::from),
            fields.header_size.map(i64::from),
            self.kind.has_payload().then(|| size_of(fields.payload)),
        ];
        for number in numbers.into_iter().flatten() {
            out.extend_from_slice(format!(" {number}").as_bytes());
        }
        out.extend_from_slice(b"\r\n");
        if self.kind.has_payload() {
            out.extend_from_slice(self.payload());
            out.extend_from_slice(b"\r\n");
        }
    }

    /// Reply and queue names of a routed message: `+` announces both, `|` queues alone.
    fn write_reply(&self, out: &mut Vec<u8>) {
        let reply = self.fields.reply.of(self.raw);
        let mut queues = self.queues().peekable();
        if queues.peek().is_some() {
            out.extend_from_slice(if reply.is_some() { b" +" } else { b" |" });
        }
        for text in reply.into_iter().chain(queues) {
            out.push(b' ');
            out.extend_from_slice(text);
        }
    }
}

fn size_of(span: Span) -> i64 {
    i64::try_from(span.end().saturating_sub(span.start())).unwrap_or(0)
}
