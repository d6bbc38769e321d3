//! The tokens of a text, found by the scan.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use super::check::check;
use super::dialect::{Bounds, Dialect, Form};
use super::scan::{Kernel, Masks, NEAR_SLACK, SLACK, scan, scan_subject};
use crate::error::{Error, ErrorKind};
use crate::number::to_u32;

/// Tokens that are found without indirection, in texts that 16 bits can measure: more would make the
/// memory of a subject larger and help no real one.
const NEAR: usize = 64;

/// The tokens of a text, found by their starts. Reused for text after text, it allocates nothing.
pub(crate) struct TokenEnds {
    /// The tokens of a short text that a kernel read which selects bits; else of none.
    short: ShortTokens,
    /// The start of each of the first tokens, and one past the dot that would follow the last one.
    near: [u16; NEAR + 1 + NEAR_SLACK],
    /// The number of tokens if all are near, else 0.
    near_count: usize,
    /// The ends of all tokens, if some are not near; longer than needed.
    far: Vec<u32>,
    count: usize,
}

/// The tokens of a text by position.
pub(crate) trait Spans: Copy {
    /// The number of tokens, at least 1.
    fn count(self) -> usize;
    /// The start and end of the token at a position, if there is one.
    fn span<K: Kernel>(self, kernel: K, position: usize) -> Option<(usize, usize)>;
}

/// The tokens of a text of up to [`ShortTokens::LONGEST`] bytes, as bits: no memory is written to find
/// them, and read again.
#[derive(Clone, Copy, Default)]
pub(crate) struct ShortTokens {
    /// The starts of the tokens, and where one after the end would begin: one bit a byte.
    starts: [u64; 2],
    /// The number of the starts that are in the first word.
    first: usize,
    /// The number of tokens; 0 if these are those of another text.
    count: usize,
}

impl ShortTokens {
    /// The bit that would begin after the end still fits.
    const LONGEST: usize = 126;

    /// Reads a subject; `None` unless it is short and valid, and the kernel selects bits.
    #[inline(always)]
    fn read<K: Kernel>(kernel: K, text: &[u8], dialect: Dialect) -> Option<Self> {
        if !K::SELECTS || text.len() > Self::LONGEST {
            return None;
        }
        let [first, second] = match dialect {
            Dialect::Strict => masks_of_two::<false, K>(kernel, text),
            Dialect::Server => masks_of_two::<true, K>(kernel, text),
        };
        // As if a dot followed: then each token ends before one.
        let end = 1u64 << (text.len() % 64);
        let dots = if text.len() < 64 {
            [first.dots | end, second.dots]
        } else {
            [first.dots, second.dots | end]
        };
        let starts = [dots[0] << 1 | 1, dots[1] << 1 | dots[0] >> 63];
        // A dot where a token should begin follows an empty one.
        let invalid = dots[0] & starts[0] | dots[1] & starts[1] | first.illegal | second.illegal;
        if invalid | first.high | second.high != 0 {
            return None;
        }
        let count = dots[0].count_ones() + dots[1].count_ones();
        Some(Self {
            starts,
            first: starts[0].count_ones() as usize,
            count: count as usize,
        })
    }

    #[inline(always)]
    fn start<K: Kernel>(self, kernel: K, position: usize) -> usize {
        let [first, second] = self.starts;
        let (word, base, below) = if position < self.first {
            (first, 0, position)
        } else {
            (second, 64, position - self.first)
        };
        base + kernel.select(word, below)
    }
}

/// The masks of the first 64 bytes of a text, and of those behind, up to 64.
#[inline(always)]
fn masks_of_two<const SERVER: bool, K: Kernel>(kernel: K, text: &[u8]) -> [Masks; 2] {
    match text.split_first_chunk::<64>() {
        Some((block, rest)) => [
            kernel.sixty_four::<false, SERVER>(block),
            kernel.last::<false, SERVER>(text, rest.len()),
        ],
        None => [
            kernel.last::<false, SERVER>(text, text.len()),
            Masks::default(),
        ],
    }
}

impl Spans for ShortTokens {
    #[inline(always)]
    fn count(self) -> usize {
        self.count
    }

    #[inline(always)]
    fn span<K: Kernel>(self, kernel: K, position: usize) -> Option<(usize, usize)> {
        if position >= self.count {
            return None;
        }
        let start = self.start(kernel, position);
        Some((start, self.start(kernel, position + 1) - 1))
    }
}

/// Tokens that are all near.
#[derive(Clone, Copy)]
pub(crate) struct NearTokens<'a> {
    starts: &'a [u16; NEAR + 1 + NEAR_SLACK],
    count: usize,
}

impl Spans for NearTokens<'_> {
    #[inline(always)]
    fn count(self) -> usize {
        self.count
    }

    #[inline(always)]
    fn span<K: Kernel>(self, _: K, position: usize) -> Option<(usize, usize)> {
        if position >= self.count {
            return None;
        }
        let place = position % NEAR; // itself
        let (start, next) = (self.starts[place], self.starts[place + 1]);
        Some((start as usize, (next as usize).wrapping_sub(1)))
    }
}

impl Default for TokenEnds {
    fn default() -> Self {
        Self {
            short: ShortTokens::default(),
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
        if let Some(short) = ShortTokens::read(kernel, text, dialect)
            && short.count <= bounds.max_tokens
            && text.len() <= bounds.longest_text()
        {
            self.short = short;
            self.count = short.count;
            return Ok(());
        }
        self.short.count = 0;
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
        self.short.count = 0;
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

    /// The tokens, if the text is short and was read by a kernel that selects bits.
    #[inline(always)]
    pub const fn short<K: Kernel>(&self) -> Option<ShortTokens> {
        if K::SELECTS && self.short.count > 0 {
            return Some(self.short);
        }
        None
    }

    /// The tokens, if all are near, and not short.
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

impl Spans for &TokenEnds {
    #[inline(always)]
    fn count(self) -> usize {
        self.count
    }

    #[inline(always)]
    fn span<K: Kernel>(self, kernel: K, position: usize) -> Option<(usize, usize)> {
        if self.short.count > 0 {
            return self.short.span(kernel, position);
        }
        if position < self.near_count {
            let place = position % NEAR; // itself
            return Some((self.near[place] as usize, self.near[place + 1] as usize - 1));
        }
        self.far_span(position)
    }
}

#[cfg(test)]
mod tests {
    use super::{Spans, TokenEnds};
    use crate::grammar::scan::{Baseline, Kernel, Masks, Words};
    use crate::grammar::{Dialect, Form, check};
    use proptest::prelude::*;

    /// A kernel that selects bits, as that of AVX-512 does, which few machines have.
    #[derive(Clone, Copy)]
    struct Selecting;

    impl Kernel for Selecting {
        const SELECTS: bool = true;

        fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32 {
            Words.equal(left, right)
        }

        fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks {
            Words.sixteen::<PATTERN, SERVER>(bytes)
        }
    }

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
                .read_subject(Selecting, text.as_bytes(), dialect, bounds)
                .unwrap();
            let is_short = text.len() <= 126;
            assert_eq!(tokens.short::<Selecting>().is_some(), is_short);
            for _ in 0..2 {
                assert_eq!((&tokens).count(), count);
                for position in 0..count {
                    let start = position * (length + 1);
                    let span = Some((start, start + length));
                    assert_eq!((&tokens).span(Selecting, position), span);
                    let near = tokens.near().filter(|_| !is_short);
                    assert_eq!(
                        near.map_or(span, |near| near.span(Baseline, position)),
                        span
                    );
                }
                assert_eq!((&tokens).span(Selecting, count), None);
                tokens
                    .read_subject(Baseline, text.as_bytes(), dialect, bounds)
                    .unwrap();
            }
            tokens.split(b"a.b");
            assert_eq!((&tokens).span(Selecting, 1), Some((2, 3)));
            assert_eq!((&tokens).span(Baseline, 2), None);
        }
    }

    proptest! {
        #[test]
        fn it_splits_as_split_does_and_refuses_what_the_grammar_refuses(
            text in "[a.b]{0,140}|[a-z]{1,20}(\\.[a-z]{1,9}){0,60}|\\PC{0,40}|[a*>. ]{0,12}",
            strict in any::<bool>(),
        ) {
            let dialect = if strict { Dialect::Strict } else { Dialect::Server };
            let bounds = dialect.bounds();
            let mut tokens = TokenEnds::default();
            let checked = check(&text, Form::Subject, dialect, bounds);
            for selects in [false, true] {
                let bytes = text.as_bytes();
                let read = if selects {
                    tokens.read_subject(Selecting, bytes, dialect, bounds)
                } else {
                    tokens.read_subject(Baseline, bytes, dialect, bounds)
                };
                prop_assert_eq!(&read, &checked);
                if checked.is_ok() {
                    let expected: Vec<&str> = text.split('.').collect();
                    prop_assert_eq!((&tokens).count(), expected.len());
                    for (position, token) in expected.iter().enumerate() {
                        let (start, end) = (&tokens).span(Selecting, position).unwrap();
                        prop_assert_eq!(&&text[start..end], token);
                    }
                    prop_assert_eq!((&tokens).span(Selecting, expected.len()), None);
                }
            }
        }
    }
}
