//! Laws of images: they answer as the index that they were made from, and no bytes do worse than an
//! error or a wrong answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use subtrie::ErrorKind;
use subtrie::grammar::{Dialect, matches};
use subtrie::raw::{Image, Index, LookupTarget, Scratch, SubscriptionRef, as_words};

/// Words of the header.
const HEADER: usize = 32;

fn made(rows: &[(String, usize)], dropped: &[prop::sample::Index]) -> Index {
    let queues = [None, Some("q"), Some("a.longer-name")];
    let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
    let mut ids: Vec<u64> = rows
        .iter()
        .map(|(pattern, queue)| index.insert(pattern, queues[*queue]).unwrap().id)
        .collect();
    for place in dropped {
        if !ids.is_empty() {
            index.remove(ids.swap_remove(place.index(ids.len())));
        }
    }
    index
}

fn rows() -> impl Strategy<Value = Vec<(String, usize)>> {
    let pattern = "([a-c]|long-token-[0-9]|\\*)(\\.([a-c]|\\*)){0,8}(\\.>)?";
    prop::collection::vec((pattern, 0usize..3), 0..80)
}

fn ids(found: &[SubscriptionRef]) -> Vec<u64> {
    found.iter().map(|found| found.id).collect()
}

/// The checksum of words as in the header.
fn checksum(words: &[u64]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    u64::from(crc32fast::hash(&bytes))
}

/// Calls every lookup of an image.
fn look_up_all(words: &[u64], verify: bool) {
    let Ok(image) = Image::open(words, words.len() * 8, verify) else {
        return;
    };
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    for subject in ["a", "a.b", "b.c.a", "a.a.a.a.a", "long-token-1.a"] {
        found.clear();
        let _ = LookupTarget::Image(&image).match_into(subject, &mut scratch, &mut found);
        assert!(found.len() <= image.len() + 1 + scratch.work());
        let _ = LookupTarget::Image(&image).has_interest(subject, &mut scratch);
        let explainer = LookupTarget::Image(&image).explainer();
        let _ = explainer.explain(subject, 3, &mut scratch);
    }
    if let Ok((restored, next)) = image.subscriptions() {
        assert_eq!(restored.len(), image.len());
        assert!(restored.iter().all(|row| row.id < next));
    }
    if let Ok(mut index) = image.to_index() {
        assert_eq!(index.len(), image.len());
        assert_whole(&index);
        for pattern in ["a.b", "x.*.y", "long-token-1.>"] {
            let last_id = index.next_id() == u64::MAX;
            match index.insert(pattern, None) {
                Ok(_) => assert!(!last_id),
                Err(error) => assert!(last_id && error.kind == ErrorKind::IndexFull),
            }
        }
        assert_whole(&index);
        for subscription in index.subscriptions() {
            index.remove(subscription.id).unwrap();
        }
        assert!(index.is_empty());
    }
}

/// Compares lookups with a scan of the patterns.
fn assert_whole(index: &Index) {
    let all = index.subscriptions();
    let patterns: Vec<String> = all.iter().map(|one| index.pattern(*one).unwrap()).collect();
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    for subject in ["a", "a.b", "b.c.a", "a.a.a.a.a", "long-token-1.a", "x.a.y"] {
        found.clear();
        index.match_into(subject, &mut scratch, &mut found).unwrap();
        let expected = all.iter().zip(&patterns);
        let expected = expected.filter(|(_, pattern)| matches(pattern, subject));
        assert!(found.iter().eq(expected.map(|(one, _)| one)), "{subject}");
    }
}

proptest! {
    #[test]
    fn an_image_answers_as_its_index(
        rows in rows(),
        dropped in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        subjects in prop::collection::vec("([a-d]|long-token-[0-9])(\\.[a-d]){0,8}", 1..20),
    ) {
        let index = made(&rows, &dropped);
        let bytes = index.to_image((Some(70), None));
        let words = as_words(&bytes);
        let image = Image::open(&words, bytes.len(), true).unwrap();
        prop_assert!(image.has_table());
        prop_assert_eq!(image.given(), (Some(70), None));
        prop_assert_eq!(image.len(), index.len());
        let mut scratch = Scratch::default();
        for subject in subjects {
            let (mut own, mut theirs) = (Vec::new(), Vec::new());
            index.match_into(&subject, &mut scratch, &mut own).unwrap();
            LookupTarget::Image(&image).match_into(&subject, &mut scratch, &mut theirs).unwrap();
            prop_assert_eq!(ids(&own), ids(&theirs));
            prop_assert_eq!(LookupTarget::Image(&image).count(&subject, &mut scratch), Ok(own.len()));
            prop_assert_eq!(LookupTarget::Image(&image).has_interest(&subject, &mut scratch), Ok(!own.is_empty()));
        }
        let (restored, next) = image.subscriptions().unwrap();
        prop_assert_eq!(next, index.next_id());
        let subscriptions = index.subscriptions();
        prop_assert_eq!(restored.len(), subscriptions.len());
        for (restored, subscription) in restored.into_iter().zip(subscriptions) {
            prop_assert_eq!(restored.id, subscription.id);
            prop_assert_eq!(Some(restored.pattern.to_string()), index.pattern(subscription));
            prop_assert_eq!(restored.queue.as_deref(), index.queue(subscription));
            prop_assert_eq!(restored.turn, index.turn(subscription));
        }
    }

    #[test]
    fn an_index_made_of_an_image_is_as_the_one_it_was_written_from(
        rows in rows(),
        dropped in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        more in rows(),
        gone in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let index = made(&rows, &dropped);
        let mut scratch = Scratch::default();
        for subject in ["a", "a.b", "a.b.c"] {
            index.select_into(subject, &mut scratch, &mut Vec::new()).unwrap();
        }
        let bytes = index.to_image((Some(70), None));
        let words = as_words(&bytes);
        let image = Image::open(&words, bytes.len(), true).unwrap();
        let mut opened = image.to_index().unwrap();
        // Others may have read the hash key of the image.
        let again = opened.to_image((Some(70), None));
        prop_assert_ne!(&as_words(&again)[3..5], &words[3..5]);
        let row = |index: &Index, one: SubscriptionRef| {
            let queue = index.queue(one).map(str::to_owned);
            (one.id, index.pattern(one), queue, index.turn(one))
        };
        let rows = |index: &Index| -> Vec<_> {
            index.subscriptions().into_iter().map(|one| row(index, one)).collect()
        };
        prop_assert_eq!(rows(&opened), rows(&index));
        prop_assert_eq!(opened.next_id(), index.next_id());
        prop_assert_eq!(opened.to_string(), index.to_string());
        assert_whole(&opened);
        let mut live: Vec<u64> = opened.subscriptions().iter().map(|one| one.id).collect();
        for (pattern, _) in more {
            live.push(opened.insert(&pattern, Some("q")).unwrap().id);
        }
        for place in gone {
            if !live.is_empty() {
                prop_assert!(opened.remove(live.swap_remove(place.index(live.len()))).is_some());
            }
        }
        assert_whole(&opened);
        for id in live {
            prop_assert!(opened.remove(id).is_some());
        }
        prop_assert!(opened.is_empty());
    }

    #[test]
    fn no_damaged_image_panics_or_hangs(
        rows in rows(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>(), 0u32..3), 1..12),
        repaired in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = made(&rows, &[]).to_image((None, None));
        let good = as_words(&bytes).into_owned();
        let mut bad = good.clone();
        for (place, value, how) in edits {
            let at = place.index(bad.len());
            bad[at] = match how {
                0 => value,
                1 => bad[at] ^ (1 << (value % 64)),
                _ => good[usize::try_from(value % good.len() as u64).unwrap()],
            };
        }
        if repaired {
            bad[30] = checksum(&bad[HEADER..]);
            bad[31] = checksum(&bad[..31]);
        }
        look_up_all(&bad, true);
        look_up_all(&bad, false);
        look_up_all(&bad[..cut.index(bad.len())], false);
        let mut short = good[..cut.index(good.len())].to_vec();
        if short.len() > HEADER {
            short[31] = checksum(&short[..31]);
        }
        prop_assert!(Image::open(&short, short.len() * 8, true).is_err());
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    let rows: Vec<(String, usize)> = (0..40).map(|n| (format!("a.{n}.*"), n % 3)).collect();
    let bytes = made(&rows, &[]).to_image((None, None));
    let good = as_words(&bytes).into_owned();
    assert!(Image::open(&good, bytes.len(), true).is_ok());
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1 << (at % 64);
        assert!(Image::open(&bad, bytes.len(), true).is_err(), "{at}");
    }
    let reason = |words: &[u64], length| Image::open(words, length, true).err().map(|e| e.reason());
    assert_eq!(reason(&[], 0), Some("image-magic"));
    assert_eq!(reason(&good, bytes.len() + 1), Some("image-length"));
    assert_eq!(reason(&good[..20], 160), Some("image-length"));
    let mut other = good.clone();
    other[1] = 3;
    assert_eq!(reason(&other, bytes.len()), Some("image-version"));
}
