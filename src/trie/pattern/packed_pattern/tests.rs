//! Tests of the packed pattern: every part of it by itself, and all together as the grammar says.

use super::{
    bytes_equal, equals, header, length, list_ends, matches, matches_token_by_token, pack,
    packed_len, set_list_ends, text, unpack, vectors_equal,
};
use crate::grammar::scan::{Baseline, Kernel, Masks, Task, Words, with_best_kernel};
use crate::grammar::token_ends::TokenEnds;
use crate::grammar::{self, Dialect};
use crate::trie::address::Slot;
use proptest::prelude::*;

/// A kernel that compares whole texts, as that of AVX-512 does, which few machines have.
#[derive(Clone, Copy)]
struct WholeTexts;

impl Kernel for WholeTexts {
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        Words.equal(left, right)
    }

    fn equal_texts(self, left: &[u8], right: &[u8]) -> Option<bool> {
        assert_eq!(left.len(), right.len());
        (left.len() <= 64).then(|| left == right)
    }

    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        Words.sixteen::<PATTERN, SERVER>(bytes)
    }
}

struct Matches<'a>(&'a [u64], &'a [u8], &'a TokenEnds);

impl Task for Matches<'_> {
    type Output = bool;

    fn run<K: Kernel>(self, kernel: K) -> bool {
        matches(kernel, self.0, self.1, self.2)
    }
}

fn agree(pattern: &str, subject: &str) {
    let block = pack(pattern.as_bytes());
    assert_eq!(unpack(&block), pattern);
    assert_eq!(packed_len(&block), block.len());
    assert!(equals(&block, pattern.as_bytes()));
    assert!(!equals(&block, subject.as_bytes()) || subject == pattern);
    let mut tokens = TokenEnds::default();
    let bounds = Dialect::Server.bounds();
    tokens
        .read_subject(Baseline, subject.as_bytes(), Dialect::Server, bounds)
        .unwrap();
    let expected = grammar::matches(pattern, subject);
    // Alone, and as a slab holds it, with others behind it.
    for behind in [0, 1, 8] {
        let followed = [block.as_slice(), &vec![u64::MAX; behind]].concat();
        let text = subject.as_bytes();
        let (block, tokens) = (followed.as_slice(), &tokens);
        let best = with_best_kernel(Matches(block, text, tokens));
        assert_eq!(best, expected, "{pattern} {subject}");
        let portable = matches(Words, block, text, tokens);
        assert_eq!(portable, expected, "{pattern} {subject}");
        let whole = matches(WholeTexts, block, text, tokens);
        assert_eq!(whole, expected, "{pattern} {subject}");
    }
}

#[test]
fn patterns_of_every_form_match_as_the_grammar_says() {
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

/// Part of a block and part of a text that are compared.
#[derive(Clone, Copy, Debug)]
struct Parts<'a> {
    block: &'a [u64],
    at: usize,
    count: usize,
    text: &'a [u8],
    there: usize,
}

impl Task for Parts<'_> {
    type Output = bool;

    fn run<K: Kernel>(self, kernel: K) -> bool {
        vectors_equal(
            kernel, self.block, self.at, self.count, self.text, self.there,
        )
    }
}

impl Parts<'_> {
    fn must_be(self, equal: bool) {
        let in_words = bytes_equal(self.block, self.at, self.count, self.text, self.there);
        assert_eq!(in_words, equal, "{self:?}");
        assert_eq!(with_best_kernel(self), equal, "{self:?}");
        assert_eq!(self.run(Baseline), equal, "{self:?}");
        assert_eq!(self.run(Words), equal, "{self:?}");
        assert_eq!(self.run(WholeTexts), equal, "{self:?}");
    }
}

fn block_of(bytes: &[u8]) -> Vec<u64> {
    let mut block = pack(bytes);
    block[0] = 0; // not read
    block
}

/// Bytes of which no two within 64 are equal.
fn distinct(range: std::ops::Range<usize>) -> Vec<u8> {
    range
        .map(|at| u8::try_from(at * 37 % 127).unwrap())
        .collect()
}

#[test]
fn parts_of_every_length_are_equal_if_all_their_bytes_are() {
    for count in 0..=80 {
        for (at, there) in [(0, 0), (1, 0), (0, 3), (5, 2), (8, 33), (15, 40), (30, 64)] {
            for (behind, after) in [(0, 0), (1, 0), (40, 1), (40, 40)] {
                let bytes = distinct(0..at + count + behind);
                let block = block_of(&bytes);
                // What stands around the part differs.
                let mut text = vec![0xff; there + count + after];
                text[there..there + count].copy_from_slice(&bytes[at..at + count]);
                let compare = |text: &[u8], equal| {
                    let block = &block;
                    let parts = Parts {
                        block,
                        at,
                        count,
                        text,
                        there,
                    };
                    parts.must_be(equal);
                };
                compare(&text, true);
                for place in 0..count {
                    let mut other = text.clone();
                    other[there + place] ^= 0x80;
                    compare(&other, false);
                    // Also where the two vectors of a long part differ at the same place.
                    let second = place + count.saturating_sub(32);
                    if second != place && second < count {
                        other[there + second] ^= 0x80;
                        compare(&other, false);
                    }
                }
            }
        }
    }
}

#[test]
fn a_part_of_which_bytes_are_missing_is_not_equal() {
    let text = distinct(0..80);
    for words in 0..10 {
        let block = block_of(&text[..8 * words]);
        for at in 0..=8 * words {
            for count in 1..=80 - at {
                let parts = Parts {
                    block: &block,
                    at,
                    count,
                    text: &text,
                    there: at,
                };
                parts.must_be(at + count <= 8 * words);
            }
        }
    }
}

#[test]
fn a_header_holds_what_its_table_says() {
    let length = |length: u64| length << 5;
    let any_other = |pattern: &str| 1 | (pattern.len() as u64) << 32;
    for (pattern, expected) in [
        ("", 0),
        ("a", length(1)),
        ("a>", length(2)),
        (">", length(1) | 2),
        ("a.>", length(3) | 2),
        ("*", length(1) | 1 << 2),
        ("a.*", length(3) | 1 << 2 | 1 << 25),
        ("a*.*b.c*d.**", length(12)),
        ("a*.*b.*.c", length(9) | 1 << 2 | 2 << 25),
        ("a.*.b.*.>", length(9) | 2 << 2 | 2 | 1 << 25 | 3 << 31),
    ] {
        assert_eq!(header(pattern.as_bytes()), expected, "{pattern}");
    }
    let six = "*.*.*.*.*.*";
    let places = 1 << 31 | 2 << 37 | 3 << 43 | 4 << 49 | 5 << 55;
    assert_eq!(header(six.as_bytes()), length(11) | 6 << 2 | places);
    let seven = format!("{six}.*");
    assert_eq!(header(seven.as_bytes()), any_other(&seven));
    let at_62 = format!("{}*", "a.".repeat(62));
    assert_eq!(header(at_62.as_bytes()), length(125) | 1 << 2 | 62 << 25);
    let at_63 = format!("{}*", "a.".repeat(63));
    assert_eq!(header(at_63.as_bytes()), any_other(&at_63));
    let longest = "x".repeat((1 << 20) - 1);
    assert_eq!(header(longest.as_bytes()), length((1 << 20) - 1));
    let longer = "x".repeat(1 << 20);
    assert_eq!(header(longer.as_bytes()), any_other(&longer));
}

#[test]
fn a_packed_pattern_gives_back_its_text_and_its_list() {
    for size in 0..40 {
        for start in ["", "*.*.*.*.*.*.*."] {
            let pattern = format!("{start}{}", &"abcdefghijklm".repeat(4)[..size]);
            let mut block = pack(pattern.as_bytes());
            assert_eq!(block.len(), 3 + pattern.len().div_ceil(8));
            assert_eq!(
                (packed_len(&block), length(&block)),
                (block.len(), pattern.len())
            );
            assert_eq!(list_ends(&block), (Slot(0), Slot(0), 0));
            set_list_ends(&mut block, Slot(0x8000_0001), Slot(0x4000_0002), u64::MAX);
            assert_eq!(block[1..3], [0x4000_0002_8000_0001, u64::MAX]);
            let ends = (Slot(0x8000_0001), Slot(0x4000_0002), u64::MAX);
            assert_eq!(list_ends(&block), ends);
            // In a slab, others follow; in a damaged image, words are missing.
            block.push(u64::MAX);
            assert_eq!(unpack(&block), pattern);
            for words in 0..block.len() {
                let stored = pattern.len().min(words.saturating_sub(3) * 8);
                let stored = if words == 0 { 0 } else { stored };
                assert_eq!(*text(&block[..words]), pattern.as_bytes()[..stored]);
            }
        }
    }
    assert_eq!(length(&[]), 0);
    assert_eq!(list_ends(&[1, 2]), (Slot::NONE, Slot::NONE, 0));
    assert_eq!(unpack(&pack(b"a\xffb")), "a\u{fffd}b");
    assert!(equals(&pack(b"ab"), b"ab"));
    assert!(!equals(&pack(b"ab"), b"a") && !equals(&pack(b"a"), b"ab"));
}

/// All sequences of up to three of these tokens.
fn sequences(tokens: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = tokens.iter().map(ToString::to_string).collect();
    let mut from = 0;
    for _ in 0..2 {
        let until = all.len();
        for at in from..until {
            for token in tokens {
                all.push(format!("{}.{token}", all[at]));
            }
        }
        from = until;
    }
    all
}

#[test]
fn token_by_token_short_patterns_match_as_the_grammar_says() {
    let subjects = sequences(&["a", "b", "ab", "abc"]);
    for pattern in sequences(&["a", "ab", "abc", "*", "*a"]) {
        for tail in ["", ".>"] {
            let pattern = format!("{pattern}{tail}");
            let block = pack(pattern.as_bytes());
            for subject in &subjects {
                let expected = grammar::matches(&pattern, subject);
                let found = matches_token_by_token(&block, subject.as_bytes());
                assert_eq!(found, expected, "{pattern} {subject}");
            }
        }
    }
    assert!(matches_token_by_token(&pack(b">"), b"a"));
    assert!(!matches_token_by_token(&pack(b"a.>.b"), b"a.c.b")); // not a valid pattern
}

#[test]
fn token_by_token_literal_parts_of_every_length_are_compared() {
    let starry = "*.".repeat(7);
    for (before, after) in [("", ""), ("", ".*"), ("bb.", ""), ("", ".>"), ("*.", ".c")] {
        for size in 1..40 {
            let token = "x".repeat(size);
            let pattern = format!("{starry}{before}{token}{after}");
            let deep = "token.".repeat(7);
            for (first, last) in [("bb.", ".c"), ("bb.", ""), ("", ".c"), ("", "")] {
                for token in [
                    token.clone(),
                    format!("{token}x"),
                    format!("{}y", &token[1..]),
                    format!("y{}", &token[1..]),
                    token[..size - 1].to_owned() + "yx",
                ] {
                    agree(&pattern, &format!("{deep}{first}{token}{last}"));
                }
            }
            // Words that are missing.
            let block = pack(pattern.as_bytes());
            let subject = format!("{deep}bb.{token}.c");
            for words in 1..block.len() {
                assert!(!matches_token_by_token(&block[..words], subject.as_bytes()));
            }
        }
    }
}

#[test]
fn token_by_token_the_longest_texts_are_compared_to_their_ends() {
    let long = "x".repeat(1 << 20);
    let block = pack(long.as_bytes());
    assert!(matches_token_by_token(&block, long.as_bytes()));
    assert!(!matches_token_by_token(&block, &long.as_bytes()[1..]));
    let other = format!("{}y", &long[1..]);
    assert!(!matches_token_by_token(&block, other.as_bytes()));
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
