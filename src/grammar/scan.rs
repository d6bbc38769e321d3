//! The scan: finds the dots of a text and checks its bytes, 64 at a time, with the widest vectors
//! that the processor has (AVX2, SSE2, or 64-bit words as vectors: Mycroft 1987).
//!
//! Every tokenizer of the crate is this scan: the index and [`super::check`], the decoder of
//! addresses, the parsers of patterns and of rules. It answers whether a text is valid; which rule an
//! invalid one breaks is found by a second pass, token by token.
//!
//! Contains `unsafe` code: instructions that not every processor has. A value of the type [`Avx2`]
//! exists only where they were detected, and no pointer is dereferenced: texts are read through
//! slices, the last bytes twice if the length is not a multiple of a vector.
#![allow(unsafe_code)]
// A function that is compiled for AVX2 and the ones it calls must become one function: a call between
// them would be one to code that is compiled without it.
#![allow(clippy::inline_always)]

use super::{Dialect, Form};

/// The result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// Whether the text is valid, apart from the bounds. A text of the server's dialect in which a
    /// wildcard is part of a token is valid and not recognised as such.
    pub valid: bool,
    /// The number of tokens of a valid text.
    pub count: usize,
    /// Whether all bytes are ASCII; other bytes may not be UTF-8. Of a valid text.
    pub ascii: bool,
}

/// Receives the dots of a text, block by block.
pub(crate) trait DotSink {
    /// Receives the dots of the 64 bytes at `base`, the first byte lowest, after `count` others.
    fn record(&mut self, dots: u64, base: usize, count: usize);
}

/// Counts only.
impl DotSink for () {
    #[inline(always)]
    fn record(&mut self, _dots: u64, _base: usize, _count: usize) {}
}

/// Elements that a list of ends needs beyond one a token, as they are written eight at a time.
pub(crate) const SLACK: usize = 8;

/// A list of the ends of tokens. Those that have no room in it are left out.
impl DotSink for [u32] {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // texts are shorter than 4 GiB
    fn record(&mut self, mut dots: u64, base: usize, count: usize) {
        let mut room = self.get_mut(count..).unwrap_or_default();
        let base = base as u32;
        // Eight at a time: a branch for each token would be mispredicted once a subject.
        while let Some((eight, more)) = room.split_first_chunk_mut::<SLACK>() {
            for end in eight {
                *end = base.wrapping_add(dots.trailing_zeros());
                dots &= dots.wrapping_sub(1);
            }
            if dots == 0 {
                return;
            }
            room = more;
        }
    }
}

/// Scans a text. Cost: one pass, 64 bytes at a time.
#[inline]
pub(crate) fn scan<S: DotSink + ?Sized>(
    text: &[u8],
    form: Form,
    dialect: Dialect,
    sink: &mut S,
) -> Scan {
    match (form, dialect) {
        (Form::Subject, Dialect::Strict) => dispatch::<false, false, S>(text, sink),
        (Form::Subject, Dialect::Server) => dispatch::<false, true, S>(text, sink),
        (Form::Pattern, Dialect::Strict) => dispatch::<true, false, S>(text, sink),
        (Form::Pattern, Dialect::Server) => dispatch::<true, true, S>(text, sink),
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn dispatch<const PATTERN: bool, const SERVER: bool, S: DotSink + ?Sized>(
    text: &[u8],
    sink: &mut S,
) -> Scan {
    match Avx2::detect() {
        // SAFETY: the value exists, so the processor has these instructions.
        Some(avx2) => unsafe { scan_avx2::<PATTERN, SERVER, S>(avx2, text, sink) },
        None => scan_with::<PATTERN, SERVER, _, S>(Baseline::default(), text, sink),
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn dispatch<const PATTERN: bool, const SERVER: bool, S: DotSink + ?Sized>(
    text: &[u8],
    sink: &mut S,
) -> Scan {
    scan_with::<PATTERN, SERVER, _, S>(Baseline::default(), text, sink)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn scan_avx2<const PATTERN: bool, const SERVER: bool, S: DotSink + ?Sized>(
    avx2: Avx2,
    text: &[u8],
    sink: &mut S,
) -> Scan {
    scan_with::<PATTERN, SERVER, _, S>(avx2, text, sink)
}

/// The kernel that every processor of the target has.
#[cfg(target_arch = "x86_64")]
type Baseline = Sse2;
#[cfg(not(target_arch = "x86_64"))]
type Baseline = Words;

/// The dots of up to 64 bytes at `base`, which is less than the length of the text.
#[inline]
pub(crate) fn dots_at(text: &[u8], base: usize) -> u64 {
    let kernel = Baseline::default();
    let rest = text.get(base..).unwrap_or_default();
    match rest.first_chunk::<64>() {
        Some(block) => kernel.sixty_four::<true, false>(block).dots,
        None => last_masks::<true, false, _>(kernel, text, rest.len()).dots,
    }
}

/// The classes of up to 64 bytes: one bit a byte, the first byte lowest.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
struct Masks {
    dots: u64,
    /// `*` and `>`; only of a pattern.
    wildcards: u64,
    /// Bytes that no valid text has; of a subject, also wildcards.
    illegal: u64,
    /// Bytes beyond ASCII; only of the server's dialect.
    high: u64,
}

impl Masks {
    /// Add the masks of the bytes that begin `by` bytes later; both may hold some of the same bytes.
    #[inline(always)]
    const fn or_shifted(self, later: Self, by: usize) -> Self {
        Self {
            dots: self.dots | later.dots << by,
            wildcards: self.wildcards | later.wildcards << by,
            illegal: self.illegal | later.illegal << by,
            high: self.high | later.high << by,
        }
    }

    /// Drops the first `by` bytes, up to 63.
    #[inline(always)]
    const fn drop_first(self, by: usize) -> Self {
        Self {
            dots: self.dots >> by,
            wildcards: self.wildcards >> by,
            illegal: self.illegal >> by,
            high: self.high >> by,
        }
    }
}

/// A way to compute masks.
trait Kernel: Copy {
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks;

    #[inline(always)]
    fn thirty_two<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 32]) -> Masks {
        let (low, high) = halves(bytes);
        let low = self.sixteen::<PATTERN, SERVER>(low);
        low.or_shifted(self.sixteen::<PATTERN, SERVER>(high), 16)
    }

    #[inline(always)]
    fn sixty_four<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 64]) -> Masks {
        let (low, high) = halves(bytes);
        let low = self.thirty_two::<PATTERN, SERVER>(low);
        low.or_shifted(self.thirty_two::<PATTERN, SERVER>(high), 32)
    }
}

/// Both halves of a block; `HALF` is half of `WHOLE`.
#[inline(always)]
fn halves<const WHOLE: usize, const HALF: usize>(
    bytes: &[u8; WHOLE],
) -> (&[u8; HALF], &[u8; HALF]) {
    const { assert!(2 * HALF == WHOLE) };
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(low), Some(high)) => (low, high),
        _ => unreachable!(), // removed by the compiler: the lengths are constants
    }
}

/// The scan itself, for one kernel.
#[inline(always)]
fn scan_with<const PATTERN: bool, const SERVER: bool, K: Kernel, S: DotSink + ?Sized>(
    kernel: K,
    text: &[u8],
    sink: &mut S,
) -> Scan {
    let mut state = State {
        // A dot at the start follows an empty token, as a dot behind a dot does.
        before: 1,
        count: 0,
        invalid: 0,
        high: 0,
    };
    let mut base = 0;
    let mut rest = text;
    while let Some((block, later)) = rest.split_first_chunk::<64>() {
        let masks = kernel.sixty_four::<PATTERN, SERVER>(block);
        state.add::<PATTERN, S>(text, base, masks, sink);
        base += 64;
        rest = later;
    }
    if !rest.is_empty() {
        let masks = last_masks::<PATTERN, SERVER, K>(kernel, text, rest.len());
        state.add::<PATTERN, S>(text, base, masks, sink);
    }
    let ends_well = text.last().is_some_and(|&byte| byte != b'.');
    Scan {
        valid: state.invalid == 0 && ends_well,
        count: state.count + 1,
        ascii: state.high == 0,
    }
}

/// The masks of the last `length` bytes, 1 to 63, behind whole blocks.
#[inline(always)]
fn last_masks<const PATTERN: bool, const SERVER: bool, K: Kernel>(
    kernel: K,
    text: &[u8],
    length: usize,
) -> Masks {
    if let Some(block) = text.last_chunk::<64>() {
        // The last 64 bytes; those that were in the block before are shifted out.
        let masks = kernel.sixty_four::<PATTERN, SERVER>(block);
        return masks.drop_first(64 - length);
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<32>(), text.last_chunk::<32>()) {
        let first = kernel.thirty_two::<PATTERN, SERVER>(first);
        return first.or_shifted(kernel.thirty_two::<PATTERN, SERVER>(last), length - 32);
    }
    if let (Some(first), Some(last)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
        let first = kernel.sixteen::<PATTERN, SERVER>(first);
        return first.or_shifted(kernel.sixteen::<PATTERN, SERVER>(last), length - 16);
    }
    let mut padded = [b'x'; 16];
    for (to, from) in padded.iter_mut().zip(text) {
        *to = *from;
    }
    kernel.sixteen::<PATTERN, SERVER>(&padded)
}

struct State {
    /// 1 if a token must begin with the next byte.
    before: u64,
    count: usize,
    /// Not zero once the text is not valid.
    invalid: u64,
    /// Not zero once a byte is beyond ASCII.
    high: u64,
}

impl State {
    /// Adds the masks of the bytes at `base`.
    #[inline(always)]
    fn add<const PATTERN: bool, S: DotSink + ?Sized>(
        &mut self,
        text: &[u8],
        base: usize,
        masks: Masks,
        sink: &mut S,
    ) {
        self.invalid |= masks.illegal | masks.dots & (masks.dots << 1 | self.before);
        self.high |= masks.high;
        self.before = masks.dots >> 63;
        if PATTERN && masks.wildcards != 0 {
            self.invalid |= u64::from(!wildcards_are_tokens(text, base, masks.wildcards));
        }
        sink.record(masks.dots, base, self.count);
        self.count += masks.dots.count_ones() as usize;
    }
}

/// Whether wildcards are whole tokens, and `>` the last one. Few patterns have more than five.
#[inline(always)]
fn wildcards_are_tokens(text: &[u8], base: usize, mut wildcards: u64) -> bool {
    let is_dot_or_end = |at: usize| text.get(at).is_none_or(|&byte| byte == b'.');
    while wildcards != 0 {
        let at = base + wildcards.trailing_zeros() as usize;
        let last = at + 1 == text.len();
        // Before the first byte the index wraps, to one where there is no byte.
        if !is_dot_or_end(at.wrapping_sub(1))
            || !is_dot_or_end(at + 1)
            || !(last || text.get(at) == Some(&b'*'))
        {
            return false;
        }
        wildcards &= wildcards - 1;
    }
    true
}

/// AVX2, if the processor has it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Avx2(());

#[cfg(target_arch = "x86_64")]
impl Avx2 {
    /// Detects AVX2 and the bit instructions that came with it; cached by the standard library.
    #[inline]
    fn detect() -> Option<Self> {
        let detected = std::arch::is_x86_feature_detected!("avx2")
            && std::arch::is_x86_feature_detected!("bmi1")
            && std::arch::is_x86_feature_detected!("bmi2")
            && std::arch::is_x86_feature_detected!("popcnt");
        detected.then_some(Self(()))
    }
}

#[cfg(target_arch = "x86_64")]
impl Kernel for Avx2 {
    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        Sse2.sixteen::<PATTERN, SERVER>(bytes)
    }

    #[inline(always)]
    fn thirty_two<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 32]) -> Masks {
        use std::arch::x86_64::{
            __m256i, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_movemask_epi8, _mm256_or_si256,
            _mm256_set_epi64x, _mm256_set1_epi8,
        };
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
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Default)]
struct Sse2;

#[cfg(target_arch = "x86_64")]
impl Kernel for Sse2 {
    #[inline(always)]
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
        use std::arch::x86_64::{
            __m128i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_or_si128,
            _mm_set_epi64x, _mm_set1_epi8,
        };
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

/// Words of 64 bits as vectors of eight bytes, for any processor.
#[derive(Clone, Copy, Default)]
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
struct Words;

impl Kernel for Words {
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

const HIGH_BITS: u64 = splat(0x80);

#[inline(always)]
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
const fn word_masks<const PATTERN: bool, const SERVER: bool>(word: u64) -> Masks {
    // The high bit of each byte that is this one. No carry leaves a byte: its high bit is cleared.
    const fn equal(word: u64, byte: u8) -> u64 {
        let zeros = word ^ splat(byte);
        !(((zeros & !HIGH_BITS) + !HIGH_BITS) | zeros) & HIGH_BITS
    }
    // The high bits of the eight bytes, gathered in the lowest byte.
    const fn bits(high: u64) -> u64 {
        (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    }
    let stars_and_tails = equal(word, b'*') | equal(word, b'>');
    let illegal = if SERVER {
        equal(word, b' ') | equal(word, b'\t') | equal(word, b'\r') | equal(word, b'\n')
    } else {
        // The seven low bits plus 0x5f carry into the high bit from 0x21 on.
        let small = !((word & !HIGH_BITS) + splat(0x5f)) & HIGH_BITS;
        small | word & HIGH_BITS | equal(word, 0x7f)
    };
    Masks {
        dots: bits(equal(word, b'.')),
        wildcards: if PATTERN { bits(stars_and_tails) } else { 0 },
        illegal: bits(if PATTERN {
            illegal
        } else {
            illegal | stars_and_tails
        }),
        high: if SERVER { bits(word & HIGH_BITS) } else { 0 },
    }
}

/// The words of a block, the first byte lowest.
#[inline(always)]
fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u64; WORDS] {
    const { assert!(8 * WORDS == BYTES) };
    let (eights, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(eights[at]))
}

#[cfg(test)]
mod tests;
