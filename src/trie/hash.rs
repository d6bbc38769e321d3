//! Keyed hashes of tokens and of paths: nobody who does not know the key can make them collide.
//!
//! Two functions under one key. The quick one is a few multiplications: enough while the key is
//! secret. The strong one is SipHash-1-3: an index turns to it when keys crowd as chance never has
//! them do, for then somebody knows the key (an image holds it). Collisions never make an answer
//! wrong, only slow: every pattern found is compared with the subject (threat T9).

use std::hash::{BuildHasher, Hasher};

use siphasher::sip::SipHasher13;

use super::bytes::{load, lowest};
use super::entry::SIGN_BITS;

/// The key of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hashing {
    pub first: u64,
    pub second: u64,
    pub strong: bool,
}

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
const REST: u64 = 0xd6e8_feb8_6659_fd93;

/// Both halves of the product, folded: every bit of both factors counts.
#[inline]
#[allow(clippy::cast_possible_truncation)] // both halves are wanted
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

impl Hashing {
    /// A key of its own for a new index.
    pub fn fresh(strong: bool) -> Self {
        let draw = || {
            let state = std::hash::RandomState::new();
            state.build_hasher().finish()
        };
        Self {
            first: draw(),
            second: draw(),
            strong,
        }
    }

    /// The hash of the token `text[start..end]` at a position. The position counts, so that the
    /// hashes of several positions can be added.
    #[inline]
    pub fn token(&self, text: &[u8], start: usize, end: usize, position: usize) -> u64 {
        if self.strong {
            return self.strongly(text.get(start..end).unwrap_or_default(), position);
        }
        let length = end.wrapping_sub(start);
        let salt = self.salt(position);
        // Not by exclusive or: bytes of the text could undo that.
        let other = self.second.wrapping_add((length as u64).wrapping_mul(REST));
        if length <= 16 {
            // Both halves, with zeros where there is nothing: no branch for the length.
            let low = lowest(load(text, start), length);
            let high = lowest(load(text, start + 8), length.saturating_sub(8));
            return fold(low ^ salt, high ^ other);
        }
        let Some(token) = text.get(start..end) else {
            return 0;
        };
        let eight = |at: usize| -> u64 {
            let eight = token.get(at..).and_then(<[u8]>::first_chunk::<8>);
            eight.map_or(0, |eight| u64::from_le_bytes(*eight))
        };
        let mut state = salt;
        let mut at = 0;
        while length - at > 16 {
            state = fold(eight(at) ^ state, eight(at + 8) ^ self.second);
            at += 16;
        }
        // The last sixteen bytes, some of them for the second time.
        fold(eight(length - 16) ^ state, eight(length - 8) ^ other)
    }

    /// Twenty bits of the last eight bytes of a token: cheap, for what is compared in any case.
    #[inline]
    pub fn sign(&self, text: &[u8], start: usize, end: usize) -> u64 {
        let from = start.max(end.saturating_sub(8));
        let bytes = lowest(load(text, from), end - from);
        bytes.wrapping_mul(self.second | 1) >> (64 - SIGN_BITS)
    }

    /// The hash of a number of tokens, for where their number tells more than any of them.
    #[inline]
    pub fn count(&self, count: usize) -> u64 {
        fold(
            count as u64 ^ self.salt(usize::from(u16::MAX)),
            self.second | 1,
        )
    }

    #[inline]
    fn salt(&self, position: usize) -> u64 {
        self.first
            .wrapping_add((position as u64 + 1).wrapping_mul(MIX))
    }

    #[cold]
    fn strongly(&self, token: &[u8], position: usize) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.first, self.second);
        hasher.write(&(position as u64).to_le_bytes());
        hasher.write(token);
        hasher.finish()
    }

    /// Where everything begins.
    pub fn root(&self) -> u64 {
        never_zero(fold(self.first ^ REST, self.second | 1))
    }
}

/// The key of the child of `parent` whose tokens' hashes add up to `sum`.
#[inline]
pub(super) fn child_of(parent: u64, sum: u64) -> u64 {
    never_zero(fold(parent.rotate_left(23) ^ sum, MIX))
}

/// The key of the branch for patterns that no child of `parent` can hold.
#[inline]
pub(super) fn rest_of(parent: u64) -> u64 {
    never_zero(fold(parent ^ REST, MIX))
}

/// Zero stands for an empty place in the table.
#[inline]
const fn never_zero(key: u64) -> u64 {
    if key == 0 { 1 } else { key }
}

#[cfg(test)]
mod tests {
    use super::Hashing;
    use std::collections::HashSet;

    #[test]
    fn every_byte_the_length_and_the_position_count() {
        for strong in [false, true] {
            let hashing = Hashing::fresh(strong);
            let mut seen = HashSet::new();
            for length in 0..70 {
                let text = vec![b'a'; length + 3];
                for position in 0..3 {
                    let hash = |text: &[u8]| hashing.token(text, 2, 2 + length, position);
                    assert!(seen.insert(hash(&text)), "{length} {position}");
                    for place in 2..2 + length {
                        let mut other = text.clone();
                        other[place] = b'b';
                        assert!(
                            seen.insert(hash(&other)),
                            "{strong} {length} {position} {place}"
                        );
                    }
                    let mut around = text.clone();
                    around[0] = b'x';
                    around[length + 2] = b'x';
                    assert_eq!(hash(&around), hash(&text));
                }
            }
        }
    }
}
