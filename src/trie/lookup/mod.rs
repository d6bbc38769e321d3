//! Lookup: the subscriptions whose patterns match a subject.
//!
//! At each branch a lookup goes to the child of the subject's tokens and, if a pattern below it can
//! match, to the rest child. Each branch and each pattern is in one place, so a lookup visits none
//! of them twice, whatever the patterns and the subject are. [`Scratch::work`] counts the visits.
//!
//! Nodes are visited in the order in which they were noted, and prefetched when they are noted, so
//! that a lookup waits for several of them at the same time. The patterns that pass the prefilter
//! are prefetched as well, and compared at the end.
// A lookup is one function for each kernel: what it calls must be compiled for the same instructions.
#![allow(clippy::inline_always)]

pub(super) mod batch;
pub(super) mod interleaved;

mod scalar;
pub(super) mod thread_buffers;
mod walk;

use super::pattern::packed_pattern::{list_ends, matches};
use super::storage::queue_names::QueueId;
use super::storage::subscriptions::SubscriptionRef;
use crate::error::Error;
use crate::grammar::scan::{Baseline, Kernel, Task, with_best_kernel};
use crate::grammar::token_ends::TokenEnds;
use crate::trie::address::Slot;
use crate::trie::node::Prefilter;
use crate::trie::view::View;
use interleaved::GroupScratch;
use walk::Walk;

/// Items of scratch memory that are kept for the next lookup; 64 KiB of subscriptions. A larger value
/// keeps memory that few lookups need, a smaller one allocates more often.
pub(super) const MAX_KEPT: usize = 4096;

/// A subject that is looked up. Its hashes are not kept: a lookup asks for few twice.
#[derive(Default)]
struct Subject {
    tokens: TokenEnds,
    prefilter: Prefilter,
}

impl Subject {
    /// Validates and tokenises a text, which need not be UTF-8.
    #[inline(always)]
    fn read<K: Kernel, V: View>(&mut self, kernel: K, view: &V, text: &[u8]) -> Result<(), Error> {
        let (dialect, bounds) = view.grammar();
        let tokens = &mut self.tokens;
        tokens.read_subject(kernel, text, dialect, bounds)?;
        let (start, end) = tokens.span(tokens.count() - 1).unwrap_or((0, 0));
        let fingerprint = view.hasher().fingerprint(text, start, end);
        self.prefilter = Prefilter::new(tokens.count(), fingerprint);
        Ok(())
    }
}

/// Memory that lookups reuse, so that a lookup allocates nothing once it has grown.
#[derive(Default)]
pub struct Scratch {
    subject: Subject,
    walk: Walk,
    /// Members of queue groups that match.
    pub(super) members: Vec<(QueueId, SubscriptionRef)>,
    found: Vec<SubscriptionRef>,
    group: GroupScratch,
}

impl Scratch {
    /// The number of nodes and leaf entries that the last lookup visited.
    #[must_use]
    pub const fn work(&self) -> usize {
        self.walk.work
    }

    /// Whether a lookup of very many nodes or subscriptions made it so large that it is better dropped
    /// than kept.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.walk.capacity() > MAX_KEPT
            || self.found.capacity() > MAX_KEPT
            || self.members.capacity() > MAX_KEPT
    }

    /// Adds to what was visited.
    pub(super) const fn add_work(&mut self, work: usize) {
        self.walk.work += work;
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
    with_best_kernel(MatchInto {
        view,
        subject,
        scratch,
        found,
    })
}

struct MatchInto<'a, V> {
    view: &'a V,
    subject: &'a [u8],
    scratch: &'a mut Scratch,
    found: &'a mut Vec<SubscriptionRef>,
}

impl<V: View> Task for MatchInto<'_, V> {
    type Output = Result<(), Error>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Result<(), Error> {
        let Self { view, found, .. } = self;
        let start = found.len();
        self.scratch.look_up(kernel, view, self.subject, |block| {
            append_subscriptions(view, block, found);
            true
        })?;
        sort_dedup(found, start);
        Ok(())
    }
}

/// Whether any subscription matches. Compares no pattern after the first that does.
pub(super) fn has_interest<V: View>(
    view: &V,
    subject: &str,
    scratch: &mut Scratch,
) -> Result<bool, Error> {
    with_best_kernel(HasInterest {
        view,
        subject: subject.as_bytes(),
        scratch,
    })
}

struct HasInterest<'a, V> {
    view: &'a V,
    subject: &'a [u8],
    scratch: &'a mut Scratch,
}

impl<V: View> Task for HasInterest<'_, V> {
    type Output = Result<bool, Error>;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Result<bool, Error> {
        let mut is_found = false;
        self.scratch.look_up(kernel, self.view, self.subject, |_| {
            is_found = true;
            false
        })?;
        Ok(is_found)
    }
}

impl Scratch {
    /// Calls `found` with the packed patterns that match a subject, which need not be UTF-8, until it
    /// returns false.
    #[inline(always)]
    fn look_up<'v, K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &'v V,
        text: &[u8],
        mut found: impl FnMut(&'v [u64]) -> bool,
    ) -> Result<(), Error> {
        let Self { subject, walk, .. } = self;
        subject.read(kernel, view, text)?;
        match scalar::look_up(kernel, view, text, subject, &mut found) {
            Some(work) => walk.work = work,
            None => look_up_far(view, text, subject, walk, &mut found),
        }
        Ok(())
    }
}

/// The lookup of a subject that visits many nodes, or has many tokens, or in an index whose hash is the
/// strong one: by the instructions that every processor has.
#[cold]
fn look_up_far<'v, V: View>(
    view: &'v V,
    text: &[u8],
    subject: &Subject,
    walk: &mut Walk,
    found: &mut dyn FnMut(&'v [u64]) -> bool,
) {
    walk.start();
    walk.visit_root(view, 0, text, subject);
    walk.visit_all(Baseline, view, &[text], std::slice::from_ref(subject));
    for candidate in walk.candidates() {
        let block = view.pattern(candidate.pattern);
        if matches(Baseline, block, text, &subject.tokens) && !found(block) {
            return;
        }
    }
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

#[cfg(test)]
mod tests {
    use super::{SubscriptionRef, sort_dedup};
    use crate::trie::address::Slot;

    #[test]
    fn what_was_found_is_sorted_without_repetitions_and_what_was_there_stays() {
        let rows = |ids: &[u64]| -> Vec<SubscriptionRef> {
            let slot = Slot(3);
            ids.iter().map(|&id| SubscriptionRef { id, slot }).collect()
        };
        let there: [u64; 5] = [7, 7, 1, 2, 2];
        for start in 0..=there.len() {
            // Every list of up to four ids.
            for (count, number) in
                (0..5).flat_map(|count| (0..4u64.pow(count)).map(move |n| (count, n)))
            {
                let ids: Vec<u64> = (0..count)
                    .map(|place| number / 4u64.pow(place) % 4)
                    .collect();
                let mut found = rows(&[&there[..start], &ids].concat());
                sort_dedup(&mut found, start);
                let mut sorted = ids;
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(found, rows(&[&there[..start], &sorted].concat()));
            }
        }
    }
}
