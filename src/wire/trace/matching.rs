//! The matching of delivery lines with publishes, while a log is read in order.
//!
//! All messages of one subject, reply and size are one match group. A window runs from a publish to
//! its end. Windows are served in the order of their ends (then of their beginnings): for each
//! subscriber, a window takes the earliest line inside it that is still free. A window is served when
//! the reader reaches its end, and all its lines have been read by then: one pass decides, with
//! memory for the open windows only.
//!
//! A window is ambiguous if a line lies inside it and inside another window of its group that was
//! not refused. Whether a window is refused is known at its end, so the result of a window that has
//! ended waits for the windows that shared a line with it.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

/// The number of a window.
pub type WindowId = u64;

/// The deliveries of a message, once its windows have been served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Served {
    /// The delivery lines that it took.
    pub deliveries: u32,
    /// The lines to other servers that it took.
    pub forwarded: u32,
    /// Whether another window could have taken one of its lines.
    pub ambiguous: bool,
}

/// A window that is open in a group.
#[derive(Debug, Clone)]
pub struct Open {
    /// The window.
    pub id: WindowId,
    /// Its first byte.
    pub start: u64,
    /// The number of lines of the group before it.
    pub first_line: u64,
    /// Whether it shares a line with a window that was served.
    pub shares: bool,
}

/// A window that was served and waits for those that shared a line with it.
pub struct Waiting {
    id: WindowId,
    served: Served,
    rivals: Vec<WindowId>,
}

/// The messages of one subject, reply and size.
#[derive(Default)]
pub struct Group {
    /// The open windows, by their beginnings.
    pub open: Vec<Open>,
    pub(super) waiting: Vec<Waiting>,
    /// The number of delivery lines so far.
    pub lines: u64,
    /// The lines to clients that no window has taken, by subscriber.
    pub free: Vec<(Box<[u8]>, VecDeque<u64>)>,
    /// The lines to other servers that no window has taken, by connection.
    pub hops: Vec<(u32, VecDeque<u64>)>,
}

/// The match groups that have open windows.
#[derive(Default)]
pub struct Groups {
    /// The groups by subject, reply and size.
    pub by_key: HashMap<Box<[u8]>, Group, RandomState>,
    /// Windows whose result is known.
    pub served: Vec<(WindowId, Served)>,
    /// The positions of delivery lines that no window took.
    pub unmatched: Vec<u64>,
}

/// Write who receives a line: the queue group, or the connection and its subscription id.
pub fn write_subscriber(subscriber: &mut Vec<u8>, queue: &[u8], conn: u32, sid: &[u8]) {
    subscriber.clear();
    if queue.is_empty() {
        // A queue name has no blank, so it differs from this.
        subscriber.push(b' ');
        subscriber.extend_from_slice(&conn.to_le_bytes());
        subscriber.extend_from_slice(sid);
    } else {
        subscriber.extend_from_slice(queue);
    }
}

/// The connection in what `write_subscriber` wrote.
pub fn subscriber_conn(subscriber: &[u8]) -> Option<u32> {
    let conn = subscriber.strip_prefix(b" ")?.first_chunk()?;
    Some(u32::from_le_bytes(*conn))
}

/// Write the key of a match group.
pub fn write_key(key: &mut Vec<u8>, subject: &[u8], reply: &[u8], size: i64) {
    key.clear();
    key.extend_from_slice(&size.to_le_bytes());
    key.extend_from_slice(subject);
    key.push(b' ');
    key.extend_from_slice(reply);
}

impl Groups {
    /// Open a window in a group.
    pub fn open(&mut self, key: &[u8], id: WindowId, start: u64) {
        if !self.by_key.contains_key(key) {
            self.by_key.insert(key.into(), Group::default());
        }
        if let Some(group) = self.by_key.get_mut(key) {
            let first_line = group.lines;
            group.open.push(Open {
                id,
                start,
                first_line,
                shares: false,
            });
        }
    }

    /// Add a line that delivers a message to a client.
    pub fn line(&mut self, key: &[u8], position: u64, subscriber: &[u8]) {
        let Some(group) = self.by_key.get_mut(key) else {
            self.unmatched.push(position);
            return;
        };
        group.lines += 1;
        match group
            .free
            .iter_mut()
            .find(|(name, _)| **name == *subscriber)
        {
            Some((_, lines)) => lines.push_back(position),
            None => group
                .free
                .push((subscriber.into(), VecDeque::from([position]))),
        }
    }

    /// Add a line that sends a message to another server; return whether a window of it is open.
    pub fn hop(&mut self, key: &[u8], position: u64, conn: u32) -> bool {
        let Some(group) = self.by_key.get_mut(key) else {
            return false;
        };
        match group.hops.iter_mut().find(|(known, _)| *known == conn) {
            Some((_, lines)) => lines.push_back(position),
            None => group.hops.push((conn, VecDeque::from([position]))),
        }
        true
    }

    /// End a window in a group: serve it, or drop it if its message was refused.
    pub fn close(&mut self, key: &[u8], id: WindowId, refused: bool) {
        let Some(group) = self.by_key.get_mut(key) else {
            return;
        };
        let Some(at) = group.open.iter().position(|open| open.id == id) else {
            return;
        };
        let window = group.open.remove(at);
        if !refused {
            group.serve(&window);
        }
        let served = &mut self.served;
        group.waiting.retain_mut(|waiting| {
            if let Some(at) = waiting.rivals.iter().position(|&rival| rival == id) {
                waiting.rivals.swap_remove(at);
                waiting.served.ambiguous |= !refused;
            }
            let known = waiting.served.ambiguous || waiting.rivals.is_empty();
            if known {
                served.push((waiting.id, waiting.served));
            }
            !known
        });
        // Lines before the first open window can no longer be taken.
        let first = group.open.first().map_or(u64::MAX, |open| open.start);
        for (_, lines) in &mut group.free {
            while lines.front().is_some_and(|&line| line < first) {
                self.unmatched.extend(lines.pop_front());
            }
        }
        for (_, lines) in &mut group.hops {
            while lines.front().is_some_and(|&line| line < first) {
                lines.pop_front();
            }
        }
        group.free.retain(|(_, lines)| !lines.is_empty());
        group.hops.retain(|(_, lines)| !lines.is_empty());
        if group.open.is_empty() {
            self.by_key.remove(key);
        }
    }
}

impl Group {
    /// Give a window its lines, and note the open windows that share a line with it.
    fn serve(&mut self, window: &Open) {
        let mut served = Served {
            ambiguous: window.shares,
            ..Served::default()
        };
        for (_, lines) in &mut self.free {
            served.deliveries += u32::from(take(lines, window.start));
        }
        for (_, lines) in &mut self.hops {
            served.forwarded += u32::from(take(lines, window.start));
        }
        let mut rivals = Vec::new();
        for other in &mut self.open {
            if other.first_line.max(window.first_line) < self.lines {
                other.shares = true;
                rivals.push(other.id);
            }
        }
        self.waiting.push(Waiting {
            id: window.id,
            served,
            rivals,
        });
    }
}

/// Remove the earliest line after `start`; return whether there is one.
fn take(lines: &mut VecDeque<u64>, start: u64) -> bool {
    match lines.iter().position(|&line| line > start) {
        Some(at) => lines.remove(at).is_some(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_that_was_refused_makes_nothing_ambiguous() {
        for (refused, ambiguous) in [(false, true), (true, false)] {
            let mut groups = Groups::default();
            groups.open(b"k", 1, 10);
            groups.open(b"k", 2, 20);
            groups.line(b"k", 30, b"s");
            groups.close(b"k", 1, false);
            assert!(groups.served.is_empty());
            groups.close(b"k", 2, refused);
            let first = groups.served.iter().find(|(id, _)| *id == 1).unwrap().1;
            assert_eq!((first.deliveries, first.ambiguous), (1, ambiguous));
            assert!(groups.by_key.is_empty());
        }
    }

    #[test]
    fn lines_before_every_open_window_are_unmatched() {
        let mut groups = Groups::default();
        groups.open(b"k", 1, 10);
        for line in [20, 21, 22] {
            groups.line(b"k", line, b"s");
        }
        groups.open(b"k", 2, 30);
        groups.close(b"k", 1, false);
        assert_eq!(groups.unmatched, [21, 22]);
        assert!(!groups.served[0].1.ambiguous);
    }
}
