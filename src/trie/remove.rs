//! Patterns go: what a removal empties it takes along, and memory is returned.
//!
//! Forks stay until they outnumber the patterns; then the index is built anew.

use super::Index;
use super::entry::{MANY, NOTHING, ONE, One};
use super::growth::Leaf;
use super::list::count_of;
use super::parsed::Parsed;
use super::pattern::{ends_of, set_ends, text_into, words_of};
use super::ticket::{NONE, Ticket};

impl Index {
    /// Takes a subscription out and says which slot it had: the last subscription has that slot
    /// now, if it was another. `None` if the id is not here.
    ///
    /// Cost: a look at the pattern, and at the one whose block moves into its place.
    pub fn remove(&mut self, id: u64) -> Option<u32> {
        let slot = self.rows.find(id)?.slot;
        if self.order.get().is_some() {
            let pattern = self.pattern(Ticket { id, slot });
            if let Some(order) = self.order.get_mut() {
                order.remove(&pattern, id);
            }
        }
        self.unlink(slot);
        self.rows.take(slot)?;
        self.resettle(slot);
        if self.rows.len() == 0 {
            self.clear();
        } else if self.forks > 2 * self.patterns + 64 {
            self.plan = None;
            self.rebuild(self.hashing.strong);
        }
        Some(slot)
    }

    /// Takes a row out of those of its pattern, and the pattern with the last.
    fn unlink(&mut self, slot: u32) {
        let Some(&row) = self.rows.get(slot) else {
            return;
        };
        match (row.previous, row.next) {
            (NONE, NONE) => self.forget(row.block),
            (NONE, next) => {
                let (_, last, _) = ends_of(self.blocks.get(row.block));
                let mut id = 0;
                if let Some(after) = self.rows.get_mut(next) {
                    (after.previous, after.block) = (NONE, row.block);
                    id = after.id;
                }
                set_ends(self.blocks.get_mut(row.block), next, last, id);
            }
            (previous, NONE) => {
                let (first, _, id) = ends_of(self.blocks.get(row.block));
                if let Some(before) = self.rows.get_mut(previous) {
                    (before.next, before.block) = (NONE, row.block);
                }
                set_ends(self.blocks.get_mut(row.block), first, previous, id);
            }
            (previous, next) => {
                if let Some(before) = self.rows.get_mut(previous) {
                    before.next = next;
                }
                if let Some(after) = self.rows.get_mut(next) {
                    after.previous = previous;
                }
            }
        }
    }

    /// Tells its neighbours, and its pattern's block, that a row stands in this slot now.
    fn resettle(&mut self, slot: u32) {
        let Some(&row) = self.rows.get(slot) else {
            return;
        };
        if let Some(before) = self.rows.get_mut(row.previous) {
            before.next = slot;
        }
        if let Some(after) = self.rows.get_mut(row.next) {
            after.previous = slot;
        }
        if row.previous == NONE || row.next == NONE {
            let (first, last, id) = ends_of(self.blocks.get(row.block));
            let first = if row.previous == NONE { slot } else { first };
            let last = if row.next == NONE { slot } else { last };
            set_ends(self.blocks.get_mut(row.block), first, last, id);
        }
    }

    /// Takes a pattern out.
    fn forget(&mut self, block: u32) {
        let mut parsed = std::mem::take(&mut self.desk);
        parsed.renew(|text| text_into(self.blocks.get(block), text));
        let Leaf { key, entry } = self.leaf(&mut parsed);
        // What leads somewhere is there already, so nothing can crowd.
        let done = match entry & 3 {
            ONE if key == self.hashing.root() => {
                self.root = NOTHING;
                Ok(())
            }
            ONE => {
                self.table.remove(key);
                Ok(())
            }
            MANY if count_of(entry) > 2 => {
                let (list, moved) = self.lists.remove(entry, block);
                self.lead(key, list).and_then(|()| self.follow(moved))
            }
            MANY => {
                let other = self.lists.ones(entry).find(|one| one.block() != block);
                let moved = self.lists.drop(entry);
                self.lead(key, other.map_or(NOTHING, |one| one.0))
                    .and_then(|()| self.follow(moved))
            }
            _ => Ok(()),
        };
        debug_assert!(done.is_ok());
        let words = words_of(self.blocks.get(block));
        if let Some(from) = self.blocks.take(block, words) {
            self.readdress(from, block, &mut parsed);
        }
        self.patterns -= 1;
        self.desk = parsed;
    }

    /// Tells whoever points at a block that it has moved.
    fn readdress(&mut self, from: u32, to: u32, parsed: &mut Parsed) {
        let (first, last, _) = ends_of(self.blocks.get(to));
        for slot in [first, last] {
            if let Some(row) = self.rows.get_mut(slot) {
                row.block = to;
            }
        }
        parsed.renew(|text| text_into(self.blocks.get(to), text));
        let Leaf { key, entry } = self.leaf(parsed);
        let done = match entry & 3 {
            ONE => self.lead(key, One(entry).moved(to).0),
            MANY => {
                self.lists.readdress(entry, from, to);
                Ok(())
            }
            _ => Ok(()),
        };
        debug_assert!(done.is_ok());
    }

    /// Takes all subscriptions out. Ids are not given again.
    pub fn clear(&mut self) {
        let next = self.next_id();
        *self = Self::new(self.dialect, self.bounds);
        self.rows.set_next_id(next);
    }
}
