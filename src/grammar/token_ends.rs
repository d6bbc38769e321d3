//! The ends of the tokens of a text, found by the scan.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::check::{Bounds, Dialect, Form, check};
use super::scan::{Kernel, SLACK, dots_at, scan, scan_subject};
use crate::error::Error;
use crate::number::to_u32;

/// The end of the token before the first one: adding 1 gives the start of the text.
const BEFORE_FIRST: u32 = u32::MAX;

/// The ends of the tokens of a text. Reused for text after text, it allocates nothing.
#[derive(Default)]
pub(crate) struct TokenEnds {
    /// [`BEFORE_FIRST`], then where each token ends; longer than needed.
    ends: Vec<u32>,
    count: usize,
}

impl TokenEnds {
    /// Validates a subject, which need not be UTF-8, and finds its tokens.
    #[inline(always)]
    pub fn read_subject<K: Kernel>(
        &mut self,
        kernel: K,
        text: &[u8],
        dialect: Dialect,
        bounds: Bounds,
    ) -> Result<(), Error> {
        self.make_room(text.len());
        let ends = self.ends.get_mut(1..).unwrap_or_default();
        let found = scan_subject(kernel, text, dialect, ends);
        if found.valid
            && found.ascii
            && found.count <= bounds.max_tokens
            && text.len() <= bounds.longest_text()
        {
            self.finish(text, found.count);
            return Ok(());
        }
        self.read_again(text, dialect, bounds)
    }

    /// Reads a subject that is not valid, or not ASCII, or has wildcards inside tokens.
    #[cold]
    fn read_again(&mut self, text: &[u8], dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
        let utf8 =
            std::str::from_utf8(text).map_err(|error| Error::at("utf8", error.valid_up_to()))?;
        check(utf8, Form::Subject, dialect, bounds)?;
        self.split(text);
        Ok(())
    }

    /// Finds the tokens of a valid text.
    pub fn split(&mut self, text: &[u8]) {
        self.make_room(text.len());
        let ends = self.ends.get_mut(1..).unwrap_or_default();
        let found = scan(text, Form::Pattern, Dialect::Strict, ends);
        self.finish(text, found.count);
    }

    #[inline]
    fn make_room(&mut self, length: usize) {
        let wanted = length / 2 + 2 + SLACK; // every token has a byte and a dot
        if self.ends.len() < wanted {
            self.ends.resize(wanted, 0);
            self.ends[0] = BEFORE_FIRST;
        }
    }

    #[inline]
    fn finish(&mut self, text: &[u8], count: usize) {
        self.count = count;
        if let Some(end) = self.ends.get_mut(count) {
            *end = to_u32(text.len());
        }
    }

    /// The number of tokens.
    #[inline]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The start and end of the token at a position, if there is one.
    #[inline]
    pub fn span(&self, position: usize) -> Option<(usize, usize)> {
        if position >= self.count {
            return None;
        }
        let &[before, end] = self.ends.get(position..)?.first_chunk::<2>()?;
        Some((before.wrapping_add(1) as usize, end as usize))
    }
}

/// The tokens of a text, one after another.
pub(super) struct Tokens<'a> {
    text: &'a str,
    start: usize,
    /// The 64 bytes whose dots are left.
    base: usize,
    dots: u64,
    ended: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            start: 0,
            base: 0,
            dots: if text.is_empty() {
                0
            } else {
                dots_at(text.as_bytes(), 0)
            },
            ended: false,
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        if self.ended {
            return None;
        }
        while self.dots == 0 {
            self.base += 64;
            if self.base >= self.text.len() {
                self.ended = true;
                return self.text.get(self.start..);
            }
            self.dots = dots_at(self.text.as_bytes(), self.base);
        }
        let end = self.base + self.dots.trailing_zeros() as usize;
        self.dots &= self.dots - 1;
        let token = self.text.get(self.start..end);
        self.start = end + 1;
        token
    }
}
