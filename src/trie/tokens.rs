//! A subject taken apart: checked, its tokens found, their hashes made when asked for.
//!
//! Most subjects are plain. One pass over sixteen bytes at a time finds the dots and whether any
//! byte is odd; only for those that are is [`crate::grammar::check`] asked, which names the first
//! broken rule. A lookup hashes the few tokens that tell something, each at most once.

use super::bytes::sixteen;
use super::entry::{Fork, NEAR, One, Position};
use super::hash::{Hashing, child_of};
use crate::error::Error;
use crate::grammar::{Bounds, Dialect, Form, check};

/// The tokens of the text at hand. Kept between lookups, so that a lookup allocates nothing.
pub(super) struct Tokens {
    /// Where each token ends; longer than needed.
    ends: Vec<u32>,
    count: usize,
    hashes: [u64; NEAR],
    /// Which hashes are made.
    known: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            ends: Vec::new(),
            count: 0,
            hashes: [0; NEAR],
            known: 0,
        }
    }
}

impl Tokens {
    /// Takes a subject apart, or says why it is none.
    #[inline]
    pub fn subject(
        &mut self,
        subject: &str,
        dialect: Dialect,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let text = subject.as_bytes();
        let plain = text.len() <= bounds.max_length && self.split_plain(text);
        if !plain || self.count > bounds.max_tokens {
            check(subject, Form::Subject, dialect, bounds)?;
            self.split(text);
        }
        Ok(())
    }

    /// Takes a checked text apart.
    pub fn split(&mut self, text: &[u8]) {
        self.make_room(text.len());
        self.count = 0;
        let dots = text.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        for end in dots.map(|(at, _)| at).chain([text.len()]) {
            self.ends[self.count] = number(end);
            self.count += 1;
        }
    }

    #[inline]
    fn make_room(&mut self, length: usize) {
        self.known = 0;
        // A token has a byte and a dot; the block of eight written last may run over.
        let wanted = length / 2 + 80;
        if self.ends.len() < wanted {
            self.ends.resize(wanted, 0);
        }
    }

    /// Splits a text at its dots; false if a byte is not plain or a token empty.
    #[inline]
    fn split_plain(&mut self, text: &[u8]) -> bool {
        self.make_room(text.len());
        let mut odd = 0;
        let mut doubled = 0;
        // A dot at the start stands behind an empty token, as one behind another dot does.
        let mut before = 1;
        let mut count = 0;
        for (block, bytes) in text.chunks(64).enumerate() {
            let mut dots = 0u64;
            let (whole, rest) = bytes.as_chunks::<16>();
            for (place, chunk) in whole.iter().enumerate() {
                let found = sixteen(chunk);
                dots |= found.dots << (16 * place);
                odd |= found.odd;
            }
            if !rest.is_empty() {
                let place = 16 * whole.len();
                let found = match text.last_chunk::<16>() {
                    // The last sixteen bytes, shifted: what is seen twice does no harm.
                    Some(last) => {
                        let found = sixteen(last);
                        odd |= found.odd;
                        found.dots >> (16 - rest.len())
                    }
                    None => {
                        let mut padded = [b'x'; 16];
                        padded[..rest.len()].copy_from_slice(rest);
                        let found = sixteen(&padded);
                        odd |= found.odd;
                        found.dots
                    }
                };
                dots |= found << place;
            }
            doubled |= dots & (dots << 1 | before);
            before = dots >> 63;
            if doubled != 0 {
                return false; // more dots than there is room for, perhaps
            }
            let base = number(block * 64);
            let total = dots.count_ones() as usize;
            let mut written = 0;
            // Eight at a time, wanted or not: no branch a dot.
            while written < total {
                let Some(out) = self.ends.get_mut(count + written..).and_then(<[u32]>::first_chunk_mut::<8>) else {
                    return false;
                };
                for end in out {
                    *end = base + dots.trailing_zeros();
                    dots &= dots.wrapping_sub(1);
                }
                written += 8;
            }
            count += total;
        }
        let ended = text.last().is_some_and(|&byte| byte != b'.');
        if let Some(end) = self.ends.get_mut(count) {
            *end = number(text.len());
        }
        self.count = count + 1;
        odd == 0 && ended
    }

    #[inline]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Where a token begins and ends, if there is one at this position.
    #[inline]
    pub fn span(&self, position: usize) -> Option<(usize, usize)> {
        if position >= self.count {
            return None;
        }
        let start = match position.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)? as usize + 1,
        };
        Some((start, *self.ends.get(position)? as usize))
    }

    /// The hash of the token at a position that has one.
    #[inline]
    pub fn hash(&mut self, text: &[u8], hashing: &Hashing, position: usize) -> u64 {
        if position < NEAR && self.known >> position & 1 == 1 {
            return self.hashes[position];
        }
        let Some((start, end)) = self.span(position) else {
            return 0;
        };
        let hash = hashing.token(text, start, end, position);
        if position < NEAR {
            self.known |= 1 << position;
            self.hashes[position] = hash;
        }
        hash
    }

    /// The key of the child of a fork that a subject belongs to, if it has tokens at all places.
    #[inline]
    pub fn child(
        &mut self,
        text: &[u8],
        hashing: &Hashing,
        fork: Fork,
        parent: u64,
    ) -> Option<u64> {
        let mut sum = 0u64;
        for position in fork.positions() {
            let hash = match position {
                Position::Token(at) if at < self.count => self.hash(text, hashing, at),
                Position::Token(_) => return None,
                Position::Length => hashing.count(self.count),
            };
            sum = sum.wrapping_add(hash);
        }
        Some(child_of(parent, sum))
    }

    /// May this pattern of a list match? A few bits say no to nearly all that do not.
    #[inline]
    pub fn sieve(&mut self, text: &[u8], hashing: &Hashing, one: One) -> bool {
        if !one.fits(self.count) {
            return false;
        }
        let (position, sign) = one.sign();
        position >= NEAR || self.hash(text, hashing, position) >> 47 == sign
    }
}

/// Offsets in a text: none is longer than 4 GiB.
#[inline]
fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Tokens;
    use crate::grammar::{Dialect, Form, check};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_splits_as_split_does_and_refuses_what_the_grammar_refuses(
            text in "[a.b]{0,140}|[a-z]{1,20}(\\.[a-z]{1,9}){0,60}|\\PC{0,40}|[a*>. ]{0,12}",
            strict in any::<bool>(),
        ) {
            let dialect = if strict { Dialect::Strict } else { Dialect::Server };
            let mut tokens = Tokens::default();
            let checked = check(&text, Form::Subject, dialect, dialect.bounds());
            prop_assert_eq!(&tokens.subject(&text, dialect, dialect.bounds()), &checked);
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
