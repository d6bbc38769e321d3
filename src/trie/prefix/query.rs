//! Queries by pattern: which patterns overlap a query, and which it covers.
//!
//! Both follow the prefixes that agree with the query; a final `>` takes whole subtrees.

use super::sorted_patterns::{SortedPatterns, join};
use crate::error::Error;
use crate::trie::index::Index;
use crate::trie::lookup::append_subscriptions;
use crate::trie::pattern::packed_pattern::{BlockAddr, unpack};
use crate::trie::storage::subscriptions::SubscriptionRef;

impl Index {
    /// The subscriptions whose pattern has a subject in common with `query`, in ascending id.
    ///
    /// Cost: a search in the sorted patterns for each prefix that agrees with the query. The first
    /// query by pattern sorts all patterns.
    ///
    /// # Errors
    ///
    /// The query is not a valid pattern: a reason of [`crate::grammar::check`].
    pub fn matching(&self, query: &str) -> Result<Vec<SubscriptionRef>, Error> {
        Ok(self.query(query, Relation::Overlap)?.0)
    }

    /// The subscriptions whose pattern matches only subjects that `query` matches, in ascending id.
    ///
    /// Cost: as for [`Index::matching`].
    ///
    /// # Errors
    ///
    /// As for [`Index::matching`].
    pub fn covered_by(&self, query: &str) -> Result<Vec<SubscriptionRef>, Error> {
        Ok(self.query(query, Relation::Cover)?.0)
    }

    /// The number of prefixes and patterns that [`Index::matching`] (if `overlap`) or
    /// [`Index::covered_by`] visits.
    ///
    /// # Errors
    ///
    /// As for [`Index::matching`].
    pub fn query_work(&self, query: &str, overlap: bool) -> Result<usize, Error> {
        let relation = if overlap {
            Relation::Overlap
        } else {
            Relation::Cover
        };
        Ok(self.query(query, relation)?.1)
    }

    fn query(
        &self,
        query: &str,
        relation: Relation,
    ) -> Result<(Vec<SubscriptionRef>, usize), Error> {
        self.check_pattern(query)?;
        let sorted = self.sorted_patterns();
        let mut tokens: Vec<&str> = query.split('.').collect();
        let tail = tokens.last() == Some(&">");
        if tail {
            tokens.pop();
        }
        let mut search = PrefixSearch {
            sorted,
            tokens,
            tail,
            relation,
            ids: Vec::new(),
            work: 0,
        };
        search.run();
        let mut ids = search.ids;
        ids.sort_unstable();
        Ok((self.references(&ids), search.work))
    }

    /// The sorted patterns. The first call sorts them.
    pub(in crate::trie) fn sorted_patterns(&self) -> &SortedPatterns {
        self.sorted.get_or_init(|| {
            let all = self
                .pattern_addresses()
                .flat_map(|address| self.pattern_and_ids(address));
            SortedPatterns::new(all)
        })
    }

    /// The subscriptions with these ids, which are all in the index.
    pub(super) fn references(&self, ids: &[u64]) -> Vec<SubscriptionRef> {
        ids.iter().filter_map(|&id| self.find(id)).collect()
    }

    fn pattern_and_ids(&self, address: BlockAddr) -> impl Iterator<Item = (String, u64)> {
        let block = self.patterns.get(address);
        let mut subscriptions = Vec::new();
        append_subscriptions(self, block, &mut subscriptions);
        let text = unpack(block);
        subscriptions
            .into_iter()
            .map(move |subscription| (text.clone(), subscription.id))
    }
}

/// The relation that a pattern must have to the query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// They have a subject in common.
    Overlap,
    /// The query covers the pattern.
    Cover,
}

struct PrefixSearch<'a> {
    sorted: &'a SortedPatterns,
    /// The query without a final `>`.
    tokens: Vec<&'a str>,
    tail: bool,
    relation: Relation,
    ids: Vec<u64>,
    work: usize,
}

impl PrefixSearch<'_> {
    fn run(&mut self) {
        let overlap = self.relation == Relation::Overlap;
        let mut pending = vec![(String::new(), 0)];
        while let Some((prefix, depth)) = pending.pop() {
            self.work += 1;
            let Some(&token) = self.tokens.get(depth) else {
                self.add_all(&prefix);
                continue;
            };
            if overlap {
                // The `>` of a pattern takes this token of the query and all that follow.
                self.add(&join(&prefix, ">"));
            }
            if token == "*" {
                let children = self.sorted.children(&prefix).filter(|child| child != ">");
                pending.extend(children.map(|child| (join(&prefix, &child), depth + 1)));
            } else {
                let children = [Some(token), overlap.then_some("*")];
                for child in children.into_iter().flatten() {
                    let below = join(&prefix, child);
                    if self.sorted.has_prefix(&below) {
                        pending.push((below, depth + 1));
                    }
                }
            }
        }
    }

    /// Adds the subscriptions of exactly this pattern.
    fn add(&mut self, pattern: &str) {
        self.work += 1;
        self.ids.extend(self.sorted.ids_of(pattern));
    }

    /// Adds what a prefix that agrees with all tokens of the query leads to.
    fn add_all(&mut self, prefix: &str) {
        if !self.tail {
            self.add(prefix);
            return;
        }
        for (pattern, ids) in self.sorted.with_prefix(prefix) {
            self.work += 1;
            if pattern.len() > prefix.len() {
                self.ids.extend(ids);
            }
        }
    }
}
