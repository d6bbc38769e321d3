//! The entries of leaves: in the hash table while a leaf is small, in a leaf bucket beyond.

use super::Cursor;
use crate::trie::address::BlockAddr;
use crate::trie::hash::NodeKey;
use crate::trie::index::Index;
use crate::trie::node::{Kind, LeafEntry, Node};
use crate::trie::pattern::packed_pattern::equals;
use crate::trie::pattern::parsed_pattern::ParsedPattern;
use crate::trie::storage::leaf::Relocation;
use crate::trie::storage::probe_table::ProbeLimitExceeded;

/// A leaf of more patterns becomes a branch. Higher compares more patterns at the end of a lookup,
/// lower adds branches, and so probes and memory. `tests/core/trie_work.rs` holds what a lookup examines.
pub(super) const SPLIT_LEAF_ABOVE: usize = 4;

/// A leaf of up to so many patterns has its entries in the hash table, under the key of the leaf: a
/// lookup then waits for memory once for both. Only patterns that no position divides stay together
/// in larger leaves, which would make probes long.
pub(super) const IN_TABLE_UP_TO: usize = 8;

impl Index {
    /// The entries of the leaf at a key.
    pub(super) fn leaf_entries(&self, leaf: &Cursor) -> impl Iterator<Item = LeafEntry> {
        let (bucket, single) = match leaf.node.kind() {
            Kind::LeafN(leaf) => (Some(leaf), None),
            Kind::Leaf1(entry) => (None, Some(entry)),
            _ => (None, None),
        };
        // The root is not in the table, so as a leaf it has no further entries there.
        let others = single.map(|_| self.nodes.nodes(leaf.key).skip(1));
        let bucket = bucket.map(|leaf| self.leaves.entries(leaf));
        let others = others.into_iter().flatten();
        let others = others.filter_map(|node| match node.kind() {
            Kind::Leaf1(entry) => Some(entry),
            _ => None,
        });
        single
            .into_iter()
            .chain(others)
            .chain(bucket.into_iter().flatten())
    }

    /// The address of exactly this pattern, if the leaf has it.
    pub(super) fn find_pattern(&self, leaf: &Cursor, pattern: &[u8]) -> Option<BlockAddr> {
        let is_same = |entry: &LeafEntry| equals(self.patterns.get(entry.pattern()), pattern);
        self.leaf_entries(leaf)
            .find(is_same)
            .map(LeafEntry::pattern)
    }

    /// Whether a subscription has exactly this pattern. Cost: the length of the pattern.
    #[must_use]
    pub fn contains_pattern(&self, pattern: &str) -> bool {
        if self.check_pattern(pattern).is_err() {
            return false;
        }
        let leaf = self.find_leaf(&ParsedPattern::new(pattern.as_bytes()));
        self.find_pattern(&leaf, pattern.as_bytes()).is_some()
    }

    /// Adds an entry to a leaf, and notes the leaf if it becomes too large.
    ///
    /// A leaf that no position splits is tried again each time its size doubles.
    pub(super) fn add_to_leaf(
        &mut self,
        leaf: &Cursor,
        entry: LeafEntry,
        too_large: &mut Vec<NodeKey>,
    ) -> Result<(), ProbeLimitExceeded> {
        let &Cursor { key, node } = leaf;
        let count = match node.kind() {
            Kind::LeafN(bucket) => {
                let (bucket, relocation) = self.leaves.add_entry(bucket, entry);
                self.apply_relocation(relocation)?;
                self.set_node(key, bucket.node())?;
                bucket.count()
            }
            Kind::Leaf1(_) => {
                let mut entries: Vec<LeafEntry> = self.leaf_entries(leaf).collect();
                entries.push(entry);
                if key == self.hasher.root() || entries.len() > IN_TABLE_UP_TO {
                    self.remove_leaf(leaf)?;
                    let bucket = self.leaves.insert(key, &entries);
                    self.set_node(key, bucket.node())?;
                } else {
                    self.nodes.insert(key, entry.node())?;
                }
                entries.len()
            }
            _ => {
                self.set_node(key, entry.node())?;
                1
            }
        };
        if count > SPLIT_LEAF_ABOVE && (count == SPLIT_LEAF_ABOVE + 1 || count.is_power_of_two()) {
            too_large.push(key);
        }
        Ok(())
    }

    /// Removes the entry of a pattern from its leaf. Infallible: it
    /// overwrites existing keys only.
    pub(super) fn remove_from_leaf(
        &mut self,
        leaf: &Cursor,
        pattern: BlockAddr,
    ) -> Result<(), ProbeLimitExceeded> {
        let &Cursor { key, node } = leaf;
        match node.kind() {
            Kind::Leaf1(_) if key == self.hasher.root() => self.root = Node::EMPTY,
            Kind::Leaf1(_) => {
                let of_pattern = |entry: &LeafEntry| entry.pattern() == pattern;
                let entry = self.leaf_entries(leaf).find(of_pattern);
                if let Some(entry) = entry {
                    self.nodes.remove(key, entry.node());
                }
            }
            Kind::LeafN(bucket) if bucket.count() > 2 => {
                let (bucket, relocation) = self.leaves.remove_entry(bucket, pattern);
                self.set_node(key, bucket.node())?;
                self.apply_relocation(relocation)?;
            }
            Kind::LeafN(bucket) => {
                let of_another = |entry: &LeafEntry| entry.pattern() != pattern;
                let other = self.leaves.entries(bucket).find(of_another);
                let relocation = self.leaves.remove(bucket);
                self.set_node(key, other.map_or(Node::EMPTY, LeafEntry::node))?;
                self.apply_relocation(relocation)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes a leaf with all its entries.
    pub(super) fn remove_leaf(&mut self, leaf: &Cursor) -> Result<(), ProbeLimitExceeded> {
        let &Cursor { key, node } = leaf;
        let is_bucket = match node.kind() {
            Kind::LeafN(bucket) => Some(bucket),
            _ => None,
        };
        if key == self.hasher.root() {
            self.root = Node::EMPTY;
        } else {
            let nodes: Vec<Node> = self.nodes.nodes(key).collect();
            for node in nodes {
                self.nodes.remove(key, node);
            }
        }
        let relocation = is_bucket.and_then(|bucket| self.leaves.remove(bucket));
        self.apply_relocation(relocation)
    }

    /// Updates the entry of a pattern that moved, in its leaf.
    pub(super) fn relocate_entry(&mut self, leaf: &Cursor, from: BlockAddr, to: BlockAddr) {
        let &Cursor { key, node } = leaf;
        if let Kind::LeafN(bucket) = node.kind() {
            self.leaves.relocate_pattern(bucket, from, to);
            return;
        }
        let mut entries = self.leaf_entries(leaf);
        let Some(entry) = entries.find(|entry| entry.pattern() == from) else {
            return;
        };
        drop(entries);
        let moved = entry.with_pattern(to).node();
        if key == self.hasher.root() {
            self.root = moved;
        } else {
            self.nodes.replace(key, entry.node(), moved);
        }
    }

    /// Updates the node of a leaf that moved.
    fn apply_relocation(
        &mut self,
        relocation: Option<Relocation>,
    ) -> Result<(), ProbeLimitExceeded> {
        let Some(Relocation { key, address }) = relocation else {
            return Ok(());
        };
        match self.node_at(key).kind() {
            Kind::LeafN(leaf) => self.set_node(key, leaf.with_address(address).node()),
            _ => Ok(()),
        }
    }
}
