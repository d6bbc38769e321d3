//! The lookup of one subject: its visits and candidates are on the stack.
//!
//! It goes where the walk of a group goes ([`super::walk`]), without the number of a subject, without
//! memory that grows and without the strong hash. What does not fit is left to that walk: few subjects
//! visit so many nodes.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::Subject;
use crate::grammar::scan::Kernel;
use crate::grammar::token_ends::NearTokens;
use crate::trie::address::BlockAddr;
use crate::trie::hash::{NodeKey, TokenHasher, child_key, rest_key};
use crate::trie::node::{
    Branch, CODE_BITS, CODE_MASK, Kind, LENGTH_CODE, LeafEntry, Node, Prefilter,
};
use crate::trie::pattern::packed_pattern::matches;
use crate::trie::prefetch::{prefetch, prefetch_pattern};
use crate::trie::storage::leaf::entries_in;
use crate::trie::view::View;

/// Visits, and candidates, that have room. A lookup on the files of the benchmarks has about four;
/// more would take longer to clear.
const ROOM: usize = 16;

struct Lookup<'a, 'v, V> {
    view: &'v V,
    hasher: &'v TokenHasher,
    text: &'a [u8],
    tokens: NearTokens<'a>,
    prefilter: Prefilter,
    visits: [(NodeKey, usize); ROOM],
    /// The number of visits noted.
    noted: usize,
    candidates: [BlockAddr; ROOM],
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
    mut found: impl FnMut(&'v [u64]) -> bool,
) -> Option<usize> {
    let hasher = view.hasher();
    if hasher.strong {
        return None;
    }
    let mut lookup = Lookup {
        view,
        hasher,
        text,
        tokens: subject.tokens.near()?,
        prefilter: subject.prefilter,
        visits: [(NodeKey(0), 0); ROOM],
        noted: 0,
        candidates: [BlockAddr(0); ROOM],
        passed: 0,
        work: 0,
    };
    lookup.visit_node(hasher.root(), view.root());
    let mut at = 0;
    while at < lookup.noted {
        // Only a visit that has room is looked up.
        let (key, home) = *lookup.visits.get(at)?;
        at += 1;
        lookup.visit(kernel, key, home);
    }
    let candidates = lookup.candidates.get(..lookup.passed)?;
    if lookup.passed == ROOM {
        return None;
    }
    for &candidate in candidates {
        let block = view.pattern(candidate);
        if matches(kernel, block, text, &subject.tokens) && !found(block) {
            break;
        }
    }
    Some(lookup.work)
}

impl<V: View> Lookup<'_, '_, V> {
    /// Visits the nodes of a key.
    #[inline(always)]
    fn visit<K: Kernel>(&mut self, kernel: K, key: NodeKey, home: usize) {
        self.work += 1;
        let mut entries = self.view.entries(kernel, key, home);
        // Most keys have at most two nodes, and most of these are leaves of one pattern. Whether there
        // are such nodes, and whether their patterns pass, cannot be predicted, so there is no branch.
        if let Some((two, more)) = entries.split_first_chunk::<2>() {
            for &[found, word] in two {
                let entry = LeafEntry(word);
                let is_leaf = (found == key.0) & entry.is_leaf();
                self.work += usize::from(is_leaf);
                self.note_candidate(entry, is_leaf & self.prefilter.passes(entry));
            }
            self.prefetch_last();
            let [found, word] = two[0];
            if (found == key.0) & !LeafEntry(word).is_leaf() {
                self.visit_node(key, Node(word));
                return;
            }
            entries = more;
        }
        for &[_, word] in entries.iter().take_while(|&&[found, _]| found == key.0) {
            self.visit_node(key, Node(word));
        }
    }

    /// Notes what a node leads to.
    #[inline(always)]
    fn visit_node(&mut self, key: NodeKey, node: Node) {
        match node.kind() {
            Kind::Branch(branch) => self.visit_branch(key, branch),
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
    fn visit_branch(&mut self, key: NodeKey, branch: Branch) {
        if branch.rest_fits(self.tokens.count()) {
            self.note_visit(rest_key(key));
        }
        if let Some(child) = self.child(key, branch) {
            self.note_visit(child);
        }
    }

    /// The key of the child of a branch, if the subject has a token at each position.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // below 64
    fn child(&self, parent: NodeKey, branch: Branch) -> Option<NodeKey> {
        if branch.is_far() {
            return self.far_child(parent, branch);
        }
        let (mut codes, left) = branch.codes();
        let mut sum = 0u64;
        for _ in 0..left {
            let code = codes & CODE_MASK;
            codes >>= CODE_BITS;
            let position = code as usize;
            let hash = if code == LENGTH_CODE {
                self.hasher.count(self.tokens.count())
            } else if position < self.tokens.count() {
                let (start, end) = self.tokens.span(position);
                self.hasher.weak(self.text, start, end, position)
            } else {
                return None;
            };
            sum = sum.wrapping_add(hash);
        }
        Some(child_key(parent, sum))
    }

    /// As [`Lookup::child`] of a branch on a far position, which a subject of near tokens may have.
    #[cold]
    fn far_child(&self, parent: NodeKey, branch: Branch) -> Option<NodeKey> {
        let position = branch.far_position()?;
        if position >= self.tokens.count() {
            return None;
        }
        let (start, end) = self.tokens.span(position);
        let hash = self.hasher.weak(self.text, start, end, position);
        Some(child_key(parent, hash))
    }

    #[inline(always)]
    fn note_visit(&mut self, key: NodeKey) {
        let home = self.view.home(key);
        prefetch(self.view.entry_at(key, home));
        // One that has no room is counted, and then not found.
        if let Some(place) = self.visits.get_mut(self.noted) {
            *place = (key, home);
        }
        self.noted += 1;
    }

    #[inline(always)]
    fn filter(&mut self, entry: LeafEntry) {
        self.work += 1;
        self.note_candidate(entry, self.prefilter.passes(entry));
        self.prefetch_last();
    }

    /// Notes the pattern of a leaf entry if it passed the prefilter.
    #[inline(always)]
    fn note_candidate(&mut self, entry: LeafEntry, passes: bool) {
        // Without a branch: what did not pass is overwritten by the next one.
        if let Some(place) = self.candidates.get_mut(self.passed) {
            *place = entry.pattern();
        }
        self.passed = (self.passed + usize::from(passes)).min(ROOM);
    }

    /// Prefetches the pattern of the last candidate, which may be an earlier one than was noted last.
    #[inline(always)]
    fn prefetch_last(&self) {
        let last = self.candidates[self.passed.saturating_sub(1) % ROOM];
        prefetch_pattern(self.view.pattern(last));
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
