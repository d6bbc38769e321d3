//! The walk of a lookup: from the root to the patterns that pass the prefilter.
//!
//! One walk serves a group of subjects, or one that [`super::scalar`] leaves to it; it has one queue of
//! keys and one list of candidates for all, so that the processor mispredicts no branch at the end of one
//! subject's.

use super::Subject;
use crate::grammar::scan::Kernel;
use crate::trie::address::BlockAddr;
use crate::trie::hash::{NodeKey, TokenHasher, child_key, rest_key};
use crate::trie::node::{
    Branch, CODE_BITS, CODE_MASK, Kind, LENGTH_CODE, LeafEntry, Node, Prefilter,
};
use crate::trie::prefetch::prefetch;
use crate::trie::storage::leaf::entries_in;
use crate::trie::view::View;

/// A key to be looked up for a subject.
#[derive(Clone, Copy)]
struct Visit {
    key: NodeKey,
    home: usize,
    subject: u32,
}

/// A pattern that passed the prefilter for a subject.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub pattern: BlockAddr,
    pub subject: u32,
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
    /// The number of nodes and leaf entries visited.
    pub work: usize,
}

impl Walk {
    /// Forgets the walk before.
    #[inline(always)]
    pub fn start(&mut self) {
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
    pub fn visit_root<V: View>(&mut self, view: &V, number: u32, text: &[u8], subject: &Subject) {
        self.visit_node(
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
        let mut entries = view.entries(kernel, key, home);
        // Most keys have at most two nodes, and most of these are leaves of one pattern. Whether there
        // are such nodes, and whether their patterns pass, cannot be predicted, so there is no branch.
        if let Some((two, more)) = entries.split_first_chunk::<2>() {
            for &[found, word] in two {
                let entry = LeafEntry(word);
                let is_leaf = (found == key.0) & entry.is_leaf();
                self.work += usize::from(is_leaf);
                let passes = is_leaf & subject.prefilter.passes(entry);
                self.note_candidate(entry, number, passes);
            }
            let [found, word] = two[0];
            if (found == key.0) & !LeafEntry(word).is_leaf() {
                self.visit_node(view, key, Node(word), number, text, subject);
                return;
            }
            entries = more;
        }
        for &[_, word] in entries.iter().take_while(|&&[found, _]| found == key.0) {
            self.visit_node(view, key, Node(word), number, text, subject);
        }
    }

    /// Notes what a node leads to.
    #[inline(always)]
    fn visit_node<V: View>(
        &mut self,
        view: &V,
        key: NodeKey,
        node: Node,
        number: u32,
        text: &[u8],
        subject: &Subject,
    ) {
        match node.kind() {
            Kind::Branch(branch) => self.visit_branch(view, key, branch, number, text, subject),
            Kind::Leaf1(entry) => self.filter(entry, number, subject.prefilter),
            Kind::LeafN(leaf) => {
                for &word in entries_in(view.leaf(leaf.address()), leaf) {
                    self.filter(LeafEntry(word), number, subject.prefilter);
                }
            }
            Kind::Empty => {}
        }
    }

    /// Notes the rest child, if a pattern below it can match, and the child of the subject's tokens.
    #[inline(always)]
    fn visit_branch<V: View>(
        &mut self,
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
        if let Some(child) = subject.child(text, view.hasher(), branch, key) {
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
    fn filter(&mut self, entry: LeafEntry, subject: u32, prefilter: Prefilter) {
        self.work += 1;
        self.note_candidate(entry, subject, prefilter.passes(entry));
    }

    /// Notes the pattern of a leaf entry if it passed the prefilter.
    #[inline(always)]
    fn note_candidate(&mut self, entry: LeafEntry, subject: u32, passes: bool) {
        // Without a branch: what did not pass is overwritten by the next one.
        let pattern = entry.pattern();
        let candidate = Candidate { pattern, subject };
        match self.candidates.get_mut(self.passed) {
            Some(place) => *place = candidate,
            None => self.make_room(candidate),
        }
        self.passed += usize::from(passes);
    }

    #[cold]
    fn make_room(&mut self, candidate: Candidate) {
        let length = self.candidates.len() * 2 + 32;
        self.candidates.resize(length, candidate);
    }
}

impl Subject {
    /// The key of the child of a branch, if the subject has a token at each position.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // below 64
    fn child(
        &self,
        text: &[u8],
        hasher: &TokenHasher,
        branch: Branch,
        parent: NodeKey,
    ) -> Option<NodeKey> {
        let mut sum = 0u64;
        if let Some(far) = branch.far_position() {
            sum = self.hash(text, hasher, far)?;
        }
        let (mut codes, left) = branch.codes();
        for _ in 0..left {
            let code = codes & CODE_MASK;
            codes >>= CODE_BITS;
            let hash = if code == LENGTH_CODE {
                hasher.count(self.tokens.count())
            } else {
                self.hash(text, hasher, code as usize)?
            };
            sum = sum.wrapping_add(hash);
        }
        Some(child_key(parent, sum))
    }

    /// The hash of the token at a position, if there is one.
    #[inline(always)]
    fn hash(&self, text: &[u8], hasher: &TokenHasher, position: usize) -> Option<u64> {
        let (start, end) = self.tokens.span(position)?;
        Some(hasher.token(text, start, end, position))
    }
}
