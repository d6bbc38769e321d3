//! Rule sets: every witness is one, a minimised set is equal, and no set causes a panic.

use subtrie::grammar::{self, Dialect, Form, matches};
use subtrie_nats::permissions::{RuleSet, difference, minimised, overlap, proof, witness};

/// Maximum number of rules of a list, and of tokens of a rule, so that a run stays short.
const MAX: usize = 6;

/// Compare two sets: each line is a pattern after a byte that selects one of four lists.
pub fn permissions(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lists: [Vec<&str>; 4] = Default::default();
    for line in text.lines() {
        let Some((first, pattern)) = line.split_at_checked(1) else {
            continue;
        };
        let list = &mut lists[usize::from(first.as_bytes()[0] & 3)];
        let bounds = grammar::Bounds {
            max_tokens: MAX,
            max_length: 64,
        };
        let fine = grammar::check(pattern, Form::Pattern, Dialect::Strict, bounds).is_ok();
        if fine && list.len() < MAX {
            list.push(pattern);
        }
    }
    let [allow, deny, other_allow, other_deny] = &lists;
    let (left, right) = (set(allow, deny), set(other_allow, other_deny));
    for (one, other) in [(left, right), (right, left)] {
        let found = witness(one, other, usize::MAX);
        if let Ok(Some(found)) = &found {
            assert!(holds(one, &found.subject) && !holds(other, &found.subject));
        }
        if let Ok(None) = &found {
            let missed =
                small_subjects(&lists).find(|text| holds(one, text) && !holds(other, text));
            assert_eq!(missed, None);
        }
        if let (Ok(found), Ok(proven)) = (&found, proof(one, other, usize::MAX)) {
            assert_eq!(found.is_none(), proven.is_some());
        }
        if let (Ok(found), Ok(grants)) = (&found, difference(one, other, usize::MAX)) {
            assert_eq!(found.is_none(), grants.is_empty());
        }
        if let Ok((allow, deny)) = minimised(one, usize::MAX) {
            let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
            let deny: Vec<&str> = deny.iter().map(String::as_str).collect();
            let small = set(&allow, &deny);
            assert!(!matches!(witness(one, small, usize::MAX), Ok(Some(_))));
            assert!(!matches!(witness(small, one, usize::MAX), Ok(Some(_))));
        }
    }
    if let Ok(Some(found)) = overlap(left, right, usize::MAX) {
        assert!(holds(left, &found.subject) && holds(right, &found.subject));
    }
}

/// Subjects of up to three tokens: some tokens of the rules, and one that no rule has.
fn small_subjects(lists: &[Vec<&str>; 4]) -> impl Iterator<Item = String> {
    let mut tokens: Vec<&str> = (lists.iter().flatten())
        .flat_map(|rule| rule.split('.'))
        .filter(|token| !matches!(*token, "*" | ">"))
        .collect();
    tokens.sort_unstable();
    tokens.dedup();
    tokens.truncate(4);
    let mut subjects: Vec<String> = Vec::new();
    let mut last = vec![String::new()];
    tokens.push("no-rule-has-this");
    for _ in 0..3 {
        last = (last.iter())
            .flat_map(|head| tokens.iter().map(move |token| format!("{head}.{token}")))
            .collect();
        subjects.extend(last.iter().map(|text| text[1..].to_owned()));
    }
    subjects.into_iter()
}

const fn set<'a>(allow: &'a [&'a str], deny: &'a [&'a str]) -> RuleSet<'a> {
    RuleSet { allow, deny }
}

fn holds(set: RuleSet<'_>, subject: &str) -> bool {
    let any = |rules: &[&str]| rules.iter().any(|rule| matches(rule, subject));
    any(set.allow) && !any(set.deny)
}
