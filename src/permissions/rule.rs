//! One rule as numbers: tokens interned, wildcards apart, the queue as a second pattern.

use std::collections::HashMap;

/// The number of `*`; names are numbered from 1.
pub(super) const STAR: u32 = 0;

/// The tokens that some rule names.
#[derive(Default)]
pub(super) struct Vocabulary<'a> {
    ids: HashMap<&'a str, u32, foldhash::fast::RandomState>,
    names: Vec<&'a str>,
}

impl<'a> Vocabulary<'a> {
    fn id(&mut self, token: &'a str) -> u32 {
        if token == "*" {
            return STAR;
        }
        *self.ids.entry(token).or_insert_with(|| {
            self.names.push(token);
            u32::try_from(self.names.len()).unwrap_or(u32::MAX)
        })
    }

    /// The text of a numbered token.
    pub(super) fn name(&self, id: u32) -> &str {
        match id.checked_sub(1) {
            None => "*",
            Some(index) => self.names.get(index as usize).copied().unwrap_or("*"),
        }
    }

    /// A token that no rule names: `x`, else the first of `x1`, `x2`, … that is free.
    pub(super) fn fresh(&self) -> String {
        let mut token = "x".to_owned();
        let mut number = 0_usize;
        while self.ids.contains_key(token.as_str()) {
            number += 1;
            token = format!("x{number}");
        }
        token
    }
}

/// A pattern: its tokens, and whether `>` follows them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    pub(super) tokens: Vec<u32>,
    pub(super) tail: bool,
}

impl Pattern {
    fn read<'a>(text: &'a str, words: &mut Vocabulary<'a>) -> Self {
        let mut tokens = Vec::new();
        let mut tail = false;
        for token in text.split('.') {
            tail = token == ">";
            if !tail {
                tokens.push(words.id(token));
            }
        }
        Self { tokens, tail }
    }

    /// The fewest tokens of anything it matches.
    pub(super) fn shortest(&self) -> usize {
        self.tokens.len() + usize::from(self.tail)
    }

    /// Its token at `position`, `*` within the tail.
    pub(super) fn at(&self, position: usize) -> u32 {
        self.tokens.get(position).copied().unwrap_or(STAR)
    }

    /// Does it match whatever `other` matches at `length` tokens?
    pub(super) fn covers_at(&self, other: &Self, length: usize) -> bool {
        let fits = if self.tail {
            self.tokens.len() < length
        } else {
            self.tokens.len() == length
        };
        fits && (self.tokens.iter().enumerate())
            .all(|(position, &token)| token == STAR || token == other.at(position))
    }

    /// Does it match whatever `other` matches?
    pub(super) fn covers(&self, other: &Self) -> bool {
        (self.tail || !other.tail) && self.covers_at(other, other.shortest())
    }

    /// The pattern of what both match.
    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        let length = self.tokens.len().max(other.tokens.len());
        let reaches = |one: &Self| {
            if one.tail {
                // `>` needs a token of its own, unless the other one's tail brings it.
                one.tokens.len() < length || (self.tail && other.tail)
            } else {
                one.tokens.len() == length
            }
        };
        if !(reaches(self) && reaches(other)) {
            return None;
        }
        let mut tokens = Vec::with_capacity(length);
        for position in 0..length {
            match (self.at(position), other.at(position)) {
                (one, other) if one == other || other == STAR => tokens.push(one),
                (STAR, other) => tokens.push(other),
                _ => return None,
            }
        }
        let tail = self.tail && other.tail;
        Some(Self { tokens, tail })
    }

    pub(super) fn write(&self, words: &Vocabulary<'_>) -> String {
        let mut tokens: Vec<&str> = self.tokens.iter().map(|&id| words.name(id)).collect();
        if self.tail {
            tokens.push(">");
        }
        tokens.join(".")
    }

    /// A subject of `length` tokens that it matches, `fresh` wherever it leaves the token free.
    pub(super) fn instance(&self, length: usize, words: &Vocabulary<'_>, fresh: &str) -> String {
        let tokens: Vec<&str> = (0..length)
            .map(|position| match self.at(position) {
                STAR => fresh,
                id => words.name(id),
            })
            .collect();
        tokens.join(".")
    }
}

/// Which queue groups a rule speaks of.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Queue {
    /// Every group, and no group at all.
    Any,
    /// No group: never written as a rule, only asked about.
    Without,
    /// The groups whose name the pattern matches.
    Named(Pattern),
}

impl Queue {
    pub(super) fn shortest(&self) -> usize {
        match self {
            Self::Any | Self::Without => 0,
            Self::Named(pattern) => pattern.shortest(),
        }
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any, _) | (Self::Without, Self::Without) => true,
            (Self::Named(one), Self::Named(other)) => one.covers(other),
            _ => false,
        }
    }

    fn meet(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, queue) | (queue, Self::Any) => Some(queue.clone()),
            (Self::Without, Self::Without) => Some(Self::Without),
            (Self::Named(one), Self::Named(other)) => one.meet(other).map(Self::Named),
            _ => None,
        }
    }
}

/// One rule, allow or deny.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Rule {
    pub(super) subject: Pattern,
    pub(super) queue: Queue,
}

impl Rule {
    pub(super) fn read<'a>(text: &'a str, words: &mut Vocabulary<'a>) -> Self {
        match text.split_once(' ') {
            None => Self {
                subject: Pattern::read(text, words),
                queue: Queue::Any,
            },
            Some((subject, queue)) => Self {
                subject: Pattern::read(subject, words),
                queue: Queue::Named(Pattern::read(queue, words)),
            },
        }
    }

    /// A question about one queue group, or about none.
    pub(super) fn asked<'a>(
        subject: &'a str,
        queue: Option<&'a str>,
        words: &mut Vocabulary<'a>,
    ) -> Self {
        Self {
            subject: Pattern::read(subject, words),
            queue: queue.map_or(Queue::Without, |name| {
                Queue::Named(Pattern::read(name, words))
            }),
        }
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.subject.covers(&other.subject) && self.queue.covers(&other.queue)
    }

    pub(super) fn meet(&self, other: &Self) -> Option<Self> {
        Some(Self {
            subject: self.subject.meet(&other.subject)?,
            queue: self.queue.meet(&other.queue)?,
        })
    }

    pub(super) fn write(&self, words: &Vocabulary<'_>) -> String {
        let subject = self.subject.write(words);
        match &self.queue {
            Queue::Named(name) => format!("{subject} {}", name.write(words)),
            Queue::Any | Queue::Without => subject,
        }
    }
}
