//! Extendible hashing (Fagin and others 1979): one hash table for all nodes of the index, which
//! grows and shrinks a bucket at a time.
//!
//! The highest bits of a key select a bucket through a directory. A full bucket is split in two, two
//! buddies with few entries are merged; each rewrites two buckets. Doubling or halving the directory
//! copies its numbers, four bytes each.

use super::bucket::{Bucket, Entry, MAX_PROBE, NO_LIMIT, ProbeLimitExceeded};
use crate::trie::hash::NodeKey;
use crate::trie::node::Node;

/// A bucket with more entries is split. Larger buckets make a single insert slower (`grow` in
/// `benches/records/peers-2026-11-21.json` has its longest times), smaller ones make the directory
/// larger, so that less of it stays in the cache.
const SPLIT_AT: usize = 768;

/// Two buddies with fewer entries together are merged: a third of [`SPLIT_AT`], so that a bucket
/// at the bound is not split and merged by turns. Lower keeps more memory after removals. No record
/// compares values.
const MERGE_BELOW: usize = 256;

/// A split may not make the directory larger than this many slots a bucket. Only keys whose first
/// bits agree, which a keyed hash does not give by chance, would need more. Lower reports them
/// sooner, higher spends more memory on them; no record compares values.
const MAX_DIRECTORY_PER_BUCKET: usize = 64;

/// Bits of a key that select a bucket, at most. At 40, 24 are left for the position within it.
const MAX_DEPTH: u32 = 40;

/// The nodes of the index by key.
#[derive(Clone)]
pub(crate) struct HashTable {
    /// For each value of the highest `depth` bits of a key, the number of its bucket.
    directory: Vec<u32>,
    depth: u32,
    buckets: Vec<Bucket>,
    free: Vec<u32>,
    len: usize,
    max_probe: usize,
}

impl HashTable {
    /// An empty table.
    pub fn new() -> Self {
        Self {
            directory: vec![0],
            depth: 0,
            buckets: vec![Bucket::with_homes(4, 0)],
            free: Vec::new(),
            len: 0,
            max_probe: MAX_PROBE,
        }
    }

    /// The number of nodes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Lets probes become as long as the keys make them: for when no better hash is left.
    pub const fn lift_probe_limit(&mut self) {
        self.max_probe = NO_LIMIT;
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below the length of the directory
    fn directory_index(&self, key: u64) -> usize {
        // In two steps, as a shift by 64 is not defined.
        (key >> 1 >> (63 - self.depth)) as usize
    }

    #[inline]
    fn bucket(&self, key: u64) -> Option<&Bucket> {
        let number = *self.directory.get(self.directory_index(key))?;
        self.buckets.get(number as usize)
    }

    /// The node of a key; [`Node::EMPTY`] if there is none.
    #[inline]
    pub fn get(&self, NodeKey(key): NodeKey) -> Node {
        let Some(bucket) = self.bucket(key) else {
            return Node::EMPTY;
        };
        let entries = bucket.entries.get(bucket.home(key)..).unwrap_or_default();
        for &[found, node] in entries {
            if found >= key {
                return if found == key {
                    Node(node)
                } else {
                    Node::EMPTY
                };
            }
            if found == 0 {
                return Node::EMPTY;
            }
        }
        Node::EMPTY
    }

    /// The word at which [`HashTable::get`] begins to probe, to be prefetched.
    #[inline]
    pub fn first_probe(&self, NodeKey(key): NodeKey) -> Option<&u64> {
        let bucket = self.bucket(key)?;
        bucket.entries.get(bucket.home(key)).map(|[found, _]| found)
    }

    /// Sets the node of a key, new or not. Fails if keys cluster as chance does not make them.
    pub fn set(
        &mut self,
        NodeKey(key): NodeKey,
        Node(node): Node,
    ) -> Result<(), ProbeLimitExceeded> {
        loop {
            let number = self.directory[self.directory_index(key)] as usize;
            let bucket = &mut self.buckets[number];
            let (at, found) = bucket.probe(key);
            if found {
                bucket.entries[at][1] = node;
                return Ok(());
            }
            let distance = at - bucket.home(key);
            let has_room = (bucket.used as u64 + 1) * 4 <= bucket.homes * 3;
            if has_room && distance <= self.max_probe && bucket.insert(key, node) {
                self.len += 1;
                return Ok(());
            }
            // Each round makes room in the bucket, so the loop ends.
            self.grow_or_split(number)?;
        }
    }

    fn grow_or_split(&mut self, number: usize) -> Result<(), ProbeLimitExceeded> {
        let bucket = &self.buckets[number];
        let (depth, max_probe) = (bucket.depth, self.max_probe);
        let entries: Vec<Entry> = bucket.iter().collect();
        let can_split = depth < MAX_DEPTH
            && (depth < self.depth
                || self.directory.len() <= self.buckets.len() * MAX_DIRECTORY_PER_BUCKET);
        if entries.len() < SPLIT_AT || (!can_split && max_probe == NO_LIMIT) {
            let more = usize::try_from(bucket.homes).unwrap_or(usize::MAX) * 9 / 8 + 1;
            self.buckets[number] = Bucket::of(&entries, more, depth, max_probe)?;
            return Ok(());
        }
        if !can_split {
            return Err(ProbeLimitExceeded);
        }
        let half = entries.partition_point(|entry| entry[0] << depth >> 63 == 0);
        let low = Bucket::of(&entries[..half], 0, depth + 1, max_probe)?;
        let high = Bucket::of(&entries[half..], 0, depth + 1, max_probe)?;
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&n| [n, n]).collect();
            self.depth += 1;
        }
        let buddy = self.add_bucket(high);
        self.buckets[number] = low;
        let (first, span) = self.directory_range(entries[0][0], depth);
        for bucket in &mut self.directory[first + span / 2..first + span] {
            *bucket = buddy;
        }
        Ok(())
    }

    fn add_bucket(&mut self, bucket: Bucket) -> u32 {
        if let Some(number) = self.free.pop() {
            self.buckets[number as usize] = bucket;
            return number;
        }
        self.buckets.push(bucket);
        u32::try_from(self.buckets.len() - 1).unwrap_or(u32::MAX)
    }

    /// The directory slots of the bucket of `depth` bits that a key belongs to: first and how many.
    fn directory_range(&self, key: u64, depth: u32) -> (usize, usize) {
        let span = 1 << (self.depth - depth);
        (self.directory_index(key) / span * span, span)
    }

    /// Removes a key.
    pub fn remove(&mut self, NodeKey(key): NodeKey) {
        let number = self.directory[self.directory_index(key)] as usize;
        let bucket = &mut self.buckets[number];
        let (at, found) = bucket.probe(key);
        if !found {
            return;
        }
        bucket.remove_at(at);
        self.len -= 1;
        if (bucket.used as u64) * 4 < bucket.homes {
            self.shrink(key, number);
        }
    }

    /// Returns memory: merges a bucket with its buddy, or makes it smaller.
    fn shrink(&mut self, key: u64, number: usize) {
        if self.merge(key) {
            while self.merge(key) {}
            self.halve_directory();
            return;
        }
        let bucket = &self.buckets[number];
        if bucket.homes > 16.max(2 * bucket.used as u64) {
            let entries: Vec<Entry> = bucket.iter().collect();
            if let Ok(smaller) = Bucket::of(&entries, 0, bucket.depth, self.max_probe) {
                self.buckets[number] = smaller;
            }
        }
    }

    /// Merges the bucket of a key with its buddy if both together are below [`MERGE_BELOW`].
    fn merge(&mut self, key: u64) -> bool {
        let depth = self.bucket(key).map_or(0, |bucket| bucket.depth);
        let Some(lower) = depth.checked_sub(1) else {
            return false;
        };
        let (first, span) = self.directory_range(key, lower);
        let (low, high) = (self.directory[first], self.directory[first + span / 2]);
        let both = [low, high].map(|number| &self.buckets[number as usize]);
        let used: usize = both.iter().map(|bucket| bucket.used).sum();
        if used >= MERGE_BELOW || both.iter().any(|bucket| bucket.depth != depth) {
            return false;
        }
        let entries: Vec<Entry> = both.iter().flat_map(|bucket| bucket.iter()).collect();
        let Ok(merged) = Bucket::of(&entries, 0, lower, self.max_probe) else {
            return false;
        };
        self.buckets[low as usize] = merged;
        self.buckets[high as usize] = Bucket::default();
        self.free.push(high);
        self.directory[first..first + span].fill(low);
        true
    }

    /// Halves the directory while no bucket needs its last bit.
    fn halve_directory(&mut self) {
        let live = self.buckets.len() - self.free.len();
        while self.depth > 0
            && (self.directory.len() > 4 * live || live == 1)
            && self.directory.chunks(2).all(|pair| pair[0] == pair[1])
        {
            self.directory = self.directory.iter().step_by(2).copied().collect();
            self.depth -= 1;
        }
        if live == 1 && self.depth == 0 && !self.free.is_empty() {
            let only = self.directory[0] as usize;
            let bucket = std::mem::take(&mut self.buckets[only]);
            self.buckets = vec![bucket];
            self.free = Vec::new();
            self.directory = vec![0];
        }
    }

    /// All entries, in ascending order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let mut last = u32::MAX;
        self.directory
            .iter()
            .filter(move |&&number| std::mem::replace(&mut last, number) != number)
            .filter_map(|&number| self.buckets.get(number as usize))
            .flat_map(Bucket::iter)
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let entries: usize = self.buckets.iter().map(|b| b.entries.len()).sum();
        entries * size_of::<Entry>()
            + self.buckets.capacity() * size_of::<Bucket>()
            + (self.directory.capacity() + self.free.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::{HashTable, Node, NodeKey};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn spread(number: u64) -> NodeKey {
        NodeKey((number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    #[test]
    fn it_grows_and_shrinks_to_nothing() {
        let mut table = HashTable::new();
        let empty = table.memory();
        for number in 0..100_000 {
            table.set(spread(number), Node(number + 1)).unwrap();
        }
        assert_eq!(table.len(), 100_000);
        assert!(table.memory() < 100_000 * 28, "{}", table.memory());
        for number in 0..100_000 {
            assert_eq!(table.get(spread(number)), Node(number + 1));
            assert_eq!(table.get(NodeKey(spread(number).0 ^ 2)), Node::EMPTY);
        }
        let keys: Vec<u64> = table.entries().map(|entry| entry[0]).collect();
        assert!(keys.len() == 100_000 && keys.is_sorted());
        for number in 0..100_000 {
            table.remove(spread(number));
            if number == 90_000 {
                assert!(table.memory() < 800_000, "{}", table.memory());
            }
        }
        assert_eq!(table.len(), 0);
        assert!(table.memory() < empty + 1000, "{}", table.memory());
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
    }

    proptest! {
        #[test]
        fn it_is_a_map(changes in prop::collection::vec((0u64..300, any::<bool>()), 0..2000)) {
            let mut table = HashTable::new();
            let mut map = BTreeMap::new();
            for (step, (number, put)) in changes.into_iter().enumerate() {
                let key = spread(number);
                if put {
                    table.set(key, Node(step as u64 + 1)).unwrap();
                    map.insert(key.0, step as u64 + 1);
                } else {
                    table.remove(key);
                    map.remove(&key.0);
                }
            }
            prop_assert_eq!(table.len(), map.len());
            let all: Vec<(u64, u64)> = table.entries().map(|[key, node]| (key, node)).collect();
            prop_assert_eq!(all, map.into_iter().collect::<Vec<_>>());
        }
    }
}
