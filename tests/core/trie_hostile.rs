//! Hostile sets of patterns: every lookup stays within a stated bound of work, and its answer is
//! complete.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use subtrie::grammar::{Dialect, covers, matches, overlaps};
use subtrie::raw::{Index, Scratch};

fn index_of(patterns: &[String]) -> Index {
    let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
    for pattern in patterns {
        index.insert(pattern, None).unwrap();
    }
    index
}

/// The work of a lookup whose answer equals that of a scan.
///
/// The bound: no node and no pattern is visited twice, and a branch probes two keys.
fn work(index: &Index, patterns: &[String], subject: &str) -> usize {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    index.match_into(subject, &mut scratch, &mut found).unwrap();
    let found: Vec<u64> = found.iter().map(|subscription| subscription.id).collect();
    let all = (0u64..).zip(patterns);
    let expected: Vec<u64> = all
        .filter(|(_, pattern)| matches(pattern, subject))
        .map(|(id, _)| id)
        .collect();
    assert!(found == expected, "{subject}");
    assert!(scratch.work() <= 3 * patterns.len() + 16, "{subject}");
    scratch.work()
}

/// All patterns of `depth` tokens, each one of `choices`.
fn combinations(choices: &[&str], depth: u32) -> Vec<String> {
    let base = choices.len();
    (0..base.pow(depth))
        .map(|number| {
            let digit = |place| choices[number / base.pow(place) % base];
            (0..depth).map(digit).collect::<Vec<_>>().join(".")
        })
        .collect()
}

#[test]
fn all_combinations_of_a_literal_and_a_wildcard() {
    for depth in [1, 2, 7, 12, 14] {
        let patterns = combinations(&["a", "*"], depth);
        let index = index_of(&patterns);
        let subject = |other: u32| -> String {
            let token = |place| if place < other { "b" } else { "a" };
            (0..depth).map(token).collect::<Vec<_>>().join(".")
        };
        for other in 0..=depth {
            let matching = 1 << (depth - other);
            let work = work(&index, &patterns, &subject(other));
            // A few visits for each pattern that matches.
            assert!(
                work <= 8 * matching + 8 * depth as usize + 64,
                "{other} {work}"
            );
        }
        work(&index, &patterns, &format!("{}.a", subject(0)));
    }
    let mixed = combinations(&["a", "b", "*"], 7);
    let index = index_of(&mixed);
    for subject in ["a.b.a.b.a.b.a", "c.c.c.c.c.c.c", "a.a.a.a.a.a"] {
        work(&index, &mixed, subject);
    }
}

#[test]
fn one_node_with_very_many_children() {
    let mut patterns: Vec<String> = (0..30_000).map(|n| format!("a.child-{n}.x")).collect();
    patterns.extend(["a.*.x".to_owned(), "a.>".to_owned()]);
    let index = index_of(&patterns);
    for subject in [
        "a.child-7.x",
        "a.child-29999.x",
        "a.nobody.x",
        "a.child-7.y",
    ] {
        assert!(work(&index, &patterns, subject) < 40);
    }
    assert!(index.memory() < patterns.len() * 200);
}

#[test]
fn deep_patterns_and_a_tail_at_every_level() {
    let deep = vec!["a"; 64].join(".");
    let mut patterns = vec![deep.clone(), vec!["*"; 64].join(".")];
    for depth in 0..63 {
        let before = |token: &str| format!("{token}.").repeat(depth);
        patterns.push(format!("{}>", before("a")));
        patterns.push(format!("{}*.>", before("*")));
        patterns.push(format!("{}b", before("a")));
    }
    let index = index_of(&patterns);
    for length in [1, 2, 30, 63, 64] {
        work(&index, &patterns, &vec!["a"; length].join("."));
        work(&index, &patterns, &vec!["b"; length].join("."));
    }
}

#[test]
fn far_positions_and_patterns_that_differ_only_in_length() {
    let bounds = Dialect::Server.bounds();
    let mut index = Index::new(Dialect::Server, bounds);
    let mut patterns = Vec::new();
    for number in 0..300 {
        patterns.push(format!("{}end-{number}", "a.".repeat(200)));
        patterns.push(format!("{}>", "*.".repeat(number + 1)));
    }
    for pattern in &patterns {
        index.insert(pattern, None).unwrap();
    }
    work(&index, &patterns, &format!("{}end-7", "a.".repeat(200)));
    work(&index, &patterns, "a.b.c");
}

#[test]
fn a_pattern_with_very_many_subscriptions() {
    let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
    let ids: Vec<u64> = (0..50_000)
        .map(|_| index.insert("a.b", None).unwrap().id)
        .collect();
    assert_eq!(index.count("a.b", &mut Scratch::default()), Ok(50_000));
    // From the front, the worst case for a list.
    for (gone, id) in ids.iter().enumerate() {
        assert!(index.remove(*id).is_some());
        if gone % 9_999 == 0 {
            let left = index.count("a.b", &mut Scratch::default());
            assert_eq!(left, Ok(49_999 - gone));
        }
    }
    assert!(index.is_empty());
}

#[test]
fn queries_by_pattern_visit_only_what_agrees() {
    let mut patterns = Vec::new();
    for host in 0..200 {
        for path in 0..50 {
            patterns.push(format!("p.safe.443.*.host-{host}._.GET.v1.{path}"));
        }
    }
    let index = index_of(&patterns);
    for (query, expected, most) in [
        ("p.safe.443.*.host-7._.GET.v1.3", 1, 40),
        ("p.safe.443.src.host-7._.GET.v1.*", 50, 200),
        ("p.safe.*.*.*._.GET.v1.3", 200, 2500),
        ("x.>", 0, 4),
    ] {
        let found = index.matching(query).unwrap().len();
        let all = patterns.iter().filter(|p| overlaps(query, p).is_some());
        assert_eq!((found, all.count()), (expected, expected), "{query}");
        assert!(index.query_work(query, true).unwrap() <= most, "{query}");
        let covered = index.covered_by(query).unwrap().len();
        assert_eq!(
            covered,
            patterns.iter().filter(|p| covers(query, p)).count()
        );
        assert!(index.query_work(query, false).unwrap() <= most, "{query}");
    }
    let mut scratch = Scratch::default();
    let subject = "p.safe.443.src.host-7._.GET.v1.none";
    let why = index.explain(subject, 3, &mut scratch).unwrap();
    assert_eq!(why.nearest.len(), 3);
    assert!(why.nearest.iter().all(|(_, place)| *place == 8));
    assert!(scratch.work() < 200, "{}", scratch.work());
}
