//! The windows of the messages that the server received: from the line of the message to the end of
//! the time in which its deliveries are expected.

use std::cmp::Reverse;

use smallvec::SmallVec;

use super::event::{Event, Outcome, Sink};
use super::matching::{GroupId, Served, WindowId, write_key};
use super::operation::Refusal;
use super::reader::Reader;

/// The longest time between a payload line and its deliveries, in microseconds of log time.
pub(super) const WINDOW: i64 = 1_000_000;

/// A message that the server received.
pub struct Window {
    pub(super) start: u64,
    pub(super) conn: u32,
    /// Its match group, and that of the other reading of a message between servers.
    pub(super) groups: SmallVec<[GroupId; 2]>,
    /// The last time of a line inside it; `None` in a log without times.
    pub(super) limit: Option<i64>,
    /// Set when it has ended.
    until: Option<u64>,
    refused: Option<Refusal>,
    /// The sum over its match groups, and the number of those that are not yet decided.
    served: Served,
    undecided: usize,
}

impl Window {
    pub(super) fn new(start: u64, conn: u32, groups: SmallVec<[GroupId; 2]>) -> Self {
        let undecided = groups.len();
        let served = Served::default();
        let (limit, until, refused) = (None, None, None);
        Self {
            start,
            conn,
            groups,
            limit,
            until,
            refused,
            served,
            undecided,
        }
    }
}

impl Reader {
    /// Open the window of a message that the server received.
    pub(super) fn open(
        &mut self,
        event: &Event<'_>,
        second: Option<(&[u8], &[u8])>,
        sink: &mut impl Sink,
    ) {
        let (id, start) = (self.next_window, event.position);
        self.next_window += 1;
        let conn = event.prefix.map_or(0, |prefix| prefix.conn_id);
        let readings = std::iter::once((event.subject, event.reply)).chain(second);
        let size = event.size.unwrap_or_default();
        let groups = readings.map(|(subject, reply)| {
            write_key(&mut self.key, subject, reply, size);
            self.groups.open(&self.key, id, start)
        });
        let mut window = Window::new(start, conn, groups.collect());
        window.limit = event.time.map(|time| time + WINDOW);
        self.insert(id, window);
        if self.range.contains(&start) {
            sink.open(event, id);
        }
    }

    pub(super) fn insert(&mut self, id: WindowId, window: Window) {
        if let Some(limit) = window.limit {
            self.limits.push(Reverse((limit, id)));
        }
        self.unfinished += usize::from(window.start < self.range.end);
        self.open_by_conn.insert(window.conn, id);
        self.windows.insert(id, window);
    }

    /// Close the windows whose time limit has passed at this line.
    pub(super) fn expire(&mut self, time: Option<i64>, position: u64) {
        let Some(time) = time else {
            self.skim.see(None);
            return;
        };
        while let Some(&Reverse((limit, id))) = self.limits.peek() {
            if limit >= time {
                break;
            }
            self.limits.pop();
            let Some(window) = self
                .windows
                .get(&id)
                .filter(|window| window.until.is_none())
            else {
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
        self.close_all(position);
        if self.skim.see(Some(time)) {
            self.groups.doubt();
        }
    }

    /// Close the windows that end at this line, in the order of their beginnings.
    pub(super) fn close_all(&mut self, position: u64) {
        if self.closing.is_empty() {
            return;
        }
        let mut closing = std::mem::take(&mut self.closing);
        closing.sort_unstable();
        for id in closing.drain(..) {
            self.close(id, position, None);
        }
        self.closing = closing;
    }

    pub(super) fn close(&mut self, id: WindowId, position: u64, refused: Option<Refusal>) {
        let Some(window) = self.windows.get_mut(&id) else {
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

    /// Pass on the outcomes that are known after a line.
    pub(super) fn report(&mut self, sink: &mut impl Sink) {
        if self.groups.served.is_empty() && self.groups.unmatched.is_empty() {
            return;
        }
        for position in self.groups.unmatched.drain(..) {
            self.counts.unmatched += u64::from(self.range.contains(&position));
        }
        for (id, served) in self.groups.served.drain(..) {
            let Some(window) = self.windows.get_mut(&id) else {
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
                sink.resolve(
                    id,
                    &Outcome {
                        until,
                        refused,
                        served,
                    },
                );
            }
            self.windows.remove(&id);
        }
    }
}
