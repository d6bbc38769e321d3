//! Batch lookup: what each of many subjects matches, as plain numbers.
//!
//! If the index fits in the cache, one lookup after another is fastest. Beyond that lookups are
//! interleaved (see [`super::interleaved`]).

use super::interleaved::{self, MIN_INDEX_BYTES};
use super::{Scratch, SubscriptionRef, View, match_into};
use crate::trie::image::Image;
use crate::trie::index::Index;

/// The matches of many subjects: ids, one subject's after another's.
#[derive(Debug, Default)]
pub struct BatchMatches {
    /// The ids of all subjects; each subject's in ascending order.
    pub ids: Vec<u64>,
    /// The end of the ids of each subject.
    pub ends: Vec<usize>,
    /// Whether each row is a valid subject.
    pub valid: Vec<bool>,
}

impl BatchMatches {
    /// Looks up one subject, and appends what it matches.
    pub(super) fn look_up<V: View>(
        &mut self,
        view: &V,
        subject: Option<&[u8]>,
        scratch: &mut Scratch,
    ) {
        let mut found = std::mem::take(&mut scratch.found);
        found.clear();
        let valid =
            subject.is_some_and(|subject| match_into(view, subject, scratch, &mut found).is_ok());
        self.push(valid, &found);
        scratch.found = found;
    }

    /// Appends what the next subject matches: nothing if it is not valid.
    pub(super) fn push(&mut self, valid: bool, found: &[SubscriptionRef]) {
        if valid {
            self.ids
                .extend(found.iter().map(|subscription| subscription.id));
        }
        self.ends.push(self.ids.len());
        self.valid.push(valid);
    }
}

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
            Self::Index(index) if index.lookup_memory() > MIN_INDEX_BYTES => {
                interleaved::match_batch(index, subjects, scratch, batch);
            }
            Self::Image(image) if image.lookup_memory() > MIN_INDEX_BYTES => {
                interleaved::match_batch(image, subjects, scratch, batch);
            }
            Self::Index(index) => one_by_one(index, subjects, scratch, batch),
            Self::Image(image) => one_by_one(image, subjects, scratch, batch),
        }
    }
}

fn one_by_one<'t, V: View>(
    view: &V,
    subjects: impl Iterator<Item = Option<&'t [u8]>>,
    scratch: &mut Scratch,
    batch: &mut BatchMatches,
) {
    for subject in subjects {
        batch.look_up(view, subject, scratch);
    }
}
