//! Exact answers about sets of rules: which witness, which claims, which grants, which rules.

#![allow(clippy::unwrap_used)]

use subtrie_nats::permissions::{
    RuleSet, difference, minimised, overlap, proof, refused_witness, witness,
};

use crate::permission_universe::rules;

type Found<'a> = Option<(&'a str, Option<&'a str>)>;

const NOTHING: RuleSet<'static> = rules(&[], &[]);

#[track_caller]
fn assert_witness(left: RuleSet<'_>, right: RuleSet<'_>, expected: Found<'_>) {
    let found = witness(left, right, usize::MAX).unwrap();
    let got = found
        .as_ref()
        .map(|found| (found.subject.as_str(), found.queue.as_deref()));
    assert_eq!(got, expected);
}

#[test]
fn of_equally_short_witnesses_the_first_by_text_is_given() {
    for allow in [["b", "a", "c"], ["a", "b", "c"], ["c", "b", "a"]] {
        assert_witness(rules(&allow, &[]), NOTHING, Some(("a", None)));
    }
    // The queue decides between equal subjects, and the subject first.
    assert_witness(rules(&["a r", "a q"], &[]), NOTHING, Some(("a", Some("q"))));
    assert_witness(rules(&["a q", "a r"], &[]), NOTHING, Some(("a", Some("q"))));
    assert_witness(rules(&["b q", "a r"], &[]), NOTHING, Some(("a", Some("r"))));
}

#[test]
fn the_witness_has_the_fewest_tokens_of_the_subject_and_then_of_the_queue() {
    assert_witness(
        rules(&["a.b.c", "b.b", "a.b.c.d"], &[]),
        NOTHING,
        Some(("b.b", None)),
    );
    assert_witness(
        rules(&["a", "a.b"], &[]),
        rules(&["*"], &[]),
        Some(("a.b", None)),
    );
    assert_witness(
        rules(&["a q.r", "b s", "c q.r"], &[]),
        NOTHING,
        Some(("b", Some("s"))),
    );
    assert_witness(rules(&["a q.r", "b"], &[]), NOTHING, Some(("b", None)));
    assert_witness(
        rules(&["b.b", "c"], &[]),
        rules(&[">"], &["b.b"]),
        Some(("b.b", None)),
    );
}

#[test]
fn open_tokens_of_a_witness_read_x_or_what_no_rule_names() {
    assert_witness(rules(&["a.*.>"], &[]), NOTHING, Some(("a.x.x", None)));
    assert_witness(rules(&["*.*"], &["x.*"]), NOTHING, Some(("x1.x1", None)));
    assert_witness(
        rules(&["*"], &["x", "x1"]),
        rules(&["x2"], &[]),
        Some(("x3", None)),
    );
    // Every queue but `q`: no queue is the shortest; then names that no rule has.
    assert_witness(rules(&["a"], &[]), rules(&["a q"], &[]), Some(("a", None)));
    assert_witness(
        rules(&["a >"], &[]),
        rules(&["a *"], &[]),
        Some(("a", Some("x.x"))),
    );
    assert_witness(
        rules(&["a *.>"], &[]),
        rules(&["a q.>"], &[]),
        Some(("a", Some("x.x"))),
    );
}

#[test]
fn a_queue_of_fixed_length_is_compared_at_this_length_only() {
    assert_witness(rules(&["a q"], &[]), rules(&["a q", "a r.s.t"], &[]), None);
    assert_witness(
        rules(&["a q.*"], &[]),
        rules(&["a *.*", "a r.s.t"], &[]),
        None,
    );
    assert_witness(
        rules(&["a q.*"], &[]),
        rules(&["a *.r"], &[]),
        Some(("a", Some("q.x"))),
    );
}

#[test]
fn an_overlap_has_the_queues_of_both_sets() {
    let found = |left, right| {
        let found = overlap(rules(left, &[]), rules(right, &[]), usize::MAX).unwrap();
        found.map(|found| (found.subject, found.queue))
    };
    let named = |subject: &str, queue: &str| Some((subject.to_owned(), Some(queue.to_owned())));
    assert_eq!(found(&["a.* q.*"], &["*.b *.r"]), named("a.b", "q.r"));
    assert_eq!(found(&["a q"], &["a"]), named("a", "q"));
    assert_eq!(found(&["a"], &["a q"]), named("a", "q"));
    assert_eq!(found(&["a q"], &["a r"]), None);
    assert_eq!(found(&["a"], &["*"]), Some(("a".to_owned(), None)));
}

#[test]
fn a_refused_subscription_has_a_witness() {
    let set = rules(&["a.>", "b q"], &["a.c", "a.d r"]);
    let refused = |pattern, queue| {
        let found = refused_witness(set, pattern, queue, usize::MAX).unwrap();
        found.map(|found| (found.subject, found.queue))
    };
    let given =
        |subject: &str, queue: Option<&str>| Some((subject.to_owned(), queue.map(str::to_owned)));
    assert_eq!(refused("a.b", None), None);
    assert_eq!(refused("a.b", Some("r")), None);
    assert_eq!(refused("a.*", None), given("a.c", None));
    assert_eq!(refused("a.d", None), None);
    assert_eq!(refused("a.d", Some("r")), given("a.d", Some("r")));
    assert_eq!(refused("a.d", Some("s")), None);
    assert_eq!(refused("b", None), given("b", None));
    assert_eq!(refused("b", Some("q")), None);
    assert_eq!(refused("c.>", Some("q")), given("c.x", Some("q")));
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn a_proof_names_one_rule_if_it_is_enough() {
    for (right, named) in [
        // The first that covers every number of tokens.
        (&["b", "a.*", "a.>", ">"][..], &["a.>"][..]),
        // Otherwise one for each number of tokens, from the most down.
        (&["a.*", "a.*.>"], &["a.*.>", "a.*"]),
        (&["a.*.*", "a.*", "a.*.*.>"], &["a.*.*.>", "a.*.*", "a.*"]),
        // The first of the longest is not needed after all.
        (&["a.*.*.>", "a.*.>", "a.*"], &["a.*.>", "a.*"]),
    ] {
        let proof = proof(rules(&["a.>"], &[]), rules(right, &[]), usize::MAX).unwrap();
        assert_eq!(
            proof.unwrap().allow_claims,
            [("a.>".to_owned(), owned(named))]
        );
    }
}

#[test]
fn a_proof_names_no_rule_that_the_others_make_needless() {
    let minimal = ["a.*.>", "a.*"];
    for right in [
        &["a.*.*.>", "a.*.>", "a.*"][..],
        &["a.*.*.*.>", "a.*.*.>", "a.*.>", "a.*"][..],
        &["a.*.*.>", "a.*", "a.*.>"][..],
    ] {
        let claims = proof(rules(&["a.>"], &[]), rules(right, &[]), usize::MAX)
            .unwrap()
            .unwrap();
        assert_eq!(claims.allow_claims[0].1, minimal);
        let left = rules(&["a.>"], right);
        let claims = proof(left, rules(&[">"], &["a.>"]), usize::MAX)
            .unwrap()
            .unwrap();
        assert_eq!(claims.deny_claims[0].2, minimal);
    }
}

#[test]
fn a_proof_with_many_rules_names_the_one_that_covers() {
    let names: Vec<String> = (0..130).map(|number| format!("n{number}")).collect();
    let many: Vec<&str> = names.iter().map(String::as_str).collect();
    for number in [0, 1, 62, 63, 64, 65, 127, 128, 129] {
        let (left, denied) = ([many[number]], [many[number]]);
        let claims = proof(rules(&left, &[]), rules(&many, &[]), usize::MAX)
            .unwrap()
            .unwrap();
        assert_eq!(claims.allow_claims, [(names[number].clone(), owned(&left))]);
        let (left, right) = (rules(&["*"], &many), rules(&["*"], &denied));
        let claims = proof(left, right, usize::MAX).unwrap().unwrap();
        let claim = ("*".to_owned(), names[number].clone(), owned(&denied));
        assert_eq!(claims.deny_claims, [claim]);
    }
}

/// The grants of a difference: the rule, what is taken out, the witness.
fn grants(left: RuleSet<'_>, right: RuleSet<'_>) -> Vec<String> {
    let found = difference(left, right, usize::MAX).unwrap();
    (found.iter())
        .map(|grant| {
            let queue = grant.witness.queue.as_deref().unwrap_or("-");
            let unless = grant.unless.join(",");
            format!(
                "{} [{unless}] {} {queue}",
                grant.rule, grant.witness.subject
            )
        })
        .collect()
}

#[test]
fn a_difference_has_no_grant_within_another_one() {
    let right = rules(&["c"], &[]);
    for (allow, expected) in [
        (&["a.b", "a.*", "a.c", "a.*"][..], &["a.* [] a.x -"][..]),
        (&["b", "a", "c"], &["a [] a -", "b [] b -"]),
        (&["a q", "a"], &["a [] a -"]),
        (&["a", "a q"], &["a [] a -"]),
        (&["a q", "a r"], &["a q [] a q", "a r [] a r"]),
        (&["a q.r", "a q.*"], &["a q.* [] a q.x"]),
    ] {
        assert_eq!(grants(rules(allow, &[]), right), expected);
    }
}

#[test]
fn a_grant_names_only_the_widest_rules_that_are_taken_out() {
    let left = rules(&["a.>"], &["a.d.>", "*.e"]);
    let right = rules(&["a.b.c", "a.b.*", "a.b.d", "b", "*.*.c"], &[]);
    assert_eq!(grants(left, right), ["a.> [a.*.c,a.b.*,a.d.>,a.e] a.x -"]);
    let (left, right) = (rules(&["a q.*"], &[]), rules(&["* *.r", "a q.s"], &[]));
    assert_eq!(grants(left, right), ["a q.* [a q.r,a q.s] a q.x"]);
}

#[test]
fn what_the_right_set_denies_is_a_grant_of_its_own_if_it_allows_some_of_it() {
    // Both left rules share `a.b` with the deny rule: one grant.
    let left = rules(&["a.*", "*.b"], &["a.b.c"]);
    assert_eq!(grants(left, rules(&[">"], &["a.b"])), ["a.b [] a.b -"]);
    assert_eq!(
        grants(left, rules(&[">"], &["a.*", "a.b"])),
        ["a.* [] a.x -"]
    );
    assert_eq!(
        grants(rules(&["a.*"], &["a.c"]), rules(&[">"], &["a.>"])),
        ["a.* [a.c] a.x -"]
    );
    // Nothing of it is allowed: part of what is not allowed.
    assert_eq!(
        grants(rules(&["a.*"], &[]), rules(&["b"], &["a.c"])),
        ["a.* [] a.x -"]
    );
    assert_eq!(
        grants(rules(&["a.*"], &[]), rules(&["a.c"], &["a.c"])),
        ["a.* [a.c] a.x -", "a.c [] a.c -"]
    );
    // What the left set denies as well is not a grant.
    assert!(grants(rules(&["a.*"], &["a.c"]), rules(&["a.*"], &["a.c"])).is_empty());
}

#[track_caller]
fn assert_minimised(allow: &[&str], deny: &[&str], most: usize, kept: &[&str], required: &[&str]) {
    let (small, less) = minimised(rules(allow, deny), most).unwrap();
    assert_eq!(
        (&small[..], &less[..]),
        (&owned(kept)[..], &owned(required)[..])
    );
}

#[test]
fn a_tail_is_kept_if_it_saves_a_rule() {
    let all = usize::MAX;
    assert_minimised(&["a.*", "a.*.>"], &[], all, &["a.>"], &[]);
    assert_minimised(&["a.*", "a.*.*"], &[], all, &["a.*", "a.*.*"], &[]);
    assert_minimised(&["a", "a.>"], &[], all, &["a", "a.>"], &[]);
    assert_minimised(&["a.>", "a.*.c"], &["a.*"], all, &["a.*.>"], &[]);
    // With a maximum, a tail that stands for one number of tokens is none.
    assert_minimised(&["a.>"], &[], 2, &["a.*"], &[]);
    assert_minimised(&["a.>"], &[], 3, &["a.>"], &[]);
    assert_minimised(&["a.b.>", "a"], &[], 3, &["a", "a.b.*"], &[]);
    assert_minimised(&["a.>"], &[], 1, &[], &[]);
}

#[test]
fn of_deny_rules_that_take_out_the_same_the_shortest_is_kept() {
    // Fewest tokens, of subject and queue together, then the shortest text, then the last by text.
    for (allow, deny, kept) in [
        ("aaaaaa.*.c.d", ["*.b.c.d", "aaaaaa.b.>"], "aaaaaa.b.>"),
        ("aa.*.c", ["aa.b.*", "*.b.c"], "*.b.c"),
        ("a.*.c", ["a.b.*", "*.b.c"], "a.b.*"),
        ("a.* q.*", ["*.b q.*", "*.b"], "*.b"),
        ("a.*.* q", ["a.b.* q", "*.b.*"], "*.b.*"),
        ("*.*.c.d q", ["a.*.c.d", "a.> q"], "a.> q"),
    ] {
        for deny in [deny, [deny[1], deny[0]]] {
            assert_minimised(&[allow], &deny, usize::MAX, &[allow], &[kept]);
        }
    }
}
