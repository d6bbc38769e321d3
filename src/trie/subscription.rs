//! The public handle of a subscription.

use std::sync::atomic::{AtomicU64, Ordering};

/// The identity of a trie, by which it knows its own handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TrieId(u64);

impl TrieId {
    /// An identity that no trie of this process has had. There are 2^64.
    pub fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A handle of a subscription in a [`SubjectTrie`](super::SubjectTrie).
///
/// A kept handle names that subscription and, once it is removed, nothing: its number is never given
/// again. To another trie it means nothing, also to a clone, whose own handles
/// [`SubjectTrie::iter`](super::SubjectTrie::iter) returns. Handles of one trie order by insertion.
///
/// # Examples
///
/// ```
/// use subtrie::{Dialect, SubjectTrie};
///
/// let mut trie = SubjectTrie::new(Dialect::Strict);
/// let first = trie.insert("orders.new", 1)?;
/// trie.remove(first);
/// let second = trie.insert("orders.new", 2)?;
/// assert!(first < second);
/// assert_eq!((trie.get(first), trie.get(second)), (None, Some(&2)));
///
/// let copy = trie.clone();
/// assert_eq!(copy.get(second), None);
/// # Ok::<(), subtrie::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subscription {
    pub(super) trie: TrieId,
    pub(super) id: u64,
}

impl Subscription {
    /// Return the number of the subscription, from 0 in order of insertion.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", "audit")?;
    /// assert_eq!(trie.insert("orders.new", "worker")?.id(), 1);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    #[must_use]
    pub const fn id(self) -> u64 {
        self.id
    }
}
