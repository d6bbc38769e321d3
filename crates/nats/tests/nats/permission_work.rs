//! The limits of work: what is just within one is answered, what is just beyond it is refused.

#![allow(clippy::unwrap_used)]

use subtrie_nats::permissions::{
    TooMuchWork, difference, minimised, overlap, proof, refused_witness, witness,
};

use crate::permission_universe::rules;

/// Whether an answer was refused for too much work; no other refusal exists.
fn is_refused<T>(answer: Result<T, TooMuchWork>) -> bool {
    answer.err() == Some(TooMuchWork)
}

/// A pattern of some tokens `z`, which the other rules do not match.
fn long(tokens: usize) -> String {
    vec!["z"; tokens].join(".")
}

/// Numbers of rules, and of tokens of the longest subject and queue name (0: no rule has a queue).
#[derive(Clone, Copy)]
struct Shape {
    allow: usize,
    deny: usize,
    other_allow: usize,
    other_deny: usize,
    tokens: usize,
    queue: usize,
}

impl Shape {
    /// Whether the comparison of such sets is refused.
    ///
    /// A rule of one word is repeated, as work is counted before equal rules are seen. The last left
    /// rule is the long one.
    fn is_refused(self) -> bool {
        let mut last = long(self.tokens);
        if self.queue > 0 {
            last = format!("{last} {}", long(self.queue));
        }
        let mut allow = vec!["a"; self.allow];
        allow[self.allow - 1] = &last;
        let (deny, other_deny) = (vec!["b"; self.deny], vec!["d"; self.other_deny]);
        let other_allow = vec!["c"; self.other_allow];
        let (left, right) = (rules(&allow, &deny), rules(&other_allow, &other_deny));
        let refused = is_refused(witness(left, right, usize::MAX));
        assert_eq!(is_refused(proof(left, right, usize::MAX)), refused);
        refused
    }
}

#[test]
fn a_comparison_is_refused_beyond_the_maximum_work() {
    // 2^6 left allow rules, each with 2^6 questions, 2^4 words, and 2^14 * 2^4 numbers of tokens.
    let most = Shape {
        allow: 64,
        deny: 480,
        other_allow: 480,
        other_deny: 63,
        tokens: (1 << 14) - 1,
        queue: 14,
    };
    assert!(!most.is_refused());
    for more in [
        Shape { allow: 65, ..most },
        Shape { deny: 481, ..most },
        Shape {
            other_allow: 481,
            ..most
        },
        Shape {
            other_deny: 64,
            ..most
        },
        Shape {
            tokens: 1 << 14,
            ..most
        },
        Shape { queue: 15, ..most },
    ] {
        assert!(more.is_refused());
    }
    // Without a queue or a deny rule: 2^12 questions, 2^4 words, 2^18 numbers of tokens.
    let most = Shape {
        allow: 1 << 12,
        deny: 0,
        other_allow: 960,
        other_deny: 0,
        tokens: (1 << 18) - 1,
        queue: 0,
    };
    assert!(!most.is_refused());
    assert!(
        Shape {
            other_allow: 961,
            ..most
        }
        .is_refused()
    );
    assert!(Shape { queue: 1, ..most }.is_refused());
    assert!(
        Shape {
            other_deny: 1,
            ..most
        }
        .is_refused()
    );
}

#[test]
fn the_work_of_an_overlap_is_that_of_all_pairs_of_allow_rules() {
    let last = long((1 << 14) - 1);
    let refused = |allow: usize, other: usize, deny: usize| {
        let mut left = vec!["a"; allow];
        left[0] = &last;
        let (right, denied) = (vec!["b"; other], vec!["c"; deny]);
        is_refused(overlap(
            rules(&left, &denied),
            rules(&right, &denied),
            usize::MAX,
        ))
    };
    // 2^8 times 2^8 questions, 2^4 words, 2^14 numbers of tokens.
    assert!(!refused(256, 255, 480));
    assert!(refused(257, 255, 480));
    assert!(refused(256, 256, 480));
    assert!(refused(256, 255, 481));
}

#[test]
fn a_question_about_one_subscription_is_refused_beyond_the_maximum_work() {
    let last = long((1 << 14) - 1);
    let refused = |allow: usize, deny: usize| {
        let allowed = vec!["a"; allow];
        let mut denied = vec!["b"; deny];
        denied[0] = &last;
        is_refused(refused_witness(
            rules(&allowed, &denied),
            "a",
            None,
            usize::MAX,
        ))
    };
    // 2^10 questions, 2^10 words, 2^14 numbers of tokens.
    assert!(!refused(64 * 1023, 1023));
    assert!(refused(64 * 1023 + 1, 1023));
    assert!(refused(64 * 1023, 1024));
}

#[test]
fn a_minimisation_is_refused_beyond_the_maximum_work() {
    let refused = |allow: usize, deny: usize, tokens: usize| {
        let last = long(tokens);
        let mut allowed = vec!["a"; allow];
        allowed[0] = &last;
        is_refused(minimised(rules(&allowed, &vec!["b"; deny]), usize::MAX))
    };
    // The square of 2^10 rules, and 2^14 numbers of tokens.
    let tokens = (1 << 14) - 1;
    assert!(!refused(512, 512, tokens));
    assert!(!refused(1024, 0, tokens));
    assert!(refused(1025, 0, tokens));
    assert!(refused(512, 513, tokens));
    assert!(refused(512, 512, tokens + 1));
}

/// Numbers of grants: the left set allows `a` some times, and the right set denies some subjects that
/// the left set allows.
fn grants(not_allowed: usize, not_denied: usize, times: usize) -> Option<usize> {
    let names: Vec<String> = (0..not_denied)
        .map(|number| format!("d.{number}"))
        .collect();
    let mut allow = vec!["a"; not_allowed];
    allow.extend(vec!["d.*"; times]);
    let denied: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = difference(rules(&allow, &[]), rules(&["d.*"], &denied), usize::MAX);
    found.ok().map(|found| found.len())
}

#[test]
fn a_difference_has_at_most_4096_grants() {
    assert_eq!(grants(4096, 0, 1), Some(1));
    assert_eq!(grants(4097, 0, 1), None);
    assert_eq!(grants(0, 4096, 1), Some(4096));
    assert_eq!(grants(0, 4097, 1), None);
    assert_eq!(grants(4095, 1, 1), Some(2));
    assert_eq!(grants(4096, 1, 1), None);
    // What the right set denies counts once, though two left rules allow it.
    assert_eq!(grants(0, 2049, 2), Some(2049));
}

#[test]
fn a_difference_is_refused_if_too_many_rules_may_take_something_out_of_its_grants() {
    let found = |parts: usize, other_allow: usize, deny: usize| {
        let (allow, other) = (vec!["a"; parts], vec!["b"; other_allow]);
        let denied = vec!["c"; deny];
        difference(rules(&allow, &denied), rules(&other, &[]), usize::MAX)
    };
    // 2^12 grants, the square of 2^10 rules.
    assert_eq!(found(4096, 512, 512).unwrap().len(), 1);
    assert_eq!(found(4096, 1024, 0).unwrap().len(), 1);
    assert!(is_refused(found(4096, 513, 512)));
    assert!(is_refused(found(4096, 512, 513)));
    // 2^8 grants, the square of 2^12 rules.
    assert_eq!(found(256, 4096, 0).unwrap().len(), 1);
    assert!(is_refused(found(257, 4096, 0)));
}
