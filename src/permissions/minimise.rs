//! The fewest allow rules for the given denies, then the denies that can go.
//!
//! At each length, what must be kept is the widest rules that no deny covers; a rule that covers one
//! of them and widens nothing equals it there. So a rule without a tail keeps one of them, a rule
//! `r.*.>` keeps those of the chain `r.*.*`, `r.*.*.*`, …, and the chains (one a root `r`, which does
//! not end in `*`) are independent: each takes one tail where that saves a rule, as narrow as can
//! be. Ties: the narrowest, then by text. Queues: the rules of each queue name are minimised for
//! themselves, beside what wider queues allow.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::column::{Reach, Table, has, numbers};
use super::rule::{Pattern, Queue, Rule, STAR, Vocabulary};
use super::set::{RuleSet, Side, too_much_work};
use crate::error::Error;

/// The smallest form of the set: allow and deny rules, each sorted by text.
///
/// It holds exactly what the set held, has no deny that was not there, does not depend on the order
/// of the rules and is its own smallest form. Cost: rules times rules times tokens, over bit sets.
pub fn minimised(set: RuleSet<'_>) -> Result<(Vec<String>, Vec<String>), Error> {
    let mut words = Vocabulary::default();
    let side = Side::read(set, &mut words);
    let reach = Reach::of(side.allow.iter().chain(&side.deny));
    let rules = (side.allow.len() + side.deny.len()) as u64;
    if rules
        .saturating_mul(rules)
        .saturating_mul(reach.subject as u64)
        > 1 << 34
    {
        return Err(too_much_work());
    }
    let groups: BTreeSet<String> = side
        .allow
        .iter()
        .map(|rule| queue_text(rule, &words))
        .collect();
    let mut allow: Vec<Rule> = Vec::new();
    for group in &groups {
        allow.extend(one_queue(group, &side, reach, &words));
    }
    let deny = needed(&allow, &side, reach, &words);
    Ok((sorted(&allow, &words), sorted(&deny, &words)))
}

fn sorted(rules: &[Rule], words: &Vocabulary<'_>) -> Vec<String> {
    let texts: BTreeSet<String> = rules.iter().map(|rule| rule.write(words)).collect();
    texts.into_iter().collect()
}

/// The queue as text, empty for every queue: the key of a group.
fn queue_text(rule: &Rule, words: &Vocabulary<'_>) -> String {
    match &rule.queue {
        Queue::Named(name) => name.write(words),
        Queue::Any | Queue::Without => String::new(),
    }
}

/// The chains of one root: how many `*` follow it, in what must be kept.
type Chains = HashMap<Vec<u32>, BTreeSet<usize>>;

fn one_queue(group: &str, side: &Side, reach: Reach, words: &Vocabulary<'_>) -> Vec<Rule> {
    let (own, others): (Vec<&Rule>, Vec<&Rule>) =
        (side.allow.iter()).partition(|rule| queue_text(rule, words) == group);
    let Some(queue) = own.first().map(|rule| rule.queue.clone()) else {
        return Vec::new();
    };
    // Within one queue, only the subjects of the rules that speak of all of it count.
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
    let deny = plain(&side.deny.iter().collect::<Vec<_>>());
    let last = reach.subject.min(side.most);
    let reach = Reach { queue: 0, ..reach };
    // At `last`, a tail stands for all the lengths beyond.
    let endless = side.most > reach.subject;

    let kept = chains(&own, &others, &deny, reach, side.most);
    let table = Table::new(own.iter().chain(&others).chain(&deny));
    let mut rules = Vec::new();
    for (root, stars) in &kept {
        let from = first_tail(&table, root, reach, last);
        let above: Vec<usize> = stars.iter().copied().filter(|&star| star > from).collect();
        let reaches = above.last().is_some_and(|&star| root.len() + star == last);
        let weight = above.len() + usize::from(endless && reaches);
        let tail = (weight >= 2).then(|| above.first().map_or(0, |star| star - 1));
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

/// What must be kept: at each length the widest own rules that neither a deny nor another queue's
/// rule covers.
fn chains(own: &[Rule], others: &[Rule], deny: &[Rule], reach: Reach, most: usize) -> Chains {
    let table = Table::new(own.iter().chain(others).chain(deny));
    let mut kept = Chains::new();
    for rule in own {
        let _ = table.cells(rule, reach, most, |length, _, bits| {
            let widest = numbers(bits).all(|number| {
                (own.get(number))
                    .is_some_and(|other| rule.subject.covers_at(&other.subject, length))
            });
            if widest {
                let mut root: Vec<u32> = (0..length).map(|at| rule.subject.at(at)).collect();
                while root.last() == Some(&STAR) {
                    root.pop();
                }
                let stars = length - root.len();
                kept.entry(root).or_default().insert(stars);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    kept
}

/// The fewest stars after which a tail widens nothing.
fn first_tail(table: &Table, root: &[u32], reach: Reach, last: usize) -> usize {
    let asked = Rule {
        subject: Pattern {
            tokens: root.to_vec(),
            tail: true,
        },
        queue: Queue::Any,
    };
    let mut from = 0;
    let _ = table.cells(&asked, reach, last, |length, _, bits| {
        if super::column::is_empty(bits) {
            from = length - root.len();
        }
        ControlFlow::<()>::Continue(())
    });
    from
}

/// The denies without which the set would be wider; the longest are tried first.
fn needed(allow: &[Rule], side: &Side, reach: Reach, words: &Vocabulary<'_>) -> Vec<Rule> {
    let mut by_text: BTreeMap<String, &Rule> = BTreeMap::new();
    for rule in &side.deny {
        by_text.insert(rule.write(words), rule);
    }
    let mut deny: Vec<(String, &Rule)> = by_text.into_iter().collect();
    deny.sort_by_key(|(text, rule)| {
        let tokens = rule.subject.shortest() + rule.queue.shortest();
        (usize::MAX - tokens, usize::MAX - text.len())
    });
    let table = Table::new(deny.iter().map(|&(_, rule)| rule));
    let mut left = vec![true; deny.len()];
    for (number, &(_, tried)) in deny.iter().enumerate() {
        left[number] = false;
        let covered = (allow.iter().filter_map(|allowed| allowed.meet(tried))).all(|both| {
            table
                .cells(&both, reach, side.most, |_, _, bits| {
                    if (0..deny.len()).any(|other| left[other] && has(bits, other)) {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                })
                .is_continue()
        });
        left[number] = !covered;
    }
    let kept = deny.iter().zip(&left).filter(|&(_, &kept)| kept);
    kept.map(|(&(_, rule), _)| rule.clone()).collect()
}
