//! The scan: finds the dots of a text and checks its bytes, 64 at a time, with the widest vectors
//! that the processor has (AVX-512, AVX2, SSE2, or 64-bit words as vectors: Mycroft 1987).
//!
//! Every tokenizer of the crate is this scan: the index and [`super::check`], the decoder of
//! addresses, the parsers of patterns and of rules. It answers whether a text is valid; which rule an
//! invalid one breaks is found by a second pass, token by token.
//!
//! Texts are read through slices, the last bytes twice if the length is not a multiple of a vector.
// A function that is compiled for AVX2 and the ones it calls must become one function: a call between
// them would be one to code that is compiled without it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
mod avx512;
mod dispatch;
mod kernel;
mod words;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::{Dialect, Form};
pub(crate) use dispatch::{Baseline, with_best_kernel};
use kernel::EXPANDED;
pub(crate) use kernel::{Kernel, Masks, Task};
#[cfg(test)]
pub(crate) use words::Words;

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
    fn record<K: Kernel>(&mut self, kernel: K, dots: u64, base: usize, count: usize);
}

/// Counts only.
impl DotSink for () {
    #[inline(always)]
    fn record<K: Kernel>(&mut self, _: K, _dots: u64, _base: usize, _count: usize) {}
}

/// Elements that a list of ends needs beyond one a token, as they are written eight at a time.
pub(crate) const SLACK: usize = 8;

/// A list of the ends of tokens. Those that have no room in it are left out.
impl DotSink for [u32] {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // texts are shorter than 4 GiB
    fn record<K: Kernel>(&mut self, _: K, mut dots: u64, base: usize, count: usize) {
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

/// Elements that a list of starts needs beyond one a token, as up to so many are written at a time.
pub(crate) const NEAR_SLACK: usize = EXPANDED;

/// Elements that are written at a time for the first block. Most subjects have fewer dots in 64 bytes;
/// more would be written for nothing but longer subjects.
const FIRST: usize = 12;

/// Elements that are written at a time for a later block, in which most subjects end.
const LATER: usize = 6;

/// A list of the starts of tokens after the first, from its second element on. Those that have no room,
/// or lie beyond 16 bits, are wrong.
impl<const ROOM: usize> DotSink for [u16; ROOM] {
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // as documented
    fn record<K: Kernel>(&mut self, kernel: K, mut dots: u64, base: usize, count: usize) {
        let room = self.get_mut(count + 1..).unwrap_or_default();
        let start = (base as u16).wrapping_add(1);
        if let Some(first) = kernel.expand(dots, start) {
            if let Some(places) = room.first_chunk_mut() {
                *places = first;
            }
            if dots.count_ones() as usize > EXPANDED {
                record_later(kernel, room, dots, start);
            }
            return;
        }
        let mut write = |places: &mut [u16]| {
            for place in places {
                *place = start.wrapping_add(dots.trailing_zeros() as u16);
                dots &= dots.wrapping_sub(1);
            }
            dots == 0
        };
        // As below, without a branch for each token.
        let mut room = match room.split_first_chunk_mut::<FIRST>() {
            Some((some, more)) if base == 0 => {
                if write(some) {
                    return;
                }
                more
            }
            Some((_, _)) | None => self.get_mut(count + 1..).unwrap_or_default(),
        };
        while let Some((some, more)) = room.split_first_chunk_mut::<LATER>() {
            if write(some) {
                return;
            }
            room = more;
        }
    }
}

/// Records the dots after the first [`EXPANDED`] of a block: every second byte of it is a dot.
#[cold]
fn record_later<K: Kernel>(kernel: K, room: &mut [u16], mut dots: u64, start: u16) {
    for _ in 0..EXPANDED {
        dots &= dots.wrapping_sub(1);
    }
    let places = room.get_mut(EXPANDED..).and_then(<[u16]>::first_chunk_mut);
    if let (Some(places), Some(later)) = (places, kernel.expand(dots, start)) {
        *places = later;
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
    with_best_kernel(ScanTask {
        text,
        form,
        dialect,
        sink,
    })
}

struct ScanTask<'a, S: ?Sized> {
    text: &'a [u8],
    form: Form,
    dialect: Dialect,
    sink: &'a mut S,
}

impl<S: DotSink + ?Sized> Task for ScanTask<'_, S> {
    type Output = Scan;

    #[inline(always)]
    fn run<K: Kernel>(self, kernel: K) -> Scan {
        let Self { text, sink, .. } = self;
        match (self.form, self.dialect) {
            (Form::Subject, Dialect::Strict) => scan_with::<false, false, K, S>(kernel, text, sink),
            (Form::Subject, Dialect::Server) => scan_with::<false, true, K, S>(kernel, text, sink),
            (Form::Pattern, Dialect::Strict) => scan_with::<true, false, K, S>(kernel, text, sink),
            (Form::Pattern, Dialect::Server) => scan_with::<true, true, K, S>(kernel, text, sink),
        }
    }
}

/// As [`scan`] of a subject, within work that has a kernel.
#[inline(always)]
pub(crate) fn scan_subject<K: Kernel, S: DotSink + ?Sized>(
    kernel: K,
    text: &[u8],
    dialect: Dialect,
    sink: &mut S,
) -> Scan {
    match dialect {
        Dialect::Strict => scan_with::<false, false, K, S>(kernel, text, sink),
        Dialect::Server => scan_with::<false, true, K, S>(kernel, text, sink),
    }
}

/// The dots of up to 64 bytes at `base`, which is less than the length of the text.
#[inline]
pub(crate) fn dots_at(text: &[u8], base: usize) -> u64 {
    let kernel = Baseline;
    let rest = text.get(base..).unwrap_or_default();
    match rest.first_chunk::<64>() {
        Some(block) => kernel.sixty_four::<true, false>(block).dots,
        None => kernel.last::<true, false>(text, rest.len()).dots,
    }
}

/// The scan itself, for one kernel.
#[inline(always)]
fn scan_with<const PATTERN: bool, const SERVER: bool, K: Kernel, S: DotSink + ?Sized>(
    kernel: K,
    text: &[u8],
    sink: &mut S,
) -> Scan {
    let mut state = ScanState {
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
        state.add::<PATTERN, K, S>(kernel, text, base, masks, sink);
        base += 64;
        rest = later;
    }
    if !rest.is_empty() {
        let masks = kernel.last::<PATTERN, SERVER>(text, rest.len());
        state.add::<PATTERN, K, S>(kernel, text, base, masks, sink);
    }
    let ends_well = text.last().is_some_and(|&byte| byte != b'.');
    Scan {
        valid: state.invalid == 0 && ends_well,
        count: state.count + 1,
        ascii: state.high == 0,
    }
}

struct ScanState {
    /// 1 if a token must begin with the next byte.
    before: u64,
    count: usize,
    /// Not zero once the text is not valid.
    invalid: u64,
    /// Not zero once a byte is beyond ASCII.
    high: u64,
}

impl ScanState {
    /// Adds the masks of the bytes at `base`.
    #[inline(always)]
    fn add<const PATTERN: bool, K: Kernel, S: DotSink + ?Sized>(
        &mut self,
        kernel: K,
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
        sink.record(kernel, masks.dots, base, self.count);
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

#[cfg(test)]
mod tests;
