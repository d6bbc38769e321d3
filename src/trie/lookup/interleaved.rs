//! Interleaved lookups with prefetch (AMAC: Kocberber and others 2015), for an index larger than
//! the cache.
//!
//! A lookup in such an index mostly waits for memory: for a node, a leaf, a packed pattern. Here
//! sixteen lookups take turns: each does one step, prefetches what its next step reads, and lets
//! the others do theirs meanwhile.

use super::batch::BatchMatches;
use super::{
    Lookup, Scratch, SubscriptionRef, View, append_subscriptions, sort_dedup, visit_branch,
};
use crate::trie::hash::NodeKey;
use crate::trie::node::{Kind, LeafEntry, LeafN, Node};
use crate::trie::pattern::packed_pattern::{BlockAddr, matches};
use crate::trie::storage::leaf::entries_in;

/// Lookups that take turns. Fewer leave memory idle, more evict each other's lines from the first
/// cache. The record keeps the chosen width only (`batch` in `benches/records/peers-2026-11-21.json`).
const WIDTH: usize = 16;

/// From this size of the index on lookups are interleaved: a smaller one is in the cache, and one
/// lookup after another is faster. `batch` in `benches/records/peers-2026-11-21.json` has indexes
/// on either side.
pub(super) const MIN_INDEX_BYTES: usize = 4 << 20;

/// The next step of a lookup.
#[derive(Clone, Copy, Default)]
enum Step {
    /// Probe the hash table for a key.
    Probe(NodeKey),
    /// Prefilter the entries of a leaf.
    Filter(LeafN),
    /// Compare the patterns that passed.
    Compare,
    #[default]
    Done,
}

/// One of the lookups that take turns.
#[derive(Default)]
pub(super) struct InterleavedLookup {
    lookup: Lookup,
    next: Step,
    /// Patterns to compare.
    candidates: Vec<BlockAddr>,
    found: Vec<SubscriptionRef>,
    valid: bool,
}

/// Looks up subjects, sixteen at a time, and appends what they match.
pub(super) fn match_batch<'t, V: View>(
    view: &V,
    subjects: impl Iterator<Item = Option<&'t [u8]>>,
    scratch: &mut Scratch,
    batch: &mut BatchMatches,
) {
    let mut subjects = subjects;
    let mut group: [Option<&[u8]>; WIDTH] = [None; WIDTH];
    loop {
        let mut count = 0;
        for (place, subject) in group.iter_mut().zip(&mut subjects) {
            *place = subject;
            count += 1;
        }
        if count < WIDTH {
            // Too few to interleave.
            for subject in &group[..count] {
                batch.look_up(view, *subject, scratch);
            }
            return;
        }
        match_group(view, &group, &mut scratch.interleaved, batch);
    }
}

fn match_group<V: View>(
    view: &V,
    subjects: &[Option<&[u8]>; WIDTH],
    lookups: &mut Vec<InterleavedLookup>,
    batch: &mut BatchMatches,
) {
    lookups.resize_with(WIDTH, InterleavedLookup::default);
    for (lookup, subject) in lookups.iter_mut().zip(subjects) {
        lookup.start(view, *subject);
    }
    let mut busy = true;
    while busy {
        busy = false;
        for (lookup, subject) in lookups.iter_mut().zip(subjects) {
            busy |= lookup.step(view, subject.unwrap_or_default());
        }
    }
    for lookup in lookups {
        sort_dedup(&mut lookup.found, 0);
        batch.push(lookup.valid, &lookup.found);
    }
}

impl InterleavedLookup {
    fn start<V: View>(&mut self, view: &V, subject: Option<&[u8]>) {
        self.found.clear();
        self.candidates.clear();
        self.lookup.pending.clear();
        self.lookup.work = 0;
        self.next = Step::Done;
        self.valid = subject.is_some_and(|subject| self.lookup.tokenize(view, subject).is_ok());
        if self.valid {
            let subject = subject.unwrap_or_default();
            self.visit(view, subject, view.hasher().root(), view.root());
        }
    }

    /// Does one step; false if there is none left.
    #[inline]
    fn step<V: View>(&mut self, view: &V, subject: &[u8]) -> bool {
        match self.next {
            Step::Done => return false,
            Step::Probe(key) => {
                self.lookup.work += 1;
                self.visit(view, subject, key, view.node(key));
            }
            Step::Filter(leaf) => {
                let entries = entries_in(view.leaf(leaf.address()), leaf);
                self.lookup.work += entries.len();
                let prefilter = self.lookup.tokens.prefilter(subject, view.hasher());
                for &word in entries {
                    let entry = LeafEntry(word);
                    if prefilter.passes(entry) {
                        self.add_candidate(view, entry.pattern());
                    }
                }
                self.compare_or_resume(view);
            }
            Step::Compare => {
                for &address in &self.candidates {
                    let block = view.pattern(address);
                    if matches(block, subject, &self.lookup.tokens) {
                        append_subscriptions(view, block, &mut self.found);
                    }
                }
                self.candidates.clear();
                self.resume(view);
            }
        }
        true
    }

    /// Decides from a node what to do next.
    #[inline]
    fn visit<V: View>(&mut self, view: &V, subject: &[u8], key: NodeKey, node: Node) {
        let Lookup {
            tokens, pending, ..
        } = &mut self.lookup;
        match node.kind() {
            Kind::Branch(branch) => {
                match visit_branch(tokens, pending, subject, view.hasher(), branch, key) {
                    Some(child) => self.probe(view, child),
                    None => self.resume(view),
                }
            }
            Kind::LeafN(leaf) => {
                prefetch(view.leaf(leaf.address()).first());
                self.next = Step::Filter(leaf);
            }
            Kind::Leaf1(entry) => {
                if entry.fits(tokens.count()) {
                    self.add_candidate(view, entry.pattern());
                }
                self.compare_or_resume(view);
            }
            Kind::Empty => self.resume(view),
        }
    }

    #[inline]
    fn add_candidate<V: View>(&mut self, view: &V, address: BlockAddr) {
        let block = view.pattern(address);
        prefetch(block.first());
        prefetch(block.get(8)); // the next cache line
        self.candidates.push(address);
    }

    #[inline]
    fn compare_or_resume<V: View>(&mut self, view: &V) {
        if self.candidates.is_empty() {
            self.resume(view);
        } else {
            self.next = Step::Compare;
        }
    }

    /// Goes on with the rest child noted last.
    #[inline]
    fn resume<V: View>(&mut self, view: &V) {
        // Only in a damaged image can nodes form a cycle.
        let within_bound = self.lookup.work <= view.max_work();
        match self.lookup.pending.pop() {
            Some(key) if within_bound => self.probe(view, key),
            _ => self.next = Step::Done,
        }
    }

    #[inline]
    fn probe<V: View>(&mut self, view: &V, key: NodeKey) {
        if self.lookup.work > view.max_work() {
            self.next = Step::Done;
            return;
        }
        prefetch(view.first_probe(key));
        self.next = Step::Probe(key);
    }
}

/// Prefetches a word that will be read soon.
#[inline]
#[allow(unsafe_code)]
fn prefetch(word: Option<&u64>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(word) = word {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint does not access memory, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

#[cfg(test)]
mod tests {
    use super::match_batch;
    use crate::grammar::Dialect;
    use crate::trie::{BatchMatches, Image, Index, LookupTarget, Scratch, as_words};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn interleaved_lookups_find_what_single_ones_find(
            patterns in prop::collection::vec("[ab*]{1}(\\.[ab*]){0,4}(\\.>)?|>", 0..60),
            texts in prop::collection::vec(prop::option::weighted(0.9, "[ab]{1}(\\.[abx]){0,5}|a b|"), 0..70),
        ) {
            let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
            for pattern in &patterns {
                index.insert(pattern, None).unwrap();
            }
            let texts: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
            let single = {
                let mut batch = BatchMatches::default();
                LookupTarget::Index(&index).match_batch(texts.iter().copied(), &mut Scratch::default(), &mut batch);
                (batch.ids, batch.ends, batch.valid)
            };
            let mut scratch = Scratch::default();
            let mut batch = BatchMatches::default();
            match_batch(&index, texts.iter().copied(), &mut scratch, &mut batch);
            prop_assert_eq!(&(batch.ids, batch.ends, batch.valid), &single);
            let bytes = index.to_image((None, None));
            let words = as_words(&bytes);
            let image = Image::open(&words, bytes.len(), true).unwrap();
            let mut batch = BatchMatches::default();
            match_batch(&image, texts.iter().copied(), &mut scratch, &mut batch);
            prop_assert_eq!(&(batch.ids, batch.ends, batch.valid), &single);
        }
    }
}
