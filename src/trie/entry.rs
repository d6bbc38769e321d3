//! What a key leads to, in eight bytes: nothing, one pattern, a list of patterns, or a fork.
//!
//! The words are the same in memory and in an image; whoever reads one trusts none of its numbers.

/// The lowest two bits.
pub(super) const NOTHING: u64 = 0;
pub(super) const ONE: u64 = 1;
pub(super) const MANY: u64 = 2;
pub(super) const FORK: u64 = 3;

/// Positions up to here can be split at several at a time, and remembered with their hash.
pub(super) const NEAR: usize = 63;

/// At most so many positions of a fork.
pub(super) const MOST_POSITIONS: usize = 4;

/// The pseudo position that stands for the number of tokens.
const LENGTH: u64 = 63;

/// Where a fork splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Token(usize),
    Length,
}

/// Bits of the sign that gives a last token away.
pub(super) const SIGN_BITS: u32 = 20;

/// One pattern in a list, or alone: the address of its block, and what most subjects fail at.
///
/// Bits 2 to 7 tokens (63: so many or more), bit 8 whether `>` follows them, bit 9 whether the last
/// token is literal; then, from bit 10, its sign. From bit 32 the address.
#[derive(Clone, Copy)]
pub(super) struct One(pub u64);

impl One {
    pub fn new(block: u32, tokens: usize, tail: bool, sign: Option<u64>) -> Self {
        let count = tokens.min(63) as u64;
        let sign = sign.map_or(0, |sign| 1 << 9 | sign << 10);
        Self(ONE | count << 2 | u64::from(tail) << 8 | sign | u64::from(block) << 32)
    }

    /// The address of the pattern's block.
    #[inline]
    pub const fn block(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub const fn moved(self, block: u32) -> Self {
        Self(self.0 & 0xffff_ffff | (block as u64) << 32)
    }

    /// Can a subject of so many tokens match?
    #[inline]
    pub const fn fits(self, tokens: usize) -> bool {
        let count = (self.0 >> 2 & 63) as usize;
        let tail = self.0 >> 8 & 1 == 1;
        if tail {
            tokens > count
        } else {
            tokens == count || (count == 63 && tokens > 63)
        }
    }

    /// Does the last token have to be a certain one?
    #[inline]
    const fn ends_literal(self) -> bool {
        self.0 >> 9 & 1 == 1
    }
}

/// A subject as patterns of a list see it.
#[derive(Clone, Copy)]
pub(super) struct Sieve {
    tokens: usize,
    /// The low half of the word of a pattern that ends as the subject does.
    ends_alike: u32,
}

impl Sieve {
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the low half
    pub fn new(tokens: usize, sign: u64) -> Self {
        Self {
            tokens,
            ends_alike: One::new(0, tokens, false, Some(sign)).0 as u32,
        }
    }

    /// May the pattern match? No to nearly all that do not.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // the low half
    pub const fn passes(self, one: One) -> bool {
        one.0 as u32 == self.ends_alike || (!one.ends_literal() && one.fits(self.tokens))
    }
}

/// A fork: up to four positions, or one far one; and whether a rest branch hangs here.
///
/// Bit 2 far, bit 3 rest, bits 4 to 6 how many positions. Near: four positions of six bits from bit
/// 8, then from bit 32 the fewest and the most tokens of a subject that the rest branch can match,
/// a byte each, 255 for no end. Far: the position from bit 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fork(pub u64);

impl Fork {
    /// At most four near positions, or a single far one.
    pub fn at(positions: &[Position]) -> Self {
        if let [Position::Token(far)] = positions
            && *far >= NEAR
        {
            return Self(FORK | 1 << 2 | 1 << 4 | (*far as u64) << 32);
        }
        let mut word = FORK | (positions.len() as u64) << 4;
        for (place, position) in positions.iter().enumerate() {
            let code = match position {
                Position::Token(at) => *at as u64,
                Position::Length => LENGTH,
            };
            word |= code << (8 + 6 * place);
        }
        Self(word)
    }

    #[inline]
    const fn is_far(self) -> bool {
        self.0 >> 2 & 1 == 1
    }

    /// The positions, in the order their hashes are added.
    #[inline]
    pub fn positions(self) -> Positions {
        if self.is_far() {
            return Positions {
                left: 1,
                codes: 0,
                far: (self.0 >> 32) as usize,
            };
        }
        Positions {
            left: (self.0 >> 4 & 7) as usize,
            codes: self.0 >> 8 & 0xff_ffff,
            far: 0,
        }
    }

    #[inline]
    pub const fn has_rest(self) -> bool {
        self.0 >> 3 & 1 == 1
    }

    /// Can a pattern of the rest branch match a subject of so many tokens?
    #[inline]
    pub const fn rest_fits(self, tokens: usize) -> bool {
        if !self.has_rest() || self.is_far() {
            return self.has_rest();
        }
        let tokens = if tokens > 254 { 254 } else { tokens as u64 };
        tokens >= self.0 >> 32 & 255 && tokens <= self.0 >> 40 & 255
    }

    /// The same fork with a pattern of `tokens` tokens (and perhaps `>`) in its rest branch.
    pub fn with_rest(self, tokens: usize, tail: bool) -> Self {
        if self.is_far() {
            return Self(self.0 | 1 << 3);
        }
        let fewest = (tokens + usize::from(tail)).min(254) as u64;
        let most = if tail || tokens >= 254 { 255 } else { fewest };
        let (low, high) = if self.has_rest() {
            (fewest.min(self.0 >> 32 & 255), most.max(self.0 >> 40 & 255))
        } else {
            (fewest, most)
        };
        let kept = self.0 & 0xffff_ffff;
        Self(kept | 1 << 3 | low << 32 | high << 40)
    }
}

/// The positions of a fork.
pub(super) struct Positions {
    left: usize,
    codes: u64,
    /// The only position, where it is a far one; else 0.
    far: usize,
}

impl Iterator for Positions {
    type Item = Position;

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below 64
    fn next(&mut self) -> Option<Position> {
        self.left = self.left.checked_sub(1)?;
        let code = self.codes & 63;
        self.codes >>= 6;
        Some(match code {
            LENGTH => Position::Length,
            at => Position::Token(at as usize | self.far),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Fork, One, Position, Sieve};

    #[test]
    fn a_fork_remembers_its_positions_and_the_range_of_its_rest() {
        let positions = [Position::Token(4), Position::Length, Position::Token(62)];
        let fork = Fork::at(&positions);
        assert_eq!(fork.positions().collect::<Vec<_>>(), positions);
        assert!(!fork.rest_fits(3));
        let fork = fork.with_rest(5, false).with_rest(3, false);
        let fits: Vec<usize> = (0..300).filter(|&tokens| fork.rest_fits(tokens)).collect();
        assert_eq!(fits, [3, 4, 5]);
        let open = fork.with_rest(6, true);
        assert!(open.rest_fits(2000) && !open.rest_fits(2));
        assert_eq!(open.positions().collect::<Vec<_>>(), positions);
        assert!(Fork::at(&positions).with_rest(400, false).rest_fits(400));
        let far = Fork::at(&[Position::Token(1000)]);
        assert_eq!(far.positions().collect::<Vec<_>>(), [Position::Token(1000)]);
        assert!(far.with_rest(2, false).rest_fits(9) && !far.rest_fits(9));
    }

    #[test]
    fn the_sieve_lets_through_what_may_match() {
        let exact = One::new(7, 3, false, Some(0xf_ffff));
        assert_eq!(exact.block(), 7);
        assert!(Sieve::new(3, 0xf_ffff).passes(exact));
        assert!(!Sieve::new(3, 0xf_fffe).passes(exact) && !Sieve::new(4, 0xf_ffff).passes(exact));
        assert!(exact.fits(3) && !exact.fits(2) && !exact.fits(4));
        let tail = One::new(7, 3, true, None);
        assert!(Sieve::new(9, 5).passes(tail) && !Sieve::new(3, 5).passes(tail));
        assert!(tail.fits(4) && tail.fits(900) && !tail.fits(3));
        let long = One::new(7, 900, false, None);
        assert!(long.fits(900) && long.fits(64) && !long.fits(62));
        assert_eq!(long.moved(9).block(), 9);
    }
}
