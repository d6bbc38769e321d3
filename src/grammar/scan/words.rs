//! The kernel for any processor: 64-bit words as vectors of eight bytes (Mycroft 1987).
// As in the parent module: a kernel becomes part of the function that uses it.
#![allow(clippy::inline_always)]
// On x86-64 only the tests use it.
#![cfg_attr(target_arch = "x86_64", allow(dead_code))]

use super::kernel::{Kernel, Masks, words};

/// Words of 64 bits as vectors of eight bytes, for any processor.
#[derive(Clone, Copy, Default)]
pub(crate) struct Words;

impl Kernel for Words {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // 32 bits
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        let (left, right): ([u64; 4], [u64; 4]) = (words(left), words(right));
        left.iter()
            .zip(&right)
            .rev()
            .fold(0, |mask, (left, right)| {
                mask << 8 | bits(equal_bytes(left ^ right, 0)) as u32
            })
    }

    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        let [low, high] = words(bytes).map(word_masks::<PATTERN, SERVER>);
        low.or_shifted(high, 8)
    }
}

/// A byte in each place of a word.
const fn splat(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The high bit of each byte that is this one. No carry leaves a byte: its high bit is cleared.
#[inline(always)]
const fn equal_bytes(word: u64, byte: u8) -> u64 {
    let zeros = word ^ splat(byte);
    !(((zeros & !HIGH_BITS) + !HIGH_BITS) | zeros) & HIGH_BITS
}

/// The high bits of the eight bytes, gathered in the lowest byte.
#[inline(always)]
const fn bits(high: u64) -> u64 {
    (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

const HIGH_BITS: u64 = splat(0x80);

#[inline(always)]
const fn word_masks<const PATTERN: bool, const SERVER: bool>(word: u64) -> Masks {
    let stars_and_tails = equal_bytes(word, b'*') | equal_bytes(word, b'>');
    let illegal = if SERVER {
        equal_bytes(word, b' ')
            | equal_bytes(word, b'\t')
            | equal_bytes(word, b'\r')
            | equal_bytes(word, b'\n')
    } else {
        // The seven low bits plus 0x5f carry into the high bit from 0x21 on.
        let small = !((word & !HIGH_BITS) + splat(0x5f)) & HIGH_BITS;
        small | word & HIGH_BITS | equal_bytes(word, 0x7f)
    };
    Masks {
        dots: bits(equal_bytes(word, b'.')),
        wildcards: if PATTERN { bits(stars_and_tails) } else { 0 },
        illegal: bits(if PATTERN {
            illegal
        } else {
            illegal | stars_and_tails
        }),
        high: if SERVER { bits(word & HIGH_BITS) } else { 0 },
    }
}
