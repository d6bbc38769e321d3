//! Patterns come in: one way down to the leaf where each belongs.

use super::growth::Leaf;
use super::parsed::Parsed;
use super::pattern::{block_of, ends_of, set_ends};
use super::rows::Row;
use super::table::Crowded;
use super::ticket::NONE;
use super::{Index, Ticket, check_queue};
use crate::error::Error;

impl Index {
    /// Subscribes to `pattern`, as a member of a queue group if one is named.
    ///
    /// Atomic: what is refused leaves nothing behind. Cost: one step a fork, and now and then a
    /// leaf that becomes a fork.
    pub fn insert(&mut self, pattern: &str, queue: Option<&str>) -> Result<Ticket, Error> {
        self.check_pattern(pattern)?;
        queue.map_or(Ok(()), check_queue)?;
        let id = self.reserve(1, pattern.len())?;
        Ok(self.place(id, pattern, queue, 0))
    }

    /// Sets `count` ids aside for patterns of so many bytes in all, and returns the first.
    pub fn reserve(&mut self, count: usize, bytes: usize) -> Result<u64, Error> {
        let full = Error::new("index-full");
        if !self.has_room(count, bytes) {
            return Err(full);
        }
        self.rows.reserve(count).ok_or(full)
    }

    /// Is there room for `count` patterns of so many bytes in all?
    #[must_use]
    pub fn has_room(&self, count: usize, bytes: usize) -> bool {
        let words = count.saturating_mul(6).saturating_add(bytes / 8);
        self.blocks.has_room(words)
            && self.lists.has_room(words)
            && count < (NONE as usize).saturating_sub(self.len())
    }

    /// Puts in a checked pattern under an id that was set aside, with the turns of its group.
    pub fn place(&mut self, id: u64, pattern: &str, queue: Option<&str>, turn: u64) -> Ticket {
        let queue = self.rows.queues.engage(queue);
        self.rows.set_next_id(self.next_id().max(id + 1));
        let mut parsed = std::mem::take(&mut self.desk);
        parsed.renew(|text| text.extend_from_slice(pattern.as_bytes()));
        let row = Row {
            id,
            block: NONE,
            queue,
            next: NONE,
            previous: NONE,
        };
        let slot = self.rows.put(row, turn);
        let leaf = self.arrive(&mut parsed, self.hashing.root());
        let held = leaf
            .as_ref()
            .ok()
            .and_then(|leaf| self.held(leaf.entry, parsed.text()));
        match held {
            Some(block) => self.link(block, id, slot),
            None => self.add(&mut parsed, leaf, id, slot),
        }
        self.desk = parsed;
        if let Some(order) = self.order.get_mut() {
            order.insert(pattern, id);
        }
        Ticket { id, slot }
    }

    /// Appends a row to those of a pattern.
    fn link(&mut self, block: u32, id: u64, slot: u32) {
        let (first, last, first_id) = ends_of(self.blocks.get(block));
        // Ids come in order but for what is restored or placed by several threads.
        let mut after = last;
        while let Some(row) = self.rows.get(after) {
            if row.id < id {
                break;
            }
            after = row.previous;
        }
        let before = match self.rows.get(after) {
            Some(row) => row.next,
            None => first,
        };
        if let Some(row) = self.rows.get_mut(slot) {
            (row.previous, row.next, row.block) = (after, before, block);
        }
        if let Some(row) = self.rows.get_mut(after) {
            row.next = slot;
        }
        if let Some(row) = self.rows.get_mut(before) {
            row.previous = slot;
        }
        let (first, first_id) = if after == NONE {
            (slot, id)
        } else {
            (first, first_id)
        };
        let last = if before == NONE { slot } else { last };
        set_ends(self.blocks.get_mut(block), first, last, first_id);
    }

    /// Adds a pattern that is not here yet to its leaf.
    fn add(&mut self, parsed: &mut Parsed, leaf: Result<Leaf, Crowded>, id: u64, slot: u32) {
        let mut block = block_of(parsed.text());
        set_ends(&mut block, slot, slot, id);
        let block = self.blocks.put(&block);
        if let Some(row) = self.rows.get_mut(slot) {
            row.block = block;
        }
        self.patterns += 1;
        let one = parsed.one(&self.hashing, block);
        if leaf.and_then(|leaf| self.enter(&leaf, one)).is_err() {
            self.rebuild(true);
        }
        self.think_again();
    }

    /// Goes on counting from `next`: for an index that is being restored.
    pub const fn set_next_id(&mut self, next: u64) {
        self.rows.set_next_id(next);
    }
}
