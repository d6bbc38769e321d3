//! Bit vectors of the rules that cover a given rule, for each number of tokens.
//!
//! The bit-vector scheme of packet classification (Lakshman and Stiliadis 1998), with a position of
//! the subject or queue name as a field: each position and token has the vector of the rules that
//! accept it, and the rules that cover a pattern are the intersection along its tokens.
//!
//! A [`CoveredPatterns`] holds one pattern of each rule (its subject, or its queue), a
//! [`CoverageTable`] both. Memory: the tokens of the rules, and two bits of a rule for each position
//! of the longest one.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::rule::{Pattern, Queue, Rule, STAR};

/// A set of rules by their index, one bit each.
pub(super) type RuleBits = Vec<u64>;

fn insert(bits: &mut [u64], rule: usize) {
    if let Some(word) = bits.get_mut(rule / 64) {
        *word |= 1 << (rule % 64);
    }
}

/// Whether a set contains a rule.
pub(super) fn contains(bits: &[u64], rule: usize) -> bool {
    bits.get(rule / 64)
        .is_some_and(|word| word >> (rule % 64) & 1 == 1)
}

/// Whether a set contains no rule.
pub(super) fn is_empty(bits: &[u64]) -> bool {
    bits.iter().all(|&word| word == 0)
}

/// Set `both` to the rules that are in both sets.
fn intersect(both: &mut [u64], one: &[u64], other: &[u64]) {
    for (word, (one, other)) in both.iter_mut().zip(one.iter().zip(other)) {
        *word = one & other;
    }
}

/// Sets of rules by an index, in one allocation.
struct RuleRows {
    words: usize,
    last: usize,
    bits: Vec<u64>,
}

impl RuleRows {
    /// Empty sets for the indices up to `last`.
    fn new(last: usize, words: usize) -> Self {
        let bits = vec![0; (last + 1) * words];
        Self { words, last, bits }
    }

    fn insert(&mut self, index: usize, rule: usize) {
        insert(&mut self.bits[index * self.words..], rule);
    }

    /// Insert a rule at `first` and all indices beyond.
    fn insert_from(&mut self, first: usize, rule: usize) {
        for index in first..=self.last {
            self.insert(index, rule);
        }
    }

    /// The set at an index, the last one for all beyond.
    fn at_or_last(&self, index: usize) -> &[u64] {
        let start = index.min(self.last) * self.words;
        &self.bits[start..start + self.words]
    }
}

/// Iterate over the rules of a set in ascending order.
pub(super) fn rules_in(bits: &[u64]) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().flat_map(|(index, &word)| {
        (0..64)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| index * 64 + bit)
    })
}

/// One pattern of each rule, by position and token.
struct CoveredPatterns {
    /// By position: patterns with `*` there, or whose tail begins there or before. The last is that
    /// of all further positions.
    any_token: RuleRows,
    /// By number of tokens: patterns that match sequences so long. The last is that of all further
    /// numbers.
    of_length: RuleRows,
    /// By position and token: patterns with that token there.
    literals: HashMap<(usize, u32), Vec<usize>, foldhash::fast::RandomState>,
    /// All patterns of the table.
    all: RuleBits,
}

impl CoveredPatterns {
    fn new<'a>(patterns: impl Iterator<Item = (usize, &'a Pattern)> + Clone, words: usize) -> Self {
        let longest = (patterns.clone())
            .map(|(_, pattern)| pattern.tokens.len())
            .max()
            .unwrap_or(0);
        let mut table = Self {
            any_token: RuleRows::new(longest, words),
            of_length: RuleRows::new(longest + 1, words),
            literals: HashMap::default(),
            all: vec![0; words],
        };
        for (rule, pattern) in patterns {
            insert(&mut table.all, rule);
            for (position, &token) in pattern.tokens.iter().enumerate() {
                if token == STAR {
                    table.any_token.insert(position, rule);
                } else {
                    let key = (position, token);
                    table.literals.entry(key).or_default().push(rule);
                }
            }
            if pattern.tail {
                table.any_token.insert_from(pattern.tokens.len(), rule);
                table.of_length.insert_from(pattern.shortest(), rule);
            } else {
                table.of_length.insert(pattern.tokens.len(), rule);
            }
        }
        table
    }

    /// Keep in `candidates` the patterns that accept `token` at `position`; `next` is scratch space.
    fn step(&self, candidates: &mut RuleBits, next: &mut RuleBits, position: usize, token: u32) {
        intersect(next, candidates, self.any_token.at_or_last(position));
        if token != STAR {
            for &rule in self.literals.get(&(position, token)).into_iter().flatten() {
                if contains(candidates, rule) {
                    insert(next, rule);
                }
            }
        }
        std::mem::swap(candidates, next);
    }

    /// Set `found` to the candidates that match sequences of exactly `length` tokens.
    fn matching_at(&self, candidates: &[u64], length: usize, found: &mut RuleBits) {
        intersect(found, candidates, self.of_length.at_or_last(length));
    }
}

/// The largest numbers of tokens that must be considered; beyond them all give the same answer.
#[derive(Clone, Copy, Default)]
pub(super) struct MaxLengths {
    /// Tokens of a subject.
    pub(super) subject: usize,
    /// Tokens of a queue name; 0 if no rule names a queue.
    pub(super) queue: usize,
}

impl MaxLengths {
    pub(super) fn of<'a>(rules: impl Iterator<Item = &'a Rule>) -> Self {
        let mut lengths = Self {
            subject: 1,
            queue: 0,
        };
        for rule in rules {
            lengths.subject = lengths.subject.max(rule.subject.tokens.len() + 1);
            if let Queue::Named(name) = &rule.queue {
                lengths.queue = lengths.queue.max(name.tokens.len() + 1);
            }
        }
        lengths
    }

    /// The numbers of tokens at which the pattern has subjects, up to `max_tokens`.
    pub(super) fn lengths(
        self,
        pattern: &Pattern,
        max_tokens: usize,
    ) -> std::ops::RangeInclusive<usize> {
        let shortest = pattern.shortest();
        let last = if pattern.tail {
            self.subject.max(shortest).min(max_tokens)
        } else if shortest <= max_tokens {
            shortest
        } else {
            0
        };
        shortest..=last
    }

    fn queue_lengths(self, queue: &Queue) -> std::ops::RangeInclusive<usize> {
        let shortest = queue.shortest();
        match queue {
            Queue::Any => 0..=self.queue,
            Queue::Named(name) if name.tail => shortest..=self.queue.max(shortest),
            Queue::Named(_) | Queue::Without => shortest..=shortest,
        }
    }
}

/// Finds the rules of a set that cover a given rule.
pub(super) struct CoverageTable {
    subjects: CoveredPatterns,
    /// `None` if no rule names a queue.
    queues: Option<CoveredPatterns>,
    /// Rules that apply to every queue.
    any_queue: RuleBits,
    /// Number of words of a set of rules.
    pub(super) words: usize,
}

impl CoverageTable {
    pub(super) fn new<'a>(rules: impl Iterator<Item = &'a Rule> + Clone) -> Self {
        let words = rules.clone().count().div_ceil(64);
        let mut any_queue = vec![0; words];
        let mut names_queues = false;
        for (index, rule) in rules.clone().enumerate() {
            if rule.queue == Queue::Any {
                insert(&mut any_queue, index);
            } else {
                names_queues = true;
            }
        }
        let named = rules
            .clone()
            .enumerate()
            .filter_map(|(index, rule)| match &rule.queue {
                Queue::Named(name) => Some((index, name)),
                _ => None,
            });
        let subjects = rules
            .enumerate()
            .map(|(index, rule)| (index, &rule.subject));
        Self {
            subjects: CoveredPatterns::new(subjects, words),
            queues: names_queues.then(|| CoveredPatterns::new(named, words)),
            any_queue,
            words,
        }
    }

    /// Call `visit` with each number of tokens of the subject (up to `max_tokens`) and of the queue name
    /// that `rule` has, shortest first, and the rules that cover `rule` there.
    pub(super) fn for_each_length<T>(
        &self,
        rule: &Rule,
        max_lengths: MaxLengths,
        max_tokens: usize,
        mut visit: impl FnMut(usize, usize, &[u64]) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        let lengths = max_lengths.lengths(&rule.subject, max_tokens);
        if lengths.is_empty() {
            return ControlFlow::Continue(());
        }
        let queues = self.queue_bits(&rule.queue, max_lengths);
        let mut candidates = self.subjects.all.clone();
        let (mut next, mut found) = (vec![0; self.words], vec![0; self.words]);
        let mut both = vec![0; self.words];
        for length in 1..=*lengths.end() {
            let token = rule.subject.at(length - 1);
            self.subjects
                .step(&mut candidates, &mut next, length - 1, token);
            if length < *lengths.start() {
                continue;
            }
            self.subjects.matching_at(&candidates, length, &mut found);
            for (queue_length, bits) in &queues {
                intersect(&mut both, &found, bits);
                visit(length, *queue_length, &both)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// For each number of tokens of the queue name, the rules whose queues cover `queue`.
    fn queue_bits(&self, queue: &Queue, max_lengths: MaxLengths) -> Vec<(usize, RuleBits)> {
        let lengths = max_lengths.queue_lengths(queue);
        let (Some(table), last) = (&self.queues, *lengths.end()) else {
            return lengths
                .map(|length| (length, self.any_queue.clone()))
                .collect();
        };
        let mut by_length = Vec::new();
        let mut candidates = table.all.clone();
        let (mut next, mut found) = (vec![0; self.words], vec![0; self.words]);
        for length in 0..=last {
            if length > 0 {
                let token = match queue {
                    Queue::Named(name) => name.at(length - 1),
                    Queue::Any | Queue::Without => STAR,
                };
                table.step(&mut candidates, &mut next, length - 1, token);
                table.matching_at(&candidates, length, &mut found);
            }
            if lengths.contains(&length) {
                let bits = (found.iter().zip(&self.any_queue)).map(|(one, other)| one | other);
                by_length.push((length, bits.collect()));
            }
        }
        by_length
    }
}
