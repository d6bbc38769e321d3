//! The data that a lookup reads: an index in memory or an image.

use std::sync::Arc;

use super::address::{BlockAddr, LeafAddr, Slot};
use super::hash::{NodeKey, TokenHasher};
use super::node::Node;
use super::storage::probe_table::Entry;
use crate::grammar::scan::Kernel;
use crate::grammar::{Bounds, Dialect};

/// The data of a lookup: an index in memory, or an image. Anything that does not exist is empty.
pub(in crate::trie) trait View {
    fn hasher(&self) -> &TokenHasher;
    fn root(&self) -> Node;
    /// The home position of a key in the hash table.
    fn home(&self, key: NodeKey) -> usize;
    /// The entry at the home position of a key, at which [`View::entries`] begins, to be prefetched.
    fn entry_at(&self, key: NodeKey, home: usize) -> Option<&Entry>;
    /// The entries of the hash table from the first whose key is not below this one on, as far as its
    /// own entries can stand; `home` is the home position of the key.
    fn entries<K: Kernel>(&self, kernel: K, key: NodeKey, home: usize) -> &[Entry];
    /// The words of a leaf, and what follows it.
    fn leaf(&self, address: LeafAddr) -> &[u64];
    /// The words of a packed pattern, and what follows it.
    fn pattern(&self, address: BlockAddr) -> &[u64];
    /// A lookup of an intact index visits less than this.
    fn max_work(&self) -> usize;
    /// The id of a subscription, and the slot of the next one with the same pattern.
    fn subscription(&self, slot: Slot) -> Option<(u64, Slot)>;
    /// The number of subscriptions.
    fn subscriptions(&self) -> usize;
    /// The addresses of all patterns, in any order.
    fn pattern_addresses(&self) -> Vec<BlockAddr>;
    /// The addresses of all patterns in the order of their texts, and how many were read for it.
    fn sorted_patterns(&self) -> (Arc<Vec<BlockAddr>>, usize);
    fn grammar(&self) -> (Dialect, Bounds);
}
