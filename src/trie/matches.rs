//! The result of a lookup: the values of the subscriptions that match, as an iterator.

use std::fmt;
use std::iter::FusedIterator;

use super::storage::subscriptions::SubscriptionRef;

/// The values of the subscriptions that match a subject, in order of insertion.
///
/// Made by [`SubjectTrie::matches`](super::SubjectTrie::matches) and
/// [`SubjectTrie::select`](super::SubjectTrie::select). One match needs no allocation.
///
/// # Examples
///
/// ```
/// use subtrie::{Dialect, SubjectTrie};
///
/// let mut trie = SubjectTrie::new(Dialect::Strict);
/// trie.insert("orders.>", "audit")?;
/// trie.insert("orders.*", "worker")?;
/// let mut matches = trie.matches("orders.eu")?;
/// assert_eq!(matches.len(), 2);
/// assert_eq!(matches.next(), Some(&"audit"));
/// # Ok::<(), subtrie::Error>(())
/// ```
pub struct Matches<'a, T> {
    /// By slot.
    values: &'a [T],
    first: Option<SubscriptionRef>,
    rest: std::vec::IntoIter<SubscriptionRef>,
}

impl<'a, T> Matches<'a, T> {
    pub(super) fn new(values: &'a [T], found: &[SubscriptionRef]) -> Self {
        let (first, rest) = match found {
            [] => (None, Vec::new()),
            [first, rest @ ..] => (Some(*first), rest.to_vec()),
        };
        Self {
            values,
            first,
            rest: rest.into_iter(),
        }
    }
}

impl<'a, T> Iterator for Matches<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        let found = self.first.take().or_else(|| self.rest.next())?;
        self.values.get(found.slot.index())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = usize::from(self.first.is_some()) + self.rest.len();
        (count, Some(count))
    }
}

impl<T> ExactSizeIterator for Matches<'_, T> {}

impl<T> FusedIterator for Matches<'_, T> {}

impl<T> Clone for Matches<'_, T> {
    fn clone(&self) -> Self {
        Self {
            values: self.values,
            first: self.first,
            rest: self.rest.clone(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Matches<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
