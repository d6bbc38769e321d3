//! The oldest subscriptions among ranges of sorted patterns: by a scan, or for many questions by a
//! segment tree (Bentley 1977) of the smallest ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::prefixes::Prefixes;
use crate::trie::pattern::packed_pattern::list_ends;
use crate::trie::storage::subscriptions::SubscriptionRef;
use crate::trie::view::View;

/// The oldest subscription of the pattern at a place in the order.
fn first<V: View>(prefixes: &Prefixes<'_, V>, place: usize) -> SubscriptionRef {
    let (slot, _, id) = list_ends(prefixes.block(place));
    SubscriptionRef { id, slot }
}

/// Appends the oldest `limit` subscriptions that are first of a pattern in one of the ranges, in
/// ascending id. Cost: all these patterns; memory for `limit`.
pub(super) fn scan<V: View>(
    prefixes: &Prefixes<'_, V>,
    ranges: &[Range<usize>],
    limit: usize,
    found: &mut Vec<SubscriptionRef>,
) {
    let start = found.len();
    let mut youngest = None;
    for place in ranges.iter().cloned().flatten() {
        let subscription = first(prefixes, place);
        if youngest.is_some_and(|youngest| subscription > youngest) {
            continue;
        }
        found.push(subscription);
        // Twice the limit before each selection, so that it costs a constant a subscription.
        if found.len() - start >= limit.saturating_mul(2) {
            let (_, last, _) = found[start..].select_nth_unstable(limit - 1);
            youngest = Some(*last);
            found.truncate(start + limit);
        }
    }
    found[start..].sort_unstable();
    found.truncate(start.saturating_add(limit));
}

/// The smallest first id of every segment of the order.
pub(super) struct OldestTree {
    /// Node `n` has the children `2n` and `2n + 1`; the leaves are the patterns, from `count` on.
    smallest: Vec<u64>,
    count: usize,
}

impl OldestTree {
    /// Cost: all patterns.
    pub fn new<V: View>(prefixes: &Prefixes<'_, V>) -> Self {
        let count = prefixes.root().end;
        let mut smallest = vec![0; count];
        smallest.extend((0..count).map(|place| first(prefixes, place).id));
        for node in (1..count).rev() {
            smallest[node] = smallest[2 * node].min(smallest[2 * node + 1]);
        }
        Self { smallest, count }
    }

    /// As [`scan`]. Cost: logarithmic in the number of patterns, for each range and each result.
    pub fn select<V: View>(
        &self,
        prefixes: &Prefixes<'_, V>,
        ranges: &[Range<usize>],
        limit: usize,
        found: &mut Vec<SubscriptionRef>,
    ) {
        let mut open = BinaryHeap::new();
        let mut add = |node: usize| open.push(Reverse((self.smallest[node], node)));
        for range in ranges {
            let (mut low, mut high) = (range.start + self.count, range.end + self.count);
            while low < high {
                if low % 2 == 1 {
                    add(low);
                    low += 1;
                }
                if high % 2 == 1 {
                    high -= 1;
                    add(high);
                }
                (low, high) = (low / 2, high / 2);
            }
        }
        let mut left = limit;
        while left > 0
            && let Some(Reverse((_, node))) = open.pop()
        {
            if node >= self.count {
                found.push(first(prefixes, node - self.count));
                left -= 1;
            } else {
                for child in [2 * node, 2 * node + 1] {
                    open.push(Reverse((self.smallest[child], child)));
                }
            }
        }
    }
}
