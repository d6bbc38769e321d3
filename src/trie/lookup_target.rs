//! The source of lookups: an index in memory, or an image; what both are asked.

use super::image::Image;
use super::index::Index;
use super::lookup::batch::BatchMatches;
use super::lookup::interleaved::match_batch;
use super::lookup::{Scratch, count, has_interest, match_into};
use super::prefix::explain::{Explanation, Prepared};
use super::storage::subscriptions::SubscriptionRef;
use crate::error::Error;

/// The source of a lookup: an index in memory, or an image.
#[derive(Clone, Copy)]
pub enum LookupTarget<'a> {
    /// An index in memory.
    Index(&'a Index),
    /// An image.
    Image(&'a Image<'a>),
}

impl LookupTarget<'_> {
    /// Appends the subscriptions that match, in ascending id, to `found`, as [`Index::match_into`].
    /// Slots are those of the target.
    ///
    /// # Errors
    ///
    /// The subject is not valid: a reason of [`crate::grammar::check`].
    #[inline]
    pub fn match_into(
        self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<SubscriptionRef>,
    ) -> Result<(), Error> {
        match self {
            Self::Index(index) => match_into(index, subject.as_bytes(), scratch, found),
            Self::Image(image) => match_into(image, subject.as_bytes(), scratch, found),
        }
    }

    /// The number of matching subscriptions.
    ///
    /// # Errors
    ///
    /// As for [`LookupTarget::match_into`].
    #[inline]
    pub fn count(self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        match self {
            Self::Index(index) => count(index, subject, scratch),
            Self::Image(image) => count(image, subject, scratch),
        }
    }

    /// Whether any subscription matches. Compares no pattern after the first that does.
    ///
    /// # Errors
    ///
    /// As for [`LookupTarget::match_into`].
    #[inline]
    pub fn has_interest(self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        match self {
            Self::Index(index) => has_interest(index, subject, scratch),
            Self::Image(image) => has_interest(image, subject, scratch),
        }
    }

    /// The number of subscriptions.
    #[must_use]
    pub const fn subscriptions(self) -> usize {
        match self {
            Self::Index(index) => index.len(),
            Self::Image(image) => image.len(),
        }
    }

    /// Looks up subjects, and appends what they match to `batch`. `None` is not a valid subject.
    pub fn match_batch<'t>(
        self,
        subjects: impl Iterator<Item = Option<&'t [u8]>>,
        scratch: &mut Scratch,
        batch: &mut BatchMatches,
    ) {
        match self {
            Self::Index(index) => {
                match_batch(index, subjects, scratch, batch);
            }
            Self::Image(image) => {
                match_batch(image, subjects, scratch, batch);
            }
        }
    }
}

/// Explains many subjects: the patterns are prepared once, and each explanation is then cheap
/// however many patterns are near.
pub struct Explainer<'a>(PreparedTarget<'a>);

enum PreparedTarget<'a> {
    Index(Prepared<'a, Index>),
    Image(Prepared<'a, Image<'a>>),
}

impl<'a> LookupTarget<'a> {
    /// Prepares explanations of many subjects.
    ///
    /// Cost: all patterns, and eight bytes of memory for each and for each pair.
    #[must_use]
    pub fn explainer(self) -> Explainer<'a> {
        Explainer(match self {
            Self::Index(index) => PreparedTarget::Index(Prepared::new(index)),
            Self::Image(image) => PreparedTarget::Image(Prepared::new(image)),
        })
    }
}

impl Explainer<'_> {
    /// Explains a subject with up to `limit` nearest patterns, as [`Index::explain`].
    ///
    /// Cost: a lookup; if nothing matches, also searches in the sorted patterns for each level and
    /// each result.
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
        match &self.0 {
            PreparedTarget::Index(prepared) => prepared.explain(subject, limit, scratch),
            PreparedTarget::Image(prepared) => prepared.explain(subject, limit, scratch),
        }
    }
}
