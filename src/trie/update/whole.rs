//! A check of nodes that were not made here: those of an image.

use super::Cursor;
use crate::trie::index::Index;
use crate::trie::pattern::packed_pattern::unpack_into;
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};

impl Index {
    /// Whether a lookup arrives at the leaf of each pattern. Cost: a lookup for each.
    pub(in crate::trie) fn nodes_are_whole(&self) -> bool {
        let mut parsed = ParsedPattern::default();
        self.pattern_addresses().all(|address| {
            parsed.parse(|text| unpack_into(self.patterns.get(address), text));
            let entry = parsed.leaf_entry(&self.hasher, address);
            let leaf = self.leaf_of_lookup(&mut parsed);
            leaf.is_some_and(|leaf| self.leaf_entries(&leaf).any(|other| other.0 == entry.0))
        })
    }

    /// The leaf at which a lookup of what the pattern matches arrives.
    fn leaf_of_lookup(&self, parsed: &mut ParsedPattern) -> Option<Cursor> {
        let (mut key, mut node) = (self.hasher.root(), self.root);
        for _ in 0..=self.branch_count {
            let Some(branch) = node.branch() else {
                return Some(Cursor { key, node });
            };
            key = match parsed.child(&self.hasher, branch, key) {
                // A lookup goes there for lengths in its range only.
                Child::Rest(_) if branch.with_rest(parsed.count(), parsed.has_tail()) != branch => {
                    return None;
                }
                Child::Literal(next) | Child::Rest(next) => next,
            };
            node = self.nodes.get(key);
        }
        None // a cycle
    }
}
