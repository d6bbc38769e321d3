//! The kernels of x86-64 up to AVX2, and SSE2 for processors without it.
//!
//! Contains `unsafe` code: instructions that not every processor has. A value of the type [`Avx2`]
//! exists only where they were detected, and no pointer is dereferenced.
#![allow(unsafe_code)]
// As in the parent module: a kernel becomes part of the function that uses it.
#![allow(clippy::inline_always)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_or_si128,
    _mm_set_epi64x, _mm_set1_epi8, _mm256_and_si256, _mm256_castsi256_pd, _mm256_cmpeq_epi8,
    _mm256_cmpeq_epi32, _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_cmpgt_epi32,
    _mm256_movemask_epi8, _mm256_movemask_pd, _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_slli_epi64, _mm256_sub_epi32, _mm256_xor_si256,
};

use super::kernel::{Filtered, Kernel, Masks, Task, Wanted, filter_many, halves, words};

/// AVX2, if the processor has it.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// Detects AVX2 and the bit instructions that came with it.
    pub fn detect() -> Option<Self> {
        let detected = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt");
        detected.then_some(Self(()))
    }

    /// Does work compiled for these instructions.
    #[inline]
    pub fn run<T: Task>(self, task: T) -> T::Output {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        unsafe { run_avx2(self, task) }
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn run_avx2<T: Task>(avx2: Avx2, task: T) -> T::Output {
    task.run(avx2)
}

/// The masks of a vector of bytes by the intrinsics of one width. Only where the processor has them.
macro_rules! masks_of {
    ($pattern:expr, $server:expr, $all:expr, $splat:ident, $equal:ident, $greater:ident, $or:ident,
     $bits:ident) => {{
        let all = $all;
        let equal = |byte: u8| $equal(all, $splat(byte.cast_signed()));
        let bits = |mask| u64::from($bits(mask).cast_unsigned());
        let stars_and_tails = $or(equal(b'*'), equal(b'>'));
        let illegal = if $server {
            $or(
                $or(equal(b' '), equal(b'\t')),
                $or(equal(b'\r'), equal(b'\n')),
            )
        } else {
            // The comparison is signed, so bytes from 128 on count as small.
            $or($greater($splat(0x21), all), equal(0x7f))
        };
        Masks {
            dots: bits(equal(b'.')),
            wildcards: if $pattern { bits(stars_and_tails) } else { 0 },
            illegal: bits(if $pattern {
                illegal
            } else {
                $or(illegal, stars_and_tails)
            }),
            high: if $server { bits(all) } else { 0 },
        }
    }};
}

/// 32 bytes as a vector; the compiler makes one load of the four.
#[inline(always)]
fn wide(_: Avx2, bytes: &[u8; 32]) -> __m256i {
    let [a, b, c, d] = words(bytes).map(u64::cast_signed);
    // SAFETY: AVX2, and a value of the type `Avx2` exists only where it is.
    unsafe { _mm256_set_epi64x(d, c, b, a) }
}

/// 16 bytes as a vector.
#[inline(always)]
fn narrow(bytes: &[u8; 16]) -> __m128i {
    let [a, b] = words(bytes).map(u64::cast_signed);
    // SAFETY: SSE2, which every x86-64 processor has.
    unsafe { _mm_set_epi64x(b, a) }
}

/// Masks of two pairs, one bit a number: those with the key, of these those whose number is of the kind that can
/// pass, and of these those that pass.
#[inline(always)]
fn pair_masks(_: Avx2, [a, b, c, d]: [u64; 4], key: u64, wanted: Wanted) -> [u32; 3] {
    // SAFETY: AVX2, and a value of the type `Avx2` exists only where it is.
    unsafe {
        let [a, b, c, d] = [a, b, c, d].map(u64::cast_signed);
        let all = _mm256_set_epi64x(d, c, b, a);
        let splat = |number: u32| _mm256_set1_epi32(number.cast_signed());
        // One bit a number: its sign; that of a low half is moved there.
        let bits = |mask| _mm256_movemask_pd(_mm256_castsi256_pd(mask)).cast_unsigned();
        let of_low = |mask| bits(_mm256_slli_epi64::<32>(mask));
        let keys = _mm256_cmpeq_epi64(all, _mm256_set1_epi64x(key.cast_signed()));
        let equal = (bits(keys) & 0b101) << 1;
        let kind = _mm256_cmpeq_epi32(_mm256_and_si256(all, splat(3)), splat(1));
        let kind = equal & of_low(kind);
        // The comparison is signed.
        let sign = splat(1 << 31);
        let from = _mm256_xor_si256(_mm256_sub_epi32(all, splat(wanted.first)), sign);
        let within = _mm256_cmpgt_epi32(splat(wanted.many ^ 1 << 31), from);
        let either = _mm256_or_si256(
            _mm256_cmpeq_epi32(all, splat(wanted.either)),
            _mm256_cmpeq_epi32(all, splat(wanted.or)),
        );
        [equal, kind, kind & of_low(_mm256_or_si256(either, within))]
    }
}

impl Kernel for Avx2 {
    #[inline(always)]
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        let (left, right) = (wide(self, left), wide(self, right));
        // SAFETY: AVX2, and a value of this type exists only where it is.
        unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(left, right)) }.cast_unsigned()
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // eight bits
    fn filter_pairs(self, pairs: &[[u64; 2]; 4], key: u64, wanted: Wanted) -> Filtered {
        let words = pairs.as_flattened();
        let (Some(low), Some(high)) = (words.first_chunk::<4>(), words.last_chunk::<4>()) else {
            return Filtered::default(); // never: there are eight
        };
        let (low, high) = (
            pair_masks(self, *low, key, wanted),
            pair_masks(self, *high, key, wanted),
        );
        let [equal, kind, passes] = std::array::from_fn(|at| low[at] | high[at] << 4);
        if passes & passes.wrapping_sub(1) != 0 {
            return filter_many(pairs, equal as u8, wanted);
        }
        let number = pairs[passes.trailing_zeros() as usize / 2 % 4][1];
        let mut filtered = Filtered {
            count: usize::from(passes != 0),
            of_kind: kind.count_ones() as usize,
            others: (equal & !kind) as u8,
            ..Filtered::default()
        };
        filtered.passed[0] = if passes != 0 { number } else { 0 };
        filtered
    }

    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        Sse2.sixteen::<PATTERN, SERVER>(bytes)
    }

    #[inline(always)]
    fn thirty_two<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 32]) -> Masks {
        let all = wide(self, bytes);
        // SAFETY: AVX2, and a value of this type exists only where it is.
        unsafe {
            masks_of!(
                PATTERN,
                SERVER,
                all,
                _mm256_set1_epi8,
                _mm256_cmpeq_epi8,
                _mm256_cmpgt_epi8,
                _mm256_or_si256,
                _mm256_movemask_epi8
            )
        }
    }
}

/// SSE2, which every x86-64 processor has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sse2;

impl Kernel for Sse2 {
    #[inline(always)]
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        let equal = |left: &[u8; 16], right: &[u8; 16]| {
            // SAFETY: SSE2, which every x86-64 processor has.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(narrow(left), narrow(right))) }
                .cast_unsigned()
        };
        let ((left, left_high), (right, right_high)) = (halves(left), halves(right));
        equal(left, right) | equal(left_high, right_high) << 16
    }

    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        let all = narrow(bytes);
        // SAFETY: SSE2, which every x86-64 processor has.
        unsafe {
            masks_of!(
                PATTERN,
                SERVER,
                all,
                _mm_set1_epi8,
                _mm_cmpeq_epi8,
                _mm_cmpgt_epi8,
                _mm_or_si128,
                _mm_movemask_epi8
            )
        }
    }
}
