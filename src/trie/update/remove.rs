//! Removal: a subscription leaves, the last one takes its pattern along, and memory is returned.
//!
//! Branches stay until they outnumber the patterns two to one; then the index is rebuilt.

use crate::trie::address::{BlockAddr, Slot};
use crate::trie::index::Index;
use crate::trie::pattern::packed_pattern::{list_ends, packed_len, set_list_ends, unpack_into};
use crate::trie::pattern::parsed_pattern::ParsedPattern;
use crate::trie::storage::pattern_table::PatternNumber;
use crate::trie::storage::subscriptions::Record;

/// The index is rebuilt when there are more branches than this many for each pattern, and 64 more.
/// Lower rebuilds more often, higher keeps more memory and longer ways after removals. No record
/// compares values.
const MAX_BRANCHES_PER_PATTERN: usize = 2;

impl Index {
    /// Removes a subscription and returns the slot that it had, into which the last one has moved
    /// if it was another. `None` if the id is not in the index.
    ///
    /// Cost: the lengths of the pattern and of one other that moves, and the leaves of both; rarely
    /// a rebuild of all patterns.
    pub fn remove(&mut self, id: u64) -> Option<Slot> {
        let slot = self.subscriptions.find(id)?.slot;
        let record = *self.subscriptions.get(slot)?;
        if self.branch_count > MAX_BRANCHES_PER_PATTERN * self.pattern_count + 64 {
            self.selected_root = None;
            self.selected_for = 0;
            self.rebuild(self.hasher.strong);
        }
        match (record.previous, record.next) {
            (Slot::NONE, Slot::NONE) => self.remove_pattern(record.pattern),
            _ => self.unlink(&record),
        }
        self.subscriptions.swap_remove(slot)?;
        self.relink_moved(slot);
        if self.subscriptions.len() == 0 {
            self.clear();
        }
        Some(slot)
    }

    /// Takes a record out of the list of its pattern, which has others.
    fn unlink(&mut self, record: &Record) {
        let (previous, next) = (record.previous, record.next);
        if let Some(before) = self.subscriptions.get_mut(previous) {
            before.next = next;
        }
        let mut next_id = 0;
        if let Some(after) = self.subscriptions.get_mut(next) {
            after.previous = previous;
            next_id = after.id;
        }
        let block = self
            .patterns
            .get_mut(self.pattern_table.address(record.pattern));
        let (first, last, id) = list_ends(block);
        if previous == Slot::NONE {
            set_list_ends(block, next, last, next_id);
        } else if next == Slot::NONE {
            set_list_ends(block, first, previous, id);
        }
    }

    /// Updates what refers to a record that moved into this slot.
    fn relink_moved(&mut self, slot: Slot) {
        let Some(&record) = self.subscriptions.get(slot) else {
            return;
        };
        if let Some(before) = self.subscriptions.get_mut(record.previous) {
            before.next = slot;
        }
        if let Some(after) = self.subscriptions.get_mut(record.next) {
            after.previous = slot;
        }
        let block = self
            .patterns
            .get_mut(self.pattern_table.address(record.pattern));
        let (mut first, mut last, id) = list_ends(block);
        if record.previous == Slot::NONE {
            first = slot;
        }
        if record.next == Slot::NONE {
            last = slot;
        }
        set_list_ends(block, first, last, id);
    }

    /// Removes a pattern, whose last subscription is about to leave.
    fn remove_pattern(&mut self, number: PatternNumber) {
        let address = self.pattern_table.address(number);
        let words = packed_len(self.patterns.get(address));
        let last = self.patterns.last(words).filter(|&last| last != address);
        let mut parsed = std::mem::take(&mut self.scratch);
        self.remove_entry(address, &mut parsed);
        if let Some(last) = last {
            self.redirect_entry(last, address, &mut parsed);
        }
        self.scratch = parsed;
        let moved = self.patterns.remove(address, words);
        debug_assert_eq!(moved, last);
        if moved.is_some() {
            let number = self.pattern_number(self.patterns.get(address));
            self.pattern_table.set_address(number, address);
        }
        self.pattern_table.release(number);
        self.pattern_count -= 1;
        self.sorted.note_remove(address, moved);
    }

    /// Removes the entry of a pattern from its leaf.
    fn remove_entry(&mut self, address: BlockAddr, parsed: &mut ParsedPattern) {
        parsed.parse(|text| unpack_into(self.patterns.get(address), text));
        let leaf = self.find_leaf(parsed);
        let done = self.remove_from_leaf(&leaf, address);
        debug_assert!(done.is_ok());
    }

    /// Updates the entry of a packed pattern that is about to move.
    fn redirect_entry(&mut self, from: BlockAddr, to: BlockAddr, parsed: &mut ParsedPattern) {
        parsed.parse(|text| unpack_into(self.patterns.get(from), text));
        let leaf = self.find_leaf(parsed);
        self.relocate_entry(&leaf, from, to);
    }

    /// Removes all subscriptions. Their ids are not given again.
    pub fn clear(&mut self) {
        let next = self.next_id();
        *self = Self::new(self.dialect, self.bounds);
        self.set_next_id(next);
    }
}
