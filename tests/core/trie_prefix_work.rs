//! The work of queries by prefix and the allocations of lookups, counted: not time.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use subtrie::grammar::Dialect;
use subtrie::raw::{Image, Index, LookupTarget, Scratch, as_words};
use subtrie::trie::SubjectTrie;

use crate::allocations;

/// `count` patterns that differ in the last of eight tokens.
fn siblings(count: usize) -> Index {
    let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
    for number in 0..count {
        let pattern = format!("p.safe.443.*.orders._.GET.item-{number}");
        index.insert(&pattern, None).unwrap();
    }
    index
}

const UNKNOWN: &str = "p.safe.443.src.orders._.GET.none";

/// The patterns read and the allocations of one explanation.
fn explained(index: &Index, limit: usize) -> (usize, usize) {
    let mut scratch = Scratch::default();
    index.count(UNKNOWN, &mut scratch).unwrap();
    let mut work = 0;
    let allocations = allocations::count(|| {
        let explanation = index.explain(UNKNOWN, limit, &mut scratch).unwrap();
        assert_eq!(explanation.nearest.len(), limit);
        assert!(explanation.nearest.iter().all(|(_, token)| *token == 7));
        work = scratch.work();
    });
    (work, allocations)
}

#[test]
fn a_lookup_into_a_buffer_with_room_allocates_nothing() {
    let mut trie = SubjectTrie::new(Dialect::Strict);
    for number in 0..6000 {
        let host = number % 500;
        let pattern = format!("p.safe.443.*.host-{host}._.GET.path-{}.*", number / 500);
        trie.insert_in_queue(&pattern, "workers", number).unwrap();
        let every = format!("p.safe.*.*.host-{host}.>");
        trie.insert(&every, number).unwrap();
    }
    let subjects: Vec<String> = (0..500)
        .map(|host| format!("p.safe.443.web.host-{host}._.GET.path-{}.x", host % 12))
        .collect();
    let mut values = Vec::with_capacity(64);
    let mut found = 0;
    let mut look_up = || {
        // Each value is found through a queue, or through a pattern without one.
        for subject in &subjects {
            values.clear();
            trie.matches_into(subject, &mut values).unwrap();
            found += values.len();
            found += trie.count(subject).unwrap();
        }
    };
    look_up(); // makes the scratch space of this thread
    assert_eq!(allocations::count(look_up), 0);
    assert!(found > 10_000);
}

#[test]
fn an_explanation_reads_each_sibling_once_and_allocates_nothing_for_it() {
    let mut allocated = Vec::new();
    for count in [1000, 4000, 16_000] {
        let index = siblings(count);
        let (sorting, _) = explained(&index, 3);
        let (work, allocations) = explained(&index, 3);
        assert!(work < count + 150, "{count} {work}");
        assert!(sorting < 40 * count, "{count} {sorting}");
        allocated.push(allocations);
    }
    assert!(allocated[0] < 60, "{allocated:?}");
    assert!(allocated.iter().all(|count| *count == allocated[0]));
    let index = siblings(4000);
    explained(&index, 1000);
    let (work, allocations) = explained(&index, 1000);
    assert!(work < 4150 && allocations < 80, "{work} {allocations}");
}

#[test]
fn alternating_changes_and_explanations_are_linear_a_pair() {
    for count in [1000, 4000, 16_000] {
        let mut index = siblings(count);
        explained(&index, 3);
        for round in 0..20 {
            let added = (0..=round % 3).map(|n| {
                let pattern = format!("p.safe.443.*.orders._.GET.new-{round}-{n}");
                index.insert(&pattern, None).unwrap().id
            });
            let added: Vec<u64> = added.collect();
            let (work, allocations) = explained(&index, 3);
            assert!(work < 2 * count + 250, "{count} {work}");
            assert!(allocations < 80, "{allocations}");
            for id in added.into_iter().chain([round * 7]) {
                index.remove(id).unwrap();
            }
            let (work, allocations) = explained(&index, 3);
            assert!(work < 2 * count + 250, "{count} {work}");
            assert!(allocations < 80, "{allocations}");
        }
    }
}

#[test]
fn many_explanations_cost_a_logarithm_each_and_equal_single_ones() {
    let mut index = siblings(16_000);
    for number in 0..500 {
        let pattern = format!("p.*.443.*.host-{}.{}.>", number % 7, number % 11);
        index.insert(&pattern, None).unwrap();
    }
    let bytes = index.to_image((None, None));
    let words = as_words(&bytes);
    let image = Image::open(&words, bytes.len(), true).unwrap();
    let both = [
        LookupTarget::Index(&index).explainer(),
        LookupTarget::Image(&image).explainer(),
    ];
    let mut scratch = Scratch::default();
    let mut subject = String::new();
    for number in 0..200 {
        subject.clear();
        match number % 4 {
            0 => write!(subject, "p.safe.443.src.orders._.GET.x{number}").unwrap(),
            1 => write!(subject, "p.none.443.src.host-{}.12.a", number % 9).unwrap(),
            2 => write!(subject, "p.safe.443.src.host-{}.{number}", number % 7).unwrap(),
            _ => write!(subject, "q.{number}").unwrap(),
        }
        for limit in [1, 3, 40] {
            let expected = index.explain(&subject, limit, &mut scratch).unwrap();
            let rows = |nearest: &[(subtrie::raw::SubscriptionRef, usize)]| -> Vec<(u64, usize)> {
                nearest
                    .iter()
                    .map(|(one, token)| (one.id, *token))
                    .collect()
            };
            for explainer in &both {
                let found = explainer.explain(&subject, limit, &mut scratch).unwrap();
                assert_eq!(rows(&found.nearest), rows(&expected.nearest), "{subject}");
                assert!(scratch.work() < 500, "{subject} {}", scratch.work());
            }
        }
    }
}

#[test]
fn statistics_allocate_nothing_for_a_pattern() {
    let counts = [500, 8000].map(|count| {
        let index = siblings(count);
        assert_eq!(index.stats().nodes, 7 + count);
        allocations::count(|| assert_eq!((index.stats().depth, index.stats().shapes), (8, 1)))
    });
    assert!(counts[0] == counts[1] && counts[0] < 30, "{counts:?}");
}
