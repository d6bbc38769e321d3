//! Interleaved lookups with prefetch (AMAC: Kocberber and others 2015).
//!
//! A lookup in an index larger than the cache mostly waits for memory: for nodes and packed patterns.
//! Here sixteen lookups take turns: each does one step, prefetches what its next step reads, and
//! lets the others do theirs meanwhile. In a smaller index the processor predicts the branches of
//! one phase better than those of a whole lookup.

use super::batch::BatchMatches;
use super::{Lookup, Scratch, View};

/// Lookups that take turns. Fewer leave memory idle, more evict each other's lines from the first
/// cache. The record keeps the chosen width only (`batch` in `benches/records/peers-2026-11-21.json`).
const WIDTH: usize = 16;

/// Looks up subjects, sixteen at a time, and appends what they match.
pub(super) fn match_batch<'t, V: View>(
    view: &V,
    subjects: impl Iterator<Item = Option<&'t [u8]>>,
    scratch: &mut Scratch,
    batch: &mut BatchMatches,
) {
    let mut subjects = subjects;
    let lookups = &mut scratch.interleaved;
    lookups.resize_with(WIDTH, Lookup::default);
    let mut group: [Option<&[u8]>; WIDTH] = [None; WIDTH];
    loop {
        let mut count = 0;
        for (place, subject) in group.iter_mut().zip(&mut subjects) {
            *place = subject;
            count += 1;
        }
        match_group(view, &mut group[..count], &mut lookups[..count], batch);
        if count < WIDTH {
            return;
        }
    }
}

/// Looks up a group: each phase for all of them before the next.
fn match_group<V: View>(
    view: &V,
    subjects: &mut [Option<&[u8]>],
    lookups: &mut [Lookup],
    batch: &mut BatchMatches,
) {
    for (lookup, subject) in lookups.iter_mut().zip(&mut *subjects) {
        *subject = subject.filter(|subject| lookup.tokenize(view, subject).is_ok());
    }
    for (lookup, subject) in lookups.iter_mut().zip(&*subjects) {
        if let Some(subject) = subject {
            lookup.start(view, subject);
        }
    }
    let mut busy = true;
    while busy {
        busy = false;
        for (lookup, subject) in lookups.iter_mut().zip(&*subjects) {
            if let Some(subject) = subject {
                busy |= lookup.step(view, subject);
            }
        }
    }
    for (lookup, subject) in lookups.iter().zip(&*subjects) {
        batch.valid.push(subject.is_some());
        if let Some(subject) = subject {
            batch.append(view, lookup.matches(view, subject));
        }
        batch.ends.push(batch.ids.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::match_into;
    use super::match_batch;
    use crate::grammar::Dialect;
    use crate::trie::{BatchMatches, Image, Index, Scratch, as_words};
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
                    batch.ids.extend(found.iter().map(|found| found.id));
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
