//! The index: an adaptive hash trie of patterns that stores ids, without values.

// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

pub(super) mod queue_groups;

use std::sync::Arc;

use crate::error::Error;
use crate::grammar::scan::Kernel;
use crate::grammar::{Bounds, Dialect, Form, check};
use crate::trie::address::{BlockAddr, LeafAddr, Slot};
use crate::trie::hash::{NodeKey, TokenHasher};
use crate::trie::lookup::{Scratch, count, has_interest, match_into};
use crate::trie::node::{Branch, Node};
use crate::trie::pattern::packed_pattern::{list_ends, unpack};
use crate::trie::pattern::parsed_pattern::ParsedPattern;
use crate::trie::prefix::sorted_patterns::SortedPatterns;
use crate::trie::storage::hash_table::HashTable;
use crate::trie::storage::leaf::Leaves;
use crate::trie::storage::pattern_table::{PatternNumber, PatternTable};
use crate::trie::storage::probe_table::Entry;
use crate::trie::storage::slab::Slab;
use crate::trie::storage::subscriptions::{SubscriptionRef, Subscriptions};
use crate::trie::view::View;

/// An index of patterns. A clone is independent, with the same ids and turns.
///
/// It returns ids and slots; a caller keeps its values in a vector by slot.
/// [`SubjectTrie`](super::SubjectTrie) does so.
pub struct Index {
    pub(in crate::trie) dialect: Dialect,
    pub(in crate::trie) bounds: Bounds,
    pub(in crate::trie) hasher: TokenHasher,
    /// The root node, which is not in the hash table.
    pub(in crate::trie) root: Node,
    /// All other nodes.
    pub(in crate::trie) nodes: HashTable,
    pub(in crate::trie) leaves: Leaves,
    /// The packed patterns.
    pub(in crate::trie) patterns: Slab<BlockAddr>,
    /// The addresses of the packed patterns, by number.
    pub(in crate::trie) pattern_table: PatternTable,
    pub(in crate::trie) subscriptions: Subscriptions,
    pub(in crate::trie) pattern_count: usize,
    pub(in crate::trie) branch_count: usize,
    /// The root selected with many patterns in view, if it was; a rebuild begins with it.
    pub(in crate::trie) selected_root: Option<Branch>,
    /// The number of patterns that the root was last selected for.
    pub(in crate::trie) selected_for: usize,
    /// The order of the patterns, from the first query by pattern on.
    pub(in crate::trie) sorted: SortedPatterns,
    /// Memory for the pattern being inserted or removed.
    pub(in crate::trie) scratch: ParsedPattern,
}

impl Clone for Index {
    fn clone(&self) -> Self {
        Self {
            nodes: self.nodes.clone(),
            leaves: self.leaves.clone(),
            patterns: self.patterns.clone(),
            pattern_table: self.pattern_table.clone(),
            subscriptions: self.subscriptions.clone(),
            sorted: SortedPatterns::default(),
            scratch: ParsedPattern::default(),
            ..*self
        }
    }
}

impl Index {
    /// An empty index for subjects and patterns of `dialect` within `bounds`.
    #[must_use]
    pub fn new(dialect: Dialect, bounds: Bounds) -> Self {
        Self {
            dialect,
            bounds,
            hasher: TokenHasher::random(false),
            root: Node::EMPTY,
            nodes: HashTable::new(),
            leaves: Leaves::default(),
            patterns: Slab::default(),
            pattern_table: PatternTable::default(),
            subscriptions: Subscriptions::default(),
            pattern_count: 0,
            branch_count: 0,
            selected_root: None,
            selected_for: 0,
            sorted: SortedPatterns::default(),
            scratch: ParsedPattern::default(),
        }
    }

    /// The number of subscriptions.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// Whether there are no subscriptions.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of the next subscription.
    #[must_use]
    pub const fn next_id(&self) -> u64 {
        self.subscriptions.next_id()
    }

    /// All subscriptions, in ascending id.
    #[must_use]
    pub fn subscriptions(&self) -> Vec<SubscriptionRef> {
        self.subscriptions.references()
    }

    /// The subscription with this id, if it is in the index.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<SubscriptionRef> {
        self.subscriptions.find(id)
    }

    /// The queue name of a subscription; `None` without one, and once it is removed.
    #[must_use]
    pub fn queue(&self, subscription: SubscriptionRef) -> Option<&str> {
        let slot = self.subscriptions.current_slot(subscription)?;
        let queue = self.subscriptions.queue(slot);
        self.subscriptions.queue_names.name(queue)
    }

    /// The number of times the group led by this subscription was served; 0 once it is removed.
    #[must_use]
    pub fn turn(&self, subscription: SubscriptionRef) -> u64 {
        let slot = self.subscriptions.current_slot(subscription);
        slot.map_or(0, |slot| self.subscriptions.turn(slot))
    }

    /// The pattern of a subscription; `None` once it is removed. Cost: its length.
    #[must_use]
    pub fn pattern(&self, subscription: SubscriptionRef) -> Option<String> {
        let slot = self.subscriptions.current_slot(subscription)?;
        let record = self.subscriptions.get(slot)?;
        let address = self.pattern_table.address(record.pattern);
        Some(unpack(self.patterns.get(address)))
    }

    /// The number of a subscription's pattern, if other subscriptions have the same pattern.
    #[must_use]
    pub fn shared_pattern(&self, subscription: SubscriptionRef) -> Option<u32> {
        let slot = self.subscriptions.current_slot(subscription)?;
        let record = self.subscriptions.get(slot)?;
        let is_shared = record.next != Slot::NONE || record.previous != Slot::NONE;
        is_shared.then(|| record.pattern.number())
    }

    /// The number of the pattern in a block: that of its first subscription.
    pub(in crate::trie) fn pattern_number(&self, block: &[u64]) -> PatternNumber {
        let (first, _, _) = list_ends(block);
        let record = self.subscriptions.get(first);
        record.map_or(PatternNumber::NONE, |record| record.pattern)
    }

    /// Validates a pattern. Cost: its length.
    ///
    /// # Errors
    ///
    /// The pattern is not valid: a reason of [`crate::grammar::check`].
    pub fn check_pattern(&self, pattern: &str) -> Result<(), Error> {
        check(pattern, Form::Pattern, self.dialect, self.bounds)
    }
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
    fn home(&self, key: NodeKey) -> usize {
        self.nodes.home(key)
    }

    #[inline]
    fn entry_at(&self, key: NodeKey, home: usize) -> Option<&Entry> {
        self.nodes.entry_at(key, home)
    }

    #[inline(always)]
    fn entries<K: Kernel>(&self, kernel: K, key: NodeKey, home: usize) -> &[Entry] {
        self.nodes.entries_from(kernel, key, home)
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

    fn sorted_patterns(&self) -> (Arc<Vec<BlockAddr>>, usize) {
        self.sorted.order(self)
    }

    #[inline]
    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds)
    }
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

#[cfg(test)]
mod tests {
    use super::Index;
    use crate::grammar::Dialect;
    use crate::trie::storage::subscriptions::reads::counted;

    /// Neither the pattern of a subscription nor its removal depends on how many there are.
    #[test]
    fn the_pattern_of_a_subscription_is_found_in_constant_time() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        let made: Vec<_> = (0..8000)
            .map(|_| index.insert("a.*", None).unwrap())
            .collect();
        for subscription in &made {
            let reads = counted(|| {
                assert_eq!(index.pattern(*subscription).as_deref(), Some("a.*"));
            });
            assert!(reads <= 2, "{reads}");
        }
        assert!(!index.to_string().is_empty());
        // From the middle out, with sorted patterns.
        for subscription in made[4000..].iter().chain(&made[..4000]) {
            let reads = counted(|| assert!(index.remove(subscription.id).is_some()));
            assert!(reads <= 8, "{reads}");
        }
        assert!(index.is_empty());
    }

    /// A packed pattern with many subscriptions moves at the cost of one.
    #[test]
    fn a_pattern_with_many_subscriptions_moves_in_constant_time() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        let others: Vec<u64> = (0..500)
            .map(|n| index.insert(&format!("b.{n:03}"), None).unwrap().id)
            .collect();
        let many: Vec<_> = (0..3000)
            .map(|_| index.insert("a.xyz", None).unwrap())
            .collect();
        for id in others {
            let reads = counted(|| assert!(index.remove(id).is_some()));
            assert!(reads <= 12, "{reads}");
            let found = index.find(many[1500].id).unwrap();
            assert_eq!(index.pattern(found).as_deref(), Some("a.xyz"));
        }
    }
}
