//! Reads the lines of a log in order: each becomes an event or is counted, and the deliveries of
//! each publish are decided.
//!
//! The *window* of a publish ends at the next operation that its connection sent (payload lines
//! aside), at its refusal, or at the first line more than one second of log time after its payload
//! line. A line that cannot be parsed takes no part in this, and its time neither.
//!
//! A reader is responsible for the lines that begin in a range. It begins with the state of the log
//! at the start of the range (`state.rs`), and reads on past its end until the windows that it must
//! decide are closed; so the result does not depend on how a log is divided.
//!
//! The prefix of a line (except its time) repeats on every line of a connection. It is parsed once,
//! and then looked up by its text.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use memchr::memchr;

use super::clock::Clock;
use super::connections::{Connections, conn_name};
use super::container::Parts;
use super::event::{Counts, Direction, Event, Prefix, Sink};
use super::jetstream::{acknowledged, answered};
use super::lines::LONGEST;
use super::login::Logins;
use super::operation::{self, Operation};
use super::prefix::{self, Line};
use super::processes::Processes;
use super::skim::Skim;
use super::subscriptions::Subscriptions;
use super::windows::Windows;

/// Bounds the memory for a log of many connections.
const CACHED_PREFIXES: usize = 65_536;
/// A time that does not exist, such as one in month 13.
const BAD_TIME: &str = "bad time";
/// The number of bytes of an unparseable line that are kept.
const SHOWN: usize = 512;

/// The state of one pass over a log.
pub struct Reader {
    pub(super) range: Range<u64>,
    pub(super) counts: Counts,
    pub(super) windows: Windows,
    pub(super) subscriptions: Subscriptions,
    pub(super) connections: Connections,
    pub(super) logins: Logins,
    pub(super) processes: Processes,
    /// The line of a container's log of which the last part is missing.
    pub(super) parts: Parts,
    pub(super) prefixes: HashMap<Box<[u8]>, Arc<Prefix>, RandomState>,
    /// The process id as this log prints it, `[7] `, or nothing.
    pid: Vec<u8>,
    clock: Clock,
    pub(super) skim: Skim,
}

impl Reader {
    /// Create a reader of the lines that begin in a range, at the beginning of a log.
    #[must_use]
    pub fn new(range: Range<u64>) -> Self {
        Self {
            windows: Windows::new(range.clone()),
            range,
            counts: Counts::default(),
            subscriptions: Subscriptions::default(),
            connections: Connections::default(),
            logins: Logins::default(),
            processes: Processes::default(),
            parts: Parts::default(),
            prefixes: HashMap::default(),
            pid: Vec::new(),
            clock: Clock::default(),
            skim: Skim::default(),
        }
    }

    /// Return the number of lines by category.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether no line at `position` or later can change the rows of the range.
    #[must_use]
    pub const fn is_done(&self, position: u64) -> bool {
        position >= self.range.end && self.windows.is_decided() && self.parts.kept.is_empty()
    }

    pub(super) fn whole_line(&mut self, position: u64, line: &[u8], sink: &mut impl Sink) {
        let own = self.range.contains(&position);
        let long = line.len() > LONGEST;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let failed = match self.known_prefix(line) {
            Some((prefix, at, time)) => {
                let time = time.map(Some).ok_or(BAD_TIME);
                self.body(position, &prefix, time, &line[at..], long, sink)
            }
            None => self.other_line(position, line, long, sink),
        };
        if let (true, Err(reason)) = (own, failed) {
            self.counts.unparseable += 1;
            sink.add(&Event {
                position,
                reason: Some(reason),
                text: &line[..line.len().min(SHOWN)],
                ..Event::default()
            });
        }
        self.report(sink);
    }

    /// Close the windows that are open at the end of a log.
    pub fn finish(&mut self, position: u64, sink: &mut impl Sink) {
        self.end_parts(sink);
        self.windows.finish(position);
        self.report(sink);
    }

    /// Pass on the outcomes that are known after a line.
    fn report(&mut self, sink: &mut impl Sink) {
        self.counts.unmatched += self.windows.report(sink) as u64;
    }

    /// Close the windows whose time limit has passed at a line.
    fn expire(&mut self, time: Option<i64>, position: u64) {
        if let Some(time) = time {
            self.windows.expire(time, position);
        }
        if self.skim.see(time) {
            self.windows.groups.doubt();
        }
    }

    /// Read only the lines of subscriptions in full from now on, and forget the windows.
    pub(super) fn skim(&mut self) {
        let windows = self.windows.by_id.values();
        self.skim.begin(windows.map(|window| window.limit));
        let next = self.windows.next;
        self.windows = Windows::new(self.range.clone());
        self.windows.next = next;
    }

    /// Whether the divider may pass over a line: it skims, and the line is one of a known form that
    /// neither begins nor ends a subscription or a connection.
    pub(super) fn passes(&mut self, line: &[u8]) -> bool {
        self.skim.is_on()
            && self.skim.passes(line, &self.pid, &mut self.clock)
            && (!self.logins.is_untold() || self.known_prefix(line).is_some())
    }

    /// Look up the prefix of a line by its text: prefix, index of the bracket, time.
    fn known_prefix(&mut self, line: &[u8]) -> Option<(Arc<Prefix>, usize, Option<i64>)> {
        let (time, start) = (self.pid.len(), self.pid.len() + 26);
        let level = line.get(start..start + 7)?;
        if level != b" [TRC] " || !line.starts_with(&self.pid) {
            return None;
        }
        let at = start + 7 + memchr(b'[', &line[start + 7..])?;
        let prefix = Arc::clone(self.prefixes.get(&line[start..at])?);
        let form = line[time..start].first_chunk()?;
        Some((prefix, at, self.clock.read_full(form)?))
    }

    /// Read a line whose prefix is not known, or that has another form.
    fn other_line(
        &mut self,
        position: u64,
        line: &[u8],
        long: bool,
        sink: &mut impl Sink,
    ) -> Result<(), &'static str> {
        let plain = prefix::without_colour(line);
        let coloured = plain.len() != line.len();
        let own_form = prefix::own_line(&plain);
        let Some(found) = own_form.or_else(|| prefix::foreign_line(&plain)) else {
            let message = prefix::message(&plain).ok_or("not a nats-server line")?;
            let time = self.time(message.time)?;
            let starts = message.rest.starts_with(b"Starting nats-server");
            self.process(message.pid, position, starts);
            self.expire(time, position);
            self.told(position, time, &message, sink);
            self.counts.server += u64::from(self.range.contains(&position));
            return Ok(());
        };
        self.process(found.pid, position, false);
        let direction = match found.rest.get(..3) {
            Some(b"<<-") => Direction::In,
            Some(b"->>") => Direction::Out,
            Some(b"<->") => Direction::Local,
            _ if found.level == Some(b"TRC") => return Err("incomplete line"),
            _ => {
                let time = self.time(found.time)?;
                self.expire(time, position);
                self.counts.server += u64::from(self.range.contains(&position));
                self.message(position, time, &found, sink);
                return Ok(());
            }
        };
        let after = &found.rest[3..];
        let payload = after.starts_with(b" MSG_PAYLOAD: [");
        if !payload && !after.starts_with(b" [") {
            let incomplete = found.rest.len() < 5;
            return Err(if incomplete {
                "incomplete line"
            } else {
                operation::NOT_AN_OPERATION
            });
        }
        let time = self.time(found.time);
        let prefix = Arc::new(self.prefix(&found, direction, payload));
        // The server prints what it knows of a client once it has accepted it; a leaf node then
        // exchanges subscriptions and messages.
        let printed = found.login.is_some() || prefix.client && found.client.is_some();
        let known = printed || prefix.leaf && after.starts_with(b" [L");
        if known {
            self.login(position, time.ok().flatten(), &prefix, &found, sink);
        }
        let at = plain.len() - found.rest.len() + if payload { 17 } else { 4 };
        if !coloured && own_form.is_some() && (known || !prefix.leaf) {
            self.remember(&plain, at, &found, &prefix);
        }
        self.body(position, &prefix, time, &plain[at..], long, sink)
    }

    /// Read a time; a log may be without them.
    fn time(&mut self, text: Option<&[u8]>) -> Result<Option<i64>, &'static str> {
        text.map(|text| self.clock.read(text).ok_or(BAD_TIME))
            .transpose()
    }

    /// Remember a prefix by its text, if `known_prefix` would find the same bracket.
    fn remember(&mut self, line: &[u8], at: usize, found: &Line<'_>, prefix: &Arc<Prefix>) {
        if found.level != Some(b"TRC") || found.time.is_none_or(|time| time.len() != 26) {
            return;
        }
        let pid = found.pid.map_or(0, |pid| pid.len() + 3);
        if line[..pid] != self.pid {
            self.pid = line[..pid].to_vec();
            self.prefixes.clear();
        }
        let start = pid + 26;
        if memchr(b'[', &line[start + 7..]) == Some(at - start - 7) {
            if self.prefixes.len() >= CACHED_PREFIXES {
                self.prefixes.clear();
            }
            self.prefixes
                .insert(line[start..at].into(), Arc::clone(prefix));
        }
    }

    pub(super) fn prefix(
        &mut self,
        found: &Line<'_>,
        direction: Direction,
        payload: bool,
    ) -> Prefix {
        let conn = conn_name(found);
        let conn_id = self.conn_id(&conn);
        let client = matches!(found.kind, b'c' | b'w' | b'm');
        let leaf = found.kind == b'l';
        let who = self.logins.who(conn_id, found);
        Prefix {
            conn,
            conn_id,
            client,
            leaf,
            direction,
            payload,
            who,
        }
    }

    fn conn_id(&mut self, conn: &str) -> u32 {
        if let Some(known) = self.connections.get(conn) {
            return known;
        }
        if self.connections.is_full() {
            // A name without state may get another number: nothing depends on it but the prefixes.
            let used = self.used_connections();
            self.connections.retain(&used);
            self.prefixes.clear();
        }
        self.connections.add(conn)
    }

    /// Note the process that wrote a line.
    fn process(&mut self, pid: Option<&[u8]>, position: u64, starts: bool) {
        if let Some(pid) = pid
            && self.processes.see(pid, position, starts)
        {
            self.pid.clear(); // lines of the process before it are to be noted
            self.prefixes.clear();
        }
    }

    /// Read the options of CONNECT: the prefix of later lines depends on them.
    fn connect(&mut self, prefix: &Prefix, body: &[u8], position: u64) {
        let options = body.strip_prefix(b"[CONNECT ");
        if let Some(options) = options.and_then(|rest| rest.strip_suffix(b"]")) {
            let again = self.logins.connect(prefix.conn_id, options, position);
            if again || prefix.leaf {
                self.prefixes.clear(); // one of them may be that of this connection
            }
        }
    }

    /// Read the part of a line that begins with the bracket.
    fn body(
        &mut self,
        position: u64,
        prefix: &Prefix,
        time: Result<Option<i64>, &'static str>,
        body: &[u8],
        long: bool,
        sink: &mut impl Sink,
    ) -> Result<(), &'static str> {
        let own = self.range.contains(&position);
        if prefix.payload {
            if !(long || body.ends_with(b"\"]")) {
                return Err("incomplete line");
            }
            let time = time?;
            self.expire(time, position);
            self.counts.payloads += u64::from(own);
            if let (Direction::In, Some(time)) = (prefix.direction, time)
                && !self.windows.extend(prefix.conn_id, time)
            {
                self.skim.extend(time);
            }
            if own && prefix.client {
                match prefix.direction {
                    Direction::Out => answered(position, prefix, time, body, sink),
                    _ => acknowledged(position, prefix, time, body, &self.windows, sink),
                }
            }
            return Ok(());
        }
        let signs_in = prefix.client || prefix.leaf;
        if signs_in && prefix.direction == Direction::In && body.starts_with(b"[CONNECT ") {
            self.connect(prefix, body, position);
        }
        if self.skim.is_on() && !operation::is_subscription(body) {
            if let Ok(time) = time {
                self.skim.see(time);
            }
            return Ok(());
        }
        if long {
            return Err("line too long");
        }
        let inside = body[1..].strip_suffix(b"]").ok_or("incomplete line")?;
        let words = operation::words(inside);
        let local = prefix.direction == Direction::Local;
        let found = if prefix.client {
            operation::of_client(&words)
        } else {
            operation::between_servers(&words, local, prefix.leaf)
        }?;
        let time = time?;
        self.expire(time, position);
        self.counts.operations += u64::from(own);
        if prefix.direction == Direction::In && found.op != b"MAPPING" {
            self.windows.end(prefix.conn_id, position);
        }
        self.operation(position, prefix, time, &found, sink);
        Ok(())
    }

    /// Apply an operation, and add its row.
    fn operation(
        &mut self,
        position: u64,
        prefix: &Prefix,
        time: Option<i64>,
        found: &Operation<'_>,
        sink: &mut impl Sink,
    ) {
        let mut event = Event {
            position,
            time,
            prefix: Some(prefix),
            directed: true,
            op: found.op,
            account: found.account,
            subject: found.subject,
            reply: found.reply,
            queue: found.queue,
            sid: found.sid,
            size: found.size,
            ..Event::default()
        };
        let conn = prefix.conn_id;
        let changed = Some(self.subscriptions.changed);
        match (prefix.client, prefix.direction, found.op) {
            (true, Direction::In, b"PUB" | b"HPUB") => {
                event.subscription = changed;
                return self.windows.open(&event, None, sink);
            }
            (true, Direction::In, b"MAPPING") if !found.subject.is_empty() => {
                event.subscription = changed;
                return self.windows.mapped(&event, sink);
            }
            (true, Direction::In, b"SUB") => {
                self.subscriptions.changed = position;
                self.subscriptions
                    .begin(conn, found.sid, found.queue, position);
            }
            (true, Direction::In, b"UNSUB")
            | (true, Direction::In | Direction::Local, b"DELSUB")
                if found.size.is_none() =>
            {
                self.subscriptions.changed = position;
                self.subscriptions.end(conn, found.sid);
            }
            (true, Direction::Out, b"MSG" | b"HMSG") => {
                let known = self.subscriptions.get(conn, found.sid);
                let queue = known.map_or(&b""[..], |known| &known.queue);
                event.queue = queue;
                event.subscription = known.map(|known| known.start);
                self.windows.line(&event, queue, conn);
            }
            (false, Direction::In, b"LS+" | b"LS-") if prefix.leaf => {
                self.subscriptions.changed = position;
            }
            (false, Direction::In, _) if found.size.is_some() => {
                event.subscription = changed.filter(|_| prefix.leaf);
                return self.windows.open(&event, found.second, sink);
            }
            (false, Direction::Out, _) if found.size.is_some() => {
                let size = found.size.unwrap_or_default();
                for names in found.second.into_iter().chain([event.names()]) {
                    if self.windows.hop(names, size, position, conn) {
                        (event.subject, event.reply) = (names.subject, names.reply);
                        event.account = names.account;
                    }
                }
            }
            _ => {}
        }
        if self.range.contains(&position) {
            sink.add(&event);
        }
    }
}
