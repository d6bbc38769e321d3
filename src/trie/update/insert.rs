//! Insertion: a pattern descends to its leaf, and a subscription joins those of its pattern.

use super::Cursor;
use crate::error::{Error, ErrorKind};
use crate::trie::address::{BlockAddr, Slot};
use crate::trie::index::Index;
use crate::trie::index::queue_groups::check_queue;
use crate::trie::pattern::packed_pattern::{list_ends, pack, set_list_ends};
use crate::trie::pattern::parsed_pattern::ParsedPattern;
use crate::trie::storage::pattern_table::PatternNumber;
use crate::trie::storage::probe_table::ProbeLimitExceeded;
use crate::trie::storage::subscriptions::{Record, SubscriptionRef};

impl Index {
    /// Adds a subscription to `pattern`, as a member of a queue group if `queue` names one.
    ///
    /// Atomic: an error changes nothing. Cost: a probe for each branch on the way, and sometimes a
    /// leaf that is split; at a few sizes below 2,049 patterns, all patterns.
    ///
    /// # Errors
    ///
    /// The pattern is not valid (a reason of [`crate::grammar::check`]), the queue name is not
    /// (a reason of [`check_queue`]), or the index is full (`index-full`).
    pub fn insert(&mut self, pattern: &str, queue: Option<&str>) -> Result<SubscriptionRef, Error> {
        self.check_pattern(pattern)?;
        queue.map_or(Ok(()), |name| check_queue(name, self.dialect))?;
        let id = self.reserve(1, pattern.len())?;
        Ok(self.insert_reserved(id, pattern, queue, 0))
    }

    /// Reserves `count` ids for patterns of `bytes` bytes in all, and returns the first.
    ///
    /// # Errors
    ///
    /// `index-full`.
    pub fn reserve(&mut self, count: usize, bytes: usize) -> Result<u64, Error> {
        let full = Error::new(ErrorKind::IndexFull);
        if !self.has_room(count, bytes) {
            return Err(full);
        }
        self.subscriptions.reserve(count).ok_or(full)
    }

    /// Whether `count` patterns of `bytes` bytes in all fit.
    #[must_use]
    pub fn has_room(&self, count: usize, bytes: usize) -> bool {
        let words = count.saturating_mul(6).saturating_add(bytes / 8);
        self.patterns.has_room(words)
            && self.leaves.has_room(words)
            && self.subscriptions.has_room(count)
    }

    /// Inserts a valid pattern under a reserved id, with the turns of the group that it leads.
    pub fn insert_reserved(
        &mut self,
        id: u64,
        pattern: &str,
        queue: Option<&str>,
        turn: u64,
    ) -> SubscriptionRef {
        let mut parsed = std::mem::take(&mut self.scratch);
        parsed.parse(|text| text.extend_from_slice(pattern.as_bytes()));
        let leaf = self.descend_for_insert(&parsed, self.hasher.root());
        let known = leaf
            .as_ref()
            .ok()
            .and_then(|leaf| self.find_pattern(leaf, parsed.text()));
        let slot = self.store_record(id, queue, turn);
        match known {
            Some(address) => self.link(address, id, slot),
            None => self.add_pattern(&parsed, leaf, id, slot),
        }
        self.scratch = parsed;
        SubscriptionRef { id, slot }
    }

    /// Stores the record of a subscription that has no pattern yet.
    pub(super) fn store_record(&mut self, id: u64, queue: Option<&str>, turn: u64) -> Slot {
        self.set_next_id(self.next_id().max(id + 1));
        let queue = self.subscriptions.queue_names.acquire(queue);
        let record = Record {
            id,
            pattern: PatternNumber::NONE,
            queue,
            next: Slot::NONE,
            previous: Slot::NONE,
        };
        self.subscriptions.push(record, turn)
    }

    /// Links a record into the list of its pattern, in ascending id.
    fn link(&mut self, address: BlockAddr, id: u64, slot: Slot) {
        let block = self.patterns.get(address);
        let number = self.pattern_number(block);
        let (first, last, first_id) = list_ends(block);
        // From the end: ids ascend, except when several threads insert.
        let mut after = last;
        while let Some(record) = self.subscriptions.get(after) {
            if record.id < id {
                break;
            }
            after = record.previous;
        }
        let before = match self.subscriptions.get(after) {
            Some(record) => record.next,
            None => first,
        };
        if let Some(record) = self.subscriptions.get_mut(slot) {
            (record.previous, record.next, record.pattern) = (after, before, number);
        }
        if let Some(record) = self.subscriptions.get_mut(after) {
            record.next = slot;
        }
        if let Some(record) = self.subscriptions.get_mut(before) {
            record.previous = slot;
        }
        let (first, first_id) = if after == Slot::NONE {
            (slot, id)
        } else {
            (first, first_id)
        };
        let last = if before == Slot::NONE { slot } else { last };
        set_list_ends(self.patterns.get_mut(address), first, last, first_id);
    }

    /// Stores a pattern that is not in the index yet, and adds it to its leaf.
    fn add_pattern(
        &mut self,
        parsed: &ParsedPattern,
        leaf: Result<Cursor, ProbeLimitExceeded>,
        id: u64,
        slot: Slot,
    ) {
        let mut block = pack(parsed.text());
        set_list_ends(&mut block, slot, slot, id);
        let address = self.patterns.insert(&block);
        let number = self.pattern_table.acquire(address);
        if let Some(record) = self.subscriptions.get_mut(slot) {
            record.pattern = number;
        }
        self.pattern_count += 1;
        let entry = parsed.leaf_entry(&self.hasher, address);
        if leaf.and_then(|leaf| self.insert_at(&leaf, entry)).is_err() {
            self.rebuild(true);
        }
        self.reselect_root_if_due();
        self.sorted.note_insert(address);
    }

    /// Sets the id of the next subscription: for an index that is restored.
    pub const fn set_next_id(&mut self, next: u64) {
        self.subscriptions.set_next_id(next);
    }
}

#[cfg(test)]
mod tests {
    use crate::grammar::Dialect;
    use crate::trie::address::Slot;
    use crate::trie::raw::{Index, Scratch};

    fn with_three() -> Index {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        for pattern in ["a.*", "a.b", "c"] {
            index.insert(pattern, Some("q")).unwrap();
        }
        index
    }

    /// As several threads insert those whose ids they have reserved.
    #[test]
    fn subscriptions_to_one_pattern_are_linked_by_id_in_any_order_of_insertion() {
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
            index.reserve(3, 0).unwrap();
            let mut ids = Vec::new();
            for id in order {
                index.insert_reserved(id, "a.*", None, 0);
                ids.push(id);
                ids.sort_unstable();
                assert_eq!(linked(&index), ids, "{order:?}");
            }
            for gone in order {
                index.remove(gone).unwrap();
                ids.retain(|&id| id != gone);
                assert_eq!(linked(&index), ids, "{order:?}");
            }
        }
    }

    /// The ids of the subscriptions to `a.*` along their links, once forwards and once by a lookup.
    fn linked(index: &Index) -> Vec<u64> {
        let mut slot = index
            .subscriptions
            .iter()
            .find(|(_, record)| record.previous == Slot::NONE)
            .map_or(Slot::NONE, |(slot, _)| slot);
        let mut ids = Vec::new();
        while let Some(record) = index.subscriptions.get(slot) {
            ids.push(record.id);
            slot = record.next;
        }
        let mut found = Vec::new();
        let mut scratch = Scratch::default();
        index.match_into("a.b", &mut scratch, &mut found).unwrap();
        assert!(found.iter().map(|one| one.id).eq(ids.iter().copied()));
        ids
    }

    /// Full, the index refuses another subscription, and is as it was.
    fn refuses(index: &mut Index, pattern: &str) {
        let (before, next) = (index.to_string(), index.next_id());
        let error = index.insert(pattern, Some("new")).unwrap_err();
        assert_eq!(error.reason(), "index-full");
        assert_eq!((index.to_string(), index.next_id()), (before, next));
        assert_eq!(index.count("a.b", &mut Scratch::default()), Ok(2));
    }

    #[test]
    fn an_index_without_free_slots_is_full_until_a_removal() {
        let mut index = with_three();
        index.subscriptions.max_slots = Some(3);
        refuses(&mut index, "d");
        refuses(&mut index, "a.b");
        index.remove(1).unwrap();
        assert_eq!(index.reserve(2, 2).unwrap_err().reason(), "index-full");
        assert_eq!(index.insert("d", None).unwrap().id, 3);
        assert_eq!(index.count("a.b", &mut Scratch::default()), Ok(1));
    }

    #[test]
    fn an_index_without_free_pages_is_full() {
        let mut index = with_three();
        index.patterns.max_pages = 1;
        refuses(&mut index, "d");
        let mut index = with_three();
        index.leaves.0.max_pages = 1;
        refuses(&mut index, "d");
    }

    #[test]
    fn an_index_without_free_ids_is_full() {
        let mut index = with_three();
        index.set_next_id(u64::MAX);
        refuses(&mut index, "d");
    }

    /// More bytes than memory can have do not overflow the sum.
    #[test]
    fn no_number_of_patterns_or_bytes_overflows() {
        let mut index = with_three();
        for (count, bytes) in [(usize::MAX, 0), (1, usize::MAX), (usize::MAX, usize::MAX)] {
            assert!(!index.has_room(count, bytes));
            assert_eq!(
                index.reserve(count, bytes).unwrap_err().reason(),
                "index-full"
            );
        }
    }
}
