//! Sorted patterns: the prefix trie as a sorted array of the addresses of packed patterns.
//!
//! Queries by pattern, explanations and the text tree go by prefix, which a hash table cannot
//! answer. The first of them sorts the patterns token by token, comparing them where they are. From
//! then on a change is only noted, by address, and the next query merges what was noted in one pass.
//! An index without such queries spends no memory on this.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use crate::trie::address::BlockAddr;
use crate::trie::pattern::packed_pattern::text;
use crate::trie::view::View;

/// After this many changes, and as many as there are patterns, the next query sorts all patterns
/// again instead of merging. Lower sorts small indexes more often, higher keeps a longer list of
/// changes; no record compares values.
const MIN_CHANGES_KEPT: usize = 64;

/// The order of the patterns of an index, once a query has asked for it.
#[derive(Default)]
pub(crate) struct SortedPatterns(Mutex<Cache>);

#[derive(Default)]
struct Cache {
    order: Option<Arc<Vec<BlockAddr>>>,
    /// The changes since `order` was made.
    changes: Vec<Change>,
}

#[derive(Clone, Copy)]
enum Change {
    Inserted(BlockAddr),
    /// The pattern at `at` was removed, and the one at `moved` took its place.
    Removed {
        at: BlockAddr,
        moved: Option<BlockAddr>,
    },
}

impl SortedPatterns {
    /// The addresses of all patterns of `view`, in order, and how many patterns were read for it.
    ///
    /// Cost: the first call sorts them, a call after changes merges these in one pass.
    pub fn order<V: View>(&self, view: &V) -> (Arc<Vec<BlockAddr>>, usize) {
        let mut cache = self.lock();
        let mut work = 0;
        let order = match cache.order.take() {
            Some(order) if cache.changes.is_empty() => order,
            Some(order) => {
                let changes = std::mem::take(&mut cache.changes);
                Arc::new(merge(view, &order, &changes, &mut work))
            }
            None => {
                let mut all = view.pattern_addresses();
                sort(view, &mut all, &mut work);
                Arc::new(all)
            }
        };
        cache.order = Some(order.clone());
        (order, work)
    }

    /// Notes a new pattern.
    pub fn note_insert(&mut self, address: BlockAddr) {
        self.note(Change::Inserted(address));
    }

    /// Notes that the pattern at `at` is gone, and that the one at `moved` took its place.
    pub fn note_remove(&mut self, at: BlockAddr, moved: Option<BlockAddr>) {
        self.note(Change::Removed { at, moved });
    }

    fn note(&mut self, change: Change) {
        let cache = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(order) = &cache.order else {
            return;
        };
        if cache.changes.len() < order.len().max(MIN_CHANGES_KEPT) {
            cache.changes.push(change);
        } else {
            *cache = Cache::default();
        }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let cache = self.lock();
        let order = cache.order.as_ref().map_or(0, |order| order.capacity());
        order * size_of::<BlockAddr>() + cache.changes.capacity() * size_of::<Change>()
    }

    // What is behind the lock is whole even after a panic: an order is stored once it is complete.
    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sort<V: View>(view: &V, addresses: &mut [BlockAddr], work: &mut usize) {
    addresses.sort_unstable_by(|&one, &other| {
        *work += 2;
        compare(&text(view.pattern(one)), &text(view.pattern(other)))
    });
}

/// The order after changes. Cost: one pass, and a sort of the patterns that are new.
fn merge<V: View>(
    view: &V,
    order: &[BlockAddr],
    changes: &[Change],
    work: &mut usize,
) -> Vec<BlockAddr> {
    // A pattern is named by the address that it has in `order`; `None` stands for a new one.
    let mut origins: HashMap<BlockAddr, Option<BlockAddr>, RandomState> = HashMap::default();
    let mut now: HashMap<BlockAddr, BlockAddr, RandomState> = HashMap::default();
    for &change in changes {
        match change {
            Change::Inserted(at) => {
                origins.insert(at, None);
            }
            Change::Removed { at, moved } => {
                if let Some(gone) = origins.remove(&at).unwrap_or(Some(at)) {
                    now.insert(gone, BlockAddr::NONE);
                }
                if let Some(from) = moved {
                    let origin = origins.remove(&from).unwrap_or(Some(from));
                    origins.insert(at, origin);
                }
            }
        }
    }
    let mut new = Vec::new();
    for (at, origin) in origins {
        match origin {
            Some(old) => {
                now.insert(old, at);
            }
            None => new.push(at),
        }
    }
    sort(view, &mut new, work);
    *work += order.len() + new.len();
    let mut merged = Vec::with_capacity(order.len() + new.len());
    let mut new = new.into_iter().peekable();
    let kept = order
        .iter()
        .map(|old| now.get(old).copied().unwrap_or(*old))
        .filter(|&address| address != BlockAddr::NONE);
    for address in kept {
        if new.peek().is_some() {
            let own = text(view.pattern(address));
            while let Some(first) =
                new.next_if(|&first| compare(&text(view.pattern(first)), &own) == Ordering::Less)
            {
                merged.push(first);
            }
        }
        merged.push(address);
    }
    merged.extend(new);
    merged
}

/// The order of two patterns: literal tokens by their bytes, then `*`, then `>`; a prefix first.
pub(super) fn compare(one: &[u8], other: &[u8]) -> Ordering {
    let equal = equal_bytes(one, other);
    let start = one[..equal]
        .iter()
        .rposition(|&byte| byte == b'.')
        .map_or(0, |dot| dot + 1);
    let by_token = rank(first_token(&one[start..])).cmp(&rank(first_token(&other[start..])));
    by_token.then(one.len().cmp(&other.len()))
}

/// The number of bytes that two texts begin with alike.
fn equal_bytes(one: &[u8], other: &[u8]) -> usize {
    let (ones, _) = one.as_chunks::<8>();
    let (others, _) = other.as_chunks::<8>();
    let same = ones.iter().zip(others).take_while(|(a, b)| a == b);
    let start = 8 * same.count();
    let rest = one[start..].iter().zip(&other[start..]);
    start + rest.take_while(|(a, b)| a == b).count()
}

/// The first token of a text.
pub(super) fn first_token(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == b'.');
    &text[..end.unwrap_or(text.len())]
}

/// A token as it is ordered among its siblings.
pub(super) const fn rank(token: &[u8]) -> (u8, &[u8]) {
    match token {
        b"*" => (1, token),
        b">" => (2, token),
        _ => (0, token),
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use std::cmp::Ordering;

    #[test]
    fn patterns_below_a_prefix_are_neighbours() {
        let sorted = [
            "a",
            "a.!",
            "a.b",
            "a.b.c",
            "a.b.cccccccccccccc",
            "a.b.cccccccccccccd",
            "a.b!.c",
            "a.*",
            "a.*.b",
            "a.>",
            "a!b",
            "*",
            "*.a",
            ">",
        ];
        for (place, one) in sorted.iter().enumerate() {
            for (other_place, other) in sorted.iter().enumerate() {
                let found = compare(one.as_bytes(), other.as_bytes());
                assert_eq!(found, place.cmp(&other_place), "{one} {other}");
            }
        }
        // In the dialect `server` a token that contains a wildcard is literal text.
        assert_eq!(compare(b"*!", b"a"), Ordering::Less);
        assert_eq!(compare(b"*!", b"*"), Ordering::Less);
        assert_eq!(compare(b"*.!", b"*!"), Ordering::Greater);
    }
}
