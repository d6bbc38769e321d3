//! Queries of an image by pattern, and explanations, in place.
//!
//! A record of an image does not name its pattern, so these queries go by packed pattern, and return
//! the text of each with its subscriptions.

use std::sync::Arc;

use super::layout::RECORD;
use super::restore::split_links;
use super::{Image, ImageSubscription};
use crate::error::{Error, ErrorKind};
use crate::trie::lookup::{Scratch, append_subscriptions, matching_blocks};
use crate::trie::pattern::packed_pattern::{packed_len, unpack};
use crate::trie::prefix::explain::nearest_once;
use crate::trie::prefix::prefixes::Prefixes;
use crate::trie::prefix::query::{Relation, query_blocks};
use crate::trie::storage::queue_names::QueueId;
use crate::trie::storage::subscriptions::SubscriptionRef;

/// The subscriptions of an image that match a subject, or the nearest patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageExplanation {
    /// The subscriptions that match, in ascending id.
    pub matches: Vec<ImageSubscription>,
    /// If none matches: the oldest subscription of each of the nearest patterns, with the index of
    /// the first token that differs.
    pub nearest: Vec<(ImageSubscription, usize)>,
}

/// Describes subscriptions of an image.
struct Describer<'a> {
    image: &'a Image<'a>,
    /// Read when the first member of a group is described.
    queue_names: Option<Vec<Arc<str>>>,
}

impl Describer<'_> {
    /// The subscription of a pattern.
    fn describe(
        &mut self,
        found: SubscriptionRef,
        pattern: &Arc<str>,
    ) -> Result<ImageSubscription, Error> {
        let damaged = || Error::new(ErrorKind::ImageDamaged);
        let words = self.image.records.get(found.slot.index() * RECORD..);
        let record = words.unwrap_or_default().first_chunk::<RECORD>();
        let &[id, links, turn] = record.ok_or_else(damaged)?;
        let queue = match split_links(links).1 {
            QueueId::NONE => None,
            QueueId(number) => {
                if self.queue_names.is_none() {
                    self.queue_names = Some(self.image.queue_names()?);
                }
                let names = self.queue_names.as_deref().unwrap_or_default();
                Some(names.get(number as usize).ok_or_else(damaged)?.clone())
            }
        };
        Ok(ImageSubscription {
            id,
            pattern: pattern.clone(),
            queue,
            turn,
        })
    }

    /// All subscriptions of packed patterns, in ascending id.
    fn describe_all(&mut self, blocks: &[&[u64]]) -> Result<Vec<ImageSubscription>, Error> {
        let mut all = Vec::with_capacity(blocks.len());
        let mut found = Vec::new();
        for block in blocks {
            let pattern = pattern_of(block)?;
            // In one vector: the lists of a damaged image may form cycles, and end together.
            let start = found.len();
            append_subscriptions(self.image, block, &mut found);
            for &subscription in &found[start..] {
                all.push(self.describe(subscription, &pattern)?);
            }
        }
        all.sort_unstable_by_key(|one| one.id);
        Ok(all)
    }
}

/// The text of a packed pattern.
fn pattern_of(block: &[u64]) -> Result<Arc<str>, Error> {
    let block = block.get(..packed_len(block));
    let block = block.ok_or(Error::new(ErrorKind::ImageDamaged))?;
    Ok(unpack(block).into())
}

impl Image<'_> {
    fn describer(&self) -> Describer<'_> {
        Describer {
            image: self,
            queue_names: None,
        }
    }

    fn query(&self, query: &str, relation: Relation) -> Result<Vec<ImageSubscription>, Error> {
        let (blocks, _) = query_blocks(self, query, relation)?;
        self.describer().describe_all(&blocks)
    }

    /// As [`Index::matching`](crate::trie::Index::matching).
    ///
    /// # Errors
    ///
    /// The query is not a valid pattern, or `image-damaged`.
    pub fn matching(&self, query: &str) -> Result<Vec<ImageSubscription>, Error> {
        self.query(query, Relation::Overlap)
    }

    /// As [`Index::covered_by`](crate::trie::Index::covered_by).
    ///
    /// # Errors
    ///
    /// As for [`Image::matching`].
    pub fn covered_by(&self, query: &str) -> Result<Vec<ImageSubscription>, Error> {
        self.query(query, Relation::Cover)
    }

    /// Whether a subscription has exactly this pattern. Cost: as for [`Image::matching`].
    #[must_use]
    pub fn contains_pattern(&self, pattern: &str) -> bool {
        query_blocks(self, pattern, Relation::Equal).is_ok_and(|(blocks, _)| !blocks.is_empty())
    }

    /// The subscriptions that match a subject, in ascending id.
    ///
    /// # Errors
    ///
    /// The subject is not valid, or `image-damaged`.
    pub fn subscriptions_of(
        &self,
        subject: &str,
        scratch: &mut Scratch,
    ) -> Result<Vec<ImageSubscription>, Error> {
        let mut blocks = matching_blocks(self, subject.as_bytes(), scratch)?;
        // Two nodes with equal keys would report a pattern twice.
        blocks.sort_unstable_by_key(|block| block.as_ptr());
        blocks.dedup_by_key(|block| block.as_ptr());
        self.describer().describe_all(&blocks)
    }

    /// As [`Index::explain`](crate::trie::Index::explain).
    ///
    /// # Errors
    ///
    /// As for [`Image::subscriptions_of`].
    pub fn explain(
        &self,
        subject: &str,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<ImageExplanation, Error> {
        let matches = self.subscriptions_of(subject, scratch)?;
        let mut nearest = Vec::new();
        if matches.is_empty() && limit > 0 {
            let prefixes = Prefixes::new(self);
            let mut describer = self.describer();
            for near in nearest_once(&prefixes, subject, limit, scratch) {
                let pattern = pattern_of(prefixes.block(near.place))?;
                nearest.push((describer.describe(near.first, &pattern)?, near.token));
            }
        }
        Ok(ImageExplanation { matches, nearest })
    }
}
