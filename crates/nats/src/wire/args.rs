//! Parsing of the arguments of a line: split, count and read them as the broker does.

use super::conn::{Conn, Kind};
use super::json;
use super::limits::Limits;
use super::numbers::{client_size, is_sid, server_size};
use super::op::{Fields, Rsid, Span, is_blank};
use crate::ErrorKind;
use subtrie::grammar::{self, Bounds, Dialect, Form};

/// The reason why a line is not valid, and the offset in the operation.
pub(super) type LineError = (ErrorKind, usize);

/// Maximum number of arguments of an operation without a list of queues.
const MAX_FIXED: usize = 5;

/// The first and the last arguments of a line, and their number. Nothing is allocated.
struct Args<'a> {
    raw: &'a [u8],
    first: [Span; MAX_FIXED],
    last: [Span; 3],
    count: usize,
}

impl<'a> Args<'a> {
    #[inline]
    fn split(raw: &'a [u8], start: usize, end: usize, blank: impl Fn(u8) -> bool) -> Self {
        let mut args = Self {
            raw,
            first: [Span::NONE; MAX_FIXED],
            last: [Span::NONE; 3],
            count: 0,
        };
        let text = raw.get(..end).unwrap_or_default();
        let mut at = start;
        while let Some(&byte) = text.get(at) {
            if blank(byte) {
                at += 1;
                continue;
            }
            let start = at;
            at = find_word_end(text, at + 1, &blank);
            args.push(Span::new(start, at));
        }
        args
    }

    #[inline]
    fn push(&mut self, span: Span) {
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = span;
        }
        self.last = [self.last[1], self.last[2], span];
        self.count += 1;
    }

    /// The argument at `index`.
    fn at(&self, index: usize) -> Span {
        self.first.get(index).copied().unwrap_or(Span::NONE)
    }

    /// The argument at `index` counted from the last one.
    fn last_but(&self, index: usize) -> Span {
        self.last[2 - index]
    }

    fn text(&self, span: Span) -> &'a [u8] {
        span.of(self.raw).unwrap_or_default()
    }
}

/// Find the end of the word that continues at `at`, eight bytes at a time.
///
/// SWAR search for a byte below 0x21 (Mycroft 1987; Warren, Hacker's Delight, 6-1): the subtraction
/// borrows into the high bit of each such byte; the lowest such bit is exact.
#[inline]
fn find_word_end(text: &[u8], mut at: usize, blank: impl Fn(u8) -> bool) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    while let Some(eight) = text.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*eight);
        let low = word.wrapping_sub(ONES * 0x21) & !word & (ONES << 7);
        if low == 0 {
            at += 8;
            continue;
        }
        at += low.trailing_zeros() as usize / 8;
        if blank(text[at]) {
            return at;
        }
        at += 1;
    }
    while text.get(at).is_some_and(|&byte| !blank(byte)) {
        at += 1;
    }
    at
}

/// A line whose arguments are to be parsed.
pub(super) struct ArgumentLine<'a> {
    pub(super) conn: Conn,
    pub(super) kind: Kind,
    pub(super) raw: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    /// Offset at which a payload would begin.
    pub(super) payload_start: usize,
    pub(super) limits: &'a Limits,
}

impl ArgumentLine<'_> {
    /// Parse the arguments to the fields of the operation.
    pub(super) fn parse(&self) -> Result<Fields, LineError> {
        let fields = match (self.kind, self.conn) {
            (Kind::Info | Kind::Connect, _) => self.parse_json(),
            (Kind::Err, _) => self.parse_text(),
            (Kind::Pub, _) => self.parse_pub(1),
            (Kind::Hpub, _) => self.parse_pub(2),
            (Kind::Sub, _) => self.parse_sub(),
            (Kind::Unsub, Conn::RouteLegacy) => self.parse_legacy_unsub(),
            (Kind::Unsub, _) => self.parse_unsub(),
            (Kind::Msg, _) => self.parse_msg(1),
            (Kind::Hmsg, Conn::ServerToClient) => self.parse_msg(2),
            (Kind::Rmsg, _) | (Kind::Lmsg, Conn::Leaf) => self.parse_routed_msg(1),
            (Kind::Hmsg | Kind::Lmsg, _) => self.parse_routed_msg(2),
            (Kind::RsAdd | Kind::LsAdd, _) => self.parse_interest(true),
            (Kind::RsDel | Kind::LsDel, _) => self.parse_interest(false),
            (Kind::AAdd | Kind::ADel, _) => self.parse_account(),
            (Kind::Ping | Kind::Pong | Kind::Ok | Kind::Unknown, _) => Ok(Fields::NONE),
        }?;
        if self.limits.dialect == Dialect::Strict {
            self.check_subjects(&fields)?;
        }
        Ok(fields)
    }

    fn split(&self) -> Args<'_> {
        Args::split(self.raw, self.start, self.end, is_blank)
    }

    /// Split the arguments of a publish: at space and tab only, as the broker does.
    fn split_pub(&self) -> Args<'_> {
        let blank = |byte| matches!(byte, b' ' | b'\t');
        Args::split(self.raw, self.start, self.end, blank)
    }

    fn parse_json(&self) -> Result<Fields, LineError> {
        let text = &self.raw[self.start..self.end];
        let left = text.iter().take_while(|&&byte| is_blank(byte)).count();
        let right = text
            .iter()
            .rev()
            .take_while(|&&byte| is_blank(byte))
            .count();
        let (start, end) = (self.start + left, self.end - right.min(text.len() - left));
        if !json::is_object(&self.raw[start..end]) {
            return Err((ErrorKind::BadJson, start));
        }
        Ok(Fields {
            text: Span::new(start, end),
            ..Fields::NONE
        })
    }

    fn parse_text(&self) -> Result<Fields, LineError> {
        if self.start == self.end {
            return Err((ErrorKind::ArgCount, 0));
        }
        Ok(Fields {
            text: Span::new(self.start, self.end),
            ..Fields::NONE
        })
    }

    /// Parse `subject [reply] [header size] size`.
    fn parse_pub(&self, sizes: usize) -> Result<Fields, LineError> {
        let args = self.split_pub();
        let reply = match args.count.checked_sub(1 + sizes) {
            Some(0) => Span::NONE,
            Some(1) => args.at(1),
            _ => return Err((ErrorKind::ArgCount, 0)),
        };
        let fields = Fields {
            subject: args.at(0),
            reply,
            ..Fields::NONE
        };
        self.parse_sizes(&args, sizes, fields)
    }

    /// Parse `subject sid [reply] [header size] size`.
    fn parse_msg(&self, sizes: usize) -> Result<Fields, LineError> {
        let args = self.split();
        let reply = match args.count.checked_sub(2 + sizes) {
            Some(0) => Span::NONE,
            Some(1) => args.at(2),
            _ => return Err((ErrorKind::ArgCount, 0)),
        };
        let sid = args.at(1);
        if self.conn == Conn::ServerToClient && !is_sid(args.text(sid)) {
            return Err((ErrorKind::BadSid, sid.start()));
        }
        let fields = Fields {
            subject: args.at(0),
            sid,
            reply,
            ..Fields::NONE
        };
        self.parse_sizes(&args, sizes, fields)
    }

    /// Parse `[origin] [account] subject [reply | + reply queue… | '|' queue…] [header size] size`.
    fn parse_routed_msg(&self, sizes: usize) -> Result<Fields, LineError> {
        let args = self.split();
        let mut fields = Fields::NONE;
        let mut index = 0;
        if self.conn == Conn::Route {
            if self.kind == Kind::Lmsg {
                fields.origin = args.at(index);
                index += 1;
            }
            if !self.limits.pinned {
                fields.account = args.at(index);
                index += 1;
            }
        }
        fields.subject = args.at(index);
        index += 1;
        match args.count.checked_sub(index + sizes) {
            None => return Err((ErrorKind::ArgCount, 0)),
            Some(0) => {}
            Some(1) => fields.reply = args.at(index),
            Some(more) => {
                let sign = args.at(index);
                let skip = match args.text(sign) {
                    b"+" => {
                        fields.reply = args.at(index + 1);
                        2
                    }
                    b"|" => 1,
                    _ => return Err((ErrorKind::BadReplyIndicator, sign.start())),
                };
                if more > skip {
                    let before = if skip == 2 { fields.reply } else { sign };
                    fields.queues = Span::new(before.end(), args.last_but(sizes).end());
                }
            }
        }
        self.parse_sizes(&args, sizes, fields)
    }

    /// Parse the sizes at the end, and set the span of the payload.
    fn parse_sizes(
        &self,
        args: &Args<'_>,
        sizes: usize,
        fields: Fields,
    ) -> Result<Fields, LineError> {
        let parse = if self.conn == Conn::ServerToClient {
            client_size
        } else {
            server_size
        };
        let number = |span: Span, reason| parse(args.text(span)).ok_or((reason, span.start()));
        let mut fields = fields;
        if sizes == 2 {
            fields.header_size = Some(number(args.last_but(1), ErrorKind::BadHeaderSize)?);
        }
        let size = number(args.last_but(0), ErrorKind::BadSize)?;
        if fields.header_size.is_some_and(|header| header > size) {
            return Err((ErrorKind::HeaderLargerThanTotal, args.last_but(1).start()));
        }
        let length = size as usize;
        if length > self.limits.max_payload {
            return Err((ErrorKind::MaxPayload, args.last_but(0).start()));
        }
        fields.payload = Span::new(self.payload_start, self.payload_start + length);
        Ok(fields)
    }

    /// Parse `subject [queue] sid`.
    fn parse_sub(&self) -> Result<Fields, LineError> {
        let args = self.split();
        let queue = match args.count {
            2 => Span::NONE,
            3 => args.at(1),
            _ => return Err((ErrorKind::ArgCount, 0)),
        };
        Ok(Fields {
            subject: args.at(0),
            queue,
            sid: args.last_but(0),
            ..Fields::NONE
        })
    }

    /// Parse `sid [max]`; the broker reads a `max` that is not a number, or 0, as none.
    fn parse_unsub(&self) -> Result<Fields, LineError> {
        let args = self.split();
        let max = match args.count {
            1 => None,
            2 => self.parse_max(&args, args.at(1))?,
            _ => return Err((ErrorKind::ArgCount, 0)),
        };
        Ok(Fields {
            sid: args.at(0),
            max,
            ..Fields::NONE
        })
    }

    /// Parse `rsid [max]`, or `sid rsid [max]`, which is documented but was never sent.
    // A53
    fn parse_legacy_unsub(&self) -> Result<Fields, LineError> {
        let args = self.split();
        let has_sid = is_rsid(args.text(args.at(1)));
        let rest = args.count.wrapping_sub(usize::from(has_sid));
        let (printed_sid, sid) = if has_sid {
            (args.at(0), args.at(1))
        } else {
            (Span::NONE, args.at(0))
        };
        let max = match rest {
            1 => None,
            2 => self.parse_max(&args, args.last_but(0))?,
            _ => return Err((ErrorKind::ArgCount, 0)),
        };
        Ok(Fields {
            sid,
            printed_sid,
            max,
            ..Fields::NONE
        })
    }

    fn parse_max(&self, args: &Args<'_>, span: Span) -> Result<Option<u32>, LineError> {
        let max = server_size(args.text(span)).filter(|&max| max > 0);
        if max.is_none() && self.limits.dialect == Dialect::Strict {
            return Err((ErrorKind::BadSize, span.start()));
        }
        Ok(max)
    }

    /// Parse `[origin] [account] subject [queue [weight]]`; the weight only if interest `begins`.
    fn parse_interest(&self, begins: bool) -> Result<Fields, LineError> {
        let args = self.split();
        let mut fields = Fields::NONE;
        let mut index = 0;
        if self.conn == Conn::Route {
            let of_leaf = matches!(self.kind, Kind::LsAdd | Kind::LsDel);
            if of_leaf && (begins || self.limits.lnocu) {
                fields.origin = args.at(index);
                index += 1;
            }
            if !self.limits.pinned {
                fields.account = args.at(index);
                index += 1;
            }
        }
        fields.subject = args.at(index);
        match args.count.checked_sub(index + 1) {
            Some(0) => {}
            Some(1) if !begins => fields.queue = args.at(index + 1),
            Some(2) if begins => {
                fields.queue = args.at(index + 1);
                let weight = server_size(args.text(args.last_but(0)));
                if weight.is_none() && self.limits.dialect == Dialect::Strict {
                    return Err((ErrorKind::BadSize, args.last_but(0).start()));
                }
                fields.weight = Some(weight.map_or(-1, i64::from));
            }
            _ => return Err((ErrorKind::ArgCount, 0)),
        }
        Ok(fields)
    }

    fn parse_account(&self) -> Result<Fields, LineError> {
        let args = self.split();
        if args.count != 1 {
            return Err((ErrorKind::ArgCount, 0));
        }
        Ok(Fields {
            account: args.at(0),
            ..Fields::NONE
        })
    }

    /// Validate subject and reply in the strict dialect.
    // A33
    fn check_subjects(&self, fields: &Fields) -> Result<(), LineError> {
        let interest = !self.kind.has_payload();
        let subject = if interest {
            Form::Pattern
        } else {
            Form::Subject
        };
        for (span, form) in [(fields.subject, subject), (fields.reply, Form::Subject)] {
            let Some(text) = span.of(self.raw) else {
                continue;
            };
            let invalid = match std::str::from_utf8(text) {
                Ok(text) => grammar::check(text, form, Dialect::Strict, UNBOUNDED)
                    .err()
                    .map(|error| error.position.unwrap_or(0)),
                Err(error) => Some(error.valid_up_to()),
            };
            if let Some(offset) = invalid {
                return Err((ErrorKind::BadSubject, span.start() + offset));
            }
        }
        Ok(())
    }
}

/// The maximum length of the line bounds the subject.
const UNBOUNDED: Bounds = Bounds {
    max_tokens: usize::MAX,
    max_length: usize::MAX,
};

fn is_rsid(text: &[u8]) -> bool {
    Rsid::parse(text).is_some()
}
