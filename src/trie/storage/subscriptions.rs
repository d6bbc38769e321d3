//! The subscription store: id, queue, and a doubly linked list of those with the same pattern.
//!
//! Records stand in slots without gaps: the last record moves into the slot of a removed one. So a
//! caller keeps its values in a plain vector beside the index and does the same swap.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;

use super::paged_vec::PagedVec;
use super::pattern_table::PatternNumber;
use super::queue_names::{QueueId, QueueNames};
use super::round_robin::RoundRobin;
use crate::trie::address::Slot;

/// A subscription as a lookup finds it: its id, and the slot of its record at that time.
///
/// The id is never given again, so a kept reference never names another subscription. Any removal
/// may move the slot; therefore [`Index`](crate::trie::raw::Index) compares the id on every use and
/// searches by id if the record has moved. References order by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SubscriptionRef {
    /// The number of the subscription, in order of insertion.
    pub id: u64,
    /// The position of values stored outside the index, until the next removal.
    pub slot: Slot,
}

/// A subscription.
#[derive(Clone, Copy)]
pub(crate) struct Record {
    pub id: u64,
    pub pattern: PatternNumber,
    pub queue: QueueId,
    pub next: Slot,
    pub previous: Slot,
}

/// All subscriptions, by slot and by id.
#[derive(Clone, Default)]
pub(crate) struct Subscriptions {
    records: PagedVec<Record>,
    slots: SlotsById,
    pub queue_names: QueueNames,
    round_robin: RoundRobin,
    next_id: u64,
    /// Fewer slots than there could be, to test what happens beyond.
    #[cfg(test)]
    pub max_slots: Option<usize>,
}

impl Subscriptions {
    pub const fn len(&self) -> usize {
        self.records.len()
    }

    pub const fn next_id(&self) -> u64 {
        self.next_id
    }

    pub const fn set_next_id(&mut self, next: u64) {
        self.next_id = next;
    }

    /// Whether slots for `count` more subscriptions are left.
    pub const fn has_room(&self, count: usize) -> bool {
        count <= self.max_slots().saturating_sub(self.len())
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self)] // as in tests
    const fn max_slots(&self) -> usize {
        Slot::NONE.index()
    }

    #[cfg(test)]
    const fn max_slots(&self) -> usize {
        match self.max_slots {
            Some(most) => most,
            None => Slot::NONE.index(),
        }
    }

    /// Reserves ids; `None` if there are not as many slots or ids.
    pub fn reserve(&mut self, count: usize) -> Option<u64> {
        if !self.has_room(count) {
            return None;
        }
        let first = self.next_id;
        self.next_id = first.checked_add(u64::try_from(count).ok()?)?;
        Some(first)
    }

    pub fn find(&self, id: u64) -> Option<SubscriptionRef> {
        let slot = self.slots.get(id)?;
        Some(SubscriptionRef { id, slot })
    }

    /// The current position of the record of a reference; `None` once the subscription is removed.
    pub fn current_slot(&self, subscription: SubscriptionRef) -> Option<Slot> {
        let SubscriptionRef { id, slot } = subscription;
        match self.get(slot) {
            Some(record) if record.id == id => Some(slot),
            _ => self.slots.get(id),
        }
    }

    #[inline]
    pub fn get(&self, slot: Slot) -> Option<&Record> {
        #[cfg(test)]
        reads::count();
        self.records.get(slot.index())
    }

    pub fn get_mut(&mut self, slot: Slot) -> Option<&mut Record> {
        self.records.get_mut(slot.index())
    }

    /// The queue of the subscription in a slot.
    pub fn queue(&self, slot: Slot) -> QueueId {
        self.get(slot).map_or(QueueId::NONE, |record| record.queue)
    }

    /// The number of times the group led by the subscription in this slot was served.
    pub fn turn(&self, slot: Slot) -> u64 {
        self.counter(slot)
            .map_or(0, |counter| counter.load(Ordering::Relaxed))
    }

    /// The round robin counter of a queue member.
    pub fn counter(&self, slot: Slot) -> Option<&AtomicU64> {
        (self.queue(slot) != QueueId::NONE).then(|| self.round_robin.counter(slot))
    }

    /// The records in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &Record)> {
        (0..).map(Slot).zip(self.records.iter())
    }

    /// All subscriptions, in ascending id.
    pub fn references(&self) -> Vec<SubscriptionRef> {
        let mut all: Vec<SubscriptionRef> = self
            .iter()
            .map(|(slot, record)| SubscriptionRef {
                id: record.id,
                slot,
            })
            .collect();
        all.sort_unstable();
        all
    }

    /// Stores a record and returns its slot.
    pub fn push(&mut self, record: Record, turn: u64) -> Slot {
        let slot = Slot::at(self.records.len());
        self.records.push(record);
        self.slots.insert(record.id, slot);
        if record.queue != QueueId::NONE {
            self.round_robin
                .counter(slot)
                .store(turn, Ordering::Relaxed);
        }
        slot
    }

    /// Removes a record; the last record, if another one, moves into its slot.
    pub fn swap_remove(&mut self, slot: Slot) -> Option<Record> {
        let record = *self.get(slot)?;
        let last = Slot::at(self.records.len() - 1);
        let turn = self.turn(last);
        self.records.swap_remove(slot.index());
        self.slots.remove(record.id);
        if record.queue != QueueId::NONE {
            self.queue_names.release(record.queue);
        }
        if let Some(&moved) = self.get(slot).filter(|_| slot != last) {
            self.slots.insert(moved.id, slot);
            if moved.queue != QueueId::NONE {
                self.round_robin
                    .counter(slot)
                    .store(turn, Ordering::Relaxed);
            }
        }
        if self.records.len() == 0 {
            *self = Self {
                next_id: self.next_id,
                ..Self::default()
            };
        }
        Some(record)
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.records.memory()
            + self.slots.memory()
            + self.queue_names.memory()
            + self.round_robin.memory()
    }
}

/// Ids of one run. A run with a single id left costs as much as a full one, so a longer run wastes
/// more after removals, and a shorter one costs more map entries. No record compares lengths.
const RUN: usize = 64;

/// The slots of ids that follow one another.
#[derive(Clone)]
struct Run {
    slots: [Slot; RUN],
    used: u32,
}

/// A map from id to slot, in runs of 64 ids, as ids are given in order.
///
/// A run without ids is dropped, so neither many past ids nor a few survivors cost more than a run
/// each.
#[derive(Clone, Default)]
struct SlotsById {
    runs: HashMap<u64, Box<Run>, RandomState>,
}

#[allow(clippy::cast_possible_truncation)] // below RUN
const fn split_id(id: u64) -> (u64, usize) {
    (id / RUN as u64, (id % RUN as u64) as usize)
}

impl SlotsById {
    fn get(&self, id: u64) -> Option<Slot> {
        let (run, at) = split_id(id);
        let slot = self.runs.get(&run)?.slots[at];
        (slot != Slot::NONE).then_some(slot)
    }

    fn insert(&mut self, id: u64, slot: Slot) {
        let (run, at) = split_id(id);
        let run = self.runs.entry(run).or_insert_with(|| {
            Box::new(Run {
                slots: [Slot::NONE; RUN],
                used: 0,
            })
        });
        run.used += u32::from(run.slots[at] == Slot::NONE);
        run.slots[at] = slot;
    }

    fn remove(&mut self, id: u64) {
        let (number, at) = split_id(id);
        let Some(run) = self.runs.get_mut(&number) else {
            return;
        };
        run.used -= u32::from(run.slots[at] != Slot::NONE);
        run.slots[at] = Slot::NONE;
        if run.used == 0 {
            self.runs.remove(&number);
            if self.runs.capacity() > 8 * self.runs.len() + 16 {
                self.runs.shrink_to(2 * self.runs.len());
            }
        }
    }

    fn memory(&self) -> usize {
        self.runs.len() * size_of::<Run>() + self.runs.capacity() * size_of::<(u64, Box<Run>, u8)>()
    }
}

/// Counts the records that a thread reads.
#[cfg(test)]
pub(crate) mod reads {
    use std::cell::Cell;

    thread_local! {
        static READS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        READS.set(READS.get() + 1);
    }

    /// The number of records that `work` reads.
    pub(crate) fn counted(work: impl FnOnce()) -> usize {
        let before = READS.get();
        work();
        READS.get() - before
    }
}
