//! Leaf buckets: the leaves of several patterns, each a node key and then an entry a pattern.
//!
//! The node that leads to a leaf holds its length and address. The leaf holds the key of that node,
//! so that the node can be updated when the slab moves the leaf.

use super::slab::Slab;
use crate::trie::address::{BlockAddr, LeafAddr};
use crate::trie::hash::NodeKey;
use crate::trie::node::{LeafEntry, LeafN};

/// Leaves of up to so many entries take exactly the words they need; larger ones have room for the
/// next power of two. Higher saves memory, lower saves moves of growing leaves. The hash table
/// holds leaves of up to eight entries, so these are those that no position can split. No record compares
/// values.
const EXACT_UP_TO: usize = 16;

/// All leaf buckets.
#[derive(Clone, Default)]
pub(crate) struct Leaves(pub Slab<LeafAddr>);

/// A leaf that moved: the key of its node, and the new address.
#[derive(Clone, Copy)]
pub(crate) struct Relocation {
    pub key: NodeKey,
    pub address: LeafAddr,
}

/// The entries that a leaf of `count` has room for.
const fn capacity(count: usize) -> usize {
    if count <= EXACT_UP_TO {
        count
    } else {
        count.next_power_of_two()
    }
}

/// The entries among the words of a leaf, as words.
#[inline]
pub(crate) fn entries_in(words: &[u64], leaf: LeafN) -> &[u64] {
    let end = words.len().min(leaf.count() + 1);
    words.get(1..end).unwrap_or_default()
}

impl Leaves {
    /// Whether leaves of `words` words in all fit.
    pub fn has_room(&self, words: usize) -> bool {
        self.0.has_room(words)
    }

    /// The words of a leaf, and what follows it on its page.
    #[inline]
    pub fn get(&self, address: LeafAddr) -> &[u64] {
        self.0.get(address)
    }

    /// The entries of a leaf.
    pub fn entries(&self, leaf: LeafN) -> impl Iterator<Item = LeafEntry> {
        let words = entries_in(self.get(leaf.address()), leaf);
        words.iter().map(|&word| LeafEntry(word))
    }

    /// Stores a new leaf for the node at `key`.
    pub fn insert(&mut self, key: NodeKey, entries: &[LeafEntry]) -> LeafN {
        let mut words = Vec::with_capacity(1 + capacity(entries.len()));
        words.push(key.0);
        words.extend(entries.iter().map(|entry| entry.0));
        words.resize(1 + capacity(entries.len()), 0);
        LeafN::new(entries.len(), self.0.insert(&words))
    }

    /// Removes a leaf. Another one may move.
    pub fn remove(&mut self, leaf: LeafN) -> Option<Relocation> {
        let address = leaf.address();
        self.0.remove(address, 1 + capacity(leaf.count()))?;
        let key = NodeKey(*self.get(address).first()?);
        Some(Relocation { key, address })
    }

    /// Adds an entry: the leaf as it is now, and which other leaf moved.
    pub fn add_entry(&mut self, leaf: LeafN, entry: LeafEntry) -> (LeafN, Option<Relocation>) {
        let count = leaf.count();
        if capacity(count + 1) == capacity(count) {
            if let Some(word) = self.0.get_mut(leaf.address()).get_mut(count + 1) {
                *word = entry.0;
            }
            return (LeafN::new(count + 1, leaf.address()), None);
        }
        let entries: Vec<LeafEntry> = self.entries(leaf).chain([entry]).collect();
        self.replace(leaf, &entries)
    }

    /// Removes the entry of a pattern from a leaf of at least two.
    pub fn remove_entry(&mut self, leaf: LeafN, pattern: BlockAddr) -> (LeafN, Option<Relocation>) {
        let mut entries: Vec<LeafEntry> = self.entries(leaf).collect();
        entries.retain(|entry| entry.pattern() != pattern);
        self.replace(leaf, &entries)
    }

    fn replace(&mut self, leaf: LeafN, entries: &[LeafEntry]) -> (LeafN, Option<Relocation>) {
        let key = self.get(leaf.address()).first().copied().unwrap_or(0);
        let replacement = self.insert(NodeKey(key), entries);
        let relocation = self.remove(leaf);
        (replacement, relocation)
    }

    /// Updates the entry of a pattern that moved.
    pub fn relocate_pattern(&mut self, leaf: LeafN, from: BlockAddr, to: BlockAddr) {
        let words = self.0.get_mut(leaf.address());
        let entry = words
            .iter_mut()
            .skip(1)
            .take(leaf.count())
            .find(|word| LeafEntry(**word).pattern() == from);
        if let Some(word) = entry {
            *word = LeafEntry(*word).with_pattern(to).0;
        }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}
