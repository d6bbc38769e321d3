//! The kernel of x86-64 processors with AVX-512 for bytes (Ice Lake and Zen 4, and later ones): a
//! comparison gives a mask at once, a load reads exactly the bytes of a text, and one instruction turns
//! a mask into positions.
//!
//! Contains `unsafe` code: instructions that not every processor has, and loads that read the bytes of
//! a slice that their mask names and no others. A value of the type [`Avx512`] exists only where the
//! instructions were detected.
#![allow(unsafe_code)]
// As in the parent module: a kernel becomes part of the function that uses it.
#![allow(clippy::inline_always)]

use std::arch::x86_64::{
    __m512i, _mm512_add_epi16, _mm512_castsi512_si256, _mm512_cmpeq_epi8_mask,
    _mm512_cmplt_epi8_mask, _mm512_cmpneq_epi8_mask, _mm512_cvtepu8_epi16, _mm512_loadu_si512,
    _mm512_mask_cmplt_epu64_mask, _mm512_mask_loadu_epi8, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi8, _mm512_movepi8_mask, _mm512_set1_epi8, _mm512_set1_epi16,
    _mm512_set1_epi64, _mm512_sub_epi64,
};

use super::kernel::{EXPANDED, Kernel, Masks, Task};
use super::x86::{Avx2, Sse2};

/// The instructions that the kernel needs: vectors of 64 bytes, masks of bytes, and compression.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(Avx2);

/// The numbers of the bytes of a vector.
const NUMBERS: [u8; 64] = {
    let mut numbers = [0; 64];
    let mut at = 0u8;
    while at < 64 {
        numbers[at as usize] = at;
        at += 1;
    }
    numbers
};

/// The lowest `count` bits, up to 64.
#[inline(always)]
const fn lowest_bits(count: usize) -> u64 {
    if count < 64 {
        (1 << count) - 1
    } else {
        u64::MAX
    }
}

impl Avx512 {
    /// Detects the instructions.
    pub fn detect() -> Option<Self> {
        let avx2 = Avx2::detect()?;
        let detected = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512vbmi2");
        detected.then_some(Self(avx2))
    }

    /// Does work compiled for these instructions.
    #[inline]
    pub fn run<T: Task>(self, task: T) -> T::Output {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        unsafe { run_avx512(self, task) }
    }

    /// The masks of the bytes of a vector.
    #[inline(always)]
    #[allow(clippy::unused_self)] // shows that the processor has the instructions
    fn masks<const PATTERN: bool, const SERVER: bool>(self, all: __m512i) -> Masks {
        // SAFETY: a value of this type exists, so the processor has these instructions.
        let (equal, small, high) = unsafe {
            let equal =
                |byte: u8| _mm512_cmpeq_epi8_mask(all, _mm512_set1_epi8(byte.cast_signed()));
            // The comparison is signed, so bytes from 128 on count as small.
            let small = _mm512_cmplt_epi8_mask(all, _mm512_set1_epi8(0x21));
            (equal, small, _mm512_movepi8_mask(all))
        };
        let stars_and_tails = equal(b'*') | equal(b'>');
        let illegal = if SERVER {
            equal(b' ') | equal(b'\t') | equal(b'\r') | equal(b'\n')
        } else {
            small | equal(0x7f)
        };
        Masks {
            dots: equal(b'.'),
            wildcards: if PATTERN { stars_and_tails } else { 0 },
            illegal: if PATTERN {
                illegal
            } else {
                illegal | stars_and_tails
            },
            high: if SERVER { high } else { 0 },
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,popcnt")]
fn run_avx512<T: Task>(avx512: Avx512, task: T) -> T::Output {
    task.run(avx512)
}

impl Kernel for Avx512 {
    #[inline(always)]
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
        self.0.equal(left, right)
    }

    #[inline(always)]
    fn equal_texts(self, left: &[u8], right: &[u8]) -> Option<bool> {
        if left.len() > 64 || left.len() != right.len() {
            return None;
        }
        let within = lowest_bits(left.len());
        // SAFETY: a value of this type exists, so the processor has these instructions; only the
        // bytes of the slices are read, as many as the mask has bits.
        let differ = unsafe {
            let left = _mm512_maskz_loadu_epi8(within, left.as_ptr().cast());
            let right = _mm512_maskz_loadu_epi8(within, right.as_ptr().cast());
            _mm512_cmpneq_epi8_mask(left, right)
        };
        Some(differ == 0)
    }

    #[inline(always)]
    fn count_below(self, pairs: &[[u64; 2]; 4], bound: u64) -> usize {
        // SAFETY: a value of this type exists, so the processor has these instructions; 64 bytes
        // are read.
        let below = unsafe {
            let all = _mm512_loadu_si512(pairs.as_ptr().cast());
            let less = _mm512_sub_epi64(all, _mm512_set1_epi64(1));
            let bound = _mm512_set1_epi64(bound.wrapping_sub(1).cast_signed());
            _mm512_mask_cmplt_epu64_mask(0b0101_0101, less, bound)
        };
        below.count_ones() as usize
    }

    #[inline(always)]
    fn expand(self, bits: u64, start: u16) -> Option<[u16; EXPANDED]> {
        // SAFETY: a value of this type exists, so the processor has these instructions; the vector
        // that is loaded, and the one that becomes an array, have 64 bytes.
        Some(unsafe {
            let numbers = _mm512_loadu_si512(NUMBERS.as_ptr().cast());
            let positions = _mm512_maskz_compress_epi8(bits, numbers);
            let positions = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(positions));
            let starts = _mm512_add_epi16(positions, _mm512_set1_epi16(start.cast_signed()));
            std::mem::transmute::<__m512i, [u16; EXPANDED]>(starts)
        })
    }

    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        Sse2.sixteen::<PATTERN, SERVER>(bytes)
    }

    #[inline(always)]
    fn sixty_four<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 64]) -> Masks {
        // SAFETY: a value of this type exists, so the processor has these instructions; 64 bytes
        // are read.
        let all = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        self.masks::<PATTERN, SERVER>(all)
    }

    #[inline(always)]
    fn last<const PATTERN: bool, const SERVER: bool>(self, text: &[u8], length: usize) -> Masks {
        let last = text
            .get(text.len() - length.min(text.len())..)
            .unwrap_or_default();
        let within = lowest_bits(last.len());
        // Behind the text stand letters, which belong to no class.
        // SAFETY: a value of this type exists, so the processor has these instructions; only the
        // bytes of the slice are read, as many as the mask has bits.
        let all =
            unsafe { _mm512_mask_loadu_epi8(_mm512_set1_epi8(0x78), within, last.as_ptr().cast()) };
        self.masks::<PATTERN, SERVER>(all)
    }
}
