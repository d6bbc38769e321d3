//! Batch lookup: what each of many subjects matches, as plain numbers.
//!
//! Lookups are interleaved (see [`super::interleaved`]).

use super::{Scratch, View, interleaved, later_subscriptions};
use crate::trie::image::Image;
use crate::trie::index::Index;
use crate::trie::pattern::packed_pattern::list_ends;
use crate::trie::storage::subscriptions::Slot;

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
    /// Appends the ids of the patterns that one subject matches, in ascending order.
    #[inline]
    pub(super) fn append<'v, V: View>(
        &mut self,
        view: &'v V,
        patterns: impl Iterator<Item = &'v [u64]>,
    ) {
        let start = self.ids.len();
        for block in patterns {
            let (first, last, id) = list_ends(block);
            self.ids.push(id);
            if first != last {
                self.append_later(view, first, start);
            }
        }
        if self.ids.len() > start + 1 {
            self.sort(start);
        }
    }

    #[cold]
    fn append_later<V: View>(&mut self, view: &V, first: Slot, start: usize) {
        let later = later_subscriptions(view, first, self.ids.len() - start);
        self.ids.extend(later.map(|subscription| subscription.id));
    }

    /// Sorts the ids of the last subject, and removes repeated ones as [`super::sort_dedup`] does.
    fn sort(&mut self, start: usize) {
        self.ids[start..].sort_unstable();
        let mut kept = start + 1;
        for at in start + 1..self.ids.len() {
            if self.ids[at] != self.ids[kept - 1] {
                self.ids[kept] = self.ids[at];
                kept += 1;
            }
        }
        self.ids.truncate(kept);
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
            Self::Index(index) => interleaved::match_batch(index, subjects, scratch, batch),
            Self::Image(image) => interleaved::match_batch(image, subjects, scratch, batch),
        }
    }
}
