//! The subscriptions themselves: id, place in the tree, queue, turn.
//!
//! Ids are given once and never again; slots are small numbers that are reused, so that whoever
//! keeps values beside the index can keep them in a plain vector.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;

use super::ticket::{NONE, Ticket};

/// What is known of a subscription.
pub(super) struct Record {
    pub id: u64,
    pub node: u32,
    /// Does the pattern end in `>` after the node?
    pub tail: bool,
    /// Number of the queue name, or `NONE`.
    pub queue: u32,
    /// How often the group led by this subscription was served; readers share it (A19).
    pub turn: AtomicU64,
}

impl Clone for Record {
    fn clone(&self) -> Self {
        Self {
            turn: AtomicU64::new(self.turn.load(Ordering::Relaxed)),
            ..*self
        }
    }
}

/// All records, by slot and by id, and the names of queues.
///
/// Names are dropped when the index is compacted, not one by one.
#[derive(Clone)]
pub(super) struct Records {
    slots: Vec<Option<Record>>,
    free: Vec<u32>,
    by_id: HashMap<u64, u32, RandomState>,
    names: Vec<Box<str>>,
    by_name: HashMap<Box<str>, u32, RandomState>,
    next: u64,
}

impl Records {
    pub fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::default(),
            names: Vec::new(),
            by_name: HashMap::default(),
            next: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub const fn next_id(&self) -> u64 {
        self.next
    }

    pub const fn set_next_id(&mut self, next: u64) {
        self.next = next;
    }

    /// Sets ids aside, or `None` where there is no room for as many.
    pub fn reserve(&mut self, count: usize) -> Option<u64> {
        if count >= (NONE as usize).saturating_sub(self.slots.len()) {
            return None;
        }
        let first = self.next;
        self.next = first.checked_add(u64::try_from(count).ok()?)?;
        Some(first)
    }

    pub fn find(&self, id: u64) -> Option<Ticket> {
        self.by_id.get(&id).map(|&slot| Ticket { id, slot })
    }

    pub fn get(&self, slot: u32) -> Option<&Record> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub fn queue(&self, slot: u32) -> u32 {
        self.get(slot).map_or(NONE, |record| record.queue)
    }

    pub fn queue_name(&self, slot: u32) -> Option<&str> {
        self.names
            .get(self.queue(slot) as usize)
            .map(|name| &**name)
    }

    pub fn turn(&self, slot: u32) -> u64 {
        self.get(slot)
            .map_or(0, |record| record.turn.load(Ordering::Relaxed))
    }

    pub fn tickets(&self) -> Vec<Ticket> {
        let mut all: Vec<Ticket> = self
            .by_id
            .iter()
            .map(|(&id, &slot)| Ticket { id, slot })
            .collect();
        all.sort_unstable();
        all
    }

    /// The number of a queue name, `NONE` for no queue.
    pub fn queue_number(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else {
            return NONE;
        };
        if let Some(&number) = self.by_name.get(name) {
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(NONE);
        self.names.push(name.into());
        self.by_name.insert(name.into(), number);
        number
    }

    pub fn put(&mut self, record: Record) -> Ticket {
        let id = record.id;
        let slot = if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(record);
            slot
        } else {
            self.slots.push(Some(record));
            u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
        };
        self.by_id.insert(id, slot);
        Ticket { id, slot }
    }

    pub fn take(&mut self, id: u64) -> Option<(u32, Record)> {
        let slot = self.by_id.remove(&id)?;
        let record = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some((slot, record))
    }

    /// Are most slots or names left over from what is gone?
    pub fn is_sparse(&self) -> bool {
        let live = self.len();
        (live == 0 && !self.slots.is_empty())
            || (self.slots.len() > 64 && live * 4 < self.slots.len())
            || self.names.len() > 2 * live + 64
    }

    pub fn queues_in_use(&self) -> usize {
        let mut used = vec![false; self.names.len()];
        for record in self.slots.iter().flatten() {
            if let Some(seen) = used.get_mut(record.queue as usize) {
                *seen = true;
            }
        }
        used.into_iter().filter(|&seen| seen).count()
    }

    pub fn memory(&self) -> usize {
        let names: usize = self.names.iter().map(|name| 2 * name.len() + 48).sum();
        self.slots.capacity() * size_of::<Option<Record>>()
            + self.free.capacity() * size_of::<u32>()
            + self.by_id.capacity() * (size_of::<(u64, u32)>() + 1)
            + names
    }
}
