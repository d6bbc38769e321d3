//! The hash table of all nodes of the index, with incremental rehashing: it grows and shrinks a few
//! entries at a time.
//!
//! A table that is too full or too empty is replaced by one of another size. Each change moves a few
//! entries to it, in the order of their keys. So a key alone says in which of the two tables it is,
//! and no change waits until all entries are moved.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::probe_table::{Entry, IN_LINE, ProbeLimitExceeded, Table, home, position};
use crate::grammar::scan::Kernel;
use crate::trie::hash::NodeKey;
use crate::trie::node::Node;

/// The table grows when more of its positions are taken. Higher saves memory, lower shortens
/// probes: at three quarters an entry is two positions from home on average, within a cache line.
const GROW_ABOVE: (usize, usize) = (3, 4);

/// The table shrinks when fewer of its positions are taken. Far below [`GROW_ABOVE`], so that a
/// table at one bound is not near the other after its replacement.
const SHRINK_BELOW: (usize, usize) = (1, 8);

/// Entries that a change moves to the replacement, and positions that it looks at. Higher makes the
/// slowest change slower; lower keeps two tables for longer. At 32 a replacement ends before the
/// table grows by a thirtieth.
const MOVED_AT_ONCE: usize = 32;
const SCANNED_AT_ONCE: usize = 256;

/// An entry may stand fewer positions than this from its home. Linear probing at three quarters
/// full stays far below by chance; lower would mistake chance for an attack, higher lets probes of
/// crafted keys grow longer before the index changes its hash.
const MAX_PROBE: usize = 192;

/// Without a limit: the distance from home does not matter.
const NO_LIMIT: usize = usize::MAX;

/// The nodes of the index by key.
#[derive(Clone)]
pub(crate) struct HashTable {
    table: Table,
    /// The table that is being replaced: the keys above `moved` are still in it.
    replaced: Table,
    /// The keys up to here are in `table`; all, unless a table is being replaced.
    moved: u64,
    /// The first position of `replaced` that is not moved: behind a vacant one.
    next: usize,
    len: usize,
    max_probe: usize,
}

impl HashTable {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            table: Table::with_homes(4, 8),
            replaced: Table::default(),
            moved: u64::MAX,
            next: 0,
            len: 0,
            max_probe: MAX_PROBE,
        }
    }

    /// An empty table with room for so many entries.
    pub fn with_room(entries: usize) -> Self {
        let (full, of) = GROW_ABOVE;
        let homes = entries * of / full + 4;
        let mut table = Self::new();
        table.table = Table::with_homes(homes, table.overflow(homes));
        table
    }

    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Lets probes become as long as the keys make them: for when no better hash is left.
    pub const fn lift_probe_limit(&mut self) {
        self.max_probe = NO_LIMIT;
    }

    #[inline]
    const fn table(&self, key: u64) -> &Table {
        if key <= self.moved {
            &self.table
        } else {
            &self.replaced
        }
    }

    #[inline]
    const fn table_mut(&mut self, key: u64) -> &mut Table {
        if key <= self.moved {
            &mut self.table
        } else {
            &mut self.replaced
        }
    }

    /// The entries from the first whose key is not below this one on.
    #[inline(always)]
    pub fn entries_from<K: Kernel>(
        &self,
        kernel: K,
        NodeKey(key): NodeKey,
        home: usize,
    ) -> &[Entry] {
        let entries = self.table(key).entries();
        entries
            .get(position(kernel, entries, home, key)..)
            .unwrap_or_default()
    }

    /// The entries from the first with this key on; empty if there is none.
    #[inline]
    pub fn run(&self, NodeKey(key): NodeKey) -> &[Entry] {
        self.table(key).run(key)
    }

    /// The first node of a key; [`Node::EMPTY`] if there is none.
    #[inline]
    pub fn get(&self, key: NodeKey) -> Node {
        self.run(key)
            .first()
            .map_or(Node::EMPTY, |entry| Node(entry[1]))
    }

    /// All nodes of a key.
    pub fn nodes(&self, key: NodeKey) -> impl Iterator<Item = Node> {
        let run = self.run(key).iter();
        run.take_while(move |entry| entry[0] == key.0)
            .map(|entry| Node(entry[1]))
    }

    /// The home position of a key.
    #[inline]
    pub fn home(&self, NodeKey(key): NodeKey) -> usize {
        home(key, self.table(key).homes)
    }

    /// The entry at the home position of a key, at which a probe begins, to be prefetched.
    #[inline]
    pub fn first_probe(&self, key: NodeKey) -> Option<&Entry> {
        self.entry_at(key, self.home(key))
    }

    /// The entry at a home position of a key.
    #[inline]
    pub fn entry_at(&self, NodeKey(key): NodeKey, home: usize) -> Option<&Entry> {
        self.table(key).entries().get(home)
    }

    /// Sets the only node of a key, new or not. Fails if keys cluster as chance does not make them.
    pub fn set(&mut self, key: NodeKey, node: Node) -> Result<(), ProbeLimitExceeded> {
        let table = self.table_mut(key.0);
        let at = table.position(key.0);
        match table.entries_mut().get_mut(at) {
            Some(entry) if entry[0] == key.0 => {
                entry[1] = node.0;
                Ok(())
            }
            _ => self.insert(key, node),
        }
    }

    /// Changes one of the nodes of a key.
    pub fn replace(&mut self, NodeKey(key): NodeKey, from: Node, to: Node) {
        let table = self.table_mut(key);
        let positions = table.positions(key);
        let entries = table.entries_mut()[positions].iter_mut();
        for entry in entries.filter(|entry| entry[1] == from.0).take(1) {
            entry[1] = to.0;
        }
    }

    /// Adds a node to those of a key. Fails if keys cluster as chance does not make them.
    pub fn insert(
        &mut self,
        NodeKey(key): NodeKey,
        Node(node): Node,
    ) -> Result<(), ProbeLimitExceeded> {
        self.move_some()?;
        let (full, of) = GROW_ABOVE;
        if self.is_moved() && (self.len + 1) * of > self.homes() * full {
            self.start_replacement(self.homes() * 3 / 2 + 4);
            self.move_some()?;
        }
        loop {
            let max_probe = self.max_probe;
            if self.table_mut(key).insert([key, node], max_probe).is_ok() {
                self.len += 1;
                return Ok(());
            }
            // Each round makes the table larger, so the loop ends.
            self.enlarge(self.max_probe)?;
        }
    }

    /// Removes a node of a key.
    pub fn remove(&mut self, NodeKey(key): NodeKey, Node(node): Node) {
        let table = self.table_mut(key);
        let mut positions = table.positions(key);
        let Some(at) = positions.find(|&at| table.entries()[at][1] == node) else {
            return;
        };
        table.remove_at(at);
        self.len -= 1;
        if self.len == 0 {
            let max_probe = self.max_probe;
            *self = Self::new();
            self.max_probe = max_probe;
            return;
        }
        let (empty, of) = SHRINK_BELOW;
        if self.is_moved() && self.homes() > 16 && self.len * of < self.homes() * empty {
            self.start_replacement(self.len * 2);
        }
        if self.move_some().is_err() {
            // Never fails without a limit; the next insert will report what the keys do.
            let _ = self.enlarge(NO_LIMIT);
        }
    }

    #[allow(clippy::cast_possible_truncation)] // it was a usize
    const fn homes(&self) -> usize {
        self.table.homes as usize
    }

    const fn is_moved(&self) -> bool {
        self.moved == u64::MAX
    }

    /// Positions behind the last home position.
    fn overflow(&self, homes: usize) -> usize {
        let few = (homes / 16 + 8).min(MAX_PROBE + 8);
        if self.max_probe == NO_LIMIT {
            self.len + few
        } else {
            few
        }
    }

    fn start_replacement(&mut self, homes: usize) {
        let table = Table::with_homes(homes, self.overflow(homes));
        self.replaced = std::mem::replace(&mut self.table, table);
        (self.moved, self.next) = (0, 0);
    }

    /// Moves some entries to the replacement, if a table is being replaced.
    fn move_some(&mut self) -> Result<(), ProbeLimitExceeded> {
        if self.is_moved() {
            return Ok(());
        }
        let (mut moved, mut at) = (0, self.next);
        let scanned = at + SCANNED_AT_ONCE;
        while let Some(&entry) = self.replaced.entries().get(at) {
            at += 1;
            if entry[0] != 0 {
                if self.table.insert(entry, self.max_probe).is_err() {
                    return self.enlarge(self.max_probe);
                }
                moved += 1;
            } else if moved >= MOVED_AT_ONCE || at >= scanned {
                break;
            }
        }
        self.next = at;
        // An entry never stands before its home, and a vacant position is behind what was moved. So
        // what is left has a home from the next line on, and what was moved, and is inserted later,
        // before it.
        let line = at.next_multiple_of(IN_LINE) as u64;
        let first_left = (line << 32).div_ceil(self.replaced.homes);
        if first_left > u64::from(u32::MAX) {
            self.replaced = Table::default();
            self.moved = u64::MAX;
        } else {
            self.moved = (first_left << 32).saturating_sub(1);
        }
        Ok(())
    }

    /// Moves all entries to a larger table at once: for keys that cluster.
    fn enlarge(&mut self, max_probe: usize) -> Result<(), ProbeLimitExceeded> {
        let mut homes = self.homes();
        loop {
            if homes > 16 * self.len + 1024 && max_probe != NO_LIMIT {
                return Err(ProbeLimitExceeded);
            }
            homes = homes * 3 / 2 + 4;
            let overflow = if max_probe == NO_LIMIT { self.len } else { 0 };
            let mut table = Table::with_homes(homes, self.overflow(homes) + overflow);
            let mut entries = self.entries();
            if entries.all(|entry| table.insert(entry, max_probe).is_ok()) {
                drop(entries);
                (self.table, self.replaced) = (table, Table::default());
                self.moved = u64::MAX;
                return Ok(());
            }
        }
    }

    /// All entries, in ascending order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        // If moving ended early, some are in both.
        let moved = self.table.iter().filter(|entry| entry[0] <= self.moved);
        let left = self.replaced.iter().filter(|entry| entry[0] > self.moved);
        moved.chain(left)
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.table.memory() + self.replaced.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::{HashTable, Node, NodeKey};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn spread(number: u64) -> NodeKey {
        NodeKey((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    #[test]
    fn it_grows_and_shrinks_to_nothing() {
        let mut table = HashTable::new();
        let empty = table.memory();
        let mut longest = 0;
        for number in 0..100_000 {
            table.insert(spread(number), Node(number + 1)).unwrap();
            longest = longest.max(table.memory());
        }
        assert_eq!(table.len(), 100_000);
        assert!(longest < 100_000 * 56, "{longest}");
        for number in 0..100_000 {
            assert_eq!(table.get(spread(number)), Node(number + 1));
            assert_eq!(table.get(NodeKey(spread(number).0 ^ 2)), Node::EMPTY);
        }
        let keys: Vec<u64> = table.entries().map(|entry| entry[0]).collect();
        assert!(keys.len() == 100_000 && keys.is_sorted());
        for number in 0..100_000 {
            table.remove(spread(number), Node(number + 1));
            if number == 90_000 {
                assert!(table.memory() < 1_300_000, "{}", table.memory());
            }
        }
        assert_eq!(table.len(), 0);
        assert_eq!(table.memory(), empty);
    }

    #[test]
    fn every_key_is_found_while_a_table_is_replaced() {
        let mut table = HashTable::new();
        let mut replacing = 0;
        for number in 0..3_000 {
            table.insert(spread(number), Node(number + 1)).unwrap();
            if !table.is_moved() {
                replacing += 1;
                for earlier in 0..=number {
                    assert_eq!(table.get(spread(earlier)), Node(earlier + 1));
                }
            }
        }
        assert!(replacing > 100, "{replacing}");
    }

    #[test]
    fn keys_that_cluster_are_reported_and_no_entry_is_lost() {
        let mut table = HashTable::new();
        let mut held = 0;
        for number in 1..100_000u64 {
            if table.set(NodeKey(number), Node(number)).is_err() {
                break;
            }
            held = number;
        }
        assert!(held < 10_000, "{held}");
        assert_eq!(table.len() as u64, held);
        assert!((1..=held).all(|number| table.get(NodeKey(number)) == Node(number)));
        let mut table = HashTable::new();
        table.lift_probe_limit();
        for number in 1..=700 {
            table.set(NodeKey(number), Node(number)).unwrap();
        }
        assert!((1..=700).all(|number| table.get(NodeKey(number)) == Node(number)));
        assert!((1..=700).all(|number| {
            table.remove(NodeKey(number), Node(number));
            table.len() as u64 == 700 - number
        }));
    }

    proptest! {
        #[test]
        fn it_is_a_map_to_several_nodes(
            changes in prop::collection::vec((0u64..300, 1u64..4, any::<bool>()), 0..3000),
        ) {
            let mut table = HashTable::new();
            let mut pairs = BTreeSet::new();
            for (number, node, put) in changes {
                let key = spread(number);
                if put {
                    if pairs.insert((key.0, node)) {
                        table.insert(key, Node(node)).unwrap();
                    }
                } else {
                    table.remove(key, Node(node));
                    pairs.remove(&(key.0, node));
                }
                prop_assert_eq!(table.nodes(key).count(), pairs.range((key.0, 0)..=(key.0, 9)).count());
            }
            prop_assert_eq!(table.len(), pairs.len());
            let mut all: Vec<(u64, u64)> = table.entries().map(|[key, node]| (key, node)).collect();
            prop_assert!(all.iter().map(|pair| pair.0).is_sorted());
            all.sort_unstable();
            prop_assert_eq!(all, pairs.into_iter().collect::<Vec<_>>());
        }
    }
}
