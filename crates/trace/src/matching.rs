//! The matching of delivery lines with publishes, while a log is read in order.
//!
//! All messages of one account, subject, reply and size are one match group. A line to a client takes
//! part in the group of its account while that has an open window; else a message of another account
//! was imported, and it takes part in the group with the latest window. A window runs from a publish to
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

use super::free_lines::FreeLines;
use super::operation::Names;

/// The number of a window.
pub type WindowId = u64;

/// The index of a match group.
pub type GroupId = usize;

/// The receiver of a line, as `subscriber` writes it; the longest common one needs no allocation.
pub type Subscriber = SmallVec<[u8; 24]>;

/// The bytes of a size, before the subject in the key of a group.
const SIZE: usize = size_of::<i64>();
/// The account of clients that log in without one; the server prints it for some of them only.
const GLOBAL: &[u8] = b"$G";

/// The number of unused groups, and the number of lines or windows of each, whose memory is kept for
/// reuse: they bound what a burst of messages leaves behind.
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

/// A window that was served and waits for those that share a line with it.
pub struct Waiting {
    id: WindowId,
    served: Served,
    /// The windows that share a line with it are those that are open with a lower number.
    rivals_before: WindowId,
}

/// The messages of one account, subject, reply and size.
#[derive(Default)]
pub struct Group {
    /// Size, subject, reply and account, as `write_key` writes them.
    pub key: Vec<u8>,
    /// The windows by their beginnings, which is the order of their numbers; `None` is closed.
    pub open: VecDeque<(WindowId, Option<u64>)>,
    closed: usize,
    /// Those that wait, in the order of their ends and so of `rivals_before`.
    waiting: VecDeque<Waiting>,
    /// The windows with a lower number were open at the latest line to a client.
    pub covered: WindowId,
    /// The open windows with a lower number share a line with a window that was served.
    pub shared: WindowId,
    /// The lines to clients.
    pub free: FreeLines<Subscriber>,
    /// The lines to other servers, by connection.
    pub hops: FreeLines<u32>,
    /// Whether it may lack windows, as lines were skimmed.
    doubtful: bool,
    steps: u64,
}

/// The match groups that have open windows.
#[derive(Default)]
pub struct Groups {
    slots: Vec<Group>,
    /// The groups in use, by their keys.
    by_key: HashTable<GroupId>,
    hasher: RandomState,
    /// Groups that are not in use; they keep their memory, so that a message needs none.
    spare: Vec<GroupId>,
    /// The number of groups that may lack windows.
    pub doubtful: usize,
    /// Windows whose result is known.
    pub served: Vec<(WindowId, Served)>,
    /// The positions of delivery lines that no window took.
    pub unmatched: Vec<u64>,
    /// The work of the groups that are no longer in use.
    steps: u64,
}

/// Return who receives a line: the queue group of an account, or the connection and its subscription
/// id.
pub fn subscriber(account: &[u8], queue: &[u8], conn: u32, sid: &[u8]) -> Subscriber {
    if !queue.is_empty() {
        let mut made = Subscriber::from_slice(queue);
        made.push(b' ');
        made.extend_from_slice(account);
        return made;
    }
    // A queue name has no blank, so it differs from this.
    let mut made = Subscriber::from_slice(b" ");
    made.extend_from_slice(&conn.to_le_bytes());
    made.extend_from_slice(sid);
    made
}

/// Return the connection in what `subscriber` wrote.
pub fn subscriber_conn(subscriber: &[u8]) -> Option<u32> {
    let conn = subscriber.strip_prefix(b" ")?.first_chunk()?;
    Some(u32::from_le_bytes(*conn))
}

/// Write the key of a match group.
pub fn write_key(key: &mut Vec<u8>, names: Names<'_>, size: i64) {
    key.clear();
    key.extend_from_slice(&size.to_le_bytes());
    key.extend_from_slice(names.subject);
    key.push(b' ');
    key.extend_from_slice(names.reply);
    key.push(0);
    if names.account != GLOBAL {
        key.extend_from_slice(names.account);
    }
}

/// Return the part of a key before the account.
fn without_account(key: &[u8]) -> &[u8] {
    memchr::memrchr(0, key).map_or(key, |end| &key[..end])
}

impl Groups {
    /// Return the group of a key.
    pub fn find(&self, key: &[u8]) -> Option<GroupId> {
        let same = |&at: &GroupId| self.slots[at].key == key;
        self.by_key.find(self.hash(key), same).copied()
    }

    /// Return the group of a key, else the one of another account with the latest open window.
    fn find_of_line(&self, key: &[u8]) -> Option<GroupId> {
        let begin = without_account(key);
        self.find(key).or_else(|| {
            let others = self.by_key.iter_hash(self.hash(key)).copied();
            others
                .filter(|&at| without_account(&self.slots[at].key) == begin)
                .max_by_key(|&at| self.slots[at].latest())
        })
    }

    /// Return the hash of a key, the same for every account.
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(without_account(key))
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
        let hash = self.hash(key);
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
        self.by_key.insert_unique(hash, id, |&at| {
            hasher.hash_one(without_account(&groups[at].key))
        });
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
        self.slots[found].open.push_back((id, Some(start)));
        found
    }

    /// Whether a group holds the messages of a subject.
    pub fn has_subject(&self, id: GroupId, subject: &[u8]) -> bool {
        let rest = self.slots[id].key.get(SIZE..).unwrap_or_default();
        rest.strip_prefix(subject)
            .is_some_and(|rest| rest.starts_with(b" "))
    }

    /// Return the reply subject and the size of the messages of a group.
    pub fn reply_of(&self, id: GroupId) -> (Vec<u8>, i64) {
        let key = without_account(&self.slots[id].key);
        let Some((size, names)) = key.split_first_chunk::<SIZE>() else {
            return Default::default();
        };
        // Neither of them has a blank.
        let reply = names.splitn(2, |byte| *byte == b' ').nth(1);
        (
            reply.unwrap_or_default().to_vec(),
            i64::from_le_bytes(*size),
        )
    }

    /// Return the subject of the messages of a group.
    pub fn subject_of(&self, id: GroupId) -> &[u8] {
        let names = self.slots[id].key.get(SIZE..).unwrap_or_default();
        names.split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    /// Add a line that delivers a message to a client.
    pub fn line(&mut self, key: &[u8], position: u64, subscriber: Subscriber) {
        let Some(id) = self.find_of_line(key) else {
            self.unmatched.push(position);
            return;
        };
        let group = &mut self.slots[id];
        let latest = group.open.back().map_or(0, |(latest, _)| latest + 1);
        group.covered = group.covered.max(latest);
        group.free.add(subscriber, position);
    }

    /// Add a line that sends a message to another server; return whether a window of it is open.
    pub fn hop(&mut self, key: &[u8], position: u64, conn: u32) -> bool {
        let Some(id) = self.find_of_line(key) else {
            return false;
        };
        self.slots[id].hops.add(conn, position);
        true
    }

    /// End a window in a group: serve it, or drop it if its message was refused.
    pub fn close(&mut self, id: GroupId, window: WindowId, refused: bool) {
        let group = &mut self.slots[id];
        let Some(start) = group.remove(window) else {
            return;
        };
        if !refused {
            group.serve(window, start, &mut self.served);
        }
        group.report(&mut self.served);
        // Lines before the first open window can no longer be taken.
        let first = group.open.front().and_then(|(_, start)| *start);
        let before = first.unwrap_or(u64::MAX);
        let unmatched = &mut self.unmatched;
        group.free.forget(before, |line| unmatched.push(line));
        group.hops.forget(before, |_| {});
        if first.is_none() {
            self.remove(id);
        }
    }

    /// Take a group out of use.
    fn remove(&mut self, id: GroupId) {
        let hash = self.hash(&self.slots[id].key);
        let group = &mut self.slots[id];
        if let Ok(entry) = self.by_key.find_entry(hash, |&at| at == id) {
            entry.remove();
        }
        self.doubtful -= usize::from(std::mem::take(&mut group.doubtful));
        self.steps += std::mem::take(&mut group.steps);
        self.steps += std::mem::take(&mut group.free.steps) + std::mem::take(&mut group.hops.steps);
        if self.spare.len() < SPARE && group.capacity() <= LARGEST_SPARE {
            group.key.clear();
            group.waiting.clear();
            (group.covered, group.shared) = (0, 0);
        } else {
            *group = Group::default();
        }
        self.spare.push(id);
    }

    /// Return the work so far: windows, lines and receivers that were read, levels of trees.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        let groups = self.iter().map(|group| {
            let lines = group.free.steps + group.hops.steps;
            group.steps + lines
        });
        self.steps + groups.sum::<u64>()
    }
}

impl Group {
    /// Return the latest window that is open.
    fn latest(&self) -> Option<WindowId> {
        let mut open = self.open.iter().rev();
        open.find_map(|&(id, start)| start.map(|_| id))
    }

    /// Remove a window, and return its beginning.
    fn remove(&mut self, window: WindowId) -> Option<u64> {
        let at = self
            .open
            .binary_search_by_key(&window, |&(id, _)| id)
            .ok()?;
        let start = self.open[at].1.take();
        self.closed += 1;
        while self.open.front().is_some_and(|(_, start)| start.is_none()) {
            self.open.pop_front();
            self.closed -= 1;
        }
        if self.closed > self.open.len() / 2 {
            self.steps += self.open.len() as u64;
            self.open.retain(|(_, start)| start.is_some());
            self.closed = 0;
        }
        start
    }

    /// Give a window its lines; its result may wait for those that share a line with it.
    fn serve(&mut self, window: WindowId, start: u64, known: &mut Vec<(WindowId, Served)>) {
        self.steps += 1;
        let alone = self.open.is_empty();
        let served = Served {
            deliveries: self.free.serve(start, alone),
            forwarded: self.hops.serve(start, alone),
            ambiguous: window < self.shared,
        };
        while let Some(waiting) = self.waiting.back()
            && waiting.rivals_before > window
        {
            let ambiguous = true;
            let served = Served {
                ambiguous,
                ..waiting.served
            };
            known.push((waiting.id, served));
            self.waiting.pop_back();
            self.steps += 1;
        }
        let shares = window < self.covered;
        if shares {
            self.shared = self.covered;
        }
        if shares && !served.ambiguous {
            let rivals_before = self.covered;
            self.waiting.push_back(Waiting {
                id: window,
                served,
                rivals_before,
            });
        } else {
            known.push((window, served));
        }
    }

    /// Report the windows that no open window shares a line with any more.
    fn report(&mut self, known: &mut Vec<(WindowId, Served)>) {
        let first = self.open.front().map_or(WindowId::MAX, |(id, _)| *id);
        while let Some(waiting) = self.waiting.front()
            && waiting.rivals_before <= first
        {
            known.push((waiting.id, waiting.served));
            self.waiting.pop_front();
            self.steps += 1;
        }
    }

    fn capacity(&self) -> usize {
        let lines = self.free.capacity().max(self.hops.capacity());
        lines.max(self.key.capacity()).max(self.open.capacity())
    }
}
