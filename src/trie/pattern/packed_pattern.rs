//! The packed pattern: a block of words, compared with a subject 32 bytes at a time.
//!
//! ```text
//! word 0   header: how to compare, length, positions of '*'
//! word 1   slot of the last subscription (high half) and of the first (low half)
//! word 2   id of the first subscription
//! word 3…  the text, eight bytes a word, the first byte lowest, zeros behind
//!
//! header   60 ────── 25 │ 24 ── 5 │ 4 ─── 2 │ 1   │ 0
//!          6 positions  │ length  │ how many│ '>' │ 0
//! header   63 ────── 32 │ 31 ──────────────── 1   │ 0      of any other pattern
//!          length       │                         │ 1
//! ```

// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::grammar::scan::Kernel;
use crate::grammar::token_ends::TokenEnds;
use crate::trie::address::Slot;
use crate::trie::words::{load, lowest};

/// Bytes of a vector.
const VECTOR: usize = 32;

/// Words before the text.
const TEXT_START: usize = 3;

/// Fields of the header. Six positions of six bits are as many `*` as fit beside a length of 20
/// bits; a pattern with more, or with one further back, or longer, is compared token by token.
const TOKEN_BY_TOKEN: u64 = 1;
const ANY_LENGTH_SHIFT: u32 = 32;
const TAIL_SHIFT: u32 = 1;
const STARS_SHIFT: u32 = 2;
const STARS_MASK: u64 = 7;
const LENGTH_SHIFT: u32 = 5;
const LENGTH_BITS: u32 = 20;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;
const POSITIONS_SHIFT: usize = 25;
const POSITION_BITS: usize = 6;
const POSITION_MASK: u64 = 63;
const MAX_STARS: usize = 6;
const LAST_POSITION: usize = 62;

/// The words of a pattern, without subscriptions.
pub(crate) fn pack(text: &[u8]) -> Vec<u64> {
    let mut words = Vec::with_capacity(TEXT_START + text.len().div_ceil(8));
    pack_into(text, &mut words);
    words
}

/// As [`pack`], in memory that is reused.
pub(crate) fn pack_into(text: &[u8], words: &mut Vec<u64>) {
    words.clear();
    words.extend([header(text), 0, 0]);
    let (eights, rest) = text.as_chunks::<8>();
    words.extend(eights.iter().map(|eight| u64::from_le_bytes(*eight)));
    if !rest.is_empty() {
        words.push(load(text, text.len() - rest.len()));
    }
}

/// The number of words of a packed pattern.
pub(crate) fn packed_len(block: &[u64]) -> usize {
    TEXT_START + length(block).div_ceil(8)
}

/// The first word of a packed pattern.
#[allow(clippy::naive_bytecount)] // of the few bytes between two wildcards
pub(crate) fn header(pattern: &[u8]) -> u64 {
    let token_by_token = TOKEN_BY_TOKEN | (pattern.len() as u64) << ANY_LENGTH_SHIFT;
    let tail = pattern == b">" || pattern.ends_with(b".>");
    let mut word = u64::from(tail) << TAIL_SHIFT;
    let (mut stars, mut position, mut counted) = (0, 0, 0);
    for at in memchr_iter(b'*', pattern) {
        let ends_token = |place: usize| pattern.get(place).is_none_or(|&byte| byte == b'.');
        // `at - 1` wraps at 0, and is then out of range.
        if !ends_token(at.wrapping_sub(1)) || !ends_token(at + 1) {
            continue;
        }
        let before = pattern[counted..at].iter();
        position += before.filter(|&&byte| byte == b'.').count();
        counted = at;
        if stars == MAX_STARS || position > LAST_POSITION {
            return token_by_token;
        }
        word |= (position as u64) << (POSITIONS_SHIFT + POSITION_BITS * stars);
        stars += 1;
    }
    if pattern.len() >= 1 << LENGTH_BITS {
        return token_by_token;
    }
    word | (stars as u64) << STARS_SHIFT | (pattern.len() as u64) << LENGTH_SHIFT
}

#[inline]
fn length(block: &[u64]) -> usize {
    let header = block.first().copied().unwrap_or(TOKEN_BY_TOKEN);
    if header & TOKEN_BY_TOKEN == TOKEN_BY_TOKEN {
        (header >> ANY_LENGTH_SHIFT) as usize
    } else {
        (header >> LENGTH_SHIFT & LENGTH_MASK) as usize
    }
}

fn byte(block: &[u64], at: usize) -> u8 {
    let word = block.get(TEXT_START + at / 8).copied().unwrap_or_default();
    word.to_le_bytes()[at % 8]
}

/// The bytes of the text, where they are. In a damaged image, as much of it as there is.
pub(crate) fn text(block: &[u64]) -> Cow<'_, [u8]> {
    let words = block.get(TEXT_START..).unwrap_or_default();
    let stored = length(block).min(words.len() * 8);
    if cfg!(target_endian = "little") {
        let bytes: &[u8] = bytemuck::cast_slice(words);
        return Cow::Borrowed(&bytes[..stored]);
    }
    Cow::Owned((0..stored).map(|at| byte(block, at)).collect())
}

/// Appends the text to `out`. In a damaged image, as much of it as there is.
pub(crate) fn unpack_into(block: &[u64], out: &mut Vec<u8>) {
    out.extend_from_slice(&text(block));
}

/// The text. In a damaged image, with replacement characters for what is not UTF-8.
pub(crate) fn unpack(block: &[u64]) -> String {
    let mut bytes = Vec::with_capacity(length(block).min(block.len() * 8));
    unpack_into(block, &mut bytes);
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Whether this is the text of the packed pattern.
pub(crate) fn equals(block: &[u64], pattern: &[u8]) -> bool {
    length(block) == pattern.len() && bytes_equal(block, 0, pattern.len(), pattern, 0)
}

/// Whether the pattern matches the subject `text`. Cost: its length, 32 bytes at a time.
#[inline(always)]
pub(crate) fn matches<K: Kernel>(
    kernel: K,
    block: &[u64],
    text: &[u8],
    tokens: &TokenEnds,
) -> bool {
    let Some(&header) = block.first() else {
        return false;
    };
    if header & TOKEN_BY_TOKEN == TOKEN_BY_TOKEN {
        return matches_token_by_token(block, text);
    }
    let tail = header >> TAIL_SHIFT & 1;
    let stars = (header >> STARS_SHIFT & STARS_MASK) as usize;
    let end = (header >> LENGTH_SHIFT & LENGTH_MASK) as usize;
    let (mut at, mut there) = (0, 0);
    // Without an early exit: most patterns that are compared match.
    let mut equal = true;
    for star in 0..stars {
        let position = header >> (POSITIONS_SHIFT + POSITION_BITS * star) & POSITION_MASK;
        let Some((begin, after)) = tokens.span(position as usize) else {
            return false;
        };
        let Some(count) = begin.checked_sub(there) else {
            return false; // only in a damaged image
        };
        // The dots are compared with the rest: if these bytes are equal, so are the positions.
        equal &= vectors_equal(kernel, block, at, count, text, there);
        at += count + 1;
        there = after;
    }
    let rest = text.len() - there.min(text.len());
    let literal = end.wrapping_sub(at);
    // The `>` takes the place of at least one byte; without it, both end with the same bytes.
    let count = literal.wrapping_sub(tail as usize);
    let fits = if tail == 1 {
        rest > count
    } else {
        rest == count
    };
    equal & fits && vectors_equal(kernel, block, at, count, text, there)
}

/// As [`bytes_equal`], with vectors.
#[inline(always)]
fn vectors_equal<K: Kernel>(
    kernel: K,
    block: &[u64],
    at: usize,
    count: usize,
    text: &[u8],
    there: usize,
) -> bool {
    if cfg!(target_endian = "little")
        && let stored = bytemuck::cast_slice::<_, u8>(block)
        && let Some(own) = stored.get(TEXT_START * 8 + at..TEXT_START * 8 + at + count)
        && let Some(theirs) = text.get(there..there + count)
        && let Some(equal) = kernel.equal_texts(own, theirs)
    {
        return equal;
    }
    let Some(last) = text.len().checked_sub(VECTOR) else {
        return bytes_equal(block, at, count, text, there);
    };
    if cfg!(target_endian = "big") || count > 2 * VECTOR {
        return bytes_equal(block, at, count, text, there);
    }
    let stored: &[u8] = bytemuck::cast_slice(block);
    let length = count.min(VECTOR);
    let mask = (1u64 << length) - 1;
    let differ = |at: usize, there: usize| {
        // A vector that begins earlier where the text ends before it would.
        let begin = there.min(last);
        let earlier = there - begin;
        let theirs = text.get(begin..)?.first_chunk::<VECTOR>()?;
        let own = stored.get((TEXT_START * 8 + at).checked_sub(earlier)?..)?;
        let equal = kernel.equal(own.first_chunk::<VECTOR>()?, theirs);
        Some(u64::from(!equal) & mask << earlier)
    };
    let Some(first) = differ(at, there) else {
        return bytes_equal(block, at, count, text, there);
    };
    if count <= VECTOR {
        return first == 0;
    }
    // The last bytes, some of which were compared before.
    let skipped = count - length;
    match differ(at + skipped, there + skipped) {
        Some(second) => first | second == 0,
        None => bytes_equal(block, at, count, text, there),
    }
}

/// Whether `count` bytes of the pattern from `at` equal those of `text` from `there`.
fn bytes_equal(block: &[u64], at: usize, count: usize, text: &[u8], there: usize) -> bool {
    let (Some(mut words), Some(mut part)) = (
        block.get(TEXT_START + at / 8..),
        text.get(there..).and_then(|rest| rest.get(..count)),
    ) else {
        return false;
    };
    let mut differ = 0;
    let skipped = at % 8;
    if skipped > 0 {
        // Up to the next whole word of the pattern.
        let Some((&first, later)) = words.split_first() else {
            return count == 0;
        };
        let some = (8 - skipped).min(count);
        differ = lowest(first >> (8 * skipped) ^ load(text, there), some);
        (words, part) = (later, &part[some..]);
    }
    // Without an early exit: most patterns that are compared match.
    let (eights, rest) = part.as_chunks::<8>();
    let Some((whole, left)) = words.split_at_checked(eights.len()) else {
        return false;
    };
    for (word, eight) in whole.iter().zip(eights) {
        differ |= word ^ u64::from_le_bytes(*eight);
    }
    if !rest.is_empty() {
        let Some(last) = left.first() else {
            return false;
        };
        differ |= lowest(last ^ load(text, there + count - rest.len()), rest.len());
    }
    differ == 0
}

/// Whether a pattern that the header cannot describe matches.
#[cold]
fn matches_token_by_token(block: &[u64], text: &[u8]) -> bool {
    let (mut at, mut there) = (0, 0);
    let end = length(block);
    if end > block.len().saturating_sub(TEXT_START) * 8 {
        return false; // a damaged image
    }
    let token_length = |at: usize| {
        // At most one byte more than the text it is compared with.
        let bytes = (at..end).take(text.len() + 1);
        bytes
            .take_while(|&place| byte(block, place) != b'.')
            .count()
    };
    while at < end && there < text.len() {
        let own = token_length(at);
        let theirs = text[there..]
            .iter()
            .take_while(|&&byte| byte != b'.')
            .count();
        match (own, byte(block, at)) {
            (1, b'>') if at + 1 == end => return true,
            (1, b'*') => {}
            _ => {
                let same = own == theirs
                    && (0..own).all(|place| byte(block, at + place) == text[there + place]);
                if !same {
                    return false;
                }
            }
        }
        at += own + 1;
        there += theirs + 1;
    }
    // Both end with their last token, one past the dot that would follow it.
    at == end + 1 && there == text.len() + 1
}

/// The ends of the list of subscriptions: first slot, last slot, and the id of the first.
#[inline]
pub(crate) fn list_ends(block: &[u64]) -> (Slot, Slot, u64) {
    match block {
        #[allow(clippy::cast_possible_truncation)] // the two halves
        [_, slots, id, ..] => (Slot(*slots as u32), Slot((*slots >> 32) as u32), *id),
        _ => (Slot::NONE, Slot::NONE, 0),
    }
}

/// Sets what [`list_ends`] returns.
pub(crate) fn set_list_ends(block: &mut [u64], first: Slot, last: Slot, id: u64) {
    if let [_, slots, first_id, ..] = block {
        *slots = u64::from(first.0) | u64::from(last.0) << 32;
        *first_id = id;
    }
}

#[cfg(test)]
mod tests;
