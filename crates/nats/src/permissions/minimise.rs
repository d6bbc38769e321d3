//! Minimisation of a set: the fewest allow rules for the given denies, then the denies that remain.
//!
//! At each number of tokens, the rules that must be kept are the widest ones that no deny covers; a
//! rule that covers one of them without widening the set equals it there. So a rule without a tail
//! keeps one of them, and a rule `r.*.>` keeps those of the chain `r.*.*`, `r.*.*.*`, …. The chains
//! (one for each root `r`, which does not end in `*`) are independent: each gets one tail if that
//! saves a rule, as narrow as possible. Ties: the narrowest, then by text. The rules of each queue
//! name are minimised separately, given what wider queues allow.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::TooMuchWork;
use super::coverage::{CoverageTable, MaxLengths, contains, is_empty, rules_in};
use super::inclusion::{ParsedSet, RuleSet};
use super::rule::{Pattern, Queue, Rule, STAR, TokenInterner};

/// Maximum work: rules times rules times tokens; as [`super::witness`].
const MAX_WORK: u64 = 1 << 34;

/// Return an equal set, the smallest for each queue name: allow and deny rules, each sorted by text.
///
/// The result contains exactly the same subjects, has no deny rule that the set does not have, does
/// not depend on the order of the rules, and minimising it again changes nothing. Cost: rules times
/// rules times tokens, over bit vectors.
///
/// # Errors
///
/// `too-much-work` if the set is too large.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, minimised};
///
/// let set = RuleSet { allow: &["a.b", "a.*", "c"], deny: &["d"] };
/// let (allow, deny) = minimised(set, usize::MAX)?;
/// assert_eq!(allow, ["a.*", "c"]);
/// assert!(deny.is_empty());
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
pub fn minimised(
    set: RuleSet<'_>,
    max_tokens: usize,
) -> Result<(Vec<String>, Vec<String>), TooMuchWork> {
    let mut interner = TokenInterner::default();
    let set = ParsedSet::parse(set, &mut interner);
    let max_lengths = MaxLengths::of(set.allow.iter().chain(&set.deny));
    let rules = (set.allow.len() + set.deny.len()) as u64;
    if rules
        .saturating_mul(rules)
        .saturating_mul(max_lengths.subject as u64)
        > MAX_WORK
    {
        return Err(TooMuchWork);
    }
    let groups: BTreeSet<String> = set
        .allow
        .iter()
        .map(|rule| queue_text(rule, &interner))
        .collect();
    let mut allow: Vec<Rule> = Vec::new();
    for group in &groups {
        allow.extend(minimise_queue(
            group,
            &set,
            max_lengths,
            max_tokens,
            &interner,
        ));
    }
    let deny = required_denies(&allow, &set, max_lengths, max_tokens, &interner);
    Ok((
        sorted_texts(&allow, &interner),
        sorted_texts(&deny, &interner),
    ))
}

fn sorted_texts(rules: &[Rule], interner: &TokenInterner<'_>) -> Vec<String> {
    let texts: BTreeSet<String> = rules.iter().map(|rule| rule.to_text(interner)).collect();
    texts.into_iter().collect()
}

/// The queue of a rule as text, empty for every queue.
fn queue_text(rule: &Rule, interner: &TokenInterner<'_>) -> String {
    match &rule.queue {
        Queue::Named(name) => name.to_text(interner),
        Queue::Any | Queue::Without => String::new(),
    }
}

/// For each root, the numbers of `*` that follow it in rules that must be kept.
type Chains = HashMap<Vec<u32>, BTreeSet<usize>>;

/// Minimise the allow rules of one queue name.
fn minimise_queue(
    group: &str,
    set: &ParsedSet,
    max_lengths: MaxLengths,
    max_tokens: usize,
    interner: &TokenInterner<'_>,
) -> Vec<Rule> {
    let (own, others): (Vec<&Rule>, Vec<&Rule>) =
        (set.allow.iter()).partition(|rule| queue_text(rule, interner) == group);
    let Some(queue) = own.first().map(|rule| rule.queue.clone()) else {
        return Vec::new();
    };
    // Only rules that apply to the whole queue matter, and only their subjects.
    let plain = |rules: &[&Rule]| -> Vec<Rule> {
        (rules.iter().filter(|rule| rule.queue.covers(&queue)))
            .map(|rule| Rule {
                subject: rule.subject.clone(),
                queue: Queue::Any,
            })
            .collect()
    };
    let own = plain(&own);
    let others = plain(&others);
    let deny = plain(&set.deny.iter().collect::<Vec<_>>());
    let last = max_lengths.subject.min(max_tokens);
    let max_lengths = MaxLengths {
        queue: 0,
        ..max_lengths
    };
    // At `last`, a tail stands for all larger numbers of tokens.
    let unbounded = max_tokens > max_lengths.subject;

    let chains = required_chains(&own, &others, &deny, max_lengths, max_tokens);
    let table = CoverageTable::new(own.iter().chain(&others).chain(&deny));
    let mut rules = Vec::new();
    for (root, stars) in &chains {
        let from = narrowest_tail(&table, root, max_lengths, last);
        let above: Vec<usize> = stars.iter().copied().filter(|&star| star > from).collect();
        let reaches_last = above.last().is_some_and(|&star| root.len() + star == last);
        let saved = above.len() + usize::from(unbounded && reaches_last);
        let tail = (saved >= 2).then(|| above.first().map_or(0, |star| star - 1));
        let mut push = |stars: usize, tail: bool| {
            let mut tokens = root.clone();
            tokens.resize(root.len() + stars, STAR);
            rules.push(Rule {
                subject: Pattern { tokens, tail },
                queue: queue.clone(),
            });
        };
        for &star in stars {
            if tail.is_none_or(|tail| star <= tail) {
                push(star, false);
            }
        }
        if let Some(tail) = tail {
            push(tail, true);
        }
    }
    rules
}

/// Find the rules that must be kept: at each number of tokens the widest own rules that neither a deny
/// nor a rule of another queue covers.
fn required_chains(
    own: &[Rule],
    others: &[Rule],
    deny: &[Rule],
    max_lengths: MaxLengths,
    max_tokens: usize,
) -> Chains {
    let table = CoverageTable::new(own.iter().chain(others).chain(deny));
    let mut chains = Chains::new();
    for rule in own {
        let _ = table.for_each_length(rule, max_lengths, max_tokens, |length, _, bits| {
            let widest = rules_in(bits).all(|index| {
                (own.get(index)).is_some_and(|other| rule.subject.covers_at(&other.subject, length))
            });
            if widest {
                let mut root: Vec<u32> = (0..length).map(|at| rule.subject.at(at)).collect();
                while root.last() == Some(&STAR) {
                    root.pop();
                }
                let stars = length - root.len();
                chains.entry(root).or_default().insert(stars);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    chains
}

/// The smallest number of `*` after `root` that a tail can follow without widening the set.
fn narrowest_tail(
    table: &CoverageTable,
    root: &[u32],
    max_lengths: MaxLengths,
    last: usize,
) -> usize {
    let rule = Rule {
        subject: Pattern {
            tokens: root.to_vec(),
            tail: true,
        },
        queue: Queue::Any,
    };
    let mut from = 0;
    let _ = table.for_each_length(&rule, max_lengths, last, |length, _, bits| {
        if is_empty(bits) {
            from = length - root.len();
        }
        ControlFlow::<()>::Continue(())
    });
    from
}

/// The deny rules without which the set would be larger; the longest are dropped first.
fn required_denies(
    allow: &[Rule],
    set: &ParsedSet,
    max_lengths: MaxLengths,
    max_tokens: usize,
    interner: &TokenInterner<'_>,
) -> Vec<Rule> {
    let mut by_text: BTreeMap<String, &Rule> = BTreeMap::new();
    for rule in &set.deny {
        by_text.insert(rule.to_text(interner), rule);
    }
    let mut deny: Vec<(String, &Rule)> = by_text.into_iter().collect();
    deny.sort_by_key(|(text, rule)| {
        let tokens = rule.subject.shortest() + rule.queue.shortest();
        Reverse((tokens, text.len()))
    });
    let table = CoverageTable::new(deny.iter().map(|&(_, rule)| rule));
    let mut kept = vec![true; deny.len()];
    for (index, &(_, tried)) in deny.iter().enumerate() {
        kept[index] = false;
        let covered = (allow
            .iter()
            .filter_map(|allowed| allowed.intersection(tried)))
        .all(|both| {
            table
                .for_each_length(&both, max_lengths, max_tokens, |_, _, bits| {
                    if (0..deny.len()).any(|other| kept[other] && contains(bits, other)) {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                })
                .is_continue()
        });
        kept[index] = !covered;
    }
    let required = deny.iter().zip(&kept).filter(|&(_, &kept)| kept);
    required.map(|(&(_, rule), _)| rule.clone()).collect()
}
