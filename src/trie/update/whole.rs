//! A check of nodes that were not made here: those of an image.

use super::Cursor;
use crate::parallel::map_parts;
use crate::trie::address::BlockAddr;
use crate::trie::index::Index;
use crate::trie::pattern::packed_pattern::unpack_into;
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};
use crate::trie::prefetch::prefetch;

/// Patterns that are checked by several threads: fewer take less time than a thread takes to start.
const PARALLEL_FROM: usize = 4096;

/// Patterns that are checked together, each step for all before the next: so the lines of their nodes
/// are prefetched side by side.
const GROUP: usize = 16;

impl Index {
    /// Whether a lookup arrives at the leaf of each pattern. Cost: a lookup for each, on all cores.
    pub(in crate::trie) fn nodes_are_whole(&self) -> bool {
        let addresses: Vec<BlockAddr> = self.pattern_addresses().collect();
        let whole = map_parts(&addresses, PARALLEL_FROM, |part| {
            let mut parsed: Vec<ParsedPattern> = Vec::new();
            parsed.resize_with(GROUP, ParsedPattern::default);
            let mut groups = part.chunks(GROUP);
            groups.all(|group| self.are_in_their_leaves(group, &mut parsed))
        });
        whole.into_iter().all(|whole| whole)
    }

    /// Whether a lookup of what each pattern matches arrives at its leaf.
    fn are_in_their_leaves(&self, group: &[BlockAddr], parsed: &mut [ParsedPattern]) -> bool {
        for (&address, parsed) in group.iter().zip(&mut *parsed) {
            parsed.parse(|text| unpack_into(self.patterns.get(address), text));
        }
        let root = (self.hasher.root(), self.root);
        let mut places: Vec<_> = (0..group.len()).map(|at| (at, root)).collect();
        for _ in 0..=self.branch_count {
            let mut are_whole = true;
            places.retain_mut(|(at, (key, node))| {
                let parsed = &mut parsed[*at];
                let Some(branch) = node.branch() else {
                    let leaf = Cursor {
                        key: *key,
                        node: *node,
                    };
                    let entry = parsed.leaf_entry(&self.hasher, group[*at]);
                    are_whole &= self.leaf_entries(&leaf).any(|other| other.0 == entry.0);
                    return false;
                };
                *key = match parsed.child(&self.hasher, branch, *key) {
                    // A lookup goes there for lengths in its range only.
                    Child::Rest(_)
                        if branch.with_rest(parsed.count(), parsed.has_tail()) != branch =>
                    {
                        are_whole = false;
                        return false;
                    }
                    Child::Literal(next) | Child::Rest(next) => next,
                };
                prefetch(self.nodes.first_probe(*key));
                true
            });
            if !are_whole || places.is_empty() {
                return are_whole;
            }
            for (_, (key, node)) in &mut places {
                *node = self.nodes.get(*key);
            }
        }
        false // a cycle
    }
}
