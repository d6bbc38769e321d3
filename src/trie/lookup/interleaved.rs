//! Interleaved lookups with prefetch (group prefetching: Chen and others 2007).
//!
//! A lookup in an index larger than the cache mostly waits for memory: for nodes and packed patterns.
//! Here a group of lookups does each phase for all subjects before the next: all are tokenised, then
//! all are walked, then all candidates are compared. What a later step reads is prefetched. In a
//! smaller index the processor predicts the branches of one phase better than those of a whole lookup.
// As in the parent module: a lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::batch::BatchMatches;
use super::walk::{Candidate, Walk};
use super::{Scratch, Subject, later_subscriptions};
use crate::grammar::scan::{Kernel, Task, with_best_kernel};
use crate::trie::pattern::packed_pattern::{list_ends, matches};
use crate::trie::prefetch::prefetch_pattern;
use crate::trie::view::View;

/// Subjects of a group. Fewer leave memory idle, more evict each other's lines from the first
/// cache. The record keeps the chosen width only (`batch` in `benches/records/peers-2026-11-21.json`).
const WIDTH: usize = 32;

/// Candidates that are prefetched before the first is compared: usually all of a group.
const PREFETCHED: usize = 64;

/// Memory that groups reuse.
#[derive(Default)]
pub(super) struct GroupScratch {
    subjects: Vec<Subject>,
    walk: Walk,
    /// The ids that match.
    found: Found,
}

/// The ids that the subjects of a group match.
#[derive(Default)]
pub(super) struct Found {
    /// The first id that was found for each subject, and how many were.
    first: [(u64, u32); WIDTH],
    /// The other ids, each with the place of its subject in the group.
    others: Vec<(u32, u64)>,
}

impl Found {
    fn clear(&mut self) {
        self.first = [(0, 0); WIDTH];
        self.others.clear();
    }

    #[inline(always)]
    fn add(&mut self, subject: u32, id: u64) {
        if let Some((first, count)) = self.first.get_mut(subject as usize) {
            if *count == 0 {
                *first = id;
            } else {
                self.others.push((subject, id));
            }
            *count += 1;
        }
    }

    /// Appends the ids to those of a batch.
    #[inline(always)]
    fn append_to(&mut self, batch: &mut BatchMatches, valid: &[bool]) {
        let first = self.first.get(..valid.len()).unwrap_or_default();
        if self.others.is_empty() {
            batch.append_one_each(first, valid);
            return;
        }
        for (&(id, count), subject) in first.iter().zip(0..) {
            if count > 0 {
                self.others.push((subject, id));
            }
        }
        batch.append(&self.others, valid);
    }
}

/// Looks up subjects, a group at a time, and appends what they match.
pub(in crate::trie) fn match_batch<'t, V: View>(
    view: &V,
    subjects: impl Iterator<Item = Option<&'t [u8]>>,
    scratch: &mut Scratch,
    batch: &mut BatchMatches,
) {
    with_best_kernel(MatchBatch {
        view,
        subjects,
        group: &mut scratch.group,
        batch,
    });
}

struct MatchBatch<'a, V, I> {
    view: &'a V,
    subjects: I,
    group: &'a mut GroupScratch,
    batch: &'a mut BatchMatches,
}

impl<'t, V: View, I: Iterator<Item = Option<&'t [u8]>>> Task for MatchBatch<'_, V, I> {
    type Output = ();

    #[inline(always)]
    fn run<K: Kernel>(mut self, kernel: K) {
        let GroupScratch {
            subjects,
            walk,
            found,
        } = self.group;
        subjects.resize_with(WIDTH, Subject::default);
        let mut texts: [&[u8]; WIDTH] = [&[]; WIDTH];
        let mut valid = [false; WIDTH];
        loop {
            let mut count = 0;
            walk.start();
            let places = subjects.iter_mut().zip(&mut texts).zip(&mut valid);
            for (((subject, place), is_valid), number) in places.zip(0..) {
                let Some(text) = self.subjects.next() else {
                    break;
                };
                count += 1;
                *is_valid = false;
                if let Some(text) = text {
                    *place = text;
                    if subject.read(kernel, self.view, text).is_ok() {
                        *is_valid = true;
                        walk.visit_root(self.view, number, text, subject);
                    }
                }
            }
            let texts = texts.get(..count).unwrap_or_default();
            walk.visit_all(kernel, self.view, texts, subjects);
            found.clear();
            compare(kernel, self.view, texts, subjects, walk.candidates(), found);
            let valid = valid.get(..count).unwrap_or_default();
            found.append_to(self.batch, valid);
            if count < WIDTH {
                return;
            }
        }
    }
}

/// Finds the ids of the candidates that match.
#[inline(always)]
fn compare<K: Kernel, V: View>(
    kernel: K,
    view: &V,
    texts: &[&[u8]],
    subjects: &[Subject],
    candidates: &[Candidate],
    found: &mut Found,
) {
    let mut blocks: [&[u64]; PREFETCHED] = [&[]; PREFETCHED];
    for candidates in candidates.chunks(PREFETCHED) {
        for (candidate, place) in candidates.iter().zip(&mut blocks) {
            *place = view.pattern(candidate.pattern);
            prefetch_pattern(place);
        }
        for (candidate, block) in candidates.iter().zip(&blocks) {
            let place = candidate.subject as usize;
            let (Some(text), Some(subject)) = (texts.get(place), subjects.get(place)) else {
                continue;
            };
            if matches(kernel, block, text, &subject.tokens) {
                let (first, last, id) = list_ends(block);
                found.add(candidate.subject, id);
                if first != last {
                    let later = later_subscriptions(view, first, 1);
                    later.for_each(|later| found.add(candidate.subject, later.id));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::match_into;
    use super::match_batch;
    use crate::grammar::Dialect;
    use crate::trie::raw::{BatchMatches, Image, Index, Scratch, as_words};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn interleaved_lookups_find_what_single_ones_find(
            patterns in prop::collection::vec("[ab*]{1}(\\.[ab*]){0,4}(\\.>)?|>", 0..60),
            texts in prop::collection::vec(prop::option::weighted(0.9, "[ab]{1}(\\.[abx]){0,5}|a b|"), 0..70),
        ) {
            let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
            for pattern in &patterns {
                index.insert(pattern, None).unwrap();
            }
            let texts: Vec<Option<&[u8]>> = texts.iter().map(|text| text.as_deref().map(str::as_bytes)).collect();
            let single = {
                let mut batch = BatchMatches::default();
                let (mut scratch, mut found) = (Scratch::default(), Vec::new());
                for text in &texts {
                    found.clear();
                    let valid = text.is_some_and(|text| {
                        match_into(&index, text, &mut scratch, &mut found).is_ok()
                    });
                    batch.ids.extend(found.iter().map(|found| i32::try_from(found.id).unwrap()));
                    batch.ends.push(batch.ids.len());
                    batch.valid.push(valid);
                }
                (batch.ids, batch.ends, batch.valid)
            };
            let mut scratch = Scratch::default();
            let mut batch = BatchMatches::default();
            match_batch(&index, texts.iter().copied(), &mut scratch, &mut batch);
            prop_assert_eq!(&(batch.ids, batch.ends, batch.valid), &single);
            let bytes = index.to_image((None, None));
            let words = as_words(&bytes);
            let image = Image::open(&words, bytes.len(), true).unwrap();
            let mut batch = BatchMatches::default();
            match_batch(&image, texts.iter().copied(), &mut scratch, &mut batch);
            prop_assert_eq!(&(batch.ids, batch.ends, batch.valid), &single);
        }
    }
}
