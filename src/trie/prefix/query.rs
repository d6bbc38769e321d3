//! Queries by pattern: which patterns have a subject in common with a query, or are covered by it.

use super::prefixes::{Prefix, Prefixes};
use crate::error::Error;
use crate::trie::index::Index;
use crate::trie::lookup::append_subscriptions;
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
        let mut tokens: Vec<&str> = query.split('.').collect();
        let tail = tokens.last() == Some(&">");
        if tail {
            tokens.pop();
        }
        let mut search = PrefixSearch {
            prefixes: Prefixes::new(self),
            tokens,
            tail,
            relation,
            found: Vec::new(),
            work: 0,
        };
        search.run();
        let mut found = Vec::with_capacity(search.found.len());
        for block in search.found {
            append_subscriptions(self, block, &mut found);
        }
        found.sort_unstable();
        Ok((found, search.work))
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

struct PrefixSearch<'a, 'q> {
    prefixes: Prefixes<'a, Index>,
    /// The query without a final `>`.
    tokens: Vec<&'q str>,
    tail: bool,
    relation: Relation,
    found: Vec<&'a [u64]>,
    work: usize,
}

impl PrefixSearch<'_, '_> {
    fn run(&mut self) {
        let overlap = self.relation == Relation::Overlap;
        let mut pending = vec![(self.prefixes.root(), 0)];
        while let Some((prefix, depth)) = pending.pop() {
            self.work += 1;
            let Some(&token) = self.tokens.get(depth) else {
                self.add_all(prefix);
                continue;
            };
            let tail = self.prefixes.tail(prefix);
            if overlap && let Some(place) = tail {
                // The `>` of a pattern takes this token of the query and all that follow.
                self.add(place);
            }
            if token == "*" {
                let children = self.prefixes.children(prefix);
                let children = children.filter(|child| Some(child.start) != tail);
                pending.extend(children.map(|child| (child, depth + 1)));
            } else {
                let children = [Some(token), overlap.then_some("*")];
                for child in children.into_iter().flatten() {
                    if let Some(below) = self.prefixes.child(prefix, child.as_bytes()) {
                        pending.push((below, depth + 1));
                    }
                }
            }
        }
    }

    /// Adds the pattern at a place in the order.
    fn add(&mut self, place: usize) {
        self.work += 1;
        self.found.push(self.prefixes.block(place));
    }

    /// Adds what a prefix that agrees with all tokens of the query leads to.
    fn add_all(&mut self, prefix: Prefix) {
        match (self.prefixes.exact(prefix), self.tail) {
            (Some(place), false) => self.add(place),
            (None, false) => {}
            (exact, true) => {
                let start = prefix.start + usize::from(exact.is_some());
                (start..prefix.end).for_each(|place| self.add(place));
            }
        }
    }
}
