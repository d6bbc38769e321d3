//! A check of nodes that were not made here: those of an image.

use super::Cursor;
use crate::parallel::map_parts;
use crate::trie::address::BlockAddr;
use crate::trie::index::Index;
use crate::trie::pattern::packed_pattern::unpack_into;
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};

/// Patterns that are checked by several threads: fewer take less time than a thread takes to start.
const PARALLEL_FROM: usize = 4096;

impl Index {
    /// Whether a lookup arrives at the leaf of each pattern. Cost: a lookup for each, on all cores.
    pub(in crate::trie) fn nodes_are_whole(&self) -> bool {
        let addresses: Vec<BlockAddr> = self.pattern_addresses().collect();
        let whole = map_parts(&addresses, PARALLEL_FROM, |part| {
            let mut parsed = ParsedPattern::default();
            let mut addresses = part.iter();
            addresses.all(|&address| self.is_in_its_leaf(address, &mut parsed))
        });
        whole.into_iter().all(|whole| whole)
    }

    fn is_in_its_leaf(&self, address: BlockAddr, parsed: &mut ParsedPattern) -> bool {
        parsed.parse(|text| unpack_into(self.patterns.get(address), text));
        let entry = parsed.leaf_entry(&self.hasher, address);
        let leaf = self.leaf_of_lookup(parsed);
        leaf.is_some_and(|leaf| self.leaf_entries(&leaf).any(|other| other.0 == entry.0))
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
