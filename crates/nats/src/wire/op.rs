//! A parsed operation: its bytes, and the spans of its parts in them.

use super::conn::{Conn, Kind};

/// A range of an operation's bytes.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::Span;
///
/// assert_eq!(Span::new(4, 7).of(b"SUB foo 1\r\n"), Some(&b"foo"[..]));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The span of a part that the operation does not have.
    pub const NONE: Self = Self { start: 1, end: 0 };

    /// Create the span from `start` to `end`; [`Span::NONE`] beyond 4 GiB, which no operation has.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::Span;
    ///
    /// assert_eq!(Span::new(4, 7).start(), 4);
    /// ```
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        match (u32::try_from(start), u32::try_from(end)) {
            (Ok(start), Ok(end)) => Self { start, end },
            _ => Self::NONE,
        }
    }

    /// Return the offset of the first byte in the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie_nats::wire::Span::new(4, 7).start(), 4);
    /// ```
    #[must_use]
    pub const fn start(self) -> usize {
        self.start as usize
    }

    /// Return the offset after the last byte.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie_nats::wire::Span::new(4, 7).end(), 7);
    /// ```
    #[must_use]
    pub const fn end(self) -> usize {
        self.end as usize
    }

    /// Return the bytes of the part, `None` if the operation does not have it.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::Span;
    ///
    /// assert_eq!(Span::new(4, 7).of(b"SUB foo 1\r\n"), Some(&b"foo"[..]));
    /// assert_eq!(Span::NONE.of(b"PING\r\n"), None);
    /// ```
    #[must_use]
    #[inline]
    pub fn of(self, raw: &[u8]) -> Option<&[u8]> {
        raw.get(self.start as usize..self.end as usize)
    }
}

/// The spans of the parts of an operation, and its numbers.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Limits, Parser};
///
/// let mut parser = Parser::new(Conn::Client, Limits::default());
/// parser.feed(b"SUB orders.> workers 7\r\n", |op, _| {
///     assert_eq!(op.fields.queue.of(op.raw), Some(&b"workers"[..]));
///     assert_eq!(op.fields.reply.of(op.raw), None);
/// })?;
/// # Ok::<(), subtrie_nats::wire::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct Fields {
    pub account: Span,
    pub origin: Span,
    pub subject: Span,
    pub reply: Span,
    pub queue: Span,
    /// All queue names of a routed message with the blanks between them.
    pub queues: Span,
    pub sid: Span,
    /// The sid before the RSID of an `UNSUB` on a legacy route.
    pub printed_sid: Span, // A53
    /// JSON, the text of an error, or an unknown line.
    pub text: Span,
    pub payload: Span,
    pub header_size: Option<u32>,
    pub max: Option<u32>,
    /// The weight of a queue; −1 if the broker does not read it as a number.
    pub weight: Option<i64>,
}

impl Fields {
    /// The fields of an operation without parts.
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
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::Rsid;
///
/// assert_eq!(Rsid::parse(b"RSID:12:3").map(|rsid| rsid.cid), Some(12));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rsid<'a> {
    /// Whether the subscription is in a queue group.
    pub is_queue: bool,
    /// The client connection on the sending server.
    pub cid: u64,
    /// The subscription id that the client chose.
    pub sid: &'a [u8],
}

impl<'a> Rsid<'a> {
    /// Parse an id, `None` if the text is not one.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::Rsid;
    ///
    /// let rsid = Rsid::parse(b"QRSID:12:3").unwrap();
    /// assert_eq!((rsid.is_queue, rsid.cid, rsid.sid), (true, 12, &b"3"[..]));
    /// assert_eq!(Rsid::parse(b"3"), None);
    /// ```
    // A55, A61
    #[must_use]
    pub fn parse(text: &'a [u8]) -> Option<Self> {
        let (is_queue, rest) = match text.strip_prefix(b"QRSID:") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(b"RSID:")?),
        };
        let colon = memchr::memchr(b':', rest)?;
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

/// A parsed operation.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::{Conn, Limits, Parser};
///
/// let mut parser = Parser::new(Conn::Client, Limits::default());
/// parser.feed(b"PING\r\n", |op, _| assert_eq!(op.raw, b"PING\r\n"))?;
/// # Ok::<(), subtrie_nats::wire::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Op<'a> {
    /// The connection it was parsed from.
    pub conn: Conn,
    /// The name of the operation.
    pub kind: Kind,
    /// Its bytes, including line end and payload.
    pub raw: &'a [u8],
    /// The spans of its parts.
    pub fields: Fields,
}

/// Whether the byte separates arguments, except those of `PUB` and `HPUB`.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

impl<'a> Op<'a> {
    /// Iterate over the queue names of a routed message.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Route, Limits::default());
    /// parser.feed(b"RMSG $G orders | q1 q2 2\r\nok\r\n", |op, _| {
    ///     assert_eq!(op.queues().collect::<Vec<_>>(), [b"q1", b"q2"]);
    /// })?;
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
    pub fn queues(&self) -> impl Iterator<Item = &'a [u8]> {
        let names = self.fields.queues.of(self.raw).unwrap_or_default();
        names
            .split(|&byte| is_blank(byte))
            .filter(|name| !name.is_empty())
    }

    /// Return the payload, including its headers; empty if the operation has none.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Client, Limits::default());
    /// parser.feed(b"PUB orders 2\r\nok\r\n", |op, _| assert_eq!(op.payload(), b"ok"))?;
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        self.fields.payload.of(self.raw).unwrap_or_default()
    }

    /// Append the canonical form of the operation, which parses to exactly one, equal operation.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie_nats::wire::{Conn, Limits, Parser};
    ///
    /// let mut parser = Parser::new(Conn::Client, Limits::default());
    /// let mut out = Vec::new();
    /// parser.feed(b"sub  orders.>\t1 \n", |op, _| op.write_into(&mut out))?;
    /// assert_eq!(out, b"SUB orders.> 1\r\n");
    /// # Ok::<(), subtrie_nats::wire::ParseError>(())
    /// ```
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

    /// Append reply and queue names of a routed message: `+` before both, `|` before queues alone.
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
