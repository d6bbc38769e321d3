//! Lookup: the subscriptions whose patterns match a subject.
//!
//! At each branch a lookup goes to the child of the subject's tokens and, if a pattern below it can
//! match, to the rest child. Each branch and each pattern is in one place, so a lookup visits none
//! of them twice, whatever the patterns and the subject are. [`Scratch::work`] counts the visits.

pub(super) mod batch;
pub(super) mod interleaved;
pub(super) mod queue_groups;
pub(super) mod thread_buffers;

use super::hash::{NodeKey, TokenHasher, rest_key};
use super::index::Index;
use super::node::{Branch, Kind, LeafEntry, Node};
use super::pattern::packed_pattern::{BlockAddr, list_ends, matches};
use super::pattern::tokenizer::Tokenizer;
use super::prefix::sorted_patterns::SortedPatterns;
use super::storage::leaf::{LeafAddr, entries_in};
use super::storage::queue_names::QueueId;
use super::storage::subscriptions::{Slot, SubscriptionRef};
use crate::error::Error;
use crate::grammar::{Bounds, Dialect};

/// Memory that lookups reuse, so that a lookup allocates nothing once it has grown.
#[derive(Default)]
pub struct Scratch {
    lookup: Lookup,
    /// Members of queue groups that match.
    members: Vec<(QueueId, SubscriptionRef)>,
    found: Vec<SubscriptionRef>,
    /// The lookups of [`interleaved`].
    interleaved: Vec<interleaved::InterleavedLookup>,
}

/// The state of one lookup.
#[derive(Default)]
struct Lookup {
    tokens: Tokenizer,
    /// Keys of rest children not yet visited.
    pending: Vec<NodeKey>,
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
    /// The node of a key.
    fn node(&self, key: NodeKey) -> Node;
    /// The word at which [`View::node`] begins to probe, to be prefetched.
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
    fn node(&self, key: NodeKey) -> Node {
        self.nodes.get(key)
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

    /// Calls `visit` with each packed pattern that matches the tokenised subject, until it returns
    /// false.
    #[inline]
    fn visit_matches<V: View>(
        &mut self,
        view: &V,
        subject: &[u8],
        mut visit: impl FnMut(&[u64]) -> bool,
    ) {
        let Self {
            tokens,
            pending,
            work,
        } = self;
        let hasher = view.hasher();
        pending.clear();
        *work = 0;
        let max_work = view.max_work();
        let (mut key, mut node) = (hasher.root(), view.root());
        loop {
            let mut child = None;
            match node.kind() {
                Kind::Branch(branch) => {
                    child = visit_branch(tokens, pending, subject, hasher, branch, key);
                }
                Kind::LeafN(leaf) => {
                    let entries = entries_in(view.leaf(leaf.address()), leaf);
                    *work += entries.len();
                    let prefilter = tokens.prefilter(subject, hasher);
                    for &word in entries {
                        let entry = LeafEntry(word);
                        if prefilter.passes(entry) {
                            let block = view.pattern(entry.pattern());
                            if matches(block, subject, tokens) && !visit(block) {
                                return;
                            }
                        }
                    }
                }
                Kind::Leaf1(entry) => {
                    *work += 1;
                    if entry.fits(tokens.count()) {
                        let block = view.pattern(entry.pattern());
                        if matches(block, subject, tokens) && !visit(block) {
                            return;
                        }
                    }
                }
                Kind::Empty => {}
            }
            let Some(next) = child.or_else(|| pending.pop()) else {
                break;
            };
            key = next;
            node = view.node(key);
            *work += 1;
            if *work > max_work {
                break; // only in a damaged image can nodes form a cycle
            }
        }
    }
}

/// Notes the rest child if it has to be visited, and returns the key of the subject's own child.
#[inline]
fn visit_branch(
    tokens: &mut Tokenizer,
    pending: &mut Vec<NodeKey>,
    subject: &[u8],
    hasher: &TokenHasher,
    branch: Branch,
    key: NodeKey,
) -> Option<NodeKey> {
    if branch.rest_fits(tokens.count()) {
        pending.push(rest_key(key));
    }
    tokens.child(subject, hasher, branch, key)
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
    scratch.lookup.visit_matches(view, subject, |block| {
        append_subscriptions(view, block, found);
        true
    });
    sort_dedup(found, start);
    Ok(())
}

/// Whether any subscription matches. Stops at the first.
pub(super) fn has_interest<V: View>(
    view: &V,
    subject: &str,
    scratch: &mut Scratch,
) -> Result<bool, Error> {
    scratch.lookup.tokenize(view, subject.as_bytes())?;
    let mut any = false;
    scratch.lookup.visit_matches(view, subject.as_bytes(), |_| {
        any = true;
        false
    });
    Ok(any)
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
    let mut slot = view
        .subscription(first)
        .map_or(Slot::NONE, |(_, next)| next);
    // The list of a damaged image may form a cycle.
    for _ in 0..=view.subscriptions().saturating_sub(found.len()) {
        let Some((id, next)) = view.subscription(slot) else {
            return;
        };
        found.push(SubscriptionRef { id, slot });
        slot = next;
    }
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

    /// Whether any subscription matches. Stops at the first.
    ///
    /// # Errors
    ///
    /// As for [`Index::match_into`].
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        has_interest(self, subject, scratch)
    }
}
