//! The public index: an [`Index`] with a value for each subscription.

mod collections;
mod lookups;

use std::fmt;

use super::display::Stats;
use super::index::Index;
use super::storage::subscriptions::SubscriptionRef;
use super::subscription::{Subscription, TrieId};
use crate::error::Error;
use crate::grammar::{Bounds, Dialect};

/// Subscriptions to patterns, with values of type `T`, looked up by subject.
///
/// An error changes nothing. A panic in a change, which only a bug of this crate can cause, leaves
/// answers unspecified, as it does with the collections of `std`; a `Mutex` or `RwLock` around the trie is
/// then poisoned, and [`SubjectTrie::clear`] makes it whole again.
///
/// # Examples
///
/// ```
/// use subtrie::{Dialect, SubjectTrie};
///
/// let mut trie = SubjectTrie::new(Dialect::Strict);
/// trie.insert("orders.>", "audit")?;
/// let east = trie.insert_in_queue("orders.*.new", "workers", "east")?;
/// trie.insert_in_queue("orders.eu.*", "workers", "west")?;
///
/// assert!(trie.matches("orders.eu.new")?.eq(&["audit", "east", "west"]));
/// assert!(trie.select("orders.eu.new")?.eq(&["audit", "east"]));
/// assert!(trie.select("orders.eu.new")?.eq(&["audit", "west"]));
/// assert_eq!(trie.remove(east), Some("east"));
/// assert_eq!(trie.get(east), None);
/// # Ok::<(), subtrie::Error>(())
/// ```
pub struct SubjectTrie<T> {
    id: TrieId,
    index: Index,
    /// By slot.
    values: Vec<T>,
}

impl<T> SubjectTrie<T> {
    /// An empty trie with the bounds of the dialect.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let trie = SubjectTrie::<u32>::new(Dialect::Strict);
    /// assert!(trie.is_empty());
    /// ```
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self::with_bounds(dialect, dialect.bounds())
    }

    /// An empty trie for subjects and patterns within `bounds`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Bounds, Dialect, SubjectTrie};
    /// let bounds = Bounds { max_tokens: 2, max_length: 100 };
    /// let mut trie = SubjectTrie::with_bounds(Dialect::Strict, bounds);
    /// assert_eq!(trie.insert("a.b.c", 1).unwrap_err().reason(), "too-many-tokens");
    /// ```
    #[must_use]
    pub fn with_bounds(dialect: Dialect, bounds: Bounds) -> Self {
        Self {
            id: TrieId::unique(),
            index: Index::new(dialect, bounds),
            values: Vec::new(),
        }
    }

    /// Adds a subscription to `pattern`.
    ///
    /// # Errors
    ///
    /// The pattern is not valid (a reason of [`crate::grammar::check`]), or the index is full
    /// (`index-full`). Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// assert!(trie.insert("orders.*.new", 1).is_ok());
    /// let error = trie.insert("orders..new", 2).unwrap_err();
    /// assert_eq!((error.reason(), error.position), ("empty-token", Some(7)));
    /// ```
    pub fn insert(&mut self, pattern: &str, value: T) -> Result<Subscription, Error> {
        self.add(pattern, None, value)
    }

    /// Adds a subscription to `pattern`, as a member of the queue group `queue`.
    ///
    /// # Errors
    ///
    /// As for [`SubjectTrie::insert`], or the queue name is not valid: `queue-empty`,
    /// `queue-whitespace` or, in the strict dialect, `queue-wildcard`. Then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let worker = trie.insert_in_queue("orders.>", "workers", 1)?;
    /// assert_eq!(trie.queue(worker), Some("workers"));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn insert_in_queue(
        &mut self,
        pattern: &str,
        queue: &str,
        value: T,
    ) -> Result<Subscription, Error> {
        self.add(pattern, Some(queue), value)
    }

    fn add(&mut self, pattern: &str, queue: Option<&str>, value: T) -> Result<Subscription, Error> {
        let added = self.index.insert(pattern, queue)?;
        self.values.push(value);
        Ok(self.handle(added))
    }

    /// Removes a subscription and returns its value; `None` if it is not in the trie.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let orders = trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.remove(orders), Some(1));
    /// assert_eq!(trie.remove(orders), None);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn remove(&mut self, subscription: Subscription) -> Option<T> {
        self.find(subscription)?;
        let slot = self.index.remove(subscription.id)?;
        let value = self.values.swap_remove(slot.index());
        if self.values.capacity() > 4 * self.values.len() {
            self.values.shrink_to(2 * self.values.len());
        }
        Some(value)
    }

    /// Removes all subscriptions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// trie.clear();
    /// assert!(trie.is_empty());
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn clear(&mut self) {
        self.index.clear();
        self.values = Vec::new();
    }

    /// The value of a subscription; `None` if it is not in the trie.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let orders = trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.get(orders), Some(&1));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    #[must_use]
    pub fn get(&self, subscription: Subscription) -> Option<&T> {
        self.value(self.find(subscription)?)
    }

    /// The value of a subscription, to be changed; `None` if it is not in the trie.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let orders = trie.insert("orders.>", 1)?;
    /// *trie.get_mut(orders).unwrap() += 1;
    /// assert_eq!(trie.get(orders), Some(&2));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn get_mut(&mut self, subscription: Subscription) -> Option<&mut T> {
        let found = self.find(subscription)?;
        self.values.get_mut(found.slot.index())
    }

    /// The pattern of a subscription; `None` if it is not in the trie.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let orders = trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.pattern(orders).as_deref(), Some("orders.>"));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    #[must_use]
    pub fn pattern(&self, subscription: Subscription) -> Option<String> {
        self.index.pattern(self.find(subscription)?)
    }

    /// The queue group of a subscription; `None` without one, or if it is not in the trie.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let audit = trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.queue(audit), None);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    #[must_use]
    pub fn queue(&self, subscription: Subscription) -> Option<&str> {
        self.index.queue(self.find(subscription)?)
    }

    /// All subscriptions and their values, in order of insertion.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let orders = trie.insert("orders.>", 1)?;
    /// assert_eq!(trie.iter().collect::<Vec<_>>(), [(orders, &1)]);
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (Subscription, &T)> {
        let all = self.index.subscriptions().into_iter();
        all.filter_map(|found| Some((self.handle(found), self.value(found)?)))
    }

    /// The values of all subscriptions, to be changed, in any order.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// trie.values_mut().for_each(|value| *value += 1);
    /// assert_eq!(trie.matches("orders.eu")?.next(), Some(&2));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }

    /// Removes the subscriptions for which `keep` returns false, in order of insertion. If it panics,
    /// those after it stay.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.extend([("orders.>", 1), ("carts.*", 2)]);
    /// trie.retain(|_, value| *value > 1);
    /// assert_eq!((trie.count("orders.eu")?, trie.count("carts.a")?), (0, 1));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(Subscription, &mut T) -> bool) {
        for found in self.index.subscriptions() {
            let subscription = self.handle(found);
            if let Some(value) = self.get_mut(subscription)
                && !keep(subscription, value)
            {
                self.remove(subscription);
            }
        }
    }

    /// The number of subscriptions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// assert_eq!((trie.len(), trie.is_empty()), (1, false));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    #[must_use]
    pub const fn len(&self) -> usize {
        self.index.len()
    }

    /// Counts of subscriptions, patterns and nodes, and an estimate of the memory without values. Cost: all
    /// patterns are read, and sorted first if no query by pattern has done so.
    ///
    /// # Examples
    ///
    /// ```
    /// # use subtrie::{Dialect, SubjectTrie};
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// trie.insert("orders.>", 1)?;
    /// trie.insert("orders.>", 2)?;
    /// let stats = trie.stats();
    /// assert_eq!((stats.subscriptions, stats.patterns), (2, 1));
    /// # Ok::<(), subtrie::Error>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.index.stats()
    }

    /// Whether there are no subscriptions.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    fn value(&self, found: SubscriptionRef) -> Option<&T> {
        self.values.get(found.slot.index())
    }

    const fn handle(&self, found: SubscriptionRef) -> Subscription {
        Subscription {
            trie: self.id,
            id: found.id,
        }
    }

    fn handles(&self, found: &[SubscriptionRef]) -> Vec<Subscription> {
        found.iter().map(|&found| self.handle(found)).collect()
    }

    /// A subscription of this trie that is still in it.
    fn find(&self, subscription: Subscription) -> Option<SubscriptionRef> {
        if subscription.trie != self.id {
            return None;
        }
        self.index.find(subscription.id)
    }
}

/// The clone is another trie: the handles of this one mean nothing to it.
impl<T: Clone> Clone for SubjectTrie<T> {
    fn clone(&self) -> Self {
        Self {
            id: TrieId::unique(),
            index: self.index.clone(),
            values: self.values.clone(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for SubjectTrie<T> {
    /// Writes a map from patterns to values, in order of insertion.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.iter().map(|(subscription, value)| {
            let pattern = self.pattern(subscription).unwrap_or_default();
            (pattern, value)
        });
        f.debug_map().entries(rows).finish()
    }
}

impl<T> fmt::Display for SubjectTrie<T> {
    /// Writes the patterns as a tree, with the numbers of their subscriptions.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.index.fmt(out)
    }
}
