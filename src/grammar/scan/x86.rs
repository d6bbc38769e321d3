//! The kernels of x86-64 up to AVX2, and SSE2 for processors without it.
//!
//! Contains `unsafe` code: instructions that not every processor has. A value of the type [`Avx2`]
//! exists only where they were detected, and no pointer is dereferenced.
#![allow(unsafe_code)]
// As in the parent module: a kernel becomes part of the function that uses it.
#![allow(clippy::inline_always)]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_or_si128,
    _mm_set_epi64x, _mm_set1_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8,
    _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi8,
};

use super::kernel::{Kernel, Masks, Task, halves, words};

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

impl Kernel for Avx2 {
    #[inline(always)]
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        let (left, right) = (wide(self, left), wide(self, right));
        // SAFETY: AVX2, and a value of this type exists only where it is.
        unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(left, right)) }.cast_unsigned()
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
