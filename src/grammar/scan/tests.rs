//! Every kernel against a scan byte by byte, at all lengths, alignments and bytes, on allocations
//! that end where the text ends, so that a sanitizer would report a read beyond it.

use super::words::Words;
use super::{Kernel, NEAR_SLACK, SLACK, Scan, dots_at, scan, scan_with};
#[cfg(target_arch = "x86_64")]
use super::{
    avx512::Avx512,
    x86::{Avx2, Sse2},
};
use crate::grammar::{Dialect, Form};

type Found = (Scan, Vec<u32>);

/// The result that a scan must have.
fn expected(text: &[u8], form: Form, dialect: Dialect) -> Found {
    let illegal = |byte: u8| match dialect {
        Dialect::Strict => !(0x21..=0x7e).contains(&byte),
        Dialect::Server => b" \t\r\n".contains(&byte),
    };
    let tokens: Vec<&[u8]> = text.split(|&byte| byte == b'.').collect();
    let wildcard = |byte: &u8| matches!(byte, b'*' | b'>');
    let valid = tokens.iter().enumerate().all(|(at, &token)| match token {
        b"" => false,
        b"*" => form == Form::Pattern,
        b">" => form == Form::Pattern && at + 1 == tokens.len(),
        _ => !token.iter().any(|byte| illegal(*byte) || wildcard(byte)),
    });
    let dots = (0..).zip(text).filter(|(_, byte)| **byte == b'.');
    let scan = Scan {
        valid,
        count: tokens.len(),
        ascii: dialect == Dialect::Strict || text.is_ascii(),
    };
    (scan, dots.map(|(at, _)| at).collect())
}

fn found(count: usize, ends: &[u32], scan: Scan) -> Found {
    (scan, ends[..count - 1].to_vec())
}

fn with_kernel<K: Kernel>(kernel: K, text: &[u8], form: Form, dialect: Dialect) -> Found {
    let mut ends = vec![0; text.len() + 1 + SLACK];
    let sink = ends.as_mut_slice();
    let scan = match (form, dialect) {
        (Form::Subject, Dialect::Strict) => scan_with::<false, false, _, _>(kernel, text, sink),
        (Form::Subject, Dialect::Server) => scan_with::<false, true, _, _>(kernel, text, sink),
        (Form::Pattern, Dialect::Strict) => scan_with::<true, false, _, _>(kernel, text, sink),
        (Form::Pattern, Dialect::Server) => scan_with::<true, true, _, _>(kernel, text, sink),
    };
    found(scan.count, &ends, scan)
}

/// The starts of the tokens after the first, as far as a list of 64 has room.
fn starts_with_kernel<K: Kernel>(kernel: K, text: &[u8]) -> Vec<u32> {
    let mut starts = [0u16; 65 + NEAR_SLACK];
    let scan = scan_with::<true, false, _, _>(kernel, text, &mut starts);
    let kept = scan.count.min(65);
    starts[1..kept]
        .iter()
        .map(|&start| u32::from(start))
        .collect()
}

/// Does the same with every kernel that this processor has.
macro_rules! with_each_kernel {
    ($kernel:ident => $work:expr) => {{
        let $kernel = Words;
        $work;
        #[cfg(target_arch = "x86_64")]
        {
            let $kernel = Sse2;
            $work;
            if let Some($kernel) = Avx2::detect() {
                $work;
            }
            if let Some($kernel) = Avx512::detect() {
                $work;
            }
        }
    }};
}

/// Assert that all kernels find in the text what they must.
fn agree(text: &[u8]) {
    for dialect in [Dialect::Strict, Dialect::Server] {
        for form in [Form::Subject, Form::Pattern] {
            let expected = expected(text, form, dialect);
            with_each_kernel!(kernel => assert_eq!(
                with_kernel(kernel, text, form, dialect),
                expected,
                "{text:x?}"
            ));
            // The one that is dispatched, which records dots, and the one that counts.
            let mut ends = vec![0; text.len() + 1 + SLACK];
            let dispatched = scan(text, form, dialect, ends.as_mut_slice());
            assert_eq!(
                found(dispatched.count, &ends, dispatched),
                expected,
                "{text:x?}"
            );
            assert_eq!(scan(text, form, dialect, &mut ()), expected.0, "{text:x?}");
        }
    }
    let (_, dots) = expected(text, Form::Subject, Dialect::Strict);
    let starts: Vec<u32> = dots.iter().take(64).map(|dot| dot + 1).collect();
    with_each_kernel!(kernel => assert_eq!(starts_with_kernel(kernel, text), starts, "{text:x?}"));
    let mut at = Vec::new();
    for base in (0u32..).step_by(64).take(text.len().div_ceil(64)) {
        let mut mask = dots_at(text, base as usize);
        while mask != 0 {
            at.push(base + mask.trailing_zeros());
            mask &= mask - 1;
        }
    }
    assert_eq!(at, dots, "{text:x?}");
}

/// A valid text of this length that does not repeat itself every few bytes.
fn text_of(length: usize) -> Box<[u8]> {
    let mut text: Vec<u8> = (0..length)
        .map(|at| {
            if at * at % 13 == 3 {
                b'.'
            } else {
                b"abcdefghijklmnopqrstuvwxyz"[at * 7 % 26]
            }
        })
        .collect();
    // Neither a dot at an end nor two in a row.
    for at in 0..length {
        if text[at] == b'.' && (at == 0 || at + 1 == length || text[at - 1] == b'.') {
            text[at] = b'-';
        }
    }
    text.into_boxed_slice()
}

/// Lengths around those of vectors and blocks.
const LENGTHS: [usize; 20] = [
    1, 2, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, 65, 96, 127, 129, 150,
];

#[test]
fn every_length() {
    for length in 0..=400 {
        agree(&text_of(length));
        agree(&vec![b'.'; length].into_boxed_slice());
        agree(&vec![b'*'; length].into_boxed_slice());
    }
}

#[test]
fn every_byte_at_every_place() {
    for length in LENGTHS {
        let text = text_of(length);
        for place in 0..length {
            for byte in 0..=255 {
                let mut changed = text.clone();
                changed[place] = byte;
                agree(&changed);
            }
        }
    }
}

#[test]
fn wildcards_as_tokens_and_as_parts_of_tokens() {
    for length in 1..=140 {
        for place in 0..length {
            for wildcard in *b"*>" {
                let mut text = vec![b'x'; length].into_boxed_slice();
                text[place] = wildcard;
                for (before, after) in [(b'x', b'x'), (b'.', b'x'), (b'x', b'.'), (b'.', b'.')] {
                    if place > 0 {
                        text[place - 1] = before;
                    }
                    if place + 1 < length {
                        text[place + 1] = after;
                    }
                    agree(&text);
                }
            }
        }
    }
}

#[test]
fn what_surrounds_a_text_does_not_count() {
    for length in LENGTHS {
        let text = text_of(length);
        for around in [b'.', b'*', b' ', 0xff] {
            for alignment in 0..64 {
                let mut buffer = vec![around; alignment + length + 64];
                buffer[alignment..alignment + length].copy_from_slice(&text);
                agree(&buffer[alignment..alignment + length]);
            }
        }
    }
}

#[test]
fn a_list_without_room_keeps_the_first_ends() {
    let text = [b"a.".as_slice(); 200].concat();
    for room in 0..60 {
        let mut ends = vec![0; room];
        let found = scan(&text, Form::Subject, Dialect::Strict, ends.as_mut_slice());
        assert_eq!(found.count, 201);
        let kept = room.saturating_sub(SLACK - 1);
        for (place, &end) in (0..kept).zip(&ends) {
            assert_eq!(end as usize, 2 * place + 1, "{room}");
        }
    }
}

#[test]
fn equal_bytes_of_two_blocks() {
    let block = *b"abcdefghijklmnopqrstuvwxyz.*> \0\xff";
    for place in 0..32 {
        for flipped in [1, 0x80, 0xff] {
            let mut other = block;
            other[place] ^= flipped;
            let expected = !(1 << place);
            with_each_kernel!(kernel => assert_eq!(kernel.equal(&block, &other), expected));
        }
    }
    assert_eq!(Words.equal(&block, &block), u32::MAX);
}

#[test]
fn texts_are_compared_byte_by_byte() {
    for length in 0..=70 {
        let text = text_of(length);
        let same = text.clone();
        with_each_kernel!(kernel => {
            let equal = kernel.equal_texts(&text, &same);
            assert!(equal.unwrap_or(true), "{length}");
            assert!(length <= 64 || equal.is_none());
        });
        for place in 0..length {
            let mut other = text.clone();
            other[place] ^= 0x80;
            with_each_kernel!(kernel => {
                let equal = kernel.equal_texts(&text, &other);
                assert!(!equal.unwrap_or(false), "{length} {place}");
            });
        }
    }
}

#[test]
fn numbers_below_a_bound_are_counted_and_zero_is_above_all() {
    let bounds = [1, 2, 7, u64::MAX >> 1, 1 << 63, u64::MAX - 1, u64::MAX];
    for bound in bounds {
        for numbers in 0..5usize.pow(4) {
            let choices = [0, 1, bound.wrapping_sub(1), bound, u64::MAX];
            let mut rest = numbers;
            let pairs: [[u64; 2]; 4] = std::array::from_fn(|_| {
                let chosen = choices[rest % 5];
                rest /= 5;
                [chosen, !chosen]
            });
            let below = |&&[number, _]: &&[u64; 2]| number != 0 && number < bound;
            let expected = pairs.iter().filter(below).count();
            with_each_kernel!(kernel => {
                assert_eq!(kernel.count_below(&pairs, bound), expected, "{pairs:?} {bound}");
            });
        }
    }
}
