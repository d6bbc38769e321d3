//! Lookups of an index: what matches a subject.

use super::Index;
use crate::error::Error;
use crate::trie::lookup::{Scratch, count, has_interest, match_into};
use crate::trie::storage::subscriptions::SubscriptionRef;

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
