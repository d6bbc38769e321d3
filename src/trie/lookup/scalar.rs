//! The lookup of one subject: its visits and candidates are on the stack.
//!
//! It goes where the walk of a group goes ([`super::walk`]), without the number of a subject, without
//! memory that grows and without the strong hash. What does not fit is left to that walk: few subjects
//! visit so many nodes.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::walk::{Subject, child, is_past};
use crate::grammar::scan::{Filtered, Kernel};
use crate::grammar::token_ends::Spans;
use crate::trie::hash::{NodeKey, TokenHasher, rest_key};
use crate::trie::node::{Branch, Kind, LeafEntry, Node, Prefilter};
use crate::trie::pattern::packed_pattern::matches;
use crate::trie::prefetch::{prefetch, prefetch_pattern};
use crate::trie::storage::leaf::entries_in;
use crate::trie::view::View;

/// Visits, and candidates, that have room. A lookup on the files of the benchmarks has about four.
const ROOM: usize = 16;

/// The visits and candidates noted for a subject.
pub(super) struct Noted {
    visits: [(NodeKey, usize); ROOM],
    /// Leaf entries that passed, and room for those that are written at a time.
    candidates: [u64; ROOM + 8],
}

impl Default for Noted {
    fn default() -> Self {
        Self {
            visits: [(NodeKey(0), 0); ROOM],
            candidates: [0; ROOM + 8],
        }
    }
}

struct Lookup<'a, 'v, V, T> {
    view: &'v V,
    hasher: TokenHasher,
    text: &'a [u8],
    tokens: T,
    prefilter: Prefilter,
    noted: &'a mut Noted,
    /// The number of visits noted.
    visits: usize,
    /// The number of candidates.
    passed: usize,
    work: usize,
}

/// Calls `found` with the packed patterns that match a subject, until it returns false. Returns the
/// number of nodes and leaf entries visited; `None`, before any call, if the subject has to be looked up
/// by the other walk.
#[inline(always)]
pub(super) fn look_up<'v, K: Kernel, V: View>(
    kernel: K,
    view: &'v V,
    text: &[u8],
    subject: &Subject,
    noted: &mut Noted,
    found: impl FnMut(&'v [u64]) -> bool,
) -> Option<usize> {
    if view.hasher().strong {
        return None;
    }
    let prefilter = subject.prefilter;
    if let Some(short) = subject.tokens.short::<K>() {
        return look_up_tokens(kernel, view, text, short, prefilter, noted, found);
    }
    let near = subject.tokens.near()?;
    look_up_tokens(kernel, view, text, near, prefilter, noted, found)
}

#[inline(always)]
fn look_up_tokens<'v, K: Kernel, V: View, T: Spans>(
    kernel: K,
    view: &'v V,
    text: &[u8],
    tokens: T,
    prefilter: Prefilter,
    noted: &mut Noted,
    mut found: impl FnMut(&'v [u64]) -> bool,
) -> Option<usize> {
    let mut lookup = Lookup {
        view,
        hasher: TokenHasher {
            strong: false, // as asked above; here a constant
            ..*view.hasher()
        },
        text,
        tokens,
        prefilter,
        noted,
        visits: 0,
        passed: 0,
        work: 0,
    };
    lookup.visit_node(kernel, lookup.hasher.root(), view.root());
    let mut at = 0;
    while at < lookup.visits {
        // Only a visit that has room is looked up.
        let (key, home) = *lookup.noted.visits.get(at)?;
        at += 1;
        lookup.visit(kernel, key, home);
    }
    if lookup.passed >= ROOM {
        return None;
    }
    for &candidate in lookup.noted.candidates.get(..lookup.passed)? {
        let block = view.pattern(LeafEntry(candidate).pattern());
        if matches(kernel, block, text, tokens) && !found(block) {
            break;
        }
    }
    Some(lookup.work)
}

impl<V: View, T: Spans> Lookup<'_, '_, V, T> {
    /// Visits the nodes of a key.
    #[inline(always)]
    fn visit<K: Kernel>(&mut self, kernel: K, key: NodeKey, home: usize) {
        self.work += 1;
        let mut entries = self.view.entries(key, home);
        while let Some((four, more)) = entries.split_first_chunk::<4>() {
            // Which nodes a key has, and whether their patterns pass, cannot be predicted, so there is
            // no branch for a leaf.
            let filtered = kernel.filter_pairs(four, key.0, self.prefilter.0);
            self.work += filtered.of_kind;
            self.note_candidates(&filtered);
            let mut others = filtered.others;
            while others != 0 {
                let [_, word] = four[others.trailing_zeros() as usize / 2 % 4];
                self.visit_node(kernel, key, Node(word));
                others &= others - 1;
            }
            if is_past(four[3], key) {
                return;
            }
            entries = more;
        }
        for &[_, word] in entries.iter().filter(|&&[found, _]| found == key.0) {
            self.visit_node(kernel, key, Node(word));
        }
    }

    /// Notes what a node leads to.
    #[inline(always)]
    fn visit_node<K: Kernel>(&mut self, kernel: K, key: NodeKey, node: Node) {
        match node.kind() {
            Kind::Branch(branch) => self.visit_branch(kernel, key, branch),
            Kind::Leaf1(entry) => self.filter(entry),
            Kind::LeafN(leaf) => {
                for &word in entries_in(self.view.leaf(leaf.address()), leaf) {
                    self.filter(LeafEntry(word));
                }
            }
            Kind::Empty => {}
        }
    }

    /// Notes the rest child, if a pattern below it can match, and the child of the subject's tokens.
    #[inline(always)]
    fn visit_branch<K: Kernel>(&mut self, kernel: K, key: NodeKey, branch: Branch) {
        if branch.rest_fits(self.tokens.count()) {
            self.note_visit(rest_key(key));
        }
        let (hasher, text, tokens) = (&self.hasher, self.text, self.tokens);
        if let Some(child) = child(kernel, hasher, text, tokens, branch, key) {
            self.note_visit(child);
        }
    }

    #[inline(always)]
    fn note_visit(&mut self, key: NodeKey) {
        let home = self.view.home(key);
        prefetch(self.view.entry_at(key, home));
        // One that has no room is counted, and then not found.
        if let Some(place) = self.noted.visits.get_mut(self.visits) {
            *place = (key, home);
        }
        self.visits += 1;
    }

    #[inline(always)]
    fn filter(&mut self, entry: LeafEntry) {
        self.work += 1;
        if self.prefilter.passes(entry) {
            if let Some(place) = self.noted.candidates.get_mut(self.passed) {
                *place = entry.0;
            }
            self.passed = (self.passed + 1).min(ROOM);
            prefetch_pattern(self.view.pattern(entry.pattern()));
        }
    }

    /// Notes the leaf entries that passed the prefilter.
    #[inline(always)]
    fn note_candidates(&mut self, filtered: &Filtered) {
        // Without a branch: one that did not pass is overwritten by the next one. Few are more.
        let places = self.noted.candidates.get_mut(self.passed..);
        if let Some(places) = places.and_then(<[u64]>::first_chunk_mut) {
            if filtered.count > 1 {
                *places = filtered.passed;
            } else {
                places[0] = filtered.passed[0];
            }
        }
        self.passed = (self.passed + filtered.count).min(ROOM);
        // If none passed, that at address 0, which is near.
        let first = LeafEntry(filtered.passed[0]);
        prefetch_pattern(self.view.pattern(first.pattern()));
    }
}

#[cfg(test)]
mod tests {
    use super::ROOM;
    use crate::grammar::Dialect;
    use crate::trie::raw::{Index, Scratch};

    /// Matches without room here are found by the other walk.
    #[test]
    fn any_number_of_matches_is_found() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        let mut scratch = Scratch::default();
        for number in 0..4 * ROOM {
            let token = |at: usize| if number >> at & 1 == 0 { "*" } else { "a" };
            let pattern: Vec<&str> = (0..6).map(token).collect();
            index.insert(&pattern.join("."), None).unwrap();
            for _ in 0..2 {
                let subject = "a.a.a.a.a.a";
                let mut found = Vec::new();
                assert_eq!(index.count(subject, &mut scratch), Ok(number + 1));
                assert_eq!(index.has_interest(subject, &mut scratch), Ok(true));
                index.match_into(subject, &mut scratch, &mut found).unwrap();
                assert!(found.iter().map(|one| one.id).eq(0..=number as u64));
                index.rebuild(!index.hasher.strong);
            }
        }
    }

    #[test]
    fn a_subject_of_many_tokens_is_looked_up_by_the_other_walk() {
        let mut index = Index::new(Dialect::Server, Dialect::Server.bounds());
        for tokens in [1, 62, 63, 64, 65, 66, 200] {
            index.insert(&vec!["a"; tokens].join("."), None).unwrap();
        }
        for (id, tokens) in [1, 62, 63, 64, 65, 66, 200].into_iter().enumerate() {
            let mut found = Vec::new();
            let subject = vec!["a"; tokens].join(".");
            let mut scratch = Scratch::default();
            index
                .match_into(&subject, &mut scratch, &mut found)
                .unwrap();
            assert_eq!(
                found.iter().map(|one| one.id).collect::<Vec<_>>(),
                [id as u64],
                "{tokens}"
            );
        }
    }
}
