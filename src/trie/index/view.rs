//! The index as what lookups and queries read.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use std::sync::Arc;

use super::Index;
use crate::grammar::scan::Kernel;
use crate::grammar::{Bounds, Dialect};
use crate::trie::address::{BlockAddr, LeafAddr, Slot};
use crate::trie::hash::{NodeKey, TokenHasher};
use crate::trie::node::Node;
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
    fn home(&self, key: NodeKey) -> usize {
        self.nodes.home(key)
    }

    #[inline]
    fn entry_at(&self, key: NodeKey, home: usize) -> Option<&Entry> {
        self.nodes.entry_at(key, home)
    }

    #[inline(always)]
    fn entries<K: Kernel>(&self, kernel: K, key: NodeKey, home: usize) -> &[Entry] {
        self.nodes.entries_from(kernel, key, home)
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

    fn sorted_patterns(&self) -> (Arc<Vec<BlockAddr>>, usize) {
        self.sorted.order(self)
    }

    #[inline]
    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds)
    }
}
