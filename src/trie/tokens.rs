//! A subject taken apart: checked, its tokens found, their hashes made when asked for.
//!
//! Most subjects are plain. One pass over sixteen bytes at a time finds the dots and whether any
//! byte is odd; only for those that are is [`crate::grammar::check`] asked, which names the first
//! broken rule. A lookup hashes the few tokens that tell something, each at most once.

use super::bytes::sixteen;
use super::entry::{Fork, NEAR, Position, Sieve};
use super::hash::{Hashing, child_of};
use crate::error::Error;
use crate::grammar::{Bounds, Dialect, Form, check};

/// One byte before the text.
const BEFORE: u32 = u32::MAX;

/// The tokens of the text at hand. Kept between lookups, so that a lookup allocates nothing.
pub(super) struct Tokens {
    /// Before the first token, then where each token ends; longer than needed.
    bounds: Vec<u32>,
    count: usize,
    hashes: [u64; NEAR],
    /// Which hashes are made.
    known: u64,
    /// The sign of the last token, once made.
    sign: Option<u64>,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            bounds: Vec::new(),
            count: 0,
            hashes: [0; NEAR],
            known: 0,
            sign: None,
        }
    }
}

impl Tokens {
    /// Takes a subject apart, or says why it is none. Its bytes need not be text.
    #[inline]
    pub fn subject(&mut self, text: &[u8], dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
        let plain = text.len() <= bounds.max_length && self.split_plain(text);
        if plain && self.count <= bounds.max_tokens {
            return Ok(());
        }
        self.odd_subject(text, dialect, bounds)
    }

    #[cold]
    fn odd_subject(&mut self, text: &[u8], dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
        let subject =
            std::str::from_utf8(text).map_err(|error| Error::at("utf8", error.valid_up_to()))?;
        check(subject, Form::Subject, dialect, bounds)?;
        self.split(text);
        Ok(())
    }

    /// Takes a checked text apart.
    pub fn split(&mut self, text: &[u8]) {
        self.make_room(text.len());
        self.count = 0;
        let dots = text.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        for end in dots.map(|(at, _)| at).chain([text.len()]) {
            self.count += 1;
            self.bounds[self.count] = number(end);
        }
    }

    #[inline]
    fn make_room(&mut self, length: usize) {
        self.known = 0;
        self.sign = None;
        let wanted = length / 2 + 3; // every token has a byte and a dot
        if self.bounds.len() < wanted {
            self.bounds.resize(wanted, 0);
            self.bounds[0] = BEFORE;
        }
    }

    /// Splits a text at its dots; false if a byte is not plain or a token empty.
    #[inline]
    fn split_plain(&mut self, text: &[u8]) -> bool {
        self.make_room(text.len());
        let mut odd = 0;
        // A dot at the start stands behind an empty token, as one behind another dot does.
        let mut before = 1;
        let mut count = 0;
        let mut base = 0;
        let mut rest = text;
        while let Some((block, later)) = rest.split_first_chunk::<64>() {
            let (chunks, _) = block.as_chunks::<16>();
            let [one, two, three, four] = [0, 1, 2, 3].map(|place| sixteen(&chunks[place]));
            odd |= one.odd | two.odd | three.odd | four.odd;
            let dots = one.dots | two.dots << 16 | three.dots << 32 | four.dots << 48;
            if dots & (dots << 1 | before) != 0 {
                return false;
            }
            before = dots >> 63;
            count = self.note(dots, base, count);
            base += 64;
            rest = later;
        }
        let mut dots = 0;
        let mut place = 0;
        while let Some((chunk, later)) = rest.split_first_chunk::<16>() {
            let found = sixteen(chunk);
            odd |= found.odd;
            dots |= found.dots << place;
            place += 16;
            rest = later;
        }
        if !rest.is_empty() {
            let found = if let Some(last) = text.last_chunk::<16>() {
                // The last sixteen bytes, shifted: what is seen twice does no harm.
                let found = sixteen(last);
                odd |= found.odd;
                found.dots >> (16 - rest.len())
            } else {
                let mut padded = [b'x'; 16];
                padded[..rest.len()].copy_from_slice(rest);
                let found = sixteen(&padded);
                odd |= found.odd;
                found.dots
            };
            dots |= found << place;
        }
        if dots & (dots << 1 | before) != 0 {
            return false;
        }
        count = self.note(dots, base, count) + 1;
        if let Some(end) = self.bounds.get_mut(count) {
            *end = number(text.len());
        }
        self.count = count;
        odd == 0 && text.last().is_some_and(|&byte| byte != b'.')
    }

    /// Notes where tokens end in a block of 64 bytes.
    #[inline]
    fn note(&mut self, mut dots: u64, base: u32, count: usize) -> usize {
        let mut count = count;
        while dots != 0 {
            count += 1;
            // No two dots are neighbours, so there is room.
            if let Some(end) = self.bounds.get_mut(count) {
                *end = base + dots.trailing_zeros();
            }
            dots &= dots - 1;
        }
        count
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
        let &[before, end] = self.bounds.get(position..)?.first_chunk::<2>()?;
        Some((before.wrapping_add(1) as usize, end as usize))
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

    /// What lets most patterns of a list through that may match: compared as one number.
    #[inline]
    pub fn sieve(&mut self, text: &[u8], hashing: &Hashing) -> Sieve {
        Sieve::new(self.count, self.last_sign(text, hashing))
    }

    /// A few bits of the last token's last bytes.
    #[inline]
    pub fn last_sign(&mut self, text: &[u8], hashing: &Hashing) -> u64 {
        if let Some(sign) = self.sign {
            return sign;
        }
        let (start, end) = self.span(self.count - 1).unwrap_or((0, 0));
        let sign = hashing.sign(text, start, end);
        self.sign = Some(sign);
        sign
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
            prop_assert_eq!(&tokens.subject(text.as_bytes(), dialect, dialect.bounds()), &checked);
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
