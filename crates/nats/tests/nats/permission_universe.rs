//! Rule sets and a universe of all their subjects, for exhaustive comparison: one bit a subject.
//!
//! The universe has all subjects over the named tokens and `x`, which no rule names, up to one token
//! more than the patterns; longer subjects give no other answers.

#![allow(clippy::unwrap_used)]

use subtrie::grammar;
use subtrie_nats::permissions::RuleSet;

/// All texts of up to `depth` tokens from `alphabet`.
pub fn texts(alphabet: &[&str], depth: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut level: Vec<String> = vec![String::new()];
    for _ in 0..depth {
        level = (level.iter())
            .flat_map(|start| {
                alphabet.iter().map(move |token| match start.as_str() {
                    "" => (*token).to_owned(),
                    start => format!("{start}.{token}"),
                })
            })
            .collect();
        all.extend(level.iter().cloned());
    }
    all
}

pub fn patterns(named: &[&str], depth: usize) -> Vec<String> {
    let alphabet: Vec<&str> = named.iter().copied().chain(["*", ">"]).collect();
    let mut all = texts(&alphabet, depth);
    all.retain(|text| !text.trim_end_matches('>').contains('>'));
    all
}

pub type Mask = [u64; 6];

/// A universe: its subjects, shortest first, and the subjects that each pattern matches.
pub struct Universe {
    pub subjects: Vec<String>,
    pub patterns: Vec<String>,
    pub masks: Vec<Mask>,
}

impl Universe {
    pub fn new(named: &[&str], depth: usize) -> Self {
        let alphabet: Vec<&str> = named.iter().copied().chain(["x"]).collect();
        let subjects = texts(&alphabet, depth + 1);
        assert!(subjects.len() <= 384);
        let patterns = patterns(named, depth);
        let masks = (patterns.iter())
            .map(|pattern| {
                let mut mask = [0; 6];
                for (number, subject) in subjects.iter().enumerate() {
                    if grammar::matches(pattern, subject) {
                        mask[number / 64] |= 1 << (number % 64);
                    }
                }
                mask
            })
            .collect();
        Self {
            subjects,
            patterns,
            masks,
        }
    }

    pub fn mask(&self, allow: &[usize], deny: &[usize]) -> Mask {
        let mut mask = [0; 6];
        for &rule in allow {
            for (word, other) in mask.iter_mut().zip(self.masks[rule]) {
                *word |= other;
            }
        }
        for &rule in deny {
            for (word, other) in mask.iter_mut().zip(self.masks[rule]) {
                *word &= !other;
            }
        }
        mask
    }

    /// Number of tokens of the shortest subject in the mask.
    pub fn shortest(&self, mask: Mask) -> Option<usize> {
        (mask.iter().enumerate())
            .find(|&(_, &word)| word != 0)
            .map(|(index, word)| index * 64 + word.trailing_zeros() as usize)
            .map(|number| tokens(&self.subjects[number]))
    }

    pub fn texts(&self, rules: &[usize]) -> Vec<&str> {
        rules
            .iter()
            .map(|&rule| self.patterns[rule].as_str())
            .collect()
    }
}

pub fn tokens(text: &str) -> usize {
    text.split('.').count()
}

pub fn minus(left: Mask, right: Mask) -> Mask {
    std::array::from_fn(|index| left[index] & !right[index])
}

pub fn both(left: Mask, right: Mask) -> Mask {
    std::array::from_fn(|index| left[index] & right[index])
}

pub const fn rules<'a>(allow: &'a [&'a str], deny: &'a [&'a str]) -> RuleSet<'a> {
    RuleSet { allow, deny }
}

pub fn holds(set: RuleSet<'_>, subject: &str) -> bool {
    let matched = |rules: &[&str]| rules.iter().any(|rule| grammar::matches(rule, subject));
    matched(set.allow) && !matched(set.deny)
}

/// A generator of random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).unwrap()
    }
}
