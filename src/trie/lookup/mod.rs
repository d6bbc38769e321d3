//! Lookup: the subscriptions whose patterns match a subject.
//!
//! At each branch a lookup goes to the child of the subject's tokens and, if a pattern below it can
//! match, to the rest child. Each branch and each pattern is in one place, so a lookup visits none
//! of them twice, whatever the patterns and the subject are. [`Scratch::work`] counts the visits.
//!
//! Nodes are visited in the order in which they were noted, and prefetched when they are noted, so
//! that a lookup waits for several of them at the same time. The patterns that pass the prefilter
//! are prefetched as well, and compared at the end.

pub(super) mod batch;
pub(super) mod interleaved;
mod prefetch;
pub(super) mod queue_groups;
pub(super) mod thread_buffers;

use super::hash::{NodeKey, TokenHasher, rest_key};
use super::index::Index;
use super::node::{Branch, Kind, LeafEntry, Node, Prefilter};
use super::pattern::packed_pattern::{BlockAddr, list_ends, matches};
use super::pattern::tokenizer::Tokenizer;
use super::prefix::sorted_patterns::SortedPatterns;
use super::storage::hash_table::Entry;
use super::storage::leaf::{LeafAddr, entries_in};
use super::storage::queue_names::QueueId;
use super::storage::subscriptions::{Slot, SubscriptionRef};
use crate::error::Error;
use crate::grammar::{Bounds, Dialect};
use prefetch::prefetch;

/// Memory that lookups reuse, so that a lookup allocates nothing once it has grown.
#[derive(Default)]
pub struct Scratch {
    lookup: Lookup,
    /// Members of queue groups that match.
    members: Vec<(QueueId, SubscriptionRef)>,
    found: Vec<SubscriptionRef>,
    /// The lookups of [`interleaved`].
    interleaved: Vec<Lookup>,
}

/// The state of one lookup.
#[derive(Default)]
struct Lookup {
    tokens: Tokenizer,
    prefilter: Prefilter,
    /// Keys of nodes to visit, and those visited.
    keys: Vec<NodeKey>,
    /// The number of keys visited.
    visited: usize,
    /// Patterns that passed the prefilter.
    candidates: Vec<BlockAddr>,
    work: usize,
}

impl Scratch {
    /// The number of nodes and leaf entries that the last lookup visited.
    #[must_use]
    pub const fn work(&self) -> usize {
        self.lookup.work
    }

    /// Adds to what was visited.
    pub(super) const fn add_work(&mut self, work: usize) {
        self.lookup.work += work;
    }
}

/// The data of a lookup: an index in memory, or an image. Anything that does not exist is empty.
pub(super) trait View {
    fn hasher(&self) -> &TokenHasher;
    fn root(&self) -> Node;
    /// The entries of the hash table from the first with this key on; empty if there is none.
    fn run(&self, key: NodeKey) -> &[Entry];
    /// The word at which [`View::run`] begins to probe, to be prefetched.
    fn first_probe(&self, key: NodeKey) -> Option<&u64>;
    /// The words of a leaf, and what follows it.
    fn leaf(&self, address: LeafAddr) -> &[u64];
    /// The words of a packed pattern, and what follows it.
    fn pattern(&self, address: BlockAddr) -> &[u64];
    /// A lookup of an intact index visits less than this.
    fn max_work(&self) -> usize;
    /// The id of a subscription, and the slot of the next one with the same pattern.
    fn subscription(&self, slot: Slot) -> Option<(u64, Slot)>;
    /// The number of subscriptions.
    fn subscriptions(&self) -> usize;
    /// The addresses of all patterns, in any order.
    fn pattern_addresses(&self) -> Vec<BlockAddr>;
    /// The order of the patterns.
    fn sorted(&self) -> &SortedPatterns;
    fn grammar(&self) -> (Dialect, Bounds);
}

impl View for Index {
    #[inline]
    fn hasher(&self) -> &TokenHasher {
        &self.hasher
    }

    #[inline]
    fn root(&self) -> Node {
        self.root
    }

    #[inline]
    fn run(&self, key: NodeKey) -> &[Entry] {
        self.nodes.run(key)
    }

    #[inline]
    fn first_probe(&self, key: NodeKey) -> Option<&u64> {
        self.nodes.first_probe(key)
    }

    #[inline]
    fn leaf(&self, address: LeafAddr) -> &[u64] {
        self.leaves.get(address)
    }

    #[inline]
    fn pattern(&self, address: BlockAddr) -> &[u64] {
        self.patterns.get(address)
    }

    fn max_work(&self) -> usize {
        // A branch probes two keys, whether they exist or not.
        2 * self.nodes.len() + self.pattern_count + 16
    }

    fn subscription(&self, slot: Slot) -> Option<(u64, Slot)> {
        self.subscriptions
            .get(slot)
            .map(|record| (record.id, record.next))
    }

    fn subscriptions(&self) -> usize {
        self.subscriptions.len()
    }

    fn pattern_addresses(&self) -> Vec<BlockAddr> {
        self.pattern_addresses().collect()
    }

    fn sorted(&self) -> &SortedPatterns {
        &self.sorted
    }

    #[inline]
    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds)
    }
}

impl Lookup {
    /// Validates and tokenises a subject.
    #[inline]
    fn tokenize<V: View>(&mut self, view: &V, subject: &[u8]) -> Result<(), Error> {
        let (dialect, bounds) = view.grammar();
        self.tokens.tokenize(subject, dialect, bounds)
    }

    /// Visits the root for the tokenised subject.
    #[inline]
    fn start<V: View>(&mut self, view: &V, subject: &[u8]) {
        self.keys.clear();
        self.candidates.clear();
        (self.visited, self.work) = (0, 0);
        self.prefilter = self.tokens.prefilter(subject, view.hasher());
        self.visit(view, subject, view.hasher().root(), view.root());
    }

    /// Visits the next node that was noted; false if there is none left.
    #[inline]
    fn step<V: View>(&mut self, view: &V, subject: &[u8]) -> bool {
        let Some(&key) = self.keys.get(self.visited) else {
            return false;
        };
        self.visited += 1;
        self.work += 1;
        if self.work > view.max_work() {
            return false; // only in a damaged image can nodes form a cycle
        }
        for &[found, word] in view.run(key) {
            if found != key.0 || self.visit(view, subject, key, Node(word)) {
                break;
            }
        }
        true
    }

    /// Notes what a node leads to; true if it is the only one of its key.
    #[inline]
    fn visit<V: View>(&mut self, view: &V, subject: &[u8], key: NodeKey, node: Node) -> bool {
        match node.kind() {
            Kind::Branch(branch) => self.visit_branch(view, subject, branch, key),
            Kind::Leaf1(entry) => {
                self.filter(view, entry);
                return false;
            }
            Kind::LeafN(leaf) => {
                for &word in entries_in(view.leaf(leaf.address()), leaf) {
                    self.filter(view, LeafEntry(word));
                }
            }
            Kind::Empty => {}
        }
        true
    }

    /// Notes the rest child, if a pattern below it can match, and the child of the subject's tokens.
    #[inline]
    fn visit_branch<V: View>(&mut self, view: &V, subject: &[u8], branch: Branch, key: NodeKey) {
        // The rest child is often a branch that all lookups visit, so it is in the cache while the
        // other child is fetched.
        if branch.rest_fits(self.tokens.count()) {
            self.note(view, rest_key(key));
        }
        if let Some(child) = self.tokens.child(subject, view.hasher(), branch, key) {
            self.note(view, child);
        }
    }

    #[inline]
    fn note<V: View>(&mut self, view: &V, key: NodeKey) {
        prefetch(view.first_probe(key));
        self.keys.push(key);
    }

    /// Notes the pattern of a leaf entry that passes the prefilter.
    #[inline]
    fn filter<V: View>(&mut self, view: &V, entry: LeafEntry) {
        self.work += 1;
        if self.prefilter.passes(entry) {
            let block = view.pattern(entry.pattern());
            prefetch(block.first());
            prefetch(block.get(8)); // the next cache line
            self.candidates.push(entry.pattern());
        }
    }

    /// Visits all nodes that can lead to a pattern of the tokenised subject.
    #[inline]
    fn walk<V: View>(&mut self, view: &V, subject: &[u8]) {
        self.start(view, subject);
        while self.step(view, subject) {}
    }

    /// The packed patterns that match, after the walk.
    #[inline]
    fn matches<'v, V: View>(&self, view: &'v V, subject: &[u8]) -> impl Iterator<Item = &'v [u64]> {
        self.candidates
            .iter()
            .map(|&address| view.pattern(address))
            .filter(move |block| matches(block, subject, &self.tokens))
    }
}

/// Appends the subscriptions that match to `found`, in ascending id.
#[inline]
pub(super) fn match_into<V: View>(
    view: &V,
    subject: &[u8],
    scratch: &mut Scratch,
    found: &mut Vec<SubscriptionRef>,
) -> Result<(), Error> {
    scratch.lookup.tokenize(view, subject)?;
    let start = found.len();
    scratch.lookup.walk(view, subject);
    for block in scratch.lookup.matches(view, subject) {
        append_subscriptions(view, block, found);
    }
    sort_dedup(found, start);
    Ok(())
}

/// Whether any subscription matches. Compares no pattern after the first that does.
pub(super) fn has_interest<V: View>(
    view: &V,
    subject: &str,
    scratch: &mut Scratch,
) -> Result<bool, Error> {
    let subject = subject.as_bytes();
    scratch.lookup.tokenize(view, subject)?;
    scratch.lookup.walk(view, subject);
    Ok(scratch.lookup.matches(view, subject).next().is_some())
}

/// The number of matching subscriptions.
pub(super) fn count<V: View>(
    view: &V,
    subject: &str,
    scratch: &mut Scratch,
) -> Result<usize, Error> {
    let mut found = std::mem::take(&mut scratch.found);
    found.clear();
    let result = match_into(view, subject.as_bytes(), scratch, &mut found);
    let count = found.len();
    scratch.found = found;
    result.map(|()| count)
}

/// Appends the subscriptions of a packed pattern.
#[inline]
pub(super) fn append_subscriptions<V: View>(
    view: &V,
    block: &[u64],
    found: &mut Vec<SubscriptionRef>,
) {
    let (first, last, id) = list_ends(block);
    found.push(SubscriptionRef { id, slot: first });
    if first != last {
        append_later_subscriptions(view, first, found);
    }
}

#[cold]
fn append_later_subscriptions<V: View>(view: &V, first: Slot, found: &mut Vec<SubscriptionRef>) {
    found.extend(later_subscriptions(view, first, found.len()));
}

/// The subscriptions after the first one of a pattern.
fn later_subscriptions<V: View>(
    view: &V,
    first: Slot,
    found: usize,
) -> impl Iterator<Item = SubscriptionRef> {
    let mut slot = view
        .subscription(first)
        .map_or(Slot::NONE, |(_, next)| next);
    // The list of a damaged image may form a cycle.
    let most = view.subscriptions().saturating_sub(found) + 1;
    std::iter::from_fn(move || {
        let (id, next) = view.subscription(slot)?;
        Some(SubscriptionRef {
            id,
            slot: std::mem::replace(&mut slot, next),
        })
    })
    .take(most)
}

/// Sorts what was found from `start` on. Two nodes with equal keys, which chance does not make,
/// would report a pattern twice, so equal neighbours are removed.
#[inline]
fn sort_dedup(found: &mut Vec<SubscriptionRef>, start: usize) {
    if found.len() > start + 1 {
        sort_dedup_many(found, start);
    }
}

fn sort_dedup_many(found: &mut Vec<SubscriptionRef>, start: usize) {
    found[start..].sort_unstable();
    let mut last = None;
    let mut place = 0;
    found.retain(|subscription| {
        place += 1;
        place <= start || last.replace(*subscription) != Some(*subscription)
    });
}

impl Index {
    /// Appends the subscriptions that match, in ascending id, to `found`.
    ///
    /// The subject is validated while it is tokenised. Cost: about four probes of the hash table;
    /// nothing is allocated once `scratch` and `found` have grown.
    ///
    /// # Errors
    ///
    /// The subject is not valid: a reason of [`crate::grammar::check`].
    #[inline]
    pub fn match_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<SubscriptionRef>,
    ) -> Result<(), Error> {
        match_into(self, subject.as_bytes(), scratch, found)
    }

    /// The number of matching subscriptions.
    ///
    /// # Errors
    ///
    /// As for [`Index::match_into`].
    pub fn count(&self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        count(self, subject, scratch)
    }

    /// Whether any subscription matches. Compares no pattern after the first that does.
    ///
    /// # Errors
    ///
    /// As for [`Index::match_into`].
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        has_interest(self, subject, scratch)
    }
}
