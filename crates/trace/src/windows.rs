//! The windows of the messages that the server received: from the line of the message to the end of
//! the time in which its deliveries are expected.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::ops::Range;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::event::{Event, Outcome, Sink};
use super::matching::{GroupId, Groups, Served, WindowId, subscriber, subscriber_conn, write_key};
use super::operation::{Names, Refusal, Violation};

/// The longest time between a payload line and its deliveries, in microseconds of log time.
pub const WINDOW: i64 = 1_000_000;

/// A message that the server received.
pub struct Window {
    pub start: u64,
    pub conn: u32,
    /// Its match group, and that of the other reading of a message between servers.
    pub groups: SmallVec<[GroupId; 2]>,
    /// The last time of a line inside it; `None` in a log without times.
    pub limit: Option<i64>,
    /// Set when it has ended.
    until: Option<u64>,
    refused: Option<Refusal>,
    /// Whether a mapping put another message in its place.
    mapped: bool,
    /// The sum over its match groups, and the number of those that are not yet decided.
    served: Served,
    undecided: usize,
}

impl Window {
    pub fn new(start: u64, conn: u32, groups: SmallVec<[GroupId; 2]>) -> Self {
        let undecided = groups.len();
        let served = Served::default();
        let (limit, until, refused, mapped) = (None, None, None, false);
        Self {
            start,
            conn,
            groups,
            limit,
            until,
            refused,
            mapped,
            served,
            undecided,
        }
    }
}

/// The windows that are open, or whose deliveries are not decided.
#[derive(Default)]
pub struct Windows {
    /// The windows that begin here are reported.
    range: Range<u64>,
    pub by_id: HashMap<WindowId, Window, RandomState>,
    /// The number of the next window.
    pub next: WindowId,
    /// The open window of each connection.
    pub open_by_conn: HashMap<u32, WindowId, RandomState>,
    limits: BinaryHeap<Reverse<(i64, WindowId)>>,
    pub groups: Groups,
    /// The windows that must be decided: they begin before the end of the range.
    unfinished: usize,
    key: Vec<u8>,
    closing: Vec<WindowId>,
}

impl Windows {
    /// Create the windows of a reader that reports those which begin in a range.
    pub fn new(range: Range<u64>) -> Self {
        Self {
            range,
            ..Self::default()
        }
    }

    /// Whether all windows that begin before the end of the range are decided.
    pub const fn is_decided(&self) -> bool {
        self.unfinished == 0
    }

    /// Open the window of a message that the server received.
    pub fn open(&mut self, event: &Event<'_>, second: Option<Names<'_>>, sink: &mut impl Sink) {
        let (id, start) = (self.next, event.position);
        self.next += 1;
        let conn = event.prefix.map_or(0, |prefix| prefix.conn_id);
        let readings = std::iter::once(event.names()).chain(second);
        let size = event.size.unwrap_or_default();
        let groups = readings.map(|names| {
            write_key(&mut self.key, names, size);
            self.groups.open(&self.key, id, start)
        });
        let mut window = Window::new(start, conn, groups.collect());
        window.limit = event.time.map(|time| time + WINDOW);
        self.insert(id, window);
        if self.range.contains(&start) {
            sink.open(event, id);
        }
    }

    /// Put the message in place of the one that its connection sent before it: a mapping gave that
    /// one another subject, and the server goes on with it alone.
    pub fn mapped(&mut self, event: &Event<'_>, sink: &mut impl Sink) {
        let conn = event.prefix.map_or(0, |prefix| prefix.conn_id);
        let Some(id) = self.open_by_conn.remove(&conn) else {
            return;
        };
        let group = self.by_id.get(&id).and_then(|window| window.groups.first());
        let (reply, size) = group.map_or_else(Default::default, |&at| self.groups.reply_of(at));
        if let Some(window) = self.by_id.get_mut(&id) {
            window.mapped = true;
        }
        self.close(id, event.position, None);
        let message = Event {
            op: b"PUB",
            reply: &reply,
            size: Some(size),
            ..*event
        };
        self.open(&message, None, sink);
    }

    /// Add an open window.
    pub fn insert(&mut self, id: WindowId, window: Window) {
        if let Some(limit) = window.limit {
            self.limits.push(Reverse((limit, id)));
        }
        self.unfinished += usize::from(window.start < self.range.end);
        self.open_by_conn.insert(window.conn, id);
        self.by_id.insert(id, window);
    }

    /// Note the payload of the message of a connection; return whether its window is open.
    pub fn extend(&mut self, conn: u32, time: i64) -> bool {
        let id = self.open_by_conn.get(&conn);
        let window = id.and_then(|id| self.by_id.get_mut(id));
        let known = window.is_some();
        if let (Some(window), Some(&id)) = (window, id) {
            let limit = time + WINDOW;
            // A clock that was set back brings the end nearer.
            if window.limit.is_none_or(|before| limit < before) {
                self.limits.push(Reverse((limit, id)));
            }
            window.limit = Some(limit);
        }
        known
    }

    /// Return the subject of the message of a connection whose window is open.
    pub fn subject_of(&self, conn: u32) -> Option<&[u8]> {
        let window = self.by_id.get(self.open_by_conn.get(&conn)?)?;
        Some(self.groups.subject_of(*window.groups.first()?))
    }

    /// Close the windows whose time limit has passed at this line.
    pub fn expire(&mut self, time: i64, position: u64) {
        while let Some(&Reverse((limit, id))) = self.limits.peek() {
            if limit >= time {
                break;
            }
            self.limits.pop();
            let Some(window) = self.by_id.get(&id).filter(|window| window.until.is_none()) else {
                continue;
            };
            match window.limit {
                // Its payload line came later.
                Some(later) if later >= time => self.limits.push(Reverse((later, id))),
                _ => {
                    self.open_by_conn.remove(&window.conn);
                    self.closing.push(id);
                }
            }
        }
        if self.closing.is_empty() {
            return;
        }
        // In the order of their beginnings.
        let mut closing = std::mem::take(&mut self.closing);
        closing.sort_unstable();
        for id in closing.drain(..) {
            self.close(id, position, None);
        }
        self.closing = closing;
    }

    /// Close the window of a connection that sent another operation.
    pub fn end(&mut self, conn: u32, position: u64) {
        if let Some(id) = self.open_by_conn.remove(&conn) {
            self.close(id, position, None);
        }
    }

    /// Close the window of a connection if a violation refuses its message.
    pub fn refuse(&mut self, conn: u32, violation: &Violation, position: u64) {
        let Some(&id) = self.open_by_conn.get(&conn) else {
            return;
        };
        let group = self.by_id.get(&id).and_then(|window| window.groups.first());
        let named = group.is_some_and(|&group| self.groups.has_subject(group, &violation.subject));
        if violation.kind == Refusal::Reply || named {
            self.open_by_conn.remove(&conn);
            self.close(id, position, Some(violation.kind));
        }
    }

    /// Close the windows that are open at the end of a log, or when its server starts again.
    pub fn finish(&mut self, position: u64) {
        let mut open: Vec<_> = self.open_by_conn.drain().map(|(_, id)| id).collect();
        open.sort_unstable();
        for id in open {
            self.close(id, position, None);
        }
    }

    /// Add a line that delivers a message to a client.
    pub fn line(&mut self, event: &Event<'_>, queue: &[u8], conn: u32) {
        let names = event.names();
        let receiver = subscriber(names.account, queue, conn, event.sid);
        write_key(&mut self.key, names, event.size.unwrap_or_default());
        self.groups.line(&self.key, event.position, receiver);
    }

    /// Add a line that sends a message to another server; return whether a window of it is open.
    pub fn hop(&mut self, names: Names<'_>, size: i64, position: u64, conn: u32) -> bool {
        write_key(&mut self.key, names, size);
        self.groups.hop(&self.key, position, conn)
    }

    /// Return the connections that have an open window or a free line, in no order.
    pub fn connections(&self) -> Vec<u32> {
        let mut found: Vec<u32> = self.open_by_conn.keys().copied().collect();
        for group in self.groups.iter() {
            found.extend(group.hops.iter().map(|(conn, _)| conn));
            let subscribers = group.free.iter().map(|(name, _)| name);
            found.extend(subscribers.filter_map(|name| subscriber_conn(name)));
        }
        found
    }

    fn close(&mut self, id: WindowId, position: u64, refused: Option<Refusal>) {
        let Some(window) = self.by_id.get_mut(&id) else {
            return;
        };
        window.until = Some(position);
        window.refused = refused;
        for group in std::mem::take(&mut window.groups) {
            self.groups.close(group, id, refused.is_some());
            if refused.is_some() {
                self.groups.served.push((id, Served::default()));
            }
        }
    }

    /// Pass on the outcomes that are known after a line; return the number of deliveries of the range
    /// that no window took.
    pub fn report(&mut self, sink: &mut impl Sink) -> usize {
        if self.groups.served.is_empty() && self.groups.unmatched.is_empty() {
            return 0;
        }
        let lines = self.groups.unmatched.drain(..);
        let unmatched = lines.filter(|line| self.range.contains(line)).count();
        for (id, served) in self.groups.served.drain(..) {
            let Some(window) = self.by_id.get_mut(&id) else {
                continue;
            };
            window.served.deliveries += served.deliveries;
            window.served.forwarded += served.forwarded;
            window.served.ambiguous |= served.ambiguous;
            window.undecided -= 1;
            if window.undecided > 0 {
                continue;
            }
            self.unfinished -= usize::from(window.start < self.range.end);
            if self.range.contains(&window.start) {
                let until = window.until.unwrap_or_default();
                let (refused, served) = (window.refused, window.served);
                let outcome = Outcome {
                    until,
                    refused,
                    mapped: window.mapped,
                    served,
                };
                sink.resolve(id, &outcome);
            }
            self.by_id.remove(&id);
        }
        unmatched
    }
}
