//! The public handle of a subscription.

use super::storage::subscriptions::SubscriptionRef;

/// A handle of a subscription in a [`SubjectTrie`](super::SubjectTrie).
///
/// Its number is never given again by the trie that returned it, so a kept handle either names that
/// subscription or, once it is removed, nothing. It means nothing to another trie, except to a
/// clone made after it was returned. Handles order by insertion.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::Dialect;
/// use subtrie::trie::SubjectTrie;
///
/// let mut trie = SubjectTrie::new(Dialect::Strict);
/// let first = trie.insert("orders.new", 1)?;
/// trie.remove(first);
/// let second = trie.insert("orders.new", 2)?;
/// assert!(first < second);
/// assert_eq!((trie.get(first), trie.get(second)), (None, Some(&2)));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subscription {
    pub(super) id: u64,
}

impl Subscription {
    /// The number of the subscription, from 0 in order of insertion.
    #[must_use]
    pub const fn id(self) -> u64 {
        self.id
    }
}

impl From<SubscriptionRef> for Subscription {
    fn from(found: SubscriptionRef) -> Self {
        Self { id: found.id }
    }
}
