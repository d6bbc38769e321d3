//! The tokenizer of the index: the tokens of a text, and the hashes that a lookup asks for.
//!
//! The scan of [`crate::grammar`] finds the tokens. Hashes are not kept: a lookup asks for few twice.

// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use crate::error::Error;
use crate::grammar::scan::Kernel;
use crate::grammar::token_ends::{NearTokens, TokenEnds};
use crate::grammar::{Bounds, Dialect};
use crate::trie::hash::{NodeKey, TokenHasher, child_key};
use crate::trie::lookup_target::View;
use crate::trie::node::{Branch, CODE_BITS, CODE_MASK, LENGTH_CODE, Position, Prefilter};

/// The tokens of a text. Lookups reuse one, so that a lookup allocates nothing.
#[derive(Default)]
pub(crate) struct Tokenizer {
    tokens: TokenEnds,
    /// The fingerprint of the last token, once computed.
    last_fingerprint: Option<u64>,
}

impl Tokenizer {
    /// Validates and tokenises a subject, which need not be UTF-8.
    #[inline(always)]
    pub fn tokenize<K: Kernel>(
        &mut self,
        kernel: K,
        text: &[u8],
        dialect: Dialect,
        bounds: Bounds,
    ) -> Result<(), Error> {
        self.last_fingerprint = None;
        self.tokens.read_subject(kernel, text, dialect, bounds)
    }

    /// Tokenises a valid text.
    pub fn split(&mut self, text: &[u8]) {
        self.last_fingerprint = None;
        self.tokens.split(text);
    }

    /// The number of tokens of the text.
    #[inline]
    pub const fn count(&self) -> usize {
        self.tokens.count()
    }

    /// The start and end of the token at a position, if there is one.
    #[inline(always)]
    pub fn span(&self, position: usize) -> Option<(usize, usize)> {
        self.tokens.span(position)
    }

    /// The tokens, if all are near.
    #[inline(always)]
    pub const fn near(&self) -> Option<NearTokens<'_>> {
        self.tokens.near()
    }

    /// The hash of the token at a position; 0 if there is none.
    #[inline(always)]
    pub fn hash(&self, text: &[u8], hasher: &TokenHasher, position: usize) -> u64 {
        // A closure would not be compiled for the instructions of the kernel.
        match self.span(position) {
            Some((start, end)) => hasher.token(text, start, end, position),
            None => 0,
        }
    }

    /// The key of the child of a branch for a subject, if it has a token at each position.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // below 64
    pub fn child(
        &self,
        text: &[u8],
        hasher: &TokenHasher,
        branch: Branch,
        parent: NodeKey,
    ) -> Option<NodeKey> {
        let count = self.count();
        if branch.is_far() {
            return self.far_child(text, hasher, branch, parent);
        }
        let (mut codes, left) = branch.codes();
        let mut sum = 0u64;
        for _ in 0..left {
            let code = codes & CODE_MASK;
            codes >>= CODE_BITS;
            let hash = if code == LENGTH_CODE {
                hasher.count(count)
            } else if (code as usize) < count {
                self.hash(text, hasher, code as usize)
            } else {
                return None;
            };
            sum = sum.wrapping_add(hash);
        }
        Some(child_key(parent, sum))
    }

    /// As [`Tokenizer::child`] of a branch on a far position.
    #[cold]
    fn far_child(
        &self,
        text: &[u8],
        hasher: &TokenHasher,
        branch: Branch,
        parent: NodeKey,
    ) -> Option<NodeKey> {
        let mut sum = 0u64;
        for position in branch.positions() {
            let Position::Token(at) = position else {
                continue;
            };
            if at >= self.count() {
                return None;
            }
            sum = sum.wrapping_add(self.hash(text, hasher, at));
        }
        Some(child_key(parent, sum))
    }

    /// The prefilter for the entries of a leaf, of a text that was just tokenised.
    #[inline(always)]
    pub fn prefilter(&self, text: &[u8], hasher: &TokenHasher) -> Prefilter {
        let (start, end) = self.span(self.count() - 1).unwrap_or((0, 0));
        Prefilter::new(self.count(), hasher.fingerprint(text, start, end))
    }

    /// The fingerprint of the last token.
    #[inline]
    pub fn last_fingerprint(&mut self, text: &[u8], hasher: &TokenHasher) -> u64 {
        if let Some(fingerprint) = self.last_fingerprint {
            return fingerprint;
        }
        let (start, end) = self.span(self.count() - 1).unwrap_or((0, 0));
        let fingerprint = hasher.fingerprint(text, start, end);
        self.last_fingerprint = Some(fingerprint);
        fingerprint
    }
}

/// A subject that is looked up.
#[derive(Default)]
pub(crate) struct Subject {
    pub tokens: Tokenizer,
    pub prefilter: Prefilter,
}

impl Subject {
    /// Validates and tokenises a text, which need not be UTF-8.
    #[inline(always)]
    pub fn read<K: Kernel, V: View>(
        &mut self,
        kernel: K,
        view: &V,
        text: &[u8],
    ) -> Result<(), Error> {
        let (dialect, bounds) = view.grammar();
        self.tokens.tokenize(kernel, text, dialect, bounds)?;
        self.prefilter = self.tokens.prefilter(text, view.hasher());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Tokenizer;
    use crate::grammar::scan::Baseline;
    use crate::grammar::{Dialect, Form, check};
    use proptest::prelude::*;

    #[test]
    fn any_number_of_tokens_of_any_length_is_split() {
        let mut tokens = Tokenizer::default();
        for (count, length) in [
            (1, 1),
            (62, 3),
            (63, 1),
            (64, 2),
            (65, 1),
            (300, 7),
            (3, 30_000),
            (3, 1),
        ] {
            let token = "x".repeat(length);
            let text = vec![token.as_str(); count].join(".");
            let dialect = Dialect::Server;
            let bounds = dialect.bounds_with((None, Some(1 << 20)));
            tokens
                .tokenize(Baseline, text.as_bytes(), dialect, bounds)
                .unwrap();
            assert_eq!(tokens.count(), count);
            for position in 0..count {
                let start = position * (length + 1);
                assert_eq!(tokens.span(position), Some((start, start + length)));
            }
            assert_eq!(tokens.span(count), None);
            tokens.split(b"a.b");
            assert_eq!((tokens.span(1), tokens.span(2)), (Some((2, 3)), None));
        }
    }

    proptest! {
        #[test]
        fn it_splits_as_split_does_and_refuses_what_the_grammar_refuses(
            text in "[a.b]{0,140}|[a-z]{1,20}(\\.[a-z]{1,9}){0,60}|\\PC{0,40}|[a*>. ]{0,12}",
            strict in any::<bool>(),
        ) {
            let dialect = if strict { Dialect::Strict } else { Dialect::Server };
            let mut tokens = Tokenizer::default();
            let checked = check(&text, Form::Subject, dialect, dialect.bounds());
            prop_assert_eq!(&tokens.tokenize(Baseline, text.as_bytes(), dialect, dialect.bounds()), &checked);
            if checked.is_ok() {
                let expected: Vec<&str> = text.split('.').collect();
                prop_assert_eq!(tokens.count(), expected.len());
                for (position, token) in expected.iter().enumerate() {
                    let (start, end) = tokens.span(position).unwrap();
                    prop_assert_eq!(&&text[start..end], token);
                }
                prop_assert_eq!(tokens.span(expected.len()), None);
            }
        }
    }
}
