//! Removal: a subscription leaves, the last one takes its pattern along, and memory is returned.
//!
//! Branches stay until they outnumber the patterns two to one; then the index is rebuilt.

use super::Cursor;
use crate::trie::index::Index;
use crate::trie::node::{Kind, LeafEntry, Node};
use crate::trie::pattern::packed_pattern::{
    BlockAddr, list_ends, packed_len, set_list_ends, unpack_into,
};
use crate::trie::pattern::parsed_pattern::ParsedPattern;
use crate::trie::storage::subscriptions::{Slot, SubscriptionRef};

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
        if self.sorted.get().is_some() {
            let pattern = self.pattern(SubscriptionRef { id, slot });
            if let (Some(sorted), Some(pattern)) = (self.sorted.get_mut(), pattern) {
                sorted.remove(&pattern, id);
            }
        }
        self.unlink(slot);
        self.subscriptions.swap_remove(slot)?;
        self.relink_moved(slot);
        if self.subscriptions.len() == 0 {
            self.clear();
        } else if self.branch_count > MAX_BRANCHES_PER_PATTERN * self.pattern_count + 64 {
            self.selected_root = None;
            self.selected_for = 0;
            self.rebuild(self.hasher.strong);
        }
        Some(slot)
    }

    /// Takes a record out of the list of its pattern, and removes the pattern with the last one.
    fn unlink(&mut self, slot: Slot) {
        let Some(&record) = self.subscriptions.get(slot) else {
            return;
        };
        match (record.previous, record.next) {
            (Slot::NONE, Slot::NONE) => self.remove_pattern(record.pattern),
            (Slot::NONE, next) => {
                let (_, last, _) = list_ends(self.patterns.get(record.pattern));
                let mut id = 0;
                if let Some(after) = self.subscriptions.get_mut(next) {
                    (after.previous, after.pattern) = (Slot::NONE, record.pattern);
                    id = after.id;
                }
                set_list_ends(self.patterns.get_mut(record.pattern), next, last, id);
            }
            (previous, Slot::NONE) => {
                let (first, _, id) = list_ends(self.patterns.get(record.pattern));
                if let Some(before) = self.subscriptions.get_mut(previous) {
                    (before.next, before.pattern) = (Slot::NONE, record.pattern);
                }
                set_list_ends(self.patterns.get_mut(record.pattern), first, previous, id);
            }
            (previous, next) => {
                if let Some(before) = self.subscriptions.get_mut(previous) {
                    before.next = next;
                }
                if let Some(after) = self.subscriptions.get_mut(next) {
                    after.previous = previous;
                }
            }
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
        if record.previous == Slot::NONE || record.next == Slot::NONE {
            let (first, last, id) = list_ends(self.patterns.get(record.pattern));
            let first = if record.previous == Slot::NONE {
                slot
            } else {
                first
            };
            let last = if record.next == Slot::NONE {
                slot
            } else {
                last
            };
            set_list_ends(self.patterns.get_mut(record.pattern), first, last, id);
        }
    }

    fn remove_pattern(&mut self, address: BlockAddr) {
        let mut parsed = std::mem::take(&mut self.scratch);
        parsed.parse(|text| unpack_into(self.patterns.get(address), text));
        let Cursor { key, node } = self.find_leaf(&mut parsed);
        // The key has a node already, so setting it cannot fail.
        let done = match node.kind() {
            Kind::Leaf1(_) if key == self.hasher.root() => {
                self.root = Node::EMPTY;
                Ok(())
            }
            Kind::Leaf1(_) => {
                self.nodes.remove(key);
                Ok(())
            }
            Kind::LeafN(leaf) if leaf.count() > 2 => {
                let (leaf, relocation) = self.leaves.remove_entry(leaf, address);
                self.set_node(key, leaf.node())
                    .and_then(|()| self.apply_relocation(relocation))
            }
            Kind::LeafN(leaf) => {
                let other = self
                    .leaves
                    .entries(leaf)
                    .find(|entry| entry.pattern() != address);
                let relocation = self.leaves.remove(leaf);
                self.set_node(key, other.map_or(Node::EMPTY, LeafEntry::node))
                    .and_then(|()| self.apply_relocation(relocation))
            }
            _ => Ok(()),
        };
        debug_assert!(done.is_ok());
        let words = packed_len(self.patterns.get(address));
        if let Some(from) = self.patterns.remove(address, words) {
            self.relocate_pattern(from, address, &mut parsed);
        }
        self.pattern_count -= 1;
        self.scratch = parsed;
    }

    /// Updates what refers to a packed pattern that moved.
    fn relocate_pattern(&mut self, from: BlockAddr, to: BlockAddr, parsed: &mut ParsedPattern) {
        let (first, last, _) = list_ends(self.patterns.get(to));
        for slot in [first, last] {
            if let Some(record) = self.subscriptions.get_mut(slot) {
                record.pattern = to;
            }
        }
        parsed.parse(|text| unpack_into(self.patterns.get(to), text));
        let Cursor { key, node } = self.find_leaf(parsed);
        let done = match node.kind() {
            Kind::Leaf1(entry) => self.set_node(key, entry.with_pattern(to).node()),
            Kind::LeafN(leaf) => {
                self.leaves.relocate_pattern(leaf, from, to);
                Ok(())
            }
            _ => Ok(()),
        };
        debug_assert!(done.is_ok());
    }

    /// Removes all subscriptions. Their ids are not given again.
    pub fn clear(&mut self) {
        let next = self.next_id();
        *self = Self::new(self.dialect, self.bounds);
        self.set_next_id(next);
    }
}
