//! Rule sets with queues and a maximum number of tokens against exhaustive enumeration: one bit for
//! every pair of a subject and a queue.

#![allow(clippy::unwrap_used)]

use subtrie::grammar;
use subtrie_nats::permissions::{
    Proof, RuleSet, Witness, difference, minimised, overlap, proof, refused_witness, witness,
};

use crate::permission_universe::{Random, patterns, rules, texts, tokens};

/// Numbers of tokens of a subject and of a queue name, 0 without a queue.
type Lengths = (usize, usize);

/// A set of pairs.
type Pairs = [u64; 8];

/// All pairs over `a`, `q` and `x`, which no rule names, shortest first, and those of each rule.
struct Universe {
    pairs: Vec<(String, Option<String>)>,
    rules: Vec<String>,
    masks: Vec<Pairs>,
    /// The pairs of each number of tokens of subject and queue.
    cells: Vec<Pairs>,
}

impl Universe {
    /// Rules of at most three tokens and a queue of at most two, and one token more of each pair.
    fn new() -> Self {
        let mut pairs: Vec<(String, Option<String>)> = Vec::new();
        for subject in texts(&["a", "x"], 4) {
            pairs.push((subject.clone(), None));
            pairs.extend(
                texts(&["q", "x"], 3)
                    .into_iter()
                    .map(|queue| (subject.clone(), Some(queue))),
            );
        }
        pairs.sort_by_key(|(subject, queue)| lengths(subject, queue.as_deref()));
        let mut rules = patterns(&["a"], 3);
        for queue in patterns(&["q"], 2) {
            rules.extend(
                patterns(&["a"], 3)
                    .iter()
                    .map(|subject| format!("{subject} {queue}")),
            );
        }
        let mut universe = Self {
            pairs,
            rules,
            masks: Vec::new(),
            cells: Vec::new(),
        };
        universe.masks = universe
            .rules
            .iter()
            .map(|rule| universe.of_rule(rule))
            .collect();
        universe.cells = (1..=4)
            .flat_map(|subject| (0..=3).map(move |queue| (subject, queue)))
            .map(|cell| universe.select(|subject, queue| lengths(subject, queue) == cell))
            .collect();
        universe
    }

    fn of_rule(&self, rule: &str) -> Pairs {
        let known = self
            .masks
            .iter()
            .zip(&self.rules)
            .find(|(_, text)| *text == rule);
        known.map_or_else(
            || self.select(|subject, queue| matches(rule, subject, queue)),
            |(&mask, _)| mask,
        )
    }

    fn select(&self, is_in: impl Fn(&str, Option<&str>) -> bool) -> Pairs {
        let mut found = [0; 8];
        for (number, (subject, queue)) in self.pairs.iter().enumerate() {
            if is_in(subject, queue.as_deref()) {
                found[number / 64] |= 1 << (number % 64);
            }
        }
        found
    }

    /// Pairs of a set of rules.
    fn of_set(&self, set: RuleSet<'_>, bound: Pairs) -> Pairs {
        let any = |rules: &[&str]| {
            rules
                .iter()
                .fold([0; 8], |all, rule| or(all, self.of_rule(rule)))
        };
        and(bound, minus(any(set.allow), any(set.deny)))
    }

    fn first(&self, pairs: Pairs) -> Option<Lengths> {
        let number = (0..self.pairs.len()).find(|&number| contains(pairs, number))?;
        let (subject, queue) = &self.pairs[number];
        Some(lengths(subject, queue.as_deref()))
    }

    /// Assert that a witness is one of the pairs, with the fewest tokens.
    fn assert_shortest(&self, found: Option<&Witness>, pairs: Pairs, about: &str) {
        let got = found.map(|found| lengths(&found.subject, found.queue.as_deref()));
        assert_eq!(got, self.first(pairs), "{about}");
        if let Some(found) = found {
            let is_in = (self.pairs.iter().enumerate()).any(|(number, (subject, queue))| {
                contains(pairs, number) && *subject == found.subject && *queue == found.queue
            });
            assert!(is_in, "{found:?} {about}");
        }
    }

    /// Assert that the named rules cover `part` at every number of tokens, and that none can be omitted.
    fn assert_cover(&self, part: Pairs, named: &[String], about: &str) {
        let masks: Vec<Pairs> = named.iter().map(|rule| self.of_rule(rule)).collect();
        let covers = |omitted: usize| {
            self.cells.iter().all(|&cell| {
                let cell = and(part, cell);
                cell == [0; 8]
                    || (masks.iter().enumerate())
                        .any(|(number, &mask)| number != omitted && minus(cell, mask) == [0; 8])
            })
        };
        assert!(covers(usize::MAX), "{named:?} {about}");
        assert!(
            (0..named.len()).all(|number| !covers(number)),
            "{named:?} {about}"
        );
    }

    fn assert_proof(&self, proof: &Proof, left: RuleSet<'_>, right: RuleSet<'_>, bound: Pairs) {
        let about = format!(
            "{:?} {:?} in {:?} {:?}",
            left.allow, left.deny, right.allow, right.deny
        );
        let claimed: Vec<&str> = proof
            .allow_claims
            .iter()
            .map(|(rule, _)| rule.as_str())
            .collect();
        assert_eq!(claimed, left.allow);
        for (rule, named) in &proof.allow_claims {
            assert!(named.iter().all(|rule| {
                right.allow.contains(&rule.as_str()) || left.deny.contains(&rule.as_str())
            }));
            self.assert_cover(and(bound, self.of_rule(rule)), named, &about);
        }
        let mut claims = proof.deny_claims.iter();
        for rule in left.allow {
            for denied in right.deny {
                let both = and(self.of_rule(rule), self.of_rule(denied));
                if both == [0; 8] {
                    continue;
                }
                let (allow, deny, named) = claims.next().unwrap();
                assert!(allow == rule && deny == denied, "{about}");
                assert!(named.iter().all(|rule| left.deny.contains(&rule.as_str())));
                self.assert_cover(and(bound, both), named, &about);
            }
        }
        assert_eq!(claims.next(), None);
    }

    /// Assert that a minimised set is equal, is its own minimised form, and that none of its rules
    /// can be omitted.
    fn assert_minimised(&self, set: RuleSet<'_>, max_tokens: usize, bound: Pairs) {
        let (allow, deny) = minimised(set, max_tokens).unwrap();
        let (allow, deny) = (borrowed(&allow), borrowed(&deny));
        let small = rules(&allow, &deny);
        let about = format!(
            "{:?} {:?} {max_tokens} to {allow:?} {deny:?}",
            set.allow, set.deny
        );
        let whole = self.of_set(set, bound);
        assert_eq!(self.of_set(small, bound), whole, "{about}");
        assert!(deny.iter().all(|rule| set.deny.contains(rule)), "{about}");
        let (again, less) = minimised(small, max_tokens).unwrap();
        assert!(
            again == allow && less == deny,
            "{again:?} {less:?} after {about}"
        );
        // Only rules of one queue name are minimised together.
        let has_queues = allow.iter().any(|rule| rule.contains(' '));
        for number in (0..allow.len()).filter(|_| !has_queues) {
            let mut fewer = allow.clone();
            fewer.remove(number);
            assert_ne!(self.of_set(rules(&fewer, &deny), bound), whole, "{about}");
        }
        for number in 0..deny.len() {
            let mut fewer = deny.clone();
            fewer.remove(number);
            assert_ne!(self.of_set(rules(&allow, &fewer), bound), whole, "{about}");
        }
    }
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

fn lengths(subject: &str, queue: Option<&str>) -> Lengths {
    (tokens(subject), queue.map_or(0, tokens))
}

fn matches(rule: &str, subject: &str, queue: Option<&str>) -> bool {
    match rule.split_once(' ') {
        None => grammar::matches(rule, subject),
        Some((pattern, group)) => {
            grammar::matches(pattern, subject)
                && queue.is_some_and(|queue| grammar::matches(group, queue))
        }
    }
}

fn contains(pairs: Pairs, number: usize) -> bool {
    pairs[number / 64] >> (number % 64) & 1 == 1
}

fn minus(left: Pairs, right: Pairs) -> Pairs {
    std::array::from_fn(|index| left[index] & !right[index])
}

fn and(left: Pairs, right: Pairs) -> Pairs {
    std::array::from_fn(|index| left[index] & right[index])
}

fn or(left: Pairs, right: Pairs) -> Pairs {
    std::array::from_fn(|index| left[index] | right[index])
}

// requirement: T14
/// Every answer about random pairs of sets, half of them with few queues, at each bound.
#[test]
fn random_sets_with_queues_and_a_maximum_number_of_tokens() {
    let universe = Universe::new();
    assert_eq!((universe.pairs.len(), universe.rules.len()), (450, 210));
    let bounds = [1, 2, 3, usize::MAX]
        .map(|most| (most, universe.select(|subject, _| tokens(subject) <= most)));
    let mut random = Random(0x9a1f5);
    let mut proven = 0;
    for number in 0..10_000 {
        // The first of the rules have no queue.
        let most = if number % 2 == 0 {
            42
        } else {
            universe.rules.len()
        };
        let mut list = |size: usize| -> Vec<&str> {
            (0..size)
                .map(|_| universe.rules[random.below(most)].as_str())
                .collect()
        };
        let (mut allow, deny) = (list(1 + number % 3), list(number / 3 % 3));
        let (mut other, other_deny) = (list(1 + number / 9 % 3), list(number / 27 % 2));
        if number % 5 < 3 {
            other.extend(&allow);
            allow.reverse();
        }
        let (max_tokens, bound) = bounds[random.below(4)];
        let (left, right) = (rules(&allow, &deny), rules(&other, &other_deny));
        let about = format!("{allow:?} {deny:?} and {other:?} {other_deny:?}, {max_tokens}");
        let (one, two) = (universe.of_set(left, bound), universe.of_set(right, bound));
        let found = witness(left, right, max_tokens).unwrap();
        universe.assert_shortest(found.as_ref(), minus(one, two), &about);
        let shared = overlap(left, right, max_tokens).unwrap();
        universe.assert_shortest(shared.as_ref(), and(one, two), &about);
        let claims = proof(left, right, max_tokens).unwrap();
        assert_eq!(claims.is_some(), minus(one, two) == [0; 8], "{about}");
        if let Some(claims) = claims {
            proven += 1;
            universe.assert_proof(&claims, left, right, bound);
        }
        let granted =
            difference(left, right, max_tokens)
                .unwrap()
                .iter()
                .fold([0; 8], |all, grant| {
                    let unless = borrowed(&grant.unless);
                    let part = universe.of_set(rules(&[grant.rule.as_str()], &unless), bound);
                    universe.assert_shortest(Some(&grant.witness), part, &about);
                    or(all, part)
                });
        assert_eq!(granted, minus(one, two), "{about}");
        universe.assert_minimised(left, max_tokens, bound);
        let (asked, queue) = allow[0]
            .split_once(' ')
            .map_or((allow[0], None), |(asked, queue)| (asked, Some(queue)));
        let asked_pairs = universe.select(|subject, name| {
            grammar::matches(asked, subject)
                && match (queue, name) {
                    (Some(queue), Some(name)) => grammar::matches(queue, name),
                    (queue, name) => queue.is_none() && name.is_none(),
                }
        });
        let refused = refused_witness(right, asked, queue, max_tokens).unwrap();
        let refusable = minus(and(bound, asked_pairs), two);
        universe.assert_shortest(refused.as_ref(), refusable, &about);
    }
    assert!(proven > 1000, "{proven}");
}
