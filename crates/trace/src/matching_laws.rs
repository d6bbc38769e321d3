//! The rule of the matching by its definition, and the bound of its work, which is counted.

#![allow(clippy::unwrap_used)]

use proptest::collection::vec;
use proptest::prelude::*;

use super::matching::{Groups, subscriber};

#[test]
fn a_rival_that_was_refused_makes_nothing_ambiguous() {
    for (refused, ambiguous) in [(false, true), (true, false)] {
        let mut groups = Groups::default();
        let group = groups.open(b"k", 1, 10);
        groups.open(b"k", 2, 20);
        groups.line(b"k", 30, subscriber(b"", b"s", 0, b""));
        groups.close(group, 1, false);
        assert!(groups.served.is_empty());
        groups.close(group, 2, refused);
        let first = groups.served.iter().find(|(id, _)| *id == 1).unwrap().1;
        assert_eq!((first.deliveries, first.ambiguous), (1, ambiguous));
        assert_eq!(groups.find(b"k"), None);
    }
}

#[test]
fn lines_before_every_open_window_are_unmatched() {
    let mut groups = Groups::default();
    let group = groups.open(b"k", 1, 10);
    for line in [20, 21, 22] {
        groups.line(b"k", line, subscriber(b"", b"s", 0, b""));
    }
    groups.open(b"k", 2, 30);
    groups.close(group, 1, false);
    assert_eq!(groups.unmatched, [21, 22]);
    assert!(!groups.served[0].1.ambiguous);
}

#[test]
fn a_line_of_an_account_without_a_message_is_of_the_account_with_the_latest_one() {
    // Of several messages of that account, the one that ends first takes it.
    for (accounts, expected) in [
        ("AB", &[0, 1][..]),
        ("BA", &[0, 1]),
        ("ABA", &[1, 0, 0]),
        ("BAAB", &[1, 0, 0, 0]),
    ] {
        let mut groups = Groups::default();
        let keys = accounts.chars().map(|account| format!("k\0{account}"));
        let keys: Vec<String> = keys.collect();
        for (key, id) in keys.iter().zip(1..) {
            groups.open(key.as_bytes(), id, id);
        }
        groups.line(b"k\0C", 9, subscriber(b"C", b"", 0, b"1"));
        for (key, id) in keys.iter().zip(1..) {
            groups.close(groups.find(key.as_bytes()).unwrap(), id, false);
        }
        groups.served.sort_unstable_by_key(|(id, _)| *id);
        let taken = groups.served.iter().map(|(_, served)| served.deliveries);
        assert_eq!(taken.collect::<Vec<_>>(), expected, "{accounts}");
        assert!(groups.unmatched.is_empty());
    }
}

/// Return the work for each line and message: some subscribers, and groups of simultaneous
/// messages that end in an order.
fn work(subscribers: u64, senders: u64, end: fn(u64, u64) -> u64) -> u64 {
    const ROUNDS: u64 = 3;
    let (mut groups, mut id, mut position) = (Groups::default(), 0, 0);
    for _ in 0..ROUNDS {
        let first = id;
        for _ in 0..senders {
            position += 1;
            groups.open(b"k", id, position);
            id += 1;
            for sid in 0..subscribers {
                position += 1;
                let receiver = subscriber(b"", b"", 1, &sid.to_le_bytes());
                groups.line(b"k", position, receiver);
                groups.hop(b"k", position, 1);
            }
        }
        let group = groups.find(b"k").unwrap();
        for at in 0..senders {
            groups.close(group, first + end(at, senders), false);
        }
        assert_eq!(groups.served.len() as u64, senders);
        groups.served.clear();
    }
    groups.steps() / (ROUNDS * senders * (2 * subscribers + 1))
}

#[test]
fn the_work_for_a_line_does_not_grow_with_subscribers_or_senders() {
    let orders: [fn(u64, u64) -> u64; 4] = [
        |at, _| at,
        |at, senders| senders - 1 - at,
        |at, senders| (at + senders / 2) % senders,
        |at, senders| (at * 7_919) % senders,
    ];
    let cases = [
        (1, 1),
        (8_000, 1),
        (1, 4_001),
        (30, 401),
        (400, 41),
        (0, 4_001),
    ];
    for end in orders {
        for (subscribers, senders) in cases {
            let work = work(subscribers, senders, end);
            assert!(work <= 40, "{subscribers}, {senders}: {work} steps a line");
        }
    }
}

#[test]
fn a_window_without_lines_does_not_read_the_lines_of_others() {
    let mut groups = Groups::default();
    let group = groups.open(b"k", 0, 0);
    for line in 1..=4_000_u64 {
        groups.line(b"k", line, subscriber(b"", b"", 1, &line.to_le_bytes()));
    }
    for id in 1..4_000 {
        groups.open(b"k", id, 10_000 + id);
        groups.close(group, id, false);
    }
    assert!(groups.steps() < 40 * 8_000, "{}", groups.steps());
    groups.close(group, 0, false);
    assert_eq!(groups.served.last().unwrap().1.deliveries, 4_000);
}

/// The rule by its definition: windows are served in the order of their ends, each takes the
/// earliest free line inside it of each subscriber, and is ambiguous if another one that was not
/// refused contains one of its lines.
#[test]
fn windows_are_served_as_the_rule_says() {
    proptest!(|(steps in vec((0..4, 0..40_u32), 0..300))| {
        let mut groups = Groups::default();
        let mut open: Vec<u64> = Vec::new();
        let (mut lines, mut ends) = (Vec::new(), Vec::new());
        for (position, &(what, which)) in (1..).zip(&steps) {
            if what == 0 {
                groups.open(b"k", position, position);
                open.push(position);
            } else if what < 3 {
                groups.line(b"k", position, subscriber(b"", b"", which % 24, b""));
                lines.push((position, which % 24));
            } else if !open.is_empty() {
                let id = open.remove(which as usize % open.len());
                let refused = which % 5 == 0;
                groups.close(groups.find(b"k").unwrap(), id, refused);
                ends.push((id, position, refused));
            }
        }
        for id in open {
            groups.close(groups.find(b"k").unwrap(), id, false);
            ends.push((id, 1_000, false));
        }
        let mut free = lines.clone();
        let mut expected = Vec::new();
        for &(id, end, _) in ends.iter().filter(|(_, _, refused)| !refused) {
            let inside = |at: u64| id < at && at < end;
            let mut taken = Vec::new();
            free.retain(|&(line, subscriber)| {
                let free = inside(line) && !taken.contains(&subscriber);
                if free {
                    taken.push(subscriber);
                }
                !free
            });
            let ambiguous = ends.iter().any(|&(other, until, refused)| {
                let both = |line: u64| inside(line) && other < line && line < until;
                other != id && !refused && lines.iter().any(|&(line, _)| both(line))
            });
            expected.push((id, taken.len(), ambiguous));
        }
        let mut found: Vec<_> = groups.served.iter().map(|(id, served)| {
            (*id, served.deliveries as usize, served.ambiguous)
        }).collect();
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        let mut unmatched = groups.unmatched.clone();
        unmatched.sort_unstable();
        let left: Vec<u64> = free.iter().map(|(line, _)| *line).collect();
        prop_assert_eq!(unmatched, left);
    });
}
