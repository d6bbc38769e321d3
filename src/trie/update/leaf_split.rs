//! Leaf split and root re-selection: how the trie adapts to the patterns in it.
//!
//! A pattern descends to a leaf. A leaf of more than [`SPLIT_LEAF_ABOVE`] patterns becomes a branch
//! on the positions that discriminate best among them. Nothing else is touched, except when the
//! root is selected again, which rebuilds the index: at a few small sizes, before a bulk load that
//! outnumbers the patterns in the index, and when the hash key is changed.

use super::Cursor;
use super::random_sample::random_sample;
use super::select_positions::{SAMPLE_SIZE, patterns_met, select_positions};
use super::unwind;
use crate::trie::hash::{NodeKey, TokenHasher};
use crate::trie::index::Index;
use crate::trie::node::{Branch, Kind, LeafEntry, Node};
use crate::trie::pattern::packed_pattern::{BlockAddr, equals, unpack_into};
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};
use crate::trie::storage::hash_table::{HashTable, ProbeLimitExceeded};
use crate::trie::storage::leaf::{Leaves, Relocation};
use crate::trie::storage::subscriptions::{Record, Slot};

/// A leaf of more patterns becomes a branch. Higher compares more patterns at the end of a lookup,
/// lower adds branches, and so probes and memory. `tests/trie_work.rs` holds what a lookup examines.
const SPLIT_LEAF_ABOVE: usize = 4;

/// A leaf of up to so many patterns has its entries in the hash table, under the key of the leaf: a
/// lookup then waits for memory once for both. Only patterns that no position divides stay together
/// in larger leaves, which would make probes long.
const IN_TABLE_UP_TO: usize = 8;

/// The root is selected as if there were so many times the patterns that are here, because a root
/// selected for few would not suit the many that usually follow. Higher hashes more positions at
/// the root of an index that stays small. No record compares values.
const EXPECTED_GROWTH: usize = 32;

/// The root is selected again when the patterns first reach a power of two from here on, because
/// the first selection sees few: rows sorted by one token have shown a single value of it until
/// then. Lower selects again for indexes that a lookup crosses in any case.
const RESELECT_FROM: usize = 64;

/// Up to here, another root rebuilds the index at once. Beyond, a rebuild is a noticeably slow
/// insert (about half a microsecond for each pattern), and has to be [`WORTH_A_REBUILD`].
const ALWAYS_RESELECT_UP_TO: usize = 1024;

/// Another root rebuilds a large index if a lookup then meets this many patterns fewer. Lower
/// rebuilds for little; higher keeps a root that was selected when few tokens had been seen.
const WORTH_A_REBUILD: usize = 2;

/// A bulk load of fewer patterns does not select the root again.
const MIN_BULK_LOAD: usize = 64;

impl Index {
    /// Prepares for a bulk load of these patterns.
    ///
    /// If they outnumber the patterns in the index, the root is selected again for both. Cost: a
    /// pass over the patterns, and if the root changes, over those in the index.
    pub fn prepare_bulk_load<'a>(&mut self, patterns: impl ExactSizeIterator<Item = &'a str>) {
        let count = patterns.len();
        if count < MIN_BULK_LOAD || count < self.pattern_count {
            return;
        }
        let total = count + self.pattern_count;
        let mut sample: Vec<ParsedPattern> = random_sample(patterns, count, SAMPLE_SIZE)
            .map(|text| ParsedPattern::new(text.as_bytes()))
            .collect();
        sample.extend(self.sample(SAMPLE_SIZE * self.pattern_count / count));
        self.selected_for = total;
        let weight = total.div_ceil(sample.len());
        if let Some(selected) = select_positions(&mut sample, weight, &self.hasher) {
            self.change_nodes(|index| index.set_root(selected), |_| {});
        }
    }

    /// Selects the root again at a power of two, unless it was selected for as many patterns.
    pub(super) fn reselect_root_if_due(&mut self) {
        let count = self.pattern_count;
        if count <= self.selected_for || count < RESELECT_FROM || !count.is_power_of_two() {
            return;
        }
        self.selected_for = count;
        let mut sample: Vec<ParsedPattern> = self.sample(SAMPLE_SIZE).collect();
        let small = count <= ALWAYS_RESELECT_UP_TO;
        let growth = if small { EXPECTED_GROWTH } else { 1 };
        let weight = count.div_ceil(sample.len().max(1)) * growth;
        let Some(selected) = select_positions(&mut sample, weight, &self.hasher) else {
            return;
        };
        if !small {
            let Some(root) = self.root.branch() else {
                return;
            };
            let [now, then] =
                [root, selected].map(|root| patterns_met(root, &mut sample, weight, &self.hasher));
            if now < then + WORTH_A_REBUILD {
                return;
            }
        }
        self.set_root(selected);
    }

    /// About `max` of the patterns.
    fn sample(&self, max: usize) -> impl Iterator<Item = ParsedPattern> {
        random_sample(self.pattern_addresses(), self.pattern_count, max)
            .map(|address| self.parsed(address))
    }

    /// The address of every pattern.
    pub(in crate::trie) fn pattern_addresses(&self) -> impl Iterator<Item = BlockAddr> {
        let first = |(_, record): (Slot, &Record)| {
            let address = || self.pattern_table.address(record.pattern);
            (record.previous == Slot::NONE).then(address)
        };
        self.subscriptions.iter().filter_map(first)
    }

    fn parsed(&self, address: BlockAddr) -> ParsedPattern {
        let mut parsed = ParsedPattern::default();
        parsed.parse(|text| unpack_into(self.patterns.get(address), text));
        parsed
    }

    /// Makes `selected` the root, and rebuilds the index if the root is another one.
    fn set_root(&mut self, selected: Branch) {
        let current = self.root.branch();
        if !current.is_some_and(|root| root.positions().eq(selected.positions())) {
            self.selected_root = Some(selected);
            self.rebuild(self.hasher.strong);
        }
    }

    /// Builds all nodes again, with `SipHash` under a new key if `strong`.
    ///
    /// Cost: all patterns.
    pub(super) fn rebuild(&mut self, strong: bool) {
        let mut strong = strong;
        let mut lift_limit = false;
        loop {
            if strong && !self.hasher.strong {
                self.hasher = TokenHasher::random(true);
            }
            self.nodes = HashTable::new();
            if lift_limit {
                self.nodes.lift_probe_limit();
            }
            self.leaves = Leaves::default();
            self.root = self.selected_root.map_or(Node::EMPTY, Branch::node);
            self.branch_count = usize::from(self.selected_root.is_some());
            let addresses: Vec<BlockAddr> = self.pattern_addresses().collect();
            let mut parsed = ParsedPattern::default();
            let done = addresses.into_iter().try_for_each(|address| {
                parsed.parse(|text| unpack_into(self.patterns.get(address), text));
                let entry = parsed.leaf_entry(&self.hasher, address);
                let leaf = self.descend_for_insert(&mut parsed, self.hasher.root())?;
                self.insert_at(&leaf, entry)
            });
            if done.is_ok() {
                return;
            }
            lift_limit = strong;
            strong = true;
        }
    }

    /// The leaf of a pattern, or the empty node where it would be.
    pub(super) fn find_leaf(&self, parsed: &mut ParsedPattern) -> Cursor {
        let (mut key, mut node) = (self.hasher.root(), self.root);
        while let Some(branch) = node.branch() {
            let (Child::Literal(next) | Child::Rest(next)) =
                parsed.child(&self.hasher, branch, key);
            key = next;
            node = self.nodes.get(key);
        }
        Cursor { key, node }
    }

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

    /// Descends from a key to the leaf of a pattern that is to be inserted, and extends the length
    /// range of each rest child on the way. Changes nothing if the pattern is in the index.
    pub(super) fn descend_for_insert(
        &mut self,
        parsed: &mut ParsedPattern,
        from: NodeKey,
    ) -> Result<Cursor, ProbeLimitExceeded> {
        let mut key = from;
        let mut node = self.node_at(key);
        while let Some(branch) = node.branch() {
            key = match parsed.child(&self.hasher, branch, key) {
                Child::Literal(next) => next,
                Child::Rest(next) => {
                    let extended = branch.with_rest(parsed.count(), parsed.has_tail());
                    if extended != branch {
                        self.set_node(key, extended.node())?;
                    }
                    next
                }
            };
            node = self.node_at(key);
        }
        Ok(Cursor { key, node })
    }

    /// Inserts an entry into a leaf, and splits leaves as long as one is too large.
    pub(super) fn insert_at(
        &mut self,
        leaf: &Cursor,
        entry: LeafEntry,
    ) -> Result<(), ProbeLimitExceeded> {
        let mut too_large = Vec::new();
        self.add_to_leaf(leaf, entry, &mut too_large)?;
        while let Some(key) = too_large.pop() {
            self.split(key, &mut too_large)?;
        }
        Ok(())
    }

    /// Adds an entry to a leaf, and notes the leaf if it becomes too large.
    ///
    /// A leaf that no position splits is tried again each time its size doubles.
    fn add_to_leaf(
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
                    unwind::fault_point();
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

    /// Removes the entry of a pattern from its leaf. Fails never: each key that is set has a node.
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
                    unwind::fault_point();
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
    fn remove_leaf(&mut self, leaf: &Cursor) -> Result<(), ProbeLimitExceeded> {
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
                unwind::fault_point();
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
            unwind::fault_point();
            self.nodes.replace(key, entry.node(), moved);
        }
    }

    fn node_at(&self, key: NodeKey) -> Node {
        if key == self.hasher.root() {
            self.root
        } else {
            self.nodes.get(key)
        }
    }

    /// Sets the node of a key.
    pub(super) fn set_node(&mut self, key: NodeKey, node: Node) -> Result<(), ProbeLimitExceeded> {
        unwind::fault_point();
        if key == self.hasher.root() {
            self.root = node;
            Ok(())
        } else {
            self.nodes.set(key, node)
        }
    }

    /// Makes a leaf a branch, if its patterns differ at any position.
    fn split(
        &mut self,
        key: NodeKey,
        too_large: &mut Vec<NodeKey>,
    ) -> Result<(), ProbeLimitExceeded> {
        let leaf = Cursor {
            key,
            node: self.node_at(key),
        };
        let entries: Vec<LeafEntry> = self.leaf_entries(&leaf).collect();
        let mut patterns: Vec<ParsedPattern> = entries
            .iter()
            .map(|entry| self.parsed(entry.pattern()))
            .collect();
        let Some(branch) = select_positions(&mut patterns, 1, &self.hasher) else {
            // Different tokens should have different hashes: if not, the hash key is known.
            let key_is_known = !self.hasher.strong && have_different_tokens(&patterns);
            return if key_is_known {
                Err(ProbeLimitExceeded)
            } else {
                Ok(())
            };
        };
        self.remove_leaf(&leaf)?;
        self.set_node(key, branch.node())?;
        self.branch_count += 1;
        for (parsed, entry) in patterns.iter_mut().zip(entries) {
            let leaf = self.descend_for_insert(parsed, key)?;
            self.add_to_leaf(&leaf, entry, too_large)?;
        }
        Ok(())
    }

    /// Updates the node of a leaf that moved.
    pub(super) fn apply_relocation(
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

/// Whether two of the patterns have different literal tokens at one position.
fn have_different_tokens(patterns: &[ParsedPattern]) -> bool {
    let max_count = patterns.iter().map(ParsedPattern::count).max().unwrap_or(0);
    (0..max_count).any(|at| {
        let mut tokens = patterns.iter().filter_map(|pattern| pattern.literal(at));
        let first = tokens.next();
        tokens.any(|token| Some(token) != first)
    })
}

#[cfg(test)]
mod tests {
    use crate::grammar::Dialect;
    use crate::trie::{Index, Scratch};

    /// Tokens of sixteen bytes that all have the folded hash 0 at position 0, under a key that is
    /// known: their first half cancels the salt.
    fn colliding(index: &mut Index, count: usize) -> Vec<String> {
        let salt = u64::from_le_bytes(*b"abcdefgh");
        index.hasher.first = salt.wrapping_sub(0x9e37_79b9_7f4a_7c15);
        (0..count).map(|n| format!("abcdefgh{n:08}")).collect()
    }

    #[test]
    fn tokens_chosen_with_a_known_key_make_the_index_change_its_hash() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        let tokens = colliding(&mut index, 3000);
        let hash = |index: &Index, token: &str| index.hasher.token(token.as_bytes(), 0, 16, 0);
        assert_eq!(hash(&index, &tokens[0]), hash(&index, &tokens[1]));
        for token in &tokens {
            index.insert(token, None).unwrap();
        }
        assert!(index.hasher.strong);
        assert_ne!(hash(&index, &tokens[0]), hash(&index, &tokens[1]));
        let (mut scratch, mut found) = (Scratch::default(), Vec::new());
        for (number, token) in (0..).zip(&tokens) {
            found.clear();
            index.match_into(token, &mut scratch, &mut found).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].id, number);
            assert!(scratch.work() < 64, "{}", scratch.work());
        }
        for id in 0..3000 {
            assert!(index.remove(id).is_some());
        }
        assert!(index.is_empty() && !index.hasher.strong);
    }
}
