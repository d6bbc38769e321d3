//! A pattern taken apart, for the side that changes: which tokens are literal, where it belongs.

use super::entry::{Fork, One, Position};
use super::hash::{Hashing, child_of, rest_of};
use super::tokens::Tokens;

/// A checked pattern and its tokens.
#[derive(Default)]
pub(super) struct Parsed {
    text: Vec<u8>,
    tokens: Tokens,
    /// Tokens before a final `>`.
    count: usize,
    tail: bool,
}

/// Which branch of a fork a pattern belongs to.
pub(super) enum Branch {
    Child(u64),
    Rest(u64),
}

impl Parsed {
    pub fn of(pattern: &[u8]) -> Self {
        let mut parsed = Self::default();
        parsed.text.extend_from_slice(pattern);
        parsed.take_apart();
        parsed
    }

    /// Takes another pattern apart in the same room; `fill` writes its text.
    pub fn renew(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        self.text.clear();
        fill(&mut self.text);
        self.take_apart();
    }

    fn take_apart(&mut self) {
        self.tokens.split(&self.text);
        self.tail = self.text == b">" || self.text.ends_with(b".>");
        self.count = self.tokens.count() - usize::from(self.tail);
    }

    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Tokens before a final `>`.
    pub const fn count(&self) -> usize {
        self.count
    }

    pub const fn has_tail(&self) -> bool {
        self.tail
    }

    /// The literal token at a position.
    pub fn literal(&self, position: usize) -> Option<&[u8]> {
        if position >= self.count {
            return None;
        }
        let (start, end) = self.tokens.span(position)?;
        let token = self.text.get(start..end)?;
        (token != b"*").then_some(token)
    }

    /// What a fork at this position would tell of the pattern; `None` sends it to the rest.
    pub fn telling(&mut self, hashing: &Hashing, position: Position) -> Option<u64> {
        match position {
            Position::Length => (!self.tail).then(|| hashing.count(self.count)),
            Position::Token(at) => {
                self.literal(at)?;
                Some(self.tokens.hash(&self.text, hashing, at))
            }
        }
    }

    /// Where the pattern belongs below a fork.
    pub fn branch(&mut self, hashing: &Hashing, fork: Fork, parent: u64) -> Branch {
        let mut sum = 0u64;
        for position in fork.positions() {
            match self.telling(hashing, position) {
                Some(hash) => sum = sum.wrapping_add(hash),
                None => return Branch::Rest(rest_of(parent)),
            }
        }
        Branch::Child(child_of(parent, sum))
    }

    /// The word for the pattern in a leaf.
    pub fn one(&mut self, hashing: &Hashing, block: u32) -> One {
        let ends_literal = !self.tail && self.literal(self.count - 1).is_some();
        let sign = ends_literal.then(|| self.tokens.last_sign(&self.text, hashing));
        One::new(block, self.count, self.tail, sign)
    }
}
