//! Which of many patterns cover this one, at each length? Sets of rules as bits, token by token.
//!
//! A [`Column`] holds one pattern a rule (its subject, or its queue); a [`Table`] both columns.
//! Memory: the tokens of the rules, and three bits a rule for each position of the longest one.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::rule::{Pattern, Queue, Rule, STAR};

/// A set of rules by number.
pub(super) type Bits = Vec<u64>;

fn set(bits: &mut [u64], number: usize) {
    if let Some(word) = bits.get_mut(number / 64) {
        *word |= 1 << (number % 64);
    }
}

pub(super) fn has(bits: &[u64], number: usize) -> bool {
    bits.get(number / 64)
        .is_some_and(|word| word >> (number % 64) & 1 == 1)
}

pub(super) fn is_empty(bits: &[u64]) -> bool {
    bits.iter().all(|&word| word == 0)
}

/// The numbers in a set, ascending.
pub(super) fn numbers(bits: &[u64]) -> impl Iterator<Item = usize> {
    bits.iter().enumerate().flat_map(|(index, &word)| {
        (0..64)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| index * 64 + bit)
    })
}

struct Column {
    /// Most tokens of a pattern, its tail not counted.
    longest: usize,
    /// By position: patterns with `*` there.
    stars: Vec<Bits>,
    /// By position: patterns whose tail has begun there.
    tails: Vec<Bits>,
    /// By length: patterns without a tail.
    exact: Vec<Bits>,
    /// By position and name: patterns with that name there.
    named: HashMap<(usize, u32), Vec<usize>, foldhash::fast::RandomState>,
    /// All patterns of the column.
    all: Bits,
}

impl Column {
    fn new<'a>(patterns: impl Iterator<Item = (usize, &'a Pattern)> + Clone, words: usize) -> Self {
        let longest = (patterns.clone())
            .map(|(_, pattern)| pattern.tokens.len())
            .max()
            .unwrap_or(0);
        let mut column = Self {
            longest,
            stars: vec![vec![0; words]; longest],
            tails: vec![vec![0; words]; longest + 1],
            exact: vec![vec![0; words]; longest + 1],
            named: HashMap::default(),
            all: vec![0; words],
        };
        for (number, pattern) in patterns {
            set(&mut column.all, number);
            for (position, &token) in pattern.tokens.iter().enumerate() {
                if token == STAR {
                    set(&mut column.stars[position], number);
                } else {
                    let key = (position, token);
                    column.named.entry(key).or_default().push(number);
                }
            }
            if pattern.tail {
                for bits in &mut column.tails[pattern.tokens.len()..] {
                    set(bits, number);
                }
            } else {
                set(&mut column.exact[pattern.tokens.len()], number);
            }
        }
        column
    }

    /// Keeps in `alive` the patterns that go on over `token` at `position`.
    fn step(&self, alive: &mut Bits, next: &mut Bits, position: usize, token: u32) {
        let tails = &self.tails[position.min(self.longest)];
        let stars = self.stars.get(position);
        for (index, word) in next.iter_mut().enumerate() {
            let star = stars.map_or(0, |bits| bits[index]);
            *word = alive[index] & (star | tails[index]);
        }
        if token != STAR {
            for &number in self.named.get(&(position, token)).into_iter().flatten() {
                if has(alive, number) {
                    set(next, number);
                }
            }
        }
        std::mem::swap(alive, next);
    }

    /// Of the patterns that went on over `length` tokens, those that may end there, into `found`.
    fn ended(&self, alive: &[u64], length: usize, found: &mut Bits) {
        let tails = &self.tails[(length - 1).min(self.longest)];
        let exact = self.exact.get(length);
        for (index, word) in found.iter_mut().enumerate() {
            *word = alive[index] & (exact.map_or(0, |bits| bits[index]) | tails[index]);
        }
    }
}

/// How far lengths are told apart: beyond, every length looks alike.
#[derive(Clone, Copy, Default)]
pub(super) struct Reach {
    /// Tokens of a subject.
    pub(super) subject: usize,
    /// Tokens of a queue name; 0 where no rule names a queue.
    pub(super) queue: usize,
}

impl Reach {
    pub(super) fn of<'a>(rules: impl Iterator<Item = &'a Rule>) -> Self {
        let mut reach = Self {
            subject: 1,
            queue: 0,
        };
        for rule in rules {
            reach.subject = reach.subject.max(rule.subject.tokens.len() + 1);
            if let Queue::Named(name) = &rule.queue {
                reach.queue = reach.queue.max(name.tokens.len() + 1);
            }
        }
        reach
    }

    /// The lengths at which the pattern has subjects, up to `most` tokens.
    pub(super) fn lengths(self, pattern: &Pattern, most: usize) -> std::ops::RangeInclusive<usize> {
        let shortest = pattern.shortest();
        let last = if pattern.tail {
            self.subject.max(shortest).min(most)
        } else if shortest <= most {
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

/// Many rules, ready to be asked which of them cover a given one.
pub(super) struct Table {
    subjects: Column,
    /// None where no rule names a queue.
    queues: Option<Column>,
    /// Rules that speak of every queue.
    any: Bits,
    /// Words of a set of rules.
    pub(super) words: usize,
}

impl Table {
    pub(super) fn new<'a>(rules: impl Iterator<Item = &'a Rule> + Clone) -> Self {
        let words = rules.clone().count().div_ceil(64);
        let mut any = vec![0; words];
        let mut qualified = false;
        for (number, rule) in rules.clone().enumerate() {
            if rule.queue == Queue::Any {
                set(&mut any, number);
            } else {
                qualified = true;
            }
        }
        let named = rules
            .clone()
            .enumerate()
            .filter_map(|(number, rule)| match &rule.queue {
                Queue::Named(name) => Some((number, name)),
                _ => None,
            });
        let subjects = rules
            .enumerate()
            .map(|(number, rule)| (number, &rule.subject));
        Self {
            subjects: Column::new(subjects, words),
            queues: qualified.then(|| Column::new(named, words)),
            any,
            words,
        }
    }

    /// Calls `visit` with each length of subject (at most `most`) and of queue name that `asked`
    /// has, shortest first, and the rules that cover `asked` there.
    pub(super) fn cells<T>(
        &self,
        asked: &Rule,
        reach: Reach,
        most: usize,
        mut visit: impl FnMut(usize, usize, &[u64]) -> ControlFlow<T>,
    ) -> ControlFlow<T> {
        let lengths = reach.lengths(&asked.subject, most);
        if lengths.is_empty() {
            return ControlFlow::Continue(());
        }
        let queues = self.queue_bits(&asked.queue, reach);
        let mut alive = self.subjects.all.clone();
        let (mut next, mut found) = (vec![0; self.words], vec![0; self.words]);
        let mut both = vec![0; self.words];
        for length in 1..=*lengths.end() {
            let token = asked.subject.at(length - 1);
            self.subjects.step(&mut alive, &mut next, length - 1, token);
            if length < *lengths.start() {
                continue;
            }
            self.subjects.ended(&alive, length, &mut found);
            for (size, bits) in &queues {
                for (index, word) in both.iter_mut().enumerate() {
                    *word = found[index] & bits[index];
                }
                visit(length, *size, &both)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// By length of queue name: the rules whose queues cover those asked about.
    fn queue_bits(&self, asked: &Queue, reach: Reach) -> Vec<(usize, Bits)> {
        let lengths = reach.queue_lengths(asked);
        let (Some(column), last) = (&self.queues, *lengths.end()) else {
            return lengths.map(|size| (size, self.any.clone())).collect();
        };
        let mut by_length = Vec::new();
        let mut alive = column.all.clone();
        let (mut next, mut found) = (vec![0; self.words], vec![0; self.words]);
        for size in 0..=last {
            if size > 0 {
                let token = match asked {
                    Queue::Named(name) => name.at(size - 1),
                    Queue::Any | Queue::Without => STAR,
                };
                column.step(&mut alive, &mut next, size - 1, token);
                column.ended(&alive, size, &mut found);
            }
            if lengths.contains(&size) {
                let bits = (found.iter().zip(&self.any)).map(|(one, other)| one | other);
                by_length.push((size, bits.collect()));
            }
        }
        by_length
    }
}
