//! Leaf split and root re-selection: how the trie adapts to the patterns in it.
//!
//! A pattern descends to a leaf. A leaf of more than four patterns becomes a branch
//! on the positions that discriminate best among them. Nothing else is touched, except when the
//! root is selected again, which rebuilds the index: at a few small sizes, before a bulk load that
//! outnumbers the patterns in the index, and when the hash key is changed.

use super::Cursor;
use super::random_sample::random_sample;
use super::select_positions::{SAMPLE_SIZE, patterns_met, select_positions};
use crate::trie::address::{BlockAddr, Slot};
use crate::trie::hash::{NodeKey, TokenHasher};
use crate::trie::index::Index;
use crate::trie::node::{Branch, LeafEntry, Node};
use crate::trie::pattern::packed_pattern::unpack_into;
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};
use crate::trie::storage::hash_table::HashTable;
use crate::trie::storage::leaf::Leaves;
use crate::trie::storage::probe_table::ProbeLimitExceeded;
use crate::trie::storage::subscriptions::Record;

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
pub(super) const MIN_BULK_LOAD: usize = 64;

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
        if let Some(selected) = select_positions(&sample, weight, &self.hasher) {
            self.set_root(selected);
        }
    }

    /// Selects the root again at a power of two, unless it was selected for as many patterns.
    pub(super) fn reselect_root_if_due(&mut self) {
        let count = self.pattern_count;
        if count <= self.selected_for || count < RESELECT_FROM || !count.is_power_of_two() {
            return;
        }
        self.selected_for = count;
        let sample: Vec<ParsedPattern> = self.sample(SAMPLE_SIZE).collect();
        let small = count <= ALWAYS_RESELECT_UP_TO;
        let growth = if small { EXPECTED_GROWTH } else { 1 };
        let weight = count.div_ceil(sample.len().max(1)) * growth;
        let Some(selected) = select_positions(&sample, weight, &self.hasher) else {
            return;
        };
        if !small {
            let Some(root) = self.root.branch() else {
                return;
            };
            let [now, then] =
                [root, selected].map(|root| patterns_met(root, &sample, weight, &self.hasher));
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
    pub(in crate::trie) fn rebuild(&mut self, strong: bool) {
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
                let leaf = self.descend_for_insert(&parsed, self.hasher.root())?;
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
    pub(super) fn find_leaf(&self, parsed: &ParsedPattern) -> Cursor {
        let (mut key, mut node) = (self.hasher.root(), self.root);
        let mut steps = 0;
        while let Some(branch) = node.branch() {
            steps += 1;
            if steps > self.branch_count {
                // Only nodes of a crafted image form a cycle, and no pattern is there.
                node = Node::EMPTY;
                break;
            }
            let (Child::Literal(next) | Child::Rest(next)) =
                parsed.child(&self.hasher, branch, key);
            key = next;
            node = self.nodes.get(key);
        }
        Cursor { key, node }
    }

    /// Descends from a key to the leaf of a pattern that is to be inserted, and extends the length
    /// range of each rest child on the way. Changes nothing if the pattern is in the index.
    pub(super) fn descend_for_insert(
        &mut self,
        parsed: &ParsedPattern,
        from: NodeKey,
    ) -> Result<Cursor, ProbeLimitExceeded> {
        let mut key = from;
        let mut node = self.node_at(key);
        let mut steps = 0;
        while let Some(branch) = node.branch() {
            steps += 1;
            if steps > self.branch_count {
                return Err(ProbeLimitExceeded); // a cycle: the nodes are built again
            }
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

    pub(super) fn node_at(&self, key: NodeKey) -> Node {
        if key == self.hasher.root() {
            self.root
        } else {
            self.nodes.get(key)
        }
    }

    /// Sets the node of a key.
    pub(super) fn set_node(&mut self, key: NodeKey, node: Node) -> Result<(), ProbeLimitExceeded> {
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
        let patterns: Vec<ParsedPattern> = entries
            .iter()
            .map(|entry| self.parsed(entry.pattern()))
            .collect();
        let Some(branch) = select_positions(&patterns, 1, &self.hasher) else {
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
        for (parsed, entry) in patterns.iter().zip(entries) {
            let leaf = self.descend_for_insert(parsed, key)?;
            self.add_to_leaf(&leaf, entry, too_large)?;
        }
        Ok(())
    }
}

/// Whether two of the patterns have different literal tokens at one position.
pub(super) fn have_different_tokens(patterns: &[ParsedPattern]) -> bool {
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
    use crate::trie::raw::{Index, Scratch};

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
