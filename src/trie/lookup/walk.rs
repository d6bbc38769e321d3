//! The walk of a lookup: from the root to the patterns that pass the prefilter.
//!
//! One walk serves one subject or a group of them; it has one queue of keys and one list of
//! candidates for all, so that the processor mispredicts no branch at the end of one subject's.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always, clippy::too_many_arguments)]

use crate::error::Error;
use crate::grammar::scan::{Filtered, Kernel};
use crate::grammar::token_ends::{Spans, TokenEnds};
use crate::trie::address::BlockAddr;
use crate::trie::hash::{NodeKey, TokenHasher, child_key, rest_key};
use crate::trie::node::{
    Branch, CODE_BITS, CODE_MASK, Kind, LENGTH_CODE, LeafEntry, Node, Prefilter,
};
use crate::trie::prefetch::{prefetch, prefetch_pattern};
use crate::trie::storage::leaf::entries_in;
use crate::trie::storage::probe_table::Entry;
use crate::trie::view::View;

/// A subject that is looked up.
#[derive(Default)]
pub(super) struct Subject {
    pub tokens: TokenEnds,
    pub prefilter: Prefilter,
}

impl Subject {
    /// Validates and tokenises a text, which need not be UTF-8.
    #[inline(always)]
    pub fn read<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        text: &[u8],
    ) -> Result<(), Error> {
        let (dialect, bounds) = view.grammar();
        let tokens = &mut self.tokens;
        tokens.read_subject(kernel, text, dialect, bounds)?;
        let count = tokens.count();
        let last = tokens.span(kernel, count - 1).unwrap_or_default();
        self.prefilter = Prefilter::new(count, view.hasher().fingerprint(text, last));
        Ok(())
    }
}

/// The key of the child of a branch for a subject, if it has a token at each position.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // below 64
pub(super) fn child<K: Kernel, T: Spans>(
    kernel: K,
    hasher: &TokenHasher,
    text: &[u8],
    tokens: T,
    branch: Branch,
    parent: NodeKey,
) -> Option<NodeKey> {
    if branch.is_far() {
        return far_child(kernel, hasher, text, tokens, branch, parent);
    }
    let (mut codes, left) = branch.codes();
    let mut sum = 0u64;
    for _ in 0..left {
        let code = codes & CODE_MASK;
        codes >>= CODE_BITS;
        let position = code as usize;
        let hash = if code == LENGTH_CODE {
            hasher.count(tokens.count())
        } else {
            hasher.token(kernel, text, tokens.span(kernel, position)?, position)
        };
        sum = sum.wrapping_add(hash);
    }
    Some(child_key(parent, sum))
}

/// As [`child`] of a branch on a far position.
#[cold]
fn far_child<K: Kernel, T: Spans>(
    kernel: K,
    hasher: &TokenHasher,
    text: &[u8],
    tokens: T,
    branch: Branch,
    parent: NodeKey,
) -> Option<NodeKey> {
    let position = branch.far_position()?;
    let span = tokens.span(kernel, position)?;
    let hash = hasher.token(kernel, text, span, position);
    Some(child_key(parent, hash))
}

/// The entries that a kernel passes at a time.
const PASSED: usize = 8;

/// A key to be looked up for a subject.
#[derive(Clone, Copy)]
struct Visit {
    key: NodeKey,
    home: usize,
    subject: u32,
}

/// A pattern that passed the prefilter for a subject: its address in the high half, the number of the
/// subject in the low one.
#[derive(Clone, Copy)]
pub(super) struct Candidate(u64);

impl Candidate {
    pub fn new(entry: LeafEntry, subject: u32) -> Self {
        Self(u64::from(entry.pattern().0) << 32 | u64::from(subject))
    }

    pub const fn pattern(self) -> BlockAddr {
        LeafEntry(self.0).pattern()
    }

    #[allow(clippy::cast_possible_truncation)] // the low half
    pub const fn subject(self) -> u32 {
        self.0 as u32
    }
}

/// The state of a walk.
#[derive(Default)]
pub(super) struct Walk {
    /// Keys to visit, and those visited.
    visits: Vec<Visit>,
    /// `[..passed]` is valid; the rest is capacity, so that appending takes no branch.
    candidates: Vec<Candidate>,
    /// The number of candidates.
    passed: usize,
    /// Whether several subjects are looked up: their candidates are prefetched together.
    is_group: bool,
    /// The number of nodes and leaf entries visited.
    pub work: usize,
}

impl Walk {
    /// Forgets the walk before.
    #[inline(always)]
    pub fn start(&mut self, is_group: bool) {
        self.is_group = is_group;
        self.visits.clear();
        (self.passed, self.work) = (0, 0);
    }

    /// The items that fit into the memory of the walk.
    pub const fn capacity(&self) -> usize {
        self.visits.capacity() + self.candidates.capacity()
    }

    /// The patterns that passed the prefilter.
    #[inline(always)]
    pub fn candidates(&self) -> &[Candidate] {
        self.candidates.get(..self.passed).unwrap_or_default()
    }

    /// Notes what the root leads to for a subject.
    #[inline(always)]
    pub fn visit_root<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        number: u32,
        text: &[u8],
        subject: &Subject,
    ) {
        self.visit_node(
            kernel,
            view,
            view.hasher().root(),
            view.root(),
            number,
            text,
            subject,
        );
    }

    /// Visits all nodes that can lead to a pattern of one of the subjects.
    #[inline(always)]
    pub fn visit_all<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        texts: &[&[u8]],
        subjects: &[Subject],
    ) {
        // Only in a damaged image can nodes form a cycle.
        let most = view.max_work().saturating_mul(texts.len());
        let mut at = 0;
        while let Some(&visit) = self.visits.get(at) {
            at += 1;
            let place = visit.subject as usize;
            if let (Some(text), Some(of)) = (texts.get(place), subjects.get(place)) {
                self.visit(kernel, view, visit, text, of);
            }
            if self.work > most {
                return;
            }
        }
    }

    /// Visits the nodes of a key.
    #[inline(always)]
    fn visit<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        Visit {
            key,
            home,
            subject: number,
        }: Visit,
        text: &[u8],
        subject: &Subject,
    ) {
        self.work += 1;
        let mut entries = view.entries(key, home);
        while let Some((four, more)) = entries.split_first_chunk::<4>() {
            // Which nodes a key has, and whether their patterns pass, cannot be predicted, so there is
            // no branch for a leaf.
            let filtered = kernel.filter_pairs(four, key.0, subject.prefilter.0);
            self.work += filtered.of_kind;
            self.note_candidates(&filtered, number);
            self.prefetch_last(view);
            let mut others = filtered.others;
            while others != 0 {
                let [_, word] = four[others.trailing_zeros() as usize / 2 % 4];
                self.visit_node(kernel, view, key, Node(word), number, text, subject);
                others &= others - 1;
            }
            if is_past(four[3], key) {
                return;
            }
            entries = more;
        }
        for &[_, word] in entries.iter().filter(|&&[found, _]| found == key.0) {
            self.visit_node(kernel, view, key, Node(word), number, text, subject);
        }
    }

    /// Notes what a node leads to.
    #[inline(always)]
    fn visit_node<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        key: NodeKey,
        node: Node,
        number: u32,
        text: &[u8],
        subject: &Subject,
    ) {
        match node.kind() {
            Kind::Branch(branch) => {
                self.visit_branch(kernel, view, key, branch, number, text, subject);
            }
            Kind::Leaf1(entry) => self.filter(view, entry, number, subject.prefilter),
            Kind::LeafN(leaf) => {
                for &word in entries_in(view.leaf(leaf.address()), leaf) {
                    self.filter(view, LeafEntry(word), number, subject.prefilter);
                }
            }
            Kind::Empty => {}
        }
    }

    /// Notes the rest child, if a pattern below it can match, and the child of the subject's tokens.
    #[inline(always)]
    fn visit_branch<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        key: NodeKey,
        branch: Branch,
        number: u32,
        text: &[u8],
        subject: &Subject,
    ) {
        // The rest child is often a branch that all lookups visit, so it is in the cache while the
        // other child is fetched.
        if branch.rest_fits(subject.tokens.count()) {
            self.note_visit(view, rest_key(key), number);
        }
        let tokens = &subject.tokens;
        if let Some(child) = child(kernel, view.hasher(), text, tokens, branch, key) {
            self.note_visit(view, child, number);
        }
    }

    #[inline(always)]
    fn note_visit<V: View>(&mut self, view: &V, key: NodeKey, subject: u32) {
        let home = view.home(key);
        prefetch(view.entry_at(key, home));
        self.visits.push(Visit { key, home, subject });
    }

    #[inline(always)]
    fn filter<V: View>(&mut self, view: &V, entry: LeafEntry, subject: u32, prefilter: Prefilter) {
        self.work += 1;
        if prefilter.passes(entry) {
            self.make_room();
            if let Some(place) = self.candidates.get_mut(self.passed) {
                *place = Candidate::new(entry, subject);
            }
            self.passed += 1;
            self.prefetch_last(view);
        }
    }

    /// Notes the patterns of leaf entries that passed the prefilter.
    #[inline(always)]
    fn note_candidates(&mut self, filtered: &Filtered, subject: u32) {
        self.make_room();
        // Without a branch: those that did not pass are overwritten by the next ones.
        let places = self.candidates.get_mut(self.passed..).unwrap_or_default();
        for (place, &word) in places.iter_mut().zip(&filtered.passed) {
            *place = Candidate::new(LeafEntry(word), subject);
        }
        self.passed += filtered.count;
    }

    /// Prefetches the pattern of the last candidate, which may be an earlier one than was noted last.
    #[inline(always)]
    fn prefetch_last<V: View>(&self, view: &V) {
        if self.is_group {
            return;
        }
        let last = self.candidates.get(self.passed.saturating_sub(1));
        if let Some(candidate) = last {
            prefetch_pattern(view.pattern(candidate.pattern()));
        }
    }

    /// Makes room for what passes at a time.
    #[inline(always)]
    fn make_room(&mut self) {
        if self.candidates.len() < self.passed + PASSED {
            self.enlarge();
        }
    }

    #[cold]
    fn enlarge(&mut self) {
        let length = self.candidates.len() * 2 + 32;
        self.candidates.resize(length, Candidate(0));
    }
}

/// Whether a key is not behind an entry: the entry is vacant, or has a greater key.
#[inline(always)]
pub(super) const fn is_past([found, _]: Entry, NodeKey(key): NodeKey) -> bool {
    found.wrapping_sub(1) >= key
}
