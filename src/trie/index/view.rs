//! The index as what lookups and queries read.

use super::Index;
use crate::grammar::{Bounds, Dialect};
use crate::trie::address::{BlockAddr, LeafAddr, Slot};
use crate::trie::hash::{NodeKey, TokenHasher};
use crate::trie::node::Node;
use crate::trie::prefix::sorted_patterns::{SortedPatterns, SortedView};
use crate::trie::storage::probe_table::Entry;
use crate::trie::view::View;

impl View for Index {
    #[inline]
    fn hasher(&self) -> &TokenHasher {
        &self.hasher
    }

    #[inline]
    fn root(&self) -> Node {
        self.root
    }

    #[inline]
    fn entries(&self, key: NodeKey) -> &[Entry] {
        self.nodes.entries_from(key)
    }

    #[inline]
    fn first_probe(&self, key: NodeKey) -> Option<&Entry> {
        self.nodes.first_probe(key)
    }

    #[inline]
    fn leaf(&self, address: LeafAddr) -> &[u64] {
        self.leaves.get(address)
    }

    #[inline]
    fn pattern(&self, address: BlockAddr) -> &[u64] {
        self.patterns.get(address)
    }

    fn max_work(&self) -> usize {
        // A branch probes two keys, whether they exist or not.
        2 * self.nodes.len() + self.pattern_count + 16
    }

    fn subscription(&self, slot: Slot) -> Option<(u64, Slot)> {
        self.subscriptions
            .get(slot)
            .map(|record| (record.id, record.next))
    }

    fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    fn pattern_addresses(&self) -> Vec<BlockAddr> {
        self.pattern_addresses().collect()
    }

    #[inline]
    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds)
    }
}

impl SortedView for Index {
    fn sorted(&self) -> &SortedPatterns {
        &self.sorted
    }
}
