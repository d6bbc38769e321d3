//! The target of batches and of explanations of many subjects: an index or an image.

use super::image::Image;
use super::index::Index;
use super::lookup::Scratch;
use super::lookup::batch::BatchMatches;
use super::lookup::interleaved::match_batch;
use super::prefix::explain::{Explanation, Prepared};
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
pub struct Explainer<'a>(Kind<'a>);

enum Kind<'a> {
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
            Self::Index(index) => Kind::Index(Prepared::new(index)),
            Self::Image(image) => Kind::Image(Prepared::new(image)),
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
            Kind::Index(prepared) => prepared.explain(subject, limit, scratch),
            Kind::Image(prepared) => prepared.explain(subject, limit, scratch),
        }
    }
}
