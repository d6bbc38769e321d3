//! The delivery lines of a match group that no window has taken, by the receiver of each.
//!
//! A window takes the earliest line after its start of each receiver. Few lines are scanned. Of many,
//! while several windows compete, two ordered sets find the receivers that have such a line: the
//! work is O(log n) for each line that is added, and nothing for a receiver without such a line.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// The number of receivers or lines that are scanned.
const SCANNED: usize = 16;

/// The lines that no window has taken.
pub struct FreeLines<K> {
    receivers: Receivers<K>,
    /// Position and receiver of each line, by position. With an index, some may have been taken.
    lines: VecDeque<(u64, usize)>,
    index: Option<LineIndex>,
    /// The number of calls of `serve`.
    servings: u64,
    /// The work so far: lines and receivers that were read, levels of trees.
    pub steps: u64,
}

/// The free lines in two orders.
#[derive(Default)]
struct LineIndex {
    /// Receiver and position of each line.
    all: BTreeSet<(usize, u64)>,
    /// Position and receiver of the last line of each receiver.
    last: BTreeSet<(u64, usize)>,
}

/// The receivers that have free lines, numbered.
struct Receivers<K> {
    slots: Vec<Receiver<K>>,
    /// The numbers that are not in use.
    vacant: Vec<usize>,
    /// The numbers by key, if there are too many slots to scan.
    by_key: HashTable<usize>,
    hasher: RandomState,
}

struct Receiver<K> {
    /// `None` if it has no free line.
    key: Option<K>,
    free: u32,
    /// The last call of `serve` that took a line of it.
    served: u64,
}

impl<K> Default for FreeLines<K> {
    fn default() -> Self {
        Self {
            receivers: Receivers {
                slots: Vec::new(),
                vacant: Vec::new(),
                by_key: HashTable::new(),
                hasher: RandomState::default(),
            },
            lines: VecDeque::new(),
            index: None,
            servings: 0,
            steps: 0,
        }
    }
}

impl<K: Eq + Hash> FreeLines<K> {
    /// Add a line, which is later than the others.
    pub fn add(&mut self, key: K, position: u64) {
        let receiver = self.receivers.number(key, &mut self.steps);
        self.receivers.slots[receiver].free += 1;
        self.lines.push_back((position, receiver));
        if let Some(index) = &mut self.index {
            self.steps += index.add(receiver, position);
        }
    }

    /// Take the earliest line after `start` of each receiver, and return the number of these lines.
    ///
    /// `alone` says that no other window may take lines later, so that all are forgotten soon.
    pub fn serve(&mut self, start: u64, alone: bool) -> u32 {
        if self.index.is_none() && (alone || self.lines.len() <= SCANNED) {
            return self.serve_by_scan(start);
        }
        let Self {
            receivers,
            lines,
            index,
            steps,
            ..
        } = self;
        let index = index.get_or_insert_with(|| {
            let mut index = LineIndex::default();
            for &(position, receiver) in &*lines {
                *steps += index.add(receiver, position);
            }
            index
        });
        let (mut taken, mut end) = (0, (u64::MAX, 0));
        while let Some(&found) = index.last.range((start + 1, 0)..end).next_back() {
            end = found;
            let (_, receiver) = found;
            let Some(&(_, first)) = index.all.range((receiver, start + 1)..).next() else {
                break;
            };
            *steps += index.remove(receiver, first);
            receivers.take_from(receiver);
            taken += 1;
        }
        if lines.len() > 2 * index.all.len() + SCANNED {
            *steps += lines.len() as u64;
            lines.retain(|&(position, receiver)| index.all.contains(&(receiver, position)));
            if lines.len() <= SCANNED {
                self.index = None;
            }
        }
        taken
    }

    fn serve_by_scan(&mut self, start: u64) -> u32 {
        self.servings += 1;
        self.steps += self.lines.len() as u64;
        let (receivers, servings, mut taken) = (&mut self.receivers, self.servings, 0);
        self.lines.retain(|&(position, number)| {
            let receiver = &mut receivers.slots[number];
            let inside = position > start && receiver.served != servings;
            if inside {
                receiver.served = servings;
                receivers.take_from(number);
                taken += 1;
            }
            !inside
        });
        taken
    }

    /// Forget the lines before a position, and call `forgotten` with each.
    pub fn forget(&mut self, before: u64, mut forgotten: impl FnMut(u64)) {
        while let Some(&(position, receiver)) = self.lines.front() {
            if position >= before {
                break;
            }
            self.lines.pop_front();
            self.steps += 1;
            if let Some(index) = &mut self.index {
                if !index.all.contains(&(receiver, position)) {
                    continue; // it was taken
                }
                self.steps += index.remove(receiver, position);
            }
            self.receivers.take_from(receiver);
            forgotten(position);
        }
        if self.lines.is_empty() {
            self.index = None;
        }
    }

    /// Return the receiver and the position of each line, by position.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u64)> {
        self.lines.iter().filter_map(|&(position, receiver)| {
            let index = self.index.as_ref();
            let free = index.is_none_or(|index| index.all.contains(&(receiver, position)));
            let key = self.receivers.slots[receiver].key.as_ref();
            key.filter(|_| free).map(|key| (key, position))
        })
    }

    /// Return the number of lines and receivers for which there is memory.
    pub fn capacity(&self) -> usize {
        self.lines.capacity().max(self.receivers.slots.capacity())
    }
}

impl LineIndex {
    /// Add a line, which is later than the others of its receiver; return the work.
    fn add(&mut self, receiver: usize, position: u64) -> u64 {
        if let Some(last) = self.last_of(receiver) {
            self.last.remove(&(last, receiver));
        }
        self.last.insert((position, receiver));
        self.all.insert((receiver, position));
        self.levels()
    }

    /// Remove a line; return the work.
    fn remove(&mut self, receiver: usize, position: u64) -> u64 {
        self.all.remove(&(receiver, position));
        if self.last.remove(&(position, receiver))
            && let Some(last) = self.last_of(receiver)
        {
            self.last.insert((last, receiver));
        }
        self.levels()
    }

    fn last_of(&self, receiver: usize) -> Option<u64> {
        let mut lines = self.all.range((receiver, 0)..=(receiver, u64::MAX));
        lines.next_back().map(|&(_, position)| position)
    }

    fn levels(&self) -> u64 {
        u64::from((self.all.len() + 1).ilog2()) + 1
    }
}

impl<K: Eq + Hash> Receivers<K> {
    /// Return the number of a receiver, which is added if it is new.
    fn number(&mut self, key: K, steps: &mut u64) -> usize {
        *steps += 1;
        let (slots, hasher) = (&self.slots, &self.hasher);
        let same = |&at: &usize| slots[at].key.as_ref() == Some(&key);
        let scanned = slots.len() <= SCANNED;
        let known = if scanned {
            (0..slots.len()).find(same)
        } else {
            self.by_key.find(hasher.hash_one(Some(&key)), same).copied()
        };
        if let Some(known) = known {
            return known;
        }
        let receiver = Receiver {
            key: Some(key),
            free: 0,
            served: 0,
        };
        let number = if let Some(number) = self.vacant.pop() {
            self.slots[number] = receiver;
            number
        } else {
            self.slots.push(receiver);
            self.slots.len() - 1
        };
        match self.slots.len() {
            ..=SCANNED => {}
            length if scanned => (0..length).for_each(|at| self.insert(at)),
            _ => self.insert(number),
        }
        number
    }

    fn insert(&mut self, number: usize) {
        let (slots, hasher) = (&self.slots, &self.hasher);
        let hash = |&at: &usize| hasher.hash_one(slots[at].key.as_ref());
        self.by_key.insert_unique(hash(&number), number, hash);
    }

    /// Note that a line of a receiver is no longer free.
    fn take_from(&mut self, number: usize) {
        let receiver = &mut self.slots[number];
        receiver.free -= 1;
        if receiver.free > 0 {
            return;
        }
        if self.slots.len() > SCANNED {
            let (slots, hasher) = (&self.slots, &self.hasher);
            let hash = hasher.hash_one(slots[number].key.as_ref());
            if let Ok(entry) = self.by_key.find_entry(hash, |&at| at == number) {
                entry.remove();
            }
        }
        self.slots[number].key = None;
        self.vacant.push(number);
    }
}
