//! Lookups by subject and queries by pattern of a [`SubjectTrie`].

use super::SubjectTrie;
use crate::error::Error;
use crate::trie::index::Index;
use crate::trie::lookup::Scratch;
use crate::trie::lookup::thread_buffers::{ThreadBuffers, with_buffers};
use crate::trie::matches::Matches;
use crate::trie::storage::subscriptions::SubscriptionRef;
use crate::trie::subscription::Subscription;

impl<T> SubjectTrie<T> {
    /// The values of all subscriptions that match, in order of insertion, with or without a queue.
    ///
    /// Cost: about four probes of a hash table, however many subscriptions there are.
    ///
    /// # Errors
    ///
    /// The subject is not valid: a reason of [`crate::grammar::check`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.matches("orders.eu")?.collect::<Vec<_>>(), [&1]);
    /// assert_eq!(trie.matches("orders")?.next(), None);
    /// assert_eq!(trie.matches("orders.*").unwrap_err().reason(), "wildcard");
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn matches(&self, subject: &str) -> Result<Matches<'_, T>, Error> {
        self.look_up(subject, Index::match_into, |found| {
            Matches::new(&self.values, found)
        })
    }

    /// Appends what [`SubjectTrie::matches`] returns to `values`. Allocates nothing else.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matches`]; then nothing is appended.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// let mut values = Vec::new();
    /// for subject in ["orders.eu", "orders.us", "carts"] {
    ///     trie.matches_into(subject, &mut values)?;
    /// }
    /// assert_eq!(values, [&1, &1]);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn matches_into<'a>(&'a self, subject: &str, values: &mut Vec<&'a T>) -> Result<(), Error> {
        self.look_up(subject, Index::match_into, |found| {
            values.extend(found.iter().filter_map(|&found| self.value(found)));
        })
    }

    /// The subscriptions that match, in order of insertion.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matches`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let orders = trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.subscriptions("orders.eu")?, [orders]);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn subscriptions(&self, subject: &str) -> Result<Vec<Subscription>, Error> {
        self.look_up(subject, Index::match_into, |found| self.handles(found))
    }

    /// The values that a broker would deliver to, in order of insertion: those of all subscriptions
    /// without a queue, and one of each queue group, in turn.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matches`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert_in_queue("orders.*", "workers", "east")?;
    /// trie.insert_in_queue("orders.>", "workers", "west")?;
    /// assert_eq!(trie.select("orders.eu")?.next(), Some(&"east"));
    /// assert_eq!(trie.select("orders.eu")?.next(), Some(&"west"));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn select(&self, subject: &str) -> Result<Matches<'_, T>, Error> {
        self.look_up(subject, Index::select_into, |found| {
            Matches::new(&self.values, found)
        })
    }

    /// The number of matching subscriptions.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matches`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// assert_eq!((trie.count("orders.eu")?, trie.count("orders")?), (1, 0));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn count(&self, subject: &str) -> Result<usize, Error> {
        with_buffers(|buffers| self.index.count(subject, &mut buffers.lookup))
    }

    /// Whether any subscription matches. Stops at the first.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matches`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// assert!(trie.has_interest("orders.eu")?);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn has_interest(&self, subject: &str) -> Result<bool, Error> {
        with_buffers(|buffers| self.index.has_interest(subject, &mut buffers.lookup))
    }

    /// The subscriptions whose pattern has a subject in common with `pattern`, in order of
    /// insertion. The first query by pattern sorts all patterns.
    ///
    /// # Errors
    ///
    /// The pattern is not valid: a reason of [`crate::grammar::check`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let all = trie.insert("orders.>", 1)?;
    /// let new = trie.insert("orders.*.new", 2)?;
    /// assert_eq!(trie.matching("orders.eu.*")?, [all, new]);
    /// assert_eq!(trie.covered_by("*.*.new")?, [new]);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn matching(&self, pattern: &str) -> Result<Vec<Subscription>, Error> {
        Ok(self.handles(&self.index.matching(pattern)?))
    }

    /// The subscriptions whose pattern matches only subjects that `pattern` matches, in order of
    /// insertion. The first query by pattern sorts all patterns.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matching`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// let new = trie.insert("orders.*.new", 2)?;
    /// assert_eq!(trie.covered_by("orders.*.*")?, [new]);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn covered_by(&self, pattern: &str) -> Result<Vec<Subscription>, Error> {
        Ok(self.handles(&self.index.covered_by(pattern)?))
    }

    /// For a subject that no subscription matches, the oldest subscription of each of up to `limit`
    /// nearest patterns, with the index of the first token that differs.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::matches`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let new = trie.insert("orders.*.new", 1)?;
    /// assert_eq!(trie.nearest("orders.eu.old", 3)?, [(new, 2)]);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn nearest(
        &self,
        subject: &str,
        limit: usize,
    ) -> Result<Vec<(Subscription, usize)>, Error> {
        let explain =
            |buffers: &mut ThreadBuffers| self.index.explain(subject, limit, &mut buffers.lookup);
        let nearest = with_buffers(explain)?.nearest;
        let handle = |(found, token): (SubscriptionRef, usize)| (self.handle(found), token);
        Ok(nearest.into_iter().map(handle).collect())
    }

    fn look_up<R>(
        &self,
        subject: &str,
        lookup: impl Fn(&Index, &str, &mut Scratch, &mut Vec<SubscriptionRef>) -> Result<(), Error>,
        result: impl FnOnce(&[SubscriptionRef]) -> R,
    ) -> Result<R, Error> {
        with_buffers(|buffers| {
            let found = &mut buffers.found;
            found.clear();
            lookup(&self.index, subject, &mut buffers.lookup, found)?;
            Ok(result(found))
        })
    }
}
