//! The tokenised pattern: which tokens are literal, and to which child of a branch it belongs.

use crate::grammar::token_ends::TokenEnds;
use crate::trie::address::BlockAddr;
use crate::trie::hash::{NodeKey, TokenHasher, child_key, rest_key};
use crate::trie::node::{Branch, LeafEntry, Position};

/// A valid pattern and its tokens.
#[derive(Default)]
pub(crate) struct ParsedPattern {
    text: Vec<u8>,
    tokens: TokenEnds,
    /// Tokens before a final `>`.
    count: usize,
    tail: bool,
}

/// The child of a branch that a pattern belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Child {
    /// That of its literal tokens.
    Literal(NodeKey),
    /// The rest child: a token at one of the positions is a wildcard or missing.
    Rest(NodeKey),
}

impl ParsedPattern {
    /// Parses a pattern.
    pub fn new(pattern: &[u8]) -> Self {
        let mut parsed = Self::default();
        parsed.parse(|text| text.extend_from_slice(pattern));
        parsed
    }

    /// Parses another pattern in the same memory; `write` appends its text.
    pub fn parse(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.text.clear();
        write(&mut self.text);
        self.tokens.split(&self.text);
        self.tail = self.text == b">" || self.text.ends_with(b".>");
        self.count = self.tokens.count() - usize::from(self.tail);
    }

    /// The text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The number of tokens before a final `>`.
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Whether the pattern ends in `>`.
    pub const fn has_tail(&self) -> bool {
        self.tail
    }

    /// The literal token at a position, if there is one.
    pub fn literal(&self, position: usize) -> Option<&[u8]> {
        if position >= self.count {
            return None;
        }
        let (start, end) = self.tokens.span(position)?;
        let token = self.text.get(start..end)?;
        (token != b"*").then_some(token)
    }

    /// The hash by which a branch at this position tells patterns apart; `None` for the rest child.
    pub fn hash_at(&self, hasher: &TokenHasher, position: Position) -> Option<u64> {
        match position {
            Position::Length => (!self.tail).then(|| hasher.count(self.count)),
            Position::Token(at) => {
                self.literal(at)?;
                let (start, end) = self.tokens.span(at)?;
                Some(hasher.token(&self.text, start, end, at))
            }
        }
    }

    /// The child of a branch that the pattern belongs to.
    pub fn child(&self, hasher: &TokenHasher, branch: Branch, parent: NodeKey) -> Child {
        let mut sum = 0u64;
        for position in branch.positions() {
            match self.hash_at(hasher, position) {
                Some(hash) => sum = sum.wrapping_add(hash),
                None => return Child::Rest(rest_key(parent)),
            }
        }
        Child::Literal(child_key(parent, sum))
    }

    /// The entry of the pattern in a leaf.
    pub fn leaf_entry(&self, hasher: &TokenHasher, pattern: BlockAddr) -> LeafEntry {
        let last = self
            .literal(self.count.wrapping_sub(1))
            .filter(|_| !self.tail);
        let end = self.text.len();
        let fingerprint = last.map(|last| hasher.fingerprint(&self.text, end - last.len(), end));
        LeafEntry::new(pattern, self.count, self.tail, fingerprint)
    }
}
