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

use std::collections::VecDeque;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use smallvec::SmallVec;

/// The number of a window.
pub type WindowId = u64;

/// The index of a match group.
pub type GroupId = usize;

/// The receiver of a line, as `subscriber` writes it; the longest common one needs no allocation.
pub type Subscriber = SmallVec<[u8; 24]>;

/// The bytes of a size, before the subject in the key of a group.
const SIZE: usize = size_of::<i64>();

/// The number of empty groups and of empty queues whose memory is kept for reuse, and the largest of
/// these: they bound what a burst of messages leaves behind.
const SPARE: usize = 1_024;
const LARGEST_SPARE: usize = 1_024;

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
    /// Size, subject and reply, as `write_key` writes them.
    pub key: Vec<u8>,
    /// The open windows, by their beginnings.
    pub open: Vec<Open>,
    pub(super) waiting: Vec<Waiting>,
    /// The number of delivery lines so far.
    pub lines: u64,
    /// The lines to clients that no window has taken, by subscriber.
    pub free: Vec<(Subscriber, VecDeque<u64>)>,
    /// The lines to other servers that no window has taken, by connection.
    pub hops: Vec<(u32, VecDeque<u64>)>,
    /// Whether it may lack windows, as lines were skimmed.
    pub(super) doubtful: bool,
}

/// The match groups that have open windows.
#[derive(Default)]
pub struct Groups {
    slots: Vec<Group>,
    /// The groups in use, by their keys.
    by_key: HashTable<GroupId>,
    hasher: RandomState,
    /// Groups and queues that are not in use; they keep their memory, so that a message needs none.
    spare: Vec<GroupId>,
    queues: Vec<VecDeque<u64>>,
    /// The number of groups that may lack windows.
    pub doubtful: usize,
    /// Windows whose result is known.
    pub served: Vec<(WindowId, Served)>,
    /// The positions of delivery lines that no window took.
    pub unmatched: Vec<u64>,
}

/// Return who receives a line: the queue group, or the connection and its subscription id.
pub fn subscriber(queue: &[u8], conn: u32, sid: &[u8]) -> Subscriber {
    if !queue.is_empty() {
        return Subscriber::from_slice(queue);
    }
    // A queue name has no blank, so it differs from this.
    let mut made = Subscriber::from_slice(b" ");
    made.extend_from_slice(&conn.to_le_bytes());
    made.extend_from_slice(sid);
    made
}

/// The connection in what `subscriber` wrote.
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
    /// Return the group of a key.
    pub fn find(&self, key: &[u8]) -> Option<GroupId> {
        let hash = self.hasher.hash_one(key);
        let same = |&at: &GroupId| self.slots[at].key == key;
        self.by_key.find(hash, same).copied()
    }

    /// Return a group that is in use.
    pub fn get(&self, id: GroupId) -> &Group {
        &self.slots[id]
    }

    /// Iterate over the groups in use, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Group> {
        self.by_key.iter().map(|&id| &self.slots[id])
    }

    /// Return the group of a key, a new one if there is none.
    pub fn find_or_add(&mut self, key: &[u8]) -> GroupId {
        let hash = self.hasher.hash_one(key);
        let groups = &self.slots;
        if let Some(&id) = self.by_key.find(hash, |&at| groups[at].key == key) {
            return id;
        }
        let id = self.spare.pop().unwrap_or_else(|| {
            self.slots.push(Group::default());
            self.slots.len() - 1
        });
        self.slots[id].key.extend_from_slice(key);
        let (groups, hasher) = (&self.slots, &self.hasher);
        self.by_key
            .insert_unique(hash, id, |&at| hasher.hash_one(groups[at].key.as_slice()));
        id
    }

    /// Add a group of a saved state.
    pub fn restore(&mut self, group: Group) {
        let id = self.find_or_add(&group.key);
        self.slots[id] = group;
    }

    /// Marks all groups in use as possibly without windows.
    pub fn doubt(&mut self) {
        self.doubtful = self.by_key.len();
        for &id in &self.by_key {
            self.slots[id].doubtful = true;
        }
    }

    /// Open a window in the group of a key.
    pub fn open(&mut self, key: &[u8], id: WindowId, start: u64) -> GroupId {
        let found = self.find_or_add(key);
        let group = &mut self.slots[found];
        let first_line = group.lines;
        group.open.push(Open {
            id,
            start,
            first_line,
            shares: false,
        });
        found
    }

    /// Whether a group holds the messages of a subject.
    pub fn has_subject(&self, id: GroupId, subject: &[u8]) -> bool {
        let rest = self.slots[id].key.get(SIZE..).unwrap_or_default();
        rest.strip_prefix(subject)
            .is_some_and(|rest| rest.starts_with(b" "))
    }

    /// Add a line that delivers a message to a client.
    pub fn line(&mut self, key: &[u8], position: u64, subscriber: Subscriber) {
        let Some(id) = self.find(key) else {
            self.unmatched.push(position);
            return;
        };
        let group = &mut self.slots[id];
        group.lines += 1;
        let known = group.free.iter_mut().find(|(name, _)| *name == subscriber);
        if let Some((_, lines)) = known {
            lines.push_back(position);
        } else {
            let mut lines = self.queues.pop().unwrap_or_default();
            lines.push_back(position);
            group.free.push((subscriber, lines));
        }
    }

    /// Add a line that sends a message to another server; return whether a window of it is open.
    pub fn hop(&mut self, key: &[u8], position: u64, conn: u32) -> bool {
        let Some(id) = self.find(key) else {
            return false;
        };
        let group = &mut self.slots[id];
        match group.hops.iter_mut().find(|(known, _)| *known == conn) {
            Some((_, lines)) => lines.push_back(position),
            None => group.hops.push((conn, VecDeque::from([position]))),
        }
        true
    }

    /// End a window in a group: serve it, or drop it if its message was refused.
    pub fn close(&mut self, id: GroupId, window: WindowId, refused: bool) {
        let group = &mut self.slots[id];
        let Some(at) = group.open.iter().position(|open| open.id == window) else {
            return;
        };
        let open = group.open.remove(at);
        if !refused {
            group.serve(&open);
        }
        let served = &mut self.served;
        group.waiting.retain_mut(|waiting| {
            if let Some(at) = waiting.rivals.iter().position(|&rival| rival == window) {
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
        let queues = &mut self.queues;
        group.free.retain_mut(|(_, lines)| {
            let empty = lines.is_empty();
            if empty && queues.len() < SPARE && lines.capacity() <= LARGEST_SPARE {
                queues.push(std::mem::take(lines));
            }
            !empty
        });
        group.hops.retain(|(_, lines)| !lines.is_empty());
        if group.open.is_empty() {
            self.remove(id);
        }
    }

    /// Take a group out of use.
    fn remove(&mut self, id: GroupId) {
        let group = &mut self.slots[id];
        let hash = self.hasher.hash_one(group.key.as_slice());
        if let Ok(entry) = self.by_key.find_entry(hash, |&at| at == id) {
            entry.remove();
        }
        self.doubtful -= usize::from(std::mem::take(&mut group.doubtful));
        if self.spare.len() < SPARE && group.key.capacity() <= LARGEST_SPARE {
            group.key.clear();
            group.lines = 0;
            group.waiting.clear();
        } else {
            *group = Group::default();
        }
        self.spare.push(id);
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
            let group = groups.open(b"k", 1, 10);
            groups.open(b"k", 2, 20);
            groups.line(b"k", 30, subscriber(b"s", 0, b""));
            groups.close(group, 1, false);
            assert!(groups.served.is_empty());
            groups.close(group, 2, refused);
            let first = groups.served.iter().find(|(id, _)| *id == 1).unwrap().1;
            assert_eq!((first.deliveries, first.ambiguous), (1, ambiguous));
            assert_eq!(groups.find(b"k"), None);
        }
    }

    #[test]
    fn lines_before_every_open_window_are_unmatched() {
        let mut groups = Groups::default();
        let group = groups.open(b"k", 1, 10);
        for line in [20, 21, 22] {
            groups.line(b"k", line, subscriber(b"s", 0, b""));
        }
        groups.open(b"k", 2, 30);
        groups.close(group, 1, false);
        assert_eq!(groups.unmatched, [21, 22]);
        assert!(!groups.served[0].1.ambiguous);
    }
}
