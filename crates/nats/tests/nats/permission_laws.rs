//! The comparison of rule sets against exhaustive enumeration: one bit for every subject of a universe.

#![allow(clippy::unwrap_used)]

use subtrie::grammar;
use subtrie_nats::permissions::{RuleSet, difference, minimised, overlap, proof, witness};

use crate::permission_universe::{
    Mask, Random, Universe, both, holds, minus, patterns, rules, tokens,
};

/// Assert that `witness` agrees with the enumeration: whether there is one, its number of tokens, and
/// that it is one.
fn assert_witness(
    universe: &Universe,
    left: RuleSet<'_>,
    right: RuleSet<'_>,
    left_mask: Mask,
    right_mask: Mask,
) {
    let found = witness(left, right, usize::MAX).unwrap();
    let wanted = universe.shortest(minus(left_mask, right_mask));
    let got = found.as_ref().map(|found| tokens(&found.subject));
    assert_eq!(
        got, wanted,
        "{:?} {:?} in {:?} {:?}",
        left.allow, left.deny, right.allow, right.deny
    );
    if let Some(found) = found {
        assert!(
            holds(left, &found.subject) && !holds(right, &found.subject),
            "{found:?}"
        );
    }
}

/// Swap the names `a` and `b`. It changes no answer, so half of all cases are enough.
fn swapped(text: &str) -> String {
    (text.chars())
        .map(|letter| match letter {
            'a' => 'b',
            'b' => 'a',
            other => other,
        })
        .collect()
}

// requirement: T14
/// One allow and at most one deny on each side, to depth 4 over `{a, b, *, >}`.
///
/// Whether `a \ d` lies inside `a' \ d'` is whether it lies inside `a'` and shares nothing with
/// `d'`; the comparison decides these separately (a table of `a'` and `d`, then a table of `d`). So all
/// triples of each kind stand for all quadruples, of which a sample is tested too.
#[test]
fn every_pair_of_one_allow_and_one_deny_to_depth_four() {
    let universe = Universe::new(&["a", "b"], 4);
    let count = universe.patterns.len();
    assert_eq!(count, 160);
    let twin: Vec<usize> = (universe.patterns.iter())
        .map(|text| {
            let other = swapped(text);
            universe
                .patterns
                .iter()
                .position(|text| *text == other)
                .unwrap()
        })
        .collect();
    let everything = [universe
        .patterns
        .iter()
        .position(|text| text == ">")
        .unwrap()];
    let mut asked = 0_u64;
    for allow in 0..count {
        for deny in 0..=count {
            let denied: Vec<usize> = (deny < count).then_some(deny).into_iter().collect();
            let twin_deny = twin.get(deny).copied().unwrap_or(count);
            let left_mask = universe.mask(&[allow], &denied);
            let (allowed, denied) = (universe.texts(&[allow]), universe.texts(&denied));
            let left = rules(&allowed, &denied);
            for other in 0..count {
                if (twin[allow], twin_deny, twin[other]) < (allow, deny, other) {
                    continue;
                }
                let text = universe.texts(&[other]);
                assert_witness(
                    &universe,
                    left,
                    rules(&text, &[]),
                    left_mask,
                    universe.masks[other],
                );
                let less = universe.mask(&everything, &[other]);
                assert_witness(&universe, left, rules(&[">"], &text), left_mask, less);
                asked += 2;
            }
        }
    }
    assert!(asked > 4_000_000, "{asked}");
    let mut random = Random(0x5eed);
    for _ in 0..100_000 {
        let mut pick = || random.below(count);
        let (one, two, three, four) = ([pick()], [pick()], [pick()], [pick()]);
        let (a, b, c, d) = (
            universe.texts(&one),
            universe.texts(&two),
            universe.texts(&three),
            universe.texts(&four),
        );
        let (left, right) = (universe.mask(&one, &two), universe.mask(&three, &four));
        assert_witness(&universe, rules(&a, &b), rules(&c, &d), left, right);
    }
}

// requirement: T14
/// Sets of at most two allow rules and one deny rule to depth 3 over `{a, *, >}`: all their smallest
/// forms, and each left set against each right list of allow rules, then each right deny rule.
#[test]
fn every_set_of_two_allows_and_one_deny_to_depth_three() {
    let universe = Universe::new(&["a"], 3);
    let count = universe.patterns.len();
    assert_eq!(count, 21);
    let mut lists: Vec<Vec<usize>> = vec![Vec::new()];
    for one in 0..count {
        lists.push(vec![one]);
        lists.extend((0..one).map(|two| vec![two, one]));
    }
    for allow in &lists {
        for deny in 0..=count {
            let denied: Vec<usize> = (deny < count).then_some(deny).into_iter().collect();
            let mask = universe.mask(allow, &denied);
            let (allow_text, deny_text) = (universe.texts(allow), universe.texts(&denied));
            let left = rules(&allow_text, &deny_text);
            for right in &lists {
                let text = universe.texts(right);
                assert_witness(
                    &universe,
                    left,
                    rules(&text, &[]),
                    mask,
                    universe.mask(right, &[]),
                );
            }
            for right in 0..count {
                let text = universe.texts(&[right]);
                let everything = std::array::from_fn(|index| !universe.masks[right][index]);
                assert_witness(&universe, left, rules(&[">"], &text), mask, everything);
            }
            assert_minimised(&universe, left, mask);
        }
    }
}

/// Assert that the minimised set is equal, has as few allow rules as any equal list of patterns under
/// these deny rules, and is its own minimised form.
fn assert_minimised(universe: &Universe, set: RuleSet<'_>, mask: Mask) {
    let (allow, deny) = minimised(set, usize::MAX).unwrap();
    let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
    let deny: Vec<&str> = deny.iter().map(String::as_str).collect();
    let small = rules(&allow, &deny);
    assert_eq!(
        witness(set, small, usize::MAX).unwrap(),
        None,
        "{:?} {:?}",
        set.allow,
        set.deny
    );
    assert_eq!(
        witness(small, set, usize::MAX).unwrap(),
        None,
        "{:?} {:?} to {allow:?}",
        set.allow,
        set.deny
    );
    assert!(deny.iter().all(|rule| set.deny.contains(rule)));
    let (again, less) = minimised(small, usize::MAX).unwrap();
    assert!(
        again == allow && less == deny,
        "{again:?} {less:?} after {allow:?} {deny:?}"
    );
    let denied = set.deny.iter().fold([0; 6], |mask, rule| {
        let number = universe
            .patterns
            .iter()
            .position(|text| text == rule)
            .unwrap();
        std::array::from_fn(|index| mask[index] | universe.masks[number][index])
    });
    // Fewer is none, or one pattern: of depth 3, or 4, as a tail can require.
    if allow.len() == 2 {
        let deeper = patterns(&["a"], 4);
        for one in &deeper {
            let other = rules(
                std::slice::from_ref(&one.as_str()).to_vec().leak(),
                set.deny,
            );
            let same = witness(set, other, usize::MAX).unwrap().is_none()
                && witness(other, set, usize::MAX).unwrap().is_none();
            assert!(!same, "{one} alone does for {allow:?} {:?}", set.deny);
        }
    }
    if universe.shortest(minus(mask, denied)).is_none() {
        assert!(allow.is_empty() && deny.is_empty());
    }
    for rule in &deny {
        let less: Vec<&str> = deny
            .iter()
            .filter(|other| other != &rule)
            .copied()
            .collect();
        assert!(
            witness(rules(&allow, &less), small, usize::MAX)
                .unwrap()
                .is_some()
        );
    }
}

// requirement: T14
/// A million random pairs, of which a quarter are equal and a quarter strict subsets.
#[test]
fn a_million_random_pairs() {
    let universe = Universe::new(&["a", "b"], 4);
    let count = universe.patterns.len();
    let mut random = Random(0xacc_e55);
    let (mut equal, mut subset) = (0, 0);
    let pairs = 1_000_000;
    for number in 0..pairs {
        let some = |random: &mut Random, most: usize| -> Vec<usize> {
            let size = random.below(most + 1);
            (0..size).map(|_| random.below(count)).collect()
        };
        let (mut allow, deny) = (some(&mut random, 3), some(&mut random, 2));
        allow.push(random.below(count));
        let (mut other, mut less) = (allow.clone(), deny.clone());
        match number % 8 {
            // An equal set: with a rule inside another one, or a deny rule without effect.
            0..=2 => {
                let inside = random.below(count);
                if minus(universe.masks[inside], universe.mask(&allow, &[])) == [0; 6] {
                    other.push(inside);
                }
                let nothing = random.below(count);
                if both(universe.masks[nothing], universe.mask(&allow, &[])) == [0; 6] {
                    less.push(nothing);
                }
                other.rotate_left(1);
            }
            // A subset: with a further deny rule.
            3..=5 => {
                let whole = universe.mask(&allow, &deny);
                let takes = |rule: &usize| both(universe.masks[*rule], whole) != [0; 6];
                let rule = (0..8).map(|_| random.below(count)).find(takes);
                less.extend(rule);
            }
            6 => other.push(random.below(count)),
            _ => (other, less) = (some(&mut random, 3), some(&mut random, 2)),
        }
        let (left_mask, right_mask) = (universe.mask(&other, &less), universe.mask(&allow, &deny));
        let (a, b) = (universe.texts(&other), universe.texts(&less));
        let (c, d) = (universe.texts(&allow), universe.texts(&deny));
        let (left, right) = (rules(&a, &b), rules(&c, &d));
        assert_witness(&universe, left, right, left_mask, right_mask);
        if minus(left_mask, right_mask) == [0; 6] {
            assert_witness(&universe, right, left, right_mask, left_mask);
            if left_mask == right_mask {
                equal += 1;
            } else {
                subset += 1;
            }
        }
        if number % 50 == 0 {
            assert_other_answers(&universe, left, right, left_mask, right_mask);
        }
    }
    assert!(
        equal >= pairs / 4 && subset >= pairs / 4,
        "{equal} {subset}"
    );
}

/// Assert overlap, difference, proof and minimised form of one random pair.
fn assert_other_answers(
    universe: &Universe,
    left: RuleSet<'_>,
    right: RuleSet<'_>,
    left_mask: Mask,
    right_mask: Mask,
) {
    let shared = overlap(left, right, usize::MAX).unwrap();
    let got = shared.as_ref().map(|found| tokens(&found.subject));
    assert_eq!(got, universe.shortest(both(left_mask, right_mask)));
    if let Some(found) = shared {
        assert!(holds(left, &found.subject) && holds(right, &found.subject));
    }
    let only = minus(left_mask, right_mask);
    assert_eq!(
        proof(left, right, usize::MAX).unwrap().is_some(),
        only == [0; 6]
    );
    let grants = difference(left, right, usize::MAX).unwrap();
    for (number, subject) in universe.subjects.iter().enumerate() {
        let granted = grants.iter().any(|grant| {
            grammar::matches(&grant.rule, subject)
                && !grant
                    .unless
                    .iter()
                    .any(|hole| grammar::matches(hole, subject))
        });
        let wanted = only[number / 64] >> (number % 64) & 1 == 1;
        assert_eq!(granted, wanted, "{subject} {grants:?}");
    }
    let (allow, deny) = minimised(left, usize::MAX).unwrap();
    let allow: Vec<&str> = allow.iter().map(String::as_str).collect();
    let deny: Vec<&str> = deny.iter().map(String::as_str).collect();
    let small = rules(&allow, &deny);
    assert_eq!(
        witness(left, small, usize::MAX).unwrap(),
        None,
        "{:?} {:?}",
        left.allow,
        left.deny
    );
    assert_eq!(
        witness(small, left, usize::MAX).unwrap(),
        None,
        "{:?} {:?}",
        left.allow,
        left.deny
    );
    let mut turned: Vec<&str> = left.allow.to_vec();
    turned.reverse();
    let (again, less) = minimised(rules(&turned, left.deny), usize::MAX).unwrap();
    assert!(
        again == allow && less == deny,
        "order changes the smallest form"
    );
    let (again, less) = minimised(small, usize::MAX).unwrap();
    assert!(
        again == allow && less == deny,
        "{:?} {:?}",
        left.allow,
        left.deny
    );
}
