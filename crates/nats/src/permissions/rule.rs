//! A rule in parsed form: interned tokens, wildcards apart, and the queue as a second pattern.

use std::collections::HashMap;

use subtrie::grammar::tokens;

/// The id of `*`; the ids of literal tokens begin at 1.
pub(super) const STAR: u32 = 0;

/// An interner of the literal tokens of the rules.
#[derive(Default)]
pub(super) struct TokenInterner<'a> {
    ids: HashMap<&'a str, u32, foldhash::fast::RandomState>,
    texts: Vec<&'a str>,
}

impl<'a> TokenInterner<'a> {
    fn id(&mut self, token: &'a str) -> u32 {
        if token == "*" {
            return STAR;
        }
        *self.ids.entry(token).or_insert_with(|| {
            self.texts.push(token);
            let id = u32::try_from(self.texts.len());
            // A saturated id would name another token; memory ends long before.
            assert!(id.is_ok(), "no id for another token");
            id.unwrap_or(STAR)
        })
    }

    /// The text of an interned token.
    pub(super) fn text(&self, id: u32) -> &str {
        match id.checked_sub(1) {
            None => "*",
            Some(index) => self.texts.get(index as usize).copied().unwrap_or("*"),
        }
    }

    /// A token that no rule names: `x`, else the first unused one of `x1`, `x2`, ….
    pub(super) fn unused_token(&self) -> String {
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
    fn parse<'a>(text: &'a str, interner: &mut TokenInterner<'a>) -> Self {
        let mut ids = Vec::new();
        let mut tail = false;
        for token in tokens(text) {
            tail = token == ">";
            if !tail {
                ids.push(interner.id(token));
            }
        }
        Self { tokens: ids, tail }
    }

    /// The number of tokens of the shortest subject it matches.
    pub(super) fn shortest(&self) -> usize {
        self.tokens.len() + usize::from(self.tail)
    }

    /// Its token at `position`; `*` in the tail.
    pub(super) fn at(&self, position: usize) -> u32 {
        self.tokens.get(position).copied().unwrap_or(STAR)
    }

    /// Whether it matches every subject of `length` tokens that `other` matches.
    pub(super) fn covers_at(&self, other: &Self, length: usize) -> bool {
        let fits = if self.tail {
            self.tokens.len() < length
        } else {
            self.tokens.len() == length
        };
        fits && (self.tokens.iter().enumerate())
            .all(|(position, &token)| token == STAR || token == other.at(position))
    }

    /// Whether it matches every subject that `other` matches.
    pub(super) fn covers(&self, other: &Self) -> bool {
        (self.tail || !other.tail) && self.covers_at(other, other.shortest())
    }

    /// The pattern of the subjects that both match, `None` if there are none.
    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let length = self.tokens.len().max(other.tokens.len());
        let has_length = |one: &Self| {
            if one.tail {
                // `>` stands for at least one token; if both have a tail, it stays in the result.
                one.tokens.len() < length || (self.tail && other.tail)
            } else {
                one.tokens.len() == length
            }
        };
        if !(has_length(self) && has_length(other)) {
            return None;
        }
        // Most pairs share nothing: those allocate nothing.
        let pairs = (0..length).map(|position| (self.at(position), other.at(position)));
        let agree = |(one, other): (u32, u32)| one == other || one == STAR || other == STAR;
        if !pairs.clone().all(agree) {
            return None;
        }
        Some(Self {
            tokens: pairs
                .map(|(one, other)| if one == STAR { other } else { one })
                .collect(),
            tail: self.tail && other.tail,
        })
    }

    pub(super) fn to_text(&self, interner: &TokenInterner<'_>) -> String {
        let mut tokens: Vec<&str> = self.tokens.iter().map(|&id| interner.text(id)).collect();
        if self.tail {
            tokens.push(">");
        }
        tokens.join(".")
    }

    /// A subject of `length` tokens that it matches, with `unused` in place of wildcards.
    pub(super) fn example(
        &self,
        length: usize,
        interner: &TokenInterner<'_>,
        unused: &str,
    ) -> String {
        let tokens: Vec<&str> = (0..length)
            .map(|position| match self.at(position) {
                STAR => unused,
                id => interner.text(id),
            })
            .collect();
        tokens.join(".")
    }
}

/// The queue groups that a rule applies to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Queue {
    /// Every group, and subscriptions without a group.
    Any,
    /// Subscriptions without a group: only in a question, never in a rule.
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

    fn intersection(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Any, queue) | (queue, Self::Any) => Some(queue.clone()),
            (Self::Without, Self::Without) => Some(Self::Without),
            (Self::Named(one), Self::Named(other)) => one.intersection(other).map(Self::Named),
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
    /// Parse `pattern` or `pattern queue`, which must be valid.
    pub(super) fn parse<'a>(text: &'a str, interner: &mut TokenInterner<'a>) -> Self {
        match text.split_once(' ') {
            None => Self {
                subject: Pattern::parse(text, interner),
                queue: Queue::Any,
            },
            Some((subject, queue)) => Self {
                subject: Pattern::parse(subject, interner),
                queue: Queue::Named(Pattern::parse(queue, interner)),
            },
        }
    }

    /// The rule that stands for a question: a subscription in one queue group, or without one.
    pub(super) fn question<'a>(
        subject: &'a str,
        queue: Option<&'a str>,
        interner: &mut TokenInterner<'a>,
    ) -> Self {
        Self {
            subject: Pattern::parse(subject, interner),
            queue: queue.map_or(Queue::Without, |name| {
                Queue::Named(Pattern::parse(name, interner))
            }),
        }
    }

    pub(super) fn covers(&self, other: &Self) -> bool {
        self.subject.covers(&other.subject) && self.queue.covers(&other.queue)
    }

    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        Some(Self {
            subject: self.subject.intersection(&other.subject)?,
            queue: self.queue.intersection(&other.queue)?,
        })
    }

    pub(super) fn to_text(&self, interner: &TokenInterner<'_>) -> String {
        let subject = self.subject.to_text(interner);
        match &self.queue {
            Queue::Named(name) => format!("{subject} {}", name.to_text(interner)),
            Queue::Any | Queue::Without => subject,
        }
    }
}
