//! Laws of the index: answers equal a scan, an invalid pattern changes nothing, removal returns all
//! memory; and the broker's own answers from `vectors/nats_match.jsonl`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;
use subtrie::grammar::{Dialect, covers, matches, overlaps};
use subtrie::raw::{Index, Scratch, SubscriptionRef};
use subtrie::trie::SubjectTrie;

fn strict() -> Index {
    Index::new(Dialect::Strict, Dialect::Strict.bounds())
}

fn ids(found: &[SubscriptionRef]) -> Vec<u64> {
    found.iter().map(|found| found.id).collect()
}

fn matched(index: &Index, subject: &str) -> Vec<u64> {
    let (mut found, mut scratch) = (Vec::new(), Scratch::default());
    index.match_into(subject, &mut scratch, &mut found).unwrap();
    assert_eq!(index.count(subject, &mut scratch), Ok(found.len()));
    assert_eq!(
        index.has_interest(subject, &mut scratch),
        Ok(!found.is_empty())
    );
    for subscription in &found {
        assert_eq!(index.find(subscription.id), Some(*subscription));
    }
    ids(&found)
}

fn pattern() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec!["a", "a", "b", "*"]);
    (prop::collection::vec(token, 1..5), any::<bool>()).prop_map(|(mut tokens, tail)| {
        if tail {
            tokens.push(">");
        }
        tokens.join(".")
    })
}

fn subject() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec!["a", "a", "b", "x"]);
    prop::collection::vec(token, 1..6).prop_map(|tokens| tokens.join("."))
}

/// The result that `explain` must have, by a scan.
fn nearest(patterns: &[(u64, String)], subject: &str, limit: usize) -> Vec<(u64, usize)> {
    let mut best: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for (id, pattern) in patterns {
        let mut agree = 0;
        for (token, other) in subject.split('.').zip(pattern.split('.')) {
            if other != "*" && other != token {
                break;
            }
            agree += 1;
        }
        best.entry(pattern).or_insert((usize::MAX - agree, *id));
    }
    let mut all: Vec<(usize, u64)> = best.into_values().collect();
    all.sort_unstable();
    all.truncate(limit);
    all.into_iter()
        .map(|(rank, id)| (id, usize::MAX - rank))
        .collect()
}

proptest! {
    #[test]
    fn answers_equal_a_scan(
        patterns in prop::collection::vec(pattern(), 0..40),
        dropped in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        subject in subject(),
        query in pattern(),
        limit in 0usize..6,
    ) {
        let mut index = strict();
        let mut live: Vec<(u64, String)> = Vec::new();
        for pattern in patterns {
            let subscription = index.insert(&pattern, None).unwrap();
            prop_assert_eq!(index.pattern(subscription), Some(pattern.clone()));
            live.push((subscription.id, pattern));
        }
        for place in dropped {
            if !live.is_empty() {
                let (id, _) = live.remove(place.index(live.len()));
                prop_assert!(index.remove(id).is_some());
                prop_assert_eq!(index.remove(id), None);
            }
        }
        let scan = |keep: &dyn Fn(&str) -> bool| -> Vec<u64> {
            live.iter().filter(|(_, p)| keep(p)).map(|(id, _)| *id).collect()
        };
        prop_assert_eq!(ids(&index.subscriptions()), scan(&|_| true));
        let matching = scan(&|p| matches(p, &subject));
        prop_assert_eq!(&matched(&index, &subject), &matching);
        let overlapping = ids(&index.matching(&query).unwrap());
        prop_assert_eq!(overlapping, scan(&|p| overlaps(&query, p).is_some()));
        let covered = ids(&index.covered_by(&query).unwrap());
        prop_assert_eq!(covered, scan(&|p| covers(&query, p)));
        let why = index.explain(&subject, limit, &mut Scratch::default()).unwrap();
        let near: Vec<(u64, usize)> = why.nearest.iter().map(|(t, place)| (t.id, *place)).collect();
        let expected = if matching.is_empty() { nearest(&live, &subject, limit) } else { Vec::new() };
        prop_assert_eq!(near, expected);
        prop_assert_eq!(ids(&why.matches), matching);
    }

    #[test]
    fn add_then_remove_leaves_an_empty_index(patterns in prop::collection::vec(pattern(), 1..200)) {
        let mut index = strict();
        let empty = index.stats();
        let made: Vec<u64> = patterns
            .iter()
            .map(|pattern| index.insert(pattern, Some(pattern.trim_matches(&['*', '>', '.'][..]))
                .filter(|name| !name.is_empty())
                .filter(|name| !name.contains('*'))).unwrap().id)
            .collect();
        for id in made {
            index.remove(id).unwrap();
        }
        prop_assert_eq!(index.stats(), empty);
        prop_assert_eq!(index.to_string(), "SubjectTrie: 0 subscriptions");
        prop_assert_eq!(index.next_id(), patterns.len() as u64);
    }

    #[test]
    fn groups_and_turns(
        rows in prop::collection::vec((pattern(), 0usize..4), 0..20),
        subjects in prop::collection::vec(subject(), 1..20),
    ) {
        let names = [None, Some("q"), Some("w"), None];
        let mut index = strict();
        for (pattern, name) in &rows {
            index.insert(pattern, names[*name]).unwrap();
        }
        let mut turns: BTreeMap<u64, usize> = BTreeMap::new();
        let mut scratch = Scratch::default();
        for subject in subjects {
            let mut plain = Vec::new();
            let mut queues: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
            for (id, (pattern, name)) in (0u64..).zip(&rows) {
                match names[*name] {
                    _ if !matches(pattern, &subject) => {}
                    None => plain.push(id),
                    Some(name) => queues.entry(name).or_default().push(id),
                }
            }
            let groups = index.groups(&subject, &mut scratch).unwrap();
            prop_assert_eq!(ids(&groups.plain), plain.clone());
            let mut members: Vec<Vec<u64>> = queues.into_values().collect();
            members.sort_unstable();
            let found: Vec<Vec<u64>> = groups.queues.iter().map(|group| ids(group)).collect();
            prop_assert_eq!(&found, &members);
            for group in members {
                let turn = turns.entry(group[0]).or_default();
                plain.push(group[*turn % group.len()]);
                *turn += 1;
            }
            plain.sort_unstable();
            let mut selected = Vec::new();
            index.select_into(&subject, &mut scratch, &mut selected).unwrap();
            prop_assert_eq!(ids(&selected), plain);
        }
    }

    #[test]
    fn no_input_panics(
        text in "\\PC{0,12}|[a*>. ]{0,12}",
        queue in "\\PC{0,6}|[a*>. ]{0,6}",
        dialect in prop::sample::select(vec![Dialect::Strict, Dialect::Server]),
    ) {
        let mut index = Index::new(dialect, dialect.bounds());
        let empty = index.stats();
        if let Ok(subscription) = index.insert(&text, Some(&queue)) {
            prop_assert_eq!(index.pattern(subscription), Some(text.clone()));
            prop_assert_eq!(index.queue(subscription), Some(&*queue));
        } else {
            prop_assert_eq!(index.stats(), empty);
            prop_assert_eq!(index.next_id(), 0);
        }
        let mut scratch = Scratch::default();
        let mut found = Vec::new();
        if index.match_into(&text, &mut scratch, &mut found).is_ok() && !index.is_empty() {
            prop_assert_eq!(found.len(), 1);
        }
    }
}

// requirement: M-05
#[test]
fn the_index_agrees_with_the_broker() {
    let rows = include_str!("../vectors/nats_match.jsonl");
    let (mut checked, mut refused) = (0, 0);
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        if row["kind"] != "match" {
            continue;
        }
        let mut index = Index::new(Dialect::Server, Dialect::Server.bounds());
        for pattern in row["patterns"].as_array().unwrap() {
            // A pattern is text, or text with the queue it is subscribed to with.
            let (text, queue) = match pattern {
                Value::Object(parts) => (parts["s"].as_str(), parts["q"].as_str()),
                _ => (pattern.as_str(), None),
            };
            index.insert(text.unwrap(), queue).unwrap();
        }
        let subject = row["subject"].as_str().unwrap();
        let groups = match index.groups(subject, &mut Scratch::default()) {
            Ok(groups) => groups,
            Err(error) => {
                // The broker's index looks up any text; ours looks up valid subjects (A17).
                assert!(
                    ["wildcard", "empty", "empty-token"].contains(&error.reason()),
                    "{row}"
                );
                refused += 1;
                continue;
            }
        };
        let numbers = |list: &Value| -> Vec<u64> {
            let mut all: Vec<u64> = list
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .collect();
            all.sort_unstable();
            all
        };
        assert_eq!(
            ids(&groups.plain),
            numbers(&row["expect"]["plain"]),
            "{row}"
        );
        let found: BTreeMap<String, Vec<u64>> = groups
            .queues
            .iter()
            .map(|group| (index.queue(group[0]).unwrap().to_owned(), ids(group)))
            .collect();
        let expected: BTreeMap<String, Vec<u64>> = row["expect"]["queues"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, list)| (name.clone(), numbers(list)))
            .collect();
        assert_eq!(found, expected, "{row}");
        checked += 1;
    }
    assert_eq!((checked, refused), (143, 9));
}

// requirement: A37
#[test]
fn long_subjects_match_as_short_ones_do() {
    let bounds = Dialect::Server.bounds();
    let mut index = Index::new(Dialect::Server, bounds);
    let deep = vec!["é"; 1000].join(".");
    let id = index.insert(&deep, None).unwrap().id;
    index
        .insert(&format!("{}.>", vec!["*"; 900].join(".")), None)
        .unwrap();
    assert_eq!(matched(&index, &deep), [id, id + 1]);
    assert_eq!(index.stats().depth, 1000);
}

#[test]
fn slots_stay_dense_and_groups_keep_their_turns() {
    let mut index = strict();
    let first = index.insert("a.*", Some("q")).unwrap();
    let many: Vec<SubscriptionRef> = (0..500)
        .map(|n| {
            index
                .insert(&format!("b.{n}"), Some(&format!("q{n}")))
                .unwrap()
        })
        .collect();
    let last = index.insert("a.b", Some("q")).unwrap();
    let select = |index: &Index| {
        let mut found = Vec::new();
        index
            .select_into("a.b", &mut Scratch::default(), &mut found)
            .unwrap();
        ids(&found)
    };
    assert_eq!(select(&index), [first.id]);
    for subscription in many {
        index.remove(subscription.id).unwrap();
    }
    assert_eq!(index.find(last.id).unwrap().slot.index(), 1);
    assert_eq!(select(&index), [last.id]);
    assert_eq!(index.pattern(first).unwrap(), "a.*");
    assert_eq!(index.insert("c", None).unwrap().id, last.id + 1);
}

#[test]
fn a_kept_handle_never_names_another_subscription() {
    let mut trie = SubjectTrie::new(Dialect::Strict);
    let first = trie.insert("a", 0).unwrap();
    let second = trie.insert_in_queue("b", "q", 1).unwrap();
    // The second record moves into the slot of the first.
    assert_eq!(trie.remove(first), Some(0));
    let third = trie.insert("c", 2).unwrap();
    assert_eq!((trie.get(first), trie.pattern(first)), (None, None));
    assert_eq!(
        (trie.get(second), trie.queue(second)),
        (Some(&1), Some("q"))
    );
    assert_eq!((trie.get(third), trie.queue(third)), (Some(&2), None));
    trie.clear();
    let fourth = trie.insert("a", 3).unwrap();
    assert!(fourth > third && trie.get(second).is_none());
    assert_eq!(trie.iter().collect::<Vec<_>>(), [(fourth, &3)]);
}

#[test]
fn a_handle_means_nothing_to_another_trie() {
    let mut one = SubjectTrie::new(Dialect::Strict);
    let mut other = SubjectTrie::new(Dialect::Strict);
    let own = one.insert_in_queue("a", "q", 1).unwrap();
    let foreign = other.insert_in_queue("a", "q", 2).unwrap();
    assert!(own.id() == foreign.id() && own != foreign);
    assert!(one.get(foreign).is_none() && one.get_mut(foreign).is_none());
    assert_eq!((one.pattern(foreign), one.queue(foreign)), (None, None));
    assert_eq!(one.remove(foreign), None);
    let mut copy = one.clone();
    assert!(copy.get(own).is_none() && copy.remove(own).is_none());
    let copied: Vec<_> = copy.iter().map(|(handle, _)| handle).collect();
    assert_eq!(
        (one.get(copied[0]), copy.remove(copied[0])),
        (None, Some(1))
    );
    assert_eq!(one.remove(own), Some(1));
}

#[test]
fn matches_are_the_values_in_order_of_insertion() {
    let mut trie = SubjectTrie::new(Dialect::Strict);
    for number in 0..20 {
        let pattern = ["a.*", "*.b", "a.>", "x"][number % 4];
        trie.insert(pattern, number).unwrap();
    }
    let expected: Vec<usize> = (0..20).filter(|number| number % 4 < 3).collect();
    let matches = trie.matches("a.b").unwrap();
    assert_eq!((matches.len(), matches.size_hint()), (15, (15, Some(15))));
    assert!(matches.clone().eq(&expected));
    assert_eq!(format!("{matches:?}"), format!("{expected:?}"));
    let mut values = vec![&7];
    trie.matches_into("a.b", &mut values).unwrap();
    assert!(values[0] == &7 && values[1..].iter().copied().eq(&expected));
    assert!(trie.matches_into("a..b", &mut values).is_err());
    assert_eq!(values.len(), 16);
    assert_eq!(trie.matches("none").unwrap().len(), 0);
}

#[test]
fn a_kept_reference_follows_its_record_and_ends_with_it() {
    let mut index = strict();
    let first = index.insert("a", Some("p")).unwrap();
    let second = index.insert("b", Some("q")).unwrap();
    index.remove(first.id).unwrap();
    assert_eq!(index.queue(second), Some("q"));
    assert_eq!(index.pattern(second).as_deref(), Some("b"));
    assert_eq!((index.queue(first), index.pattern(first)), (None, None));
    assert_eq!(index.turn(first), 0);
}

#[test]
fn the_work_of_a_lookup_is_the_nodes_and_the_entries_it_visits() {
    let work = |patterns: &[String], subject: &str| {
        let mut index = strict();
        for pattern in patterns {
            index.insert(pattern, None).unwrap();
        }
        let (mut scratch, mut found) = (Scratch::default(), Vec::new());
        // The work of one lookup is not that of those before it.
        for _ in 0..2 {
            found.clear();
            index.match_into(subject, &mut scratch, &mut found).unwrap();
        }
        let lookup = scratch.work();
        index.explain(subject, 1, &mut scratch).unwrap();
        (found.len(), lookup, scratch.work())
    };
    let numbered: Vec<String> = (0..1000).map(|number| format!("a.{number}")).collect();
    // The last is that of the search for the nearest pattern, added if none matches.
    assert_eq!(work(&[], "a.7"), (0, 0, 0));
    assert_eq!(work(&numbered[..1], "a.0"), (1, 1, 1));
    assert_eq!(work(&numbered[..3], "a.0"), (1, 3, 3));
    // A key and its entry, and a key that has none.
    assert_eq!(work(&numbered, "a.7"), (1, 2, 2));
    assert_eq!(work(&numbered, "a.x").1, 1);
    let (found, lookup, explained) = work(&numbered, "x");
    assert_eq!((found, lookup), (0, 0));
    assert!(explained >= numbered.len());
}
