//! The subscriptions themselves: id, queue, and their place among those of the same pattern.
//!
//! Rows stand in slots without gaps: where one is taken out, the last one moves in. So whoever keeps
//! values beside the index keeps them in a plain vector and does the same. The rows of a pattern are
//! linked in the order they came.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::ids::Ids;
use super::paged::Paged;
use super::queues::Queues;
use super::ticket::{NONE, Ticket};
use super::turns::Turns;

#[derive(Clone, Copy)]
pub(super) struct Row {
    pub id: u64,
    /// The block of the pattern: kept right for its first and its last row only.
    pub block: u32,
    /// Number of the queue name, or `NONE`.
    pub queue: u32,
    pub next: u32,
    pub previous: u32,
}

#[derive(Default)]
pub(super) struct Rows {
    all: Paged<Row>,
    ids: Ids,
    pub queues: Queues,
    turns: Arc<Turns>,
    next_id: u64,
}

impl Clone for Rows {
    fn clone(&self) -> Self {
        Self {
            turns: Arc::new(Turns::clone(&self.turns)),
            ..self.twin()
        }
    }
}

impl Rows {
    /// A copy that counts turns together with this one.
    pub fn twin(&self) -> Self {
        Self {
            all: self.all.clone(),
            ids: self.ids.clone(),
            queues: self.queues.clone(),
            turns: self.turns.clone(),
            next_id: self.next_id,
        }
    }

    pub fn turns(&self) -> Arc<Turns> {
        self.turns.clone()
    }

    pub fn share_turns(&mut self, turns: &Arc<Turns>) {
        self.turns = turns.clone();
    }

    pub const fn len(&self) -> usize {
        self.all.len()
    }

    pub const fn next_id(&self) -> u64 {
        self.next_id
    }

    pub const fn set_next_id(&mut self, next: u64) {
        self.next_id = next;
    }

    /// Sets ids aside, or `None` where there is no room for as many.
    pub fn reserve(&mut self, count: usize) -> Option<u64> {
        if count >= (NONE as usize).saturating_sub(self.all.len()) {
            return None;
        }
        let first = self.next_id;
        self.next_id = first.checked_add(u64::try_from(count).ok()?)?;
        Some(first)
    }

    pub fn find(&self, id: u64) -> Option<Ticket> {
        self.ids.get(id).map(|slot| Ticket { id, slot })
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Row> {
        self.all.get(slot as usize)
    }

    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Row> {
        self.all.get_mut(slot as usize)
    }

    pub fn queue(&self, slot: u32) -> u32 {
        self.get(slot).map_or(NONE, |row| row.queue)
    }

    pub fn turn(&self, slot: u32) -> u64 {
        self.counter(slot)
            .map_or(0, |turn| turn.load(Ordering::Relaxed))
    }

    /// The count of turns of a queue member.
    pub fn counter(&self, slot: u32) -> Option<&AtomicU64> {
        (self.queue(slot) != NONE).then(|| self.turns.at(slot))
    }

    /// Rows in the order of their slots.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Row)> {
        (0..).zip(self.all.iter())
    }

    pub fn tickets(&self) -> Vec<Ticket> {
        let mut all: Vec<Ticket> = self
            .iter()
            .map(|(slot, row)| Ticket { id: row.id, slot })
            .collect();
        all.sort_unstable();
        all
    }

    /// Puts a row in and says which slot it has.
    pub fn put(&mut self, row: Row, turn: u64) -> u32 {
        let slot = u32::try_from(self.all.len()).unwrap_or(NONE);
        self.all.push(row);
        self.ids.put(row.id, slot);
        if row.queue != NONE {
            self.turns.at(slot).store(turn, Ordering::Relaxed);
        }
        slot
    }

    /// Takes a row out; the last one has its slot now, if there was a later one.
    pub fn take(&mut self, slot: u32) -> Option<Row> {
        let row = *self.get(slot)?;
        let last = u32::try_from(self.all.len() - 1).unwrap_or(NONE);
        let turn = self.turn(last);
        self.all.swap_remove(slot as usize);
        self.ids.take(row.id);
        if row.queue != NONE {
            self.queues.release(row.queue);
        }
        if let Some(&moved) = self.get(slot).filter(|_| slot != last) {
            self.ids.put(moved.id, slot);
            if moved.queue != NONE {
                self.turns.at(slot).store(turn, Ordering::Relaxed);
            }
        }
        if self.all.len() == 0 {
            *self = Self {
                next_id: self.next_id,
                ..Self::default()
            };
        }
        Some(row)
    }

    pub fn memory(&self) -> usize {
        self.all.memory() + self.ids.memory() + self.queues.memory() + self.turns.memory()
    }
}
