//! The ends of the tokens of a text, found by the scan.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::check::check;
use super::dialect::{Bounds, Dialect, Form};
use super::scan::{Kernel, SLACK, scan, scan_subject};
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
