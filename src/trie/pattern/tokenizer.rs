//! A SIMD tokenizer: validates a subject, finds its tokens, and hashes those that a lookup asks for.
//!
//! A scan of sixteen bytes at a time finds the dots and whether all bytes are plain, which they are
//! in most subjects. Only a subject that is not plain is also read by [`crate::grammar::check`],
//! which names the first broken rule. A lookup hashes each token at most once.

use super::words::load;
use crate::error::Error;
use crate::grammar::{Bounds, Dialect, Form, check};
use crate::trie::hash::{NodeKey, TokenHasher, child_key};
use crate::trie::node::{Branch, FIRST_FAR_POSITION, Position, Prefilter};

/// The end of the token before the first one: adding 1 gives the start of the text.
const BEFORE_FIRST: u32 = u32::MAX;

/// The tokens of a text. Lookups reuse one, so that a lookup allocates nothing.
pub(crate) struct Tokenizer {
    /// [`BEFORE_FIRST`], then where each token ends; longer than needed.
    ends: Vec<u32>,
    count: usize,
    hashes: [u64; FIRST_FAR_POSITION],
    /// Bit `n` is set if `hashes[n]` is computed.
    hashed: u64,
    /// The fingerprint of the last token, once computed.
    last_fingerprint: Option<u64>,
}

impl Default for Tokenizer {
    fn default() -> Self {
        Self {
            ends: Vec::new(),
            count: 0,
            hashes: [0; FIRST_FAR_POSITION],
            hashed: 0,
            last_fingerprint: None,
        }
    }
}

impl Tokenizer {
    /// Validates and tokenises a subject, which need not be UTF-8.
    #[inline]
    pub fn tokenize(&mut self, text: &[u8], dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
        let plain = text.len() <= bounds.max_length && self.split_plain(text);
        if plain && self.count <= bounds.max_tokens {
            return Ok(());
        }
        self.check_and_split(text, dialect, bounds)
    }

    #[cold]
    fn check_and_split(
        &mut self,
        text: &[u8],
        dialect: Dialect,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let subject =
            std::str::from_utf8(text).map_err(|error| Error::at("utf8", error.valid_up_to()))?;
        check(subject, Form::Subject, dialect, bounds)?;
        self.split(text);
        Ok(())
    }

    /// Tokenises a valid text.
    pub fn split(&mut self, text: &[u8]) {
        self.reset(text.len());
        self.count = 0;
        let dots = text.iter().enumerate().filter(|(_, byte)| **byte == b'.');
        for end in dots.map(|(at, _)| at).chain([text.len()]) {
            self.count += 1;
            self.ends[self.count] = offset(end);
        }
    }

    /// Forgets the text before and makes room for one of `length` bytes.
    #[inline]
    fn reset(&mut self, length: usize) {
        self.hashed = 0;
        self.last_fingerprint = None;
        let wanted = length / 2 + 3; // every token has a byte and a dot
        if self.ends.len() < wanted {
            self.ends.resize(wanted, 0);
            self.ends[0] = BEFORE_FIRST;
        }
    }

    /// Splits a text at its dots; false if a byte is not plain or a token is empty.
    #[inline]
    fn split_plain(&mut self, text: &[u8]) -> bool {
        self.reset(text.len());
        let mut not_plain = 0;
        // A dot at the start follows an empty token, as a dot behind a dot does.
        let mut before = 1;
        let mut count = 0;
        let mut base = 0;
        let mut rest = text;
        while let Some((block, later)) = rest.split_first_chunk::<64>() {
            let (chunks, _) = block.as_chunks::<16>();
            let [one, two, three, four] = [0, 1, 2, 3].map(|place| scan16(&chunks[place]));
            not_plain |= one.not_plain | two.not_plain | three.not_plain | four.not_plain;
            let dots = one.dots | two.dots << 16 | three.dots << 32 | four.dots << 48;
            if dots & (dots << 1 | before) != 0 {
                return false;
            }
            before = dots >> 63;
            count = self.record_ends(dots, base, count);
            base += 64;
            rest = later;
        }
        let mut dots = 0;
        let mut place = 0;
        while let Some((chunk, later)) = rest.split_first_chunk::<16>() {
            let found = scan16(chunk);
            not_plain |= found.not_plain;
            dots |= found.dots << place;
            place += 16;
            rest = later;
        }
        if !rest.is_empty() {
            let found = if let Some(last) = text.last_chunk::<16>() {
                // The last sixteen bytes, shifted: those scanned before are shifted out.
                let found = scan16(last);
                not_plain |= found.not_plain;
                found.dots >> (16 - rest.len())
            } else {
                let mut padded = [b'x'; 16];
                padded[..rest.len()].copy_from_slice(rest);
                let found = scan16(&padded);
                not_plain |= found.not_plain;
                found.dots
            };
            dots |= found << place;
        }
        if dots & (dots << 1 | before) != 0 {
            return false;
        }
        count = self.record_ends(dots, base, count) + 1;
        if let Some(end) = self.ends.get_mut(count) {
            *end = offset(text.len());
        }
        self.count = count;
        not_plain == 0 && text.last().is_some_and(|&byte| byte != b'.')
    }

    /// Records where tokens end in a block of 64 bytes.
    #[inline]
    fn record_ends(&mut self, mut dots: u64, base: u32, count: usize) -> usize {
        let mut count = count;
        while dots != 0 {
            count += 1;
            // No two dots are neighbours, so there is room.
            if let Some(end) = self.ends.get_mut(count) {
                *end = base + dots.trailing_zeros();
            }
            dots &= dots - 1;
        }
        count
    }

    /// The number of tokens of the text.
    #[inline]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The start and end of the token at a position, if there is one.
    #[inline]
    pub fn span(&self, position: usize) -> Option<(usize, usize)> {
        if position >= self.count {
            return None;
        }
        let &[before, end] = self.ends.get(position..)?.first_chunk::<2>()?;
        Some((before.wrapping_add(1) as usize, end as usize))
    }

    /// The hash of the token at a position; 0 if there is none.
    #[inline]
    pub fn hash(&mut self, text: &[u8], hasher: &TokenHasher, position: usize) -> u64 {
        if position < FIRST_FAR_POSITION && self.hashed >> position & 1 == 1 {
            return self.hashes[position];
        }
        let Some((start, end)) = self.span(position) else {
            return 0;
        };
        let hash = hasher.token(text, start, end, position);
        if position < FIRST_FAR_POSITION {
            self.hashed |= 1 << position;
            self.hashes[position] = hash;
        }
        hash
    }

    /// The key of the child of a branch for a subject, if it has a token at each position.
    #[inline]
    pub fn child(
        &mut self,
        text: &[u8],
        hasher: &TokenHasher,
        branch: Branch,
        parent: NodeKey,
    ) -> Option<NodeKey> {
        let mut sum = 0u64;
        for position in branch.positions() {
            let hash = match position {
                Position::Token(at) if at < self.count => self.hash(text, hasher, at),
                Position::Token(_) => return None,
                Position::Length => hasher.count(self.count),
            };
            sum = sum.wrapping_add(hash);
        }
        Some(child_key(parent, sum))
    }

    /// The prefilter for the entries of a leaf.
    #[inline]
    pub fn prefilter(&mut self, text: &[u8], hasher: &TokenHasher) -> Prefilter {
        Prefilter::new(self.count, self.last_fingerprint(text, hasher))
    }

    /// The fingerprint of the last token.
    #[inline]
    pub fn last_fingerprint(&mut self, text: &[u8], hasher: &TokenHasher) -> u64 {
        if let Some(fingerprint) = self.last_fingerprint {
            return fingerprint;
        }
        let (start, end) = self.span(self.count - 1).unwrap_or((0, 0));
        let fingerprint = hasher.fingerprint(text, start, end);
        self.last_fingerprint = Some(fingerprint);
        fingerprint
    }
}

/// An offset in a text; texts are shorter than 4 GiB.
#[inline]
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The result of a scan of sixteen bytes: the dots, and whether all bytes are plain.
///
/// Plain is printable ASCII except `*` and `>`: valid in a token of every dialect.
#[derive(Clone, Copy)]
struct Scan16 {
    /// One bit a byte, the first byte lowest.
    dots: u64,
    /// Not zero if a byte is not plain.
    not_plain: u32,
}

/// Scans sixteen bytes.
#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn scan16(bytes: &[u8; 16]) -> Scan16 {
    // SAFETY: the callee needs SSE2, which every x86-64 processor has.
    unsafe { with_sse2(bytes) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn with_sse2(bytes: &[u8; 16]) -> Scan16 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };
    let (low, high) = (load(bytes, 0), load(bytes, 8));
    let all = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
    let splat = |byte: u8| -> __m128i { _mm_set1_epi8(byte.cast_signed()) };
    // The comparison is signed, so bytes from 128 on count as small.
    let small = _mm_cmpgt_epi8(splat(0x21), all);
    let wildcards = _mm_or_si128(
        _mm_cmpeq_epi8(all, splat(b'*')),
        _mm_cmpeq_epi8(all, splat(b'>')),
    );
    let outside = _mm_or_si128(small, _mm_cmpeq_epi8(all, splat(0x7f)));
    let dots = _mm_cmpeq_epi8(all, splat(b'.'));
    Scan16 {
        dots: u64::from(_mm_movemask_epi8(dots).cast_unsigned()),
        not_plain: _mm_movemask_epi8(_mm_or_si128(outside, wildcards)).cast_unsigned(),
    }
}

/// Scans sixteen bytes.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn scan16(bytes: &[u8; 16]) -> Scan16 {
    portable(bytes)
}

/// The same scan for any processor.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
fn portable(bytes: &[u8; 16]) -> Scan16 {
    let is_special = |byte: u8| !(0x21..=0x7e).contains(&byte) || byte == b'*' || byte == b'>';
    let half = |at| {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let zeros = load(bytes, at) ^ 0x2e2e_2e2e_2e2e_2e2e;
        let high = !(((zeros & LOW) + LOW) | zeros | LOW);
        // Gathers the high bits of the eight bytes in the top byte.
        (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    };
    Scan16 {
        dots: half(0) | half(8) << 8,
        not_plain: bytes
            .iter()
            .fold(0, |seen, &byte| seen | u32::from(is_special(byte))),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tokenizer, portable, scan16};
    use crate::grammar::{Dialect, Form, check};
    use proptest::prelude::*;

    #[test]
    fn the_portable_scan_agrees_with_sse2() {
        for byte in 0..=255u8 {
            for place in 0..16 {
                let mut bytes = *b"a.bcd..efgh.ijk.";
                bytes[place] = byte;
                let (one, other) = (scan16(&bytes), portable(&bytes));
                assert_eq!(one.dots, other.dots, "{byte} {place}");
                assert_eq!(one.not_plain != 0, other.not_plain != 0, "{byte} {place}");
            }
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
            prop_assert_eq!(&tokens.tokenize(text.as_bytes(), dialect, dialect.bounds()), &checked);
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
