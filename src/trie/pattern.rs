//! A pattern as the index keeps it: one block of words, compared with a subject in long strides.
//!
//! Word 0 says what it is. Bit 0: any pattern at all, read token by token; then the length of the
//! text in bytes from bit 32. Else bit 1 whether it ends in `>`, bits 2 to 4 how many `*` it has
//! (up to six), bits 5 to 24 the length, and from bit 25 the positions of the `*`, six bits each.
//! Word 1: slots of its first subscription (low half) and of its last. Word 2: the id of the first.
//! From word 3 the text, eight bytes a word, the first lowest, zeros behind.

use super::bytes::{load, lowest};
use super::tokens::Tokens;

/// Words before the text.
const HEAD: usize = 3;

const MOST_STARS: usize = 6;

/// The words of a block without its subscriptions, which are set later.
pub(super) fn block_of(text: &[u8]) -> Vec<u64> {
    let mut words = Vec::with_capacity(HEAD + text.len().div_ceil(8));
    words.extend([form_of(text), 0, 0]);
    words.extend((0..text.len()).step_by(8).map(|at| load(text, at)));
    words
}

/// How many words the block of a pattern has.
pub(super) fn words_of(block: &[u64]) -> usize {
    HEAD + length(block).div_ceil(8)
}

fn form_of(pattern: &[u8]) -> u64 {
    let tail = pattern == b">" || pattern.ends_with(b".>");
    let mut word = u64::from(tail) << 1;
    let mut stars = 0;
    for (position, token) in pattern.split(|&byte| byte == b'.').enumerate() {
        if token != b"*" {
            continue;
        }
        if stars == MOST_STARS || position > 62 {
            return 1 | (pattern.len() as u64) << 32;
        }
        word |= (position as u64) << (25 + 6 * stars);
        stars += 1;
    }
    if pattern.len() >= 1 << 20 {
        return 1 | (pattern.len() as u64) << 32;
    }
    word | (stars as u64) << 2 | (pattern.len() as u64) << 5
}

#[inline]
fn length(block: &[u64]) -> usize {
    let form = block.first().copied().unwrap_or(1);
    if form & 1 == 1 {
        (form >> 32) as usize
    } else {
        (form >> 5 & 0xf_ffff) as usize
    }
}

fn byte(block: &[u64], at: usize) -> u8 {
    let word = block.get(HEAD + at / 8).copied().unwrap_or_default();
    word.to_le_bytes()[at % 8]
}

/// Appends the text to `out`. What a damaged image holds is read as far as it goes.
pub(super) fn text_into(block: &[u64], out: &mut Vec<u8>) {
    let held = block.len().saturating_sub(HEAD) * 8;
    out.extend((0..length(block).min(held)).map(|at| byte(block, at)));
}

/// The text; in a damaged image with signs for what is no text.
pub(super) fn text_of(block: &[u64]) -> String {
    let mut bytes = Vec::with_capacity(length(block).min(block.len() * 8));
    text_into(block, &mut bytes);
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Is this the text of the block?
pub(super) fn is(block: &[u64], pattern: &[u8]) -> bool {
    length(block) == pattern.len() && stride(block, 0, pattern.len(), pattern, 0)
}

/// Does the pattern match the subject `text`? Cost: its length, eight bytes at a time.
#[inline]
pub(super) fn matches(block: &[u64], text: &[u8], tokens: &Tokens) -> bool {
    let Some(&form) = block.first() else {
        return false;
    };
    if form & 1 == 1 {
        return matches_any(block, text);
    }
    let tail = form >> 1 & 1;
    let stars = (form >> 2 & 7) as usize;
    let end = (form >> 5 & 0xf_ffff) as usize;
    let (mut at, mut there) = (0, 0);
    for star in 0..stars {
        let position = form >> (25 + 6 * star) & 63;
        let Some((begin, after)) = tokens.span(position as usize) else {
            return false;
        };
        // Dots are compared with all else: where these bytes agree, so do the positions.
        if begin < there || !stride(block, at, begin - there, text, there) {
            return false;
        }
        at += begin - there + 1;
        there = after;
    }
    let rest = text.len() - there.min(text.len());
    if tail == 1 {
        let before = end.saturating_sub(1).saturating_sub(at);
        rest > before && stride(block, at, before, text, there)
    } else {
        end >= at && end - at == rest && stride(block, at, rest, text, there)
    }
}

/// Are `count` bytes of the block from `at` those of `text` from `there`?
#[inline]
fn stride(block: &[u64], at: usize, count: usize, text: &[u8], there: usize) -> bool {
    let (Some(mut words), Some(mut part)) = (
        block.get(HEAD + at / 8..),
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
    // No early end: most patterns that are compared match.
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

/// The same for patterns of any form, token by token.
#[cold]
fn matches_any(block: &[u64], text: &[u8]) -> bool {
    let (mut at, mut there) = (0, 0);
    let end = length(block);
    if end > block.len().saturating_sub(HEAD) * 8 {
        return false; // a damaged image
    }
    let token = |at: usize| {
        // No longer than what it is compared with can be.
        let bytes = (at..end).take(text.len() + 1);
        bytes
            .take_while(|&place| byte(block, place) != b'.')
            .count()
    };
    while at < end && there < text.len() {
        let own = token(at);
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
    // Both end with their last token, one past its missing dot.
    at == end + 1 && there == text.len() + 1
}

/// The slots of the first and the last subscription, and the id of the first.
#[inline]
pub(super) fn ends_of(block: &[u64]) -> (u32, u32, u64) {
    match block {
        #[allow(clippy::cast_possible_truncation)] // the two halves
        [_, slots, id, ..] => (*slots as u32, (*slots >> 32) as u32, *id),
        _ => (u32::MAX, u32::MAX, 0),
    }
}

pub(super) fn set_ends(block: &mut [u64], first: u32, last: u32, id: u64) {
    if let [_, slots, first_id, ..] = block {
        *slots = u64::from(first) | u64::from(last) << 32;
        *first_id = id;
    }
}

#[cfg(test)]
mod tests {
    use super::{block_of, is, matches, text_of, words_of};
    use crate::grammar::{self, Dialect};
    use crate::trie::tokens::Tokens;
    use proptest::prelude::*;

    fn agree(pattern: &str, subject: &str) {
        let block = block_of(pattern.as_bytes());
        assert_eq!(text_of(&block), pattern);
        assert_eq!(words_of(&block), block.len());
        assert!(is(&block, pattern.as_bytes()));
        assert!(!is(&block, subject.as_bytes()) || subject == pattern);
        let mut tokens = Tokens::default();
        let bounds = Dialect::Server.bounds();
        tokens
            .subject(subject.as_bytes(), Dialect::Server, bounds)
            .unwrap();
        let expected = grammar::matches(pattern, subject);
        assert_eq!(
            matches(&block, subject.as_bytes(), &tokens),
            expected,
            "{pattern} {subject}"
        );
    }

    #[test]
    fn patterns_of_any_form() {
        let deep = vec!["ab"; 70].join(".");
        let starry = ["*"; 8].join(".");
        for pattern in [
            ">",
            "*",
            "a.>",
            "ab.*",
            &starry,
            &format!("{starry}.>"),
            &deep,
        ] {
            for subject in [
                "a",
                "a.b",
                "ab.a",
                "a.b.c.d.e.f.g.h",
                "a.b.c.d.e.f.g.h.i",
                &deep,
            ] {
                agree(pattern, subject);
            }
        }
        agree(&deep.replacen("ab", "*", 66), &deep);
        agree(&format!("{}.>", vec!["*"; 69].join(".")), &deep);
    }

    proptest! {
        #[test]
        fn it_matches_as_the_grammar_says(
            pattern in "(a|bb|cccccccccc|é|\\*)(\\.(a|bb|cccccccccc|\\*)){0,9}(\\.>)?",
            chosen in prop::collection::vec(0usize..9, 0..12),
            swap in any::<prop::sample::Index>(),
        ) {
            let words = ["a", "bb", "cccccccccc", "x", "é"];
            // A subject like the pattern, wildcards filled in, and one that differs in a token.
            let mut subject: Vec<&str> = pattern
                .split('.')
                .zip(chosen.iter().cycle().chain([&0; 20]))
                .map(|(token, &n)| if token == "*" || token == ">" { words[n % 5] } else { token })
                .collect();
            if subject.is_empty() {
                subject.push("a");
            }
            agree(&pattern, &subject.join("."));
            let place = swap.index(subject.len());
            subject[place] = words[place % 5];
            agree(&pattern, &subject.join("."));
            subject.push("bb");
            agree(&pattern, &subject.join("."));
        }
    }
}
