//! The tokens of a text, found by the scan.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::check::check;
use super::dialect::{Bounds, Dialect, Form};
use super::scan::{Kernel, NEAR_SLACK, SLACK, scan, scan_subject};
use crate::error::{Error, ErrorKind};
use crate::number::to_u32;

/// Tokens that are found without indirection, in texts that 16 bits can measure: more would make the
/// memory of a subject larger and help no real one.
const NEAR: usize = 64;

/// The tokens of a text, found by their starts. Reused for text after text, it allocates nothing.
pub(crate) struct TokenEnds {
    /// The start of each of the first tokens, and one past the dot that would follow the last one.
    near: [u16; NEAR + 1 + NEAR_SLACK],
    /// The number of tokens if all are near, else 0.
    near_count: usize,
    /// The ends of all tokens, if some are not near; longer than needed.
    far: Vec<u32>,
    count: usize,
}

/// Tokens that are all near.
#[derive(Clone, Copy)]
pub(crate) struct NearTokens<'a> {
    starts: &'a [u16; NEAR + 1 + NEAR_SLACK],
    count: usize,
}

impl NearTokens<'_> {
    /// The number of tokens, at least 1.
    #[inline(always)]
    pub const fn count(self) -> usize {
        self.count
    }

    /// The start and end of the token at a position below the number of tokens.
    #[inline(always)]
    pub const fn span(self, position: usize) -> (usize, usize) {
        let place = position % NEAR; // itself
        let (start, next) = (self.starts[place], self.starts[place + 1]);
        (start as usize, (next as usize).wrapping_sub(1))
    }
}

impl Default for TokenEnds {
    fn default() -> Self {
        Self {
            near: [0; NEAR + 1 + NEAR_SLACK],
            near_count: 0,
            far: Vec::new(),
            count: 0,
        }
    }
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
        let found = scan_subject(kernel, text, dialect, &mut self.near);
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
        let utf8 = std::str::from_utf8(text)
            .map_err(|error| Error::at(ErrorKind::Utf8, error.valid_up_to()))?;
        check(utf8, Form::Subject, dialect, bounds)?;
        self.split(text);
        Ok(())
    }

    /// Finds the tokens of a valid text.
    pub fn split(&mut self, text: &[u8]) {
        let found = scan(text, Form::Pattern, Dialect::Strict, &mut self.near);
        self.finish(text, found.count);
    }

    #[inline(always)]
    fn finish(&mut self, text: &[u8], count: usize) {
        self.count = count;
        self.near_count = count;
        match (self.near.get_mut(count), u16::try_from(text.len() + 1)) {
            (Some(end), Ok(after)) if count <= NEAR => *end = after,
            _ => self.find_far(text),
        }
    }

    #[cold]
    fn find_far(&mut self, text: &[u8]) {
        self.near_count = 0;
        self.far.resize(self.count + SLACK, 0);
        scan(
            text,
            Form::Pattern,
            Dialect::Strict,
            self.far.as_mut_slice(),
        );
        if let Some(end) = self.far.get_mut(self.count - 1) {
            *end = to_u32(text.len());
        }
    }

    /// The number of tokens.
    #[inline]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The tokens, if all are near.
    #[inline(always)]
    pub const fn near(&self) -> Option<NearTokens<'_>> {
        if self.near_count == 0 {
            return None;
        }
        Some(NearTokens {
            starts: &self.near,
            count: self.near_count,
        })
    }

    /// The start and end of the token at a position, if there is one.
    #[inline(always)]
    pub fn span(&self, position: usize) -> Option<(usize, usize)> {
        if position < self.near_count {
            let place = position % NEAR; // itself
            return Some((self.near[place] as usize, self.near[place + 1] as usize - 1));
        }
        self.far_span(position)
    }

    #[cold]
    fn far_span(&self, position: usize) -> Option<(usize, usize)> {
        if self.near_count > 0 || position >= self.count {
            return None;
        }
        let start = match position.checked_sub(1) {
            Some(before) => *self.far.get(before)? as usize + 1,
            None => 0,
        };
        Some((start, *self.far.get(position)? as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::TokenEnds;
    use crate::grammar::scan::Baseline;
    use crate::grammar::{Dialect, Form, check};
    use proptest::prelude::*;

    #[test]
    fn any_number_of_tokens_of_any_length_is_split() {
        let mut tokens = TokenEnds::default();
        for (count, length) in [
            (1, 1),
            (62, 3),
            (63, 1),
            (64, 2),
            (65, 1),
            (300, 7),
            (3, 30_000),
            (3, 1),
        ] {
            let token = "x".repeat(length);
            let text = vec![token.as_str(); count].join(".");
            let dialect = Dialect::Server;
            let bounds = dialect.bounds_with((None, Some(1 << 20)));
            tokens
                .read_subject(Baseline, text.as_bytes(), dialect, bounds)
                .unwrap();
            assert_eq!(tokens.count(), count);
            for position in 0..count {
                let start = position * (length + 1);
                assert_eq!(tokens.span(position), Some((start, start + length)));
            }
            assert_eq!(tokens.span(count), None);
            tokens.split(b"a.b");
            assert_eq!((tokens.span(1), tokens.span(2)), (Some((2, 3)), None));
        }
    }

    proptest! {
        #[test]
        fn it_splits_as_split_does_and_refuses_what_the_grammar_refuses(
            text in "[a.b]{0,140}|[a-z]{1,20}(\\.[a-z]{1,9}){0,60}|\\PC{0,40}|[a*>. ]{0,12}",
            strict in any::<bool>(),
        ) {
            let dialect = if strict { Dialect::Strict } else { Dialect::Server };
            let mut tokens = TokenEnds::default();
            let checked = check(&text, Form::Subject, dialect, dialect.bounds());
            prop_assert_eq!(&tokens.read_subject(Baseline, text.as_bytes(), dialect, dialect.bounds()), &checked);
            if checked.is_ok() {
                let expected: Vec<&str> = text.split('.').collect();
                prop_assert_eq!(tokens.count(), expected.len());
                for (position, token) in expected.iter().enumerate() {
                    let (start, end) = tokens.span(position).unwrap();
                    prop_assert_eq!(&&text[start..end], token);
                }
                prop_assert_eq!(tokens.span(expected.len()), None);
            }
        }
    }
}
