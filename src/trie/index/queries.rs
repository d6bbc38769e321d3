//! Queries of an index by pattern, and explanations.

use super::Index;
use crate::error::Error;
use crate::trie::lookup::{Scratch, append_subscriptions};
use crate::trie::prefix::explain::{Explanation, explain_once};
use crate::trie::prefix::query::{Relation, query_blocks};
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
        let (blocks, work) = query_blocks(self, query, relation)?;
        let mut found = Vec::with_capacity(blocks.len());
        for block in blocks {
            append_subscriptions(self, block, &mut found);
        }
        found.sort_unstable();
        Ok((found, work))
    }
}

impl Index {
    /// Explains a subject with up to `limit` nearest patterns.
    ///
    /// Cost: a lookup; if nothing matches, also the patterns below the deepest prefixes that agree.
    /// [`Scratch::work`] counts both. The first query by pattern sorts all patterns.
    ///
    /// # Errors
    ///
    /// The subject is not valid: a reason of [`crate::grammar::check`].
    pub fn explain(
        &self,
        subject: &str,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<Explanation, Error> {
        explain_once(self, subject, limit, scratch)
    }
}
