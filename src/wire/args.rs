//! The arguments of a line: split, counted and measured as the broker does.

use super::conn::{Conn, Kind};
use super::json;
use super::limits::Limits;
use super::op::{Fields, Rsid, Span, is_blank};
use super::sizes::{client_size, is_number, size};
use crate::grammar::{self, Bounds, Dialect, Form};

/// A refused line: the word for it, and where in the operation.
pub(super) type Refused = (&'static str, usize);

/// More arguments than any fixed form has.
const KEPT: usize = 5;

/// The arguments: the first few, the last few, and how many.
struct Args<'a> {
    raw: &'a [u8],
    first: [Span; KEPT],
    last: [Span; 3],
    count: usize,
}

impl<'a> Args<'a> {
    #[inline]
    fn split(raw: &'a [u8], start: usize, end: usize, blank: impl Fn(u8) -> bool) -> Self {
        let mut args = Self {
            raw,
            first: [Span::NONE; KEPT],
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
            let begun = at;
            at = word_end(text, at + 1, &blank);
            args.push(begun, at);
        }
        args
    }

    #[inline]
    fn push(&mut self, begun: usize, end: usize) {
        let span = Span::new(begun, end);
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = span;
        }
        self.last = [self.last[1], self.last[2], span];
        self.count += 1;
    }

    /// The argument at `place` from the left.
    fn at(&self, place: usize) -> Span {
        self.first.get(place).copied().unwrap_or(Span::NONE)
    }

    /// The argument at `place` from the right: 0 is the last one.
    fn back(&self, place: usize) -> Span {
        self.last[2 - place]
    }

    fn text(&self, span: Span) -> &'a [u8] {
        span.of(self.raw).unwrap_or_default()
    }
}

/// Where the word ends that goes on at `at`: eight bytes at a look, of which the first one that is
/// not above a blank has the lowest bit that the subtraction borrows for.
#[inline]
fn word_end(text: &[u8], mut at: usize, blank: impl Fn(u8) -> bool) -> usize {
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

/// What a line was read for, and under which rules.
pub(super) struct Line<'a> {
    pub(super) conn: Conn,
    pub(super) kind: Kind,
    pub(super) raw: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where the payload would begin.
    pub(super) next: usize,
    pub(super) limits: &'a Limits,
}

impl Line<'_> {
    /// The parts of the operation this line is, or begins.
    pub(super) fn read(&self) -> Result<Fields, Refused> {
        let fields = match (self.kind, self.conn) {
            (Kind::Info | Kind::Connect, _) => self.json(),
            (Kind::Err, _) => self.whole(),
            (Kind::Pub, _) => self.published(1),
            (Kind::Hpub, _) => self.published(2),
            (Kind::Sub, _) => self.subscribed(),
            (Kind::Unsub, Conn::RouteLegacy) => self.legacy_unsubscribed(),
            (Kind::Unsub, _) => self.unsubscribed(),
            (Kind::Msg, _) => self.delivered(1),
            (Kind::Hmsg, Conn::ServerToClient) => self.delivered(2),
            (Kind::Rmsg, _) | (Kind::Lmsg, Conn::Leaf) => self.routed(1),
            (Kind::Hmsg | Kind::Lmsg, _) => self.routed(2),
            (Kind::RsAdd | Kind::LsAdd, _) => self.interest(true),
            (Kind::RsDel | Kind::LsDel, _) => self.interest(false),
            (Kind::AAdd | Kind::ADel, _) => self.account(),
            (Kind::Ping | Kind::Pong | Kind::Ok | Kind::Unknown, _) => Ok(Fields::NONE),
        }?;
        if self.limits.dialect == Dialect::Strict {
            self.strict(&fields)?;
        }
        Ok(fields)
    }

    fn split(&self) -> Args<'_> {
        Args::split(self.raw, self.start, self.end, is_blank)
    }

    /// The broker splits what is published at space and tab alone, so a stray CR is text.
    fn split_published(&self) -> Args<'_> {
        let blank = |byte| matches!(byte, b' ' | b'\t');
        Args::split(self.raw, self.start, self.end, blank)
    }

    fn json(&self) -> Result<Fields, Refused> {
        let text = &self.raw[self.start..self.end];
        let left = text.iter().take_while(|&&byte| is_blank(byte)).count();
        let right = text
            .iter()
            .rev()
            .take_while(|&&byte| is_blank(byte))
            .count();
        let (start, end) = (self.start + left, self.end - right.min(text.len() - left));
        if !json::is_object(&self.raw[start..end]) {
            return Err(("bad json", start));
        }
        Ok(Fields {
            text: Span::new(start, end),
            ..Fields::NONE
        })
    }

    fn whole(&self) -> Result<Fields, Refused> {
        if self.start == self.end {
            return Err(("arg count", 0));
        }
        Ok(Fields {
            text: Span::new(self.start, self.end),
            ..Fields::NONE
        })
    }

    /// `subject [reply] [header size] size`.
    fn published(&self, sizes: usize) -> Result<Fields, Refused> {
        let args = self.split_published();
        let reply = match args.count.checked_sub(1 + sizes) {
            Some(0) => Span::NONE,
            Some(1) => args.at(1),
            _ => return Err(("arg count", 0)),
        };
        let fields = Fields {
            subject: args.at(0),
            reply,
            ..Fields::NONE
        };
        self.sized(&args, sizes, fields)
    }

    /// `subject sid [reply] [header size] size`.
    fn delivered(&self, sizes: usize) -> Result<Fields, Refused> {
        let args = self.split();
        let reply = match args.count.checked_sub(2 + sizes) {
            Some(0) => Span::NONE,
            Some(1) => args.at(2),
            _ => return Err(("arg count", 0)),
        };
        let sid = args.at(1);
        if self.conn == Conn::ServerToClient && !is_number(args.text(sid)) {
            return Err(("bad sid", sid.start()));
        }
        let fields = Fields {
            subject: args.at(0),
            sid,
            reply,
            ..Fields::NONE
        };
        self.sized(&args, sizes, fields)
    }

    /// `[origin] [account] subject [reply | + reply queue… | '|' queue…] [header size] size`.
    fn routed(&self, sizes: usize) -> Result<Fields, Refused> {
        let args = self.split();
        let mut fields = Fields::NONE;
        let mut lead = 0;
        if self.conn == Conn::Route {
            if self.kind == Kind::Lmsg {
                fields.origin = args.at(lead);
                lead += 1;
            }
            if !self.limits.pinned {
                fields.account = args.at(lead);
                lead += 1;
            }
        }
        fields.subject = args.at(lead);
        lead += 1;
        match args.count.checked_sub(lead + sizes) {
            None => return Err(("arg count", 0)),
            Some(0) => {}
            Some(1) => fields.reply = args.at(lead),
            Some(more) => {
                let sign = args.at(lead);
                let skip = match args.text(sign) {
                    b"+" => {
                        fields.reply = args.at(lead + 1);
                        2
                    }
                    b"|" => 1,
                    _ => return Err(("bad reply indicator", sign.start())),
                };
                if more > skip {
                    let before = if skip == 2 { fields.reply } else { sign };
                    fields.queues = Span::new(before.end(), args.back(sizes).end());
                }
            }
        }
        self.sized(&args, sizes, fields)
    }

    /// The sizes at the end, and the payload they announce.
    fn sized(&self, args: &Args<'_>, sizes: usize, fields: Fields) -> Result<Fields, Refused> {
        let read = if self.conn == Conn::ServerToClient {
            client_size
        } else {
            size
        };
        let number = |span: Span| read(args.text(span)).ok_or(("bad size", span.start()));
        let mut fields = fields;
        if sizes == 2 {
            fields.header_size = Some(number(args.back(1))?);
        }
        let size = number(args.back(0))?;
        if fields.header_size.is_some_and(|header| header > size) {
            return Err(("header larger than total", args.back(1).start()));
        }
        let wide = size as usize;
        if wide > self.limits.max_payload {
            return Err(("max payload", args.back(0).start()));
        }
        fields.payload = Span::new(self.next, self.next + wide);
        Ok(fields)
    }

    /// `subject [queue] sid`.
    fn subscribed(&self) -> Result<Fields, Refused> {
        let args = self.split();
        let queue = match args.count {
            2 => Span::NONE,
            3 => args.at(1),
            _ => return Err(("arg count", 0)),
        };
        Ok(Fields {
            subject: args.at(0),
            queue,
            sid: args.back(0),
            ..Fields::NONE
        })
    }

    /// `sid [max]`; what is no number, or 0, means now.
    fn unsubscribed(&self) -> Result<Fields, Refused> {
        let args = self.split();
        let max = match args.count {
            1 => None,
            2 => self.most(&args, args.at(1))?,
            _ => return Err(("arg count", 0)),
        };
        Ok(Fields {
            sid: args.at(0),
            max,
            ..Fields::NONE
        })
    }

    /// `rsid [max]`, or with a sid in front, as the seed prints it and nobody wrote it (A53).
    fn legacy_unsubscribed(&self) -> Result<Fields, Refused> {
        let args = self.split();
        let leads = args.count > 1 && is_rsid(args.text(args.at(1)));
        let rest = args.count.wrapping_sub(usize::from(leads));
        let (printed_sid, sid) = if leads {
            (args.at(0), args.at(1))
        } else {
            (Span::NONE, args.at(0))
        };
        let max = match rest {
            1 => None,
            2 => self.most(&args, args.back(0))?,
            _ => return Err(("arg count", 0)),
        };
        Ok(Fields {
            sid,
            printed_sid,
            max,
            ..Fields::NONE
        })
    }

    fn most(&self, args: &Args<'_>, span: Span) -> Result<Option<u32>, Refused> {
        let most = size(args.text(span)).filter(|&most| most > 0);
        if most.is_none() && self.limits.dialect == Dialect::Strict {
            return Err(("bad size", span.start()));
        }
        Ok(most)
    }

    /// `[origin] [account] subject [queue [weight]]`: a weight where interest begins.
    fn interest(&self, begins: bool) -> Result<Fields, Refused> {
        let args = self.split();
        let mut fields = Fields::NONE;
        let mut lead = 0;
        if self.conn == Conn::Route {
            let of_leaf = matches!(self.kind, Kind::LsAdd | Kind::LsDel);
            if of_leaf && (begins || self.limits.lnocu) {
                fields.origin = args.at(lead);
                lead += 1;
            }
            if !self.limits.pinned {
                fields.account = args.at(lead);
                lead += 1;
            }
        }
        fields.subject = args.at(lead);
        match args.count.checked_sub(lead + 1) {
            Some(0) => {}
            Some(1) if !begins => fields.queue = args.at(lead + 1),
            Some(2) if begins => {
                fields.queue = args.at(lead + 1);
                let weight = size(args.text(args.back(0)));
                if weight.is_none() && self.limits.dialect == Dialect::Strict {
                    return Err(("bad size", args.back(0).start()));
                }
                fields.weight = Some(weight.map_or(-1, i64::from));
            }
            _ => return Err(("arg count", 0)),
        }
        Ok(fields)
    }

    fn account(&self) -> Result<Fields, Refused> {
        let args = self.split();
        if args.count != 1 {
            return Err(("arg count", 0));
        }
        Ok(Fields {
            account: args.at(0),
            ..Fields::NONE
        })
    }

    /// Subjects as seed 001 has them (A33: after the splitting, and by its own grammar).
    fn strict(&self, fields: &Fields) -> Result<(), Refused> {
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
            let wrong = match std::str::from_utf8(text) {
                Ok(text) => grammar::check(text, form, Dialect::Strict, UNBOUNDED)
                    .err()
                    .map(|error| error.position.unwrap_or(0)),
                Err(error) => Some(error.valid_up_to()),
            };
            if let Some(offset) = wrong {
                return Err(("bad subject", span.start() + offset));
            }
        }
        Ok(())
    }
}

/// The line bounds the subject.
const UNBOUNDED: Bounds = Bounds {
    max_tokens: usize::MAX,
    max_length: usize::MAX,
};

fn is_rsid(text: &[u8]) -> bool {
    Rsid::read(text).is_some()
}
