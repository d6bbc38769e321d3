//! The kernels of x86-64: AVX2 where the processor has it, else SSE2.
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
    /// Detects AVX2 and the bit instructions that came with it; cached by the standard library.
    #[inline]
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

impl Kernel for Avx2 {
    #[inline(always)]
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        let vector = |bytes: &[u8; 32]| {
            let [a, b, c, d] = words(bytes).map(u64::cast_signed);
            // SAFETY: AVX2, and a value of this type exists only where it is.
            unsafe { _mm256_set_epi64x(d, c, b, a) }
        };
        // SAFETY: as above.
        unsafe {
            _mm256_movemask_epi8(_mm256_cmpeq_epi8(vector(left), vector(right))).cast_unsigned()
        }
    }

    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        Sse2.sixteen::<PATTERN, SERVER>(bytes)
    }

    #[inline(always)]
    fn thirty_two<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 32]) -> Masks {
        let [a, b, c, d] = words(bytes).map(u64::cast_signed);
        // SAFETY: these instructions are AVX2, and a value of this type exists only where it is.
        unsafe {
            // The compiler makes one load of the four.
            let all = _mm256_set_epi64x(d, c, b, a);
            let equal = |byte: u8| _mm256_cmpeq_epi8(all, _mm256_set1_epi8(byte.cast_signed()));
            let bits = |mask: __m256i| u64::from(_mm256_movemask_epi8(mask).cast_unsigned());
            let stars_and_tails = _mm256_or_si256(equal(b'*'), equal(b'>'));
            let illegal = if SERVER {
                _mm256_or_si256(
                    _mm256_or_si256(equal(b' '), equal(b'\t')),
                    _mm256_or_si256(equal(b'\r'), equal(b'\n')),
                )
            } else {
                // The comparison is signed, so bytes from 128 on count as small.
                let small = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x21), all);
                _mm256_or_si256(small, equal(0x7f))
            };
            Masks {
                dots: bits(equal(b'.')),
                wildcards: if PATTERN { bits(stars_and_tails) } else { 0 },
                illegal: bits(if PATTERN {
                    illegal
                } else {
                    _mm256_or_si256(illegal, stars_and_tails)
                }),
                high: if SERVER { bits(all) } else { 0 },
            }
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
            let vector = |bytes: &[u8; 16]| {
                let [a, b] = words(bytes).map(u64::cast_signed);
                // SAFETY: SSE2, which every x86-64 processor has.
                unsafe { _mm_set_epi64x(b, a) }
            };
            // SAFETY: as above.
            unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(vector(left), vector(right))) }
                .cast_unsigned()
        };
        let ((left, left_high), (right, right_high)) = (halves(left), halves(right));
        equal(left, right) | equal(left_high, right_high) << 16
    }

    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        let [a, b] = words(bytes).map(u64::cast_signed);
        // SAFETY: these instructions are SSE2, which every x86-64 processor has.
        unsafe {
            let all = _mm_set_epi64x(b, a);
            let equal = |byte: u8| _mm_cmpeq_epi8(all, _mm_set1_epi8(byte.cast_signed()));
            let bits = |mask: __m128i| u64::from(_mm_movemask_epi8(mask).cast_unsigned());
            let stars_and_tails = _mm_or_si128(equal(b'*'), equal(b'>'));
            let illegal = if SERVER {
                _mm_or_si128(
                    _mm_or_si128(equal(b' '), equal(b'\t')),
                    _mm_or_si128(equal(b'\r'), equal(b'\n')),
                )
            } else {
                let small = _mm_cmpgt_epi8(_mm_set1_epi8(0x21), all);
                _mm_or_si128(small, equal(0x7f))
            };
            Masks {
                dots: bits(equal(b'.')),
                wildcards: if PATTERN { bits(stars_and_tails) } else { 0 },
                illegal: bits(if PATTERN {
                    illegal
                } else {
                    _mm_or_si128(illegal, stars_and_tails)
                }),
                high: if SERVER { bits(all) } else { 0 },
            }
        }
    }
}
