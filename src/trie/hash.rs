//! Keyed hashes: folded multiplication (wyhash, Wang 2019) and `SipHash`-1-3 (Aumasson and Bernstein
//! 2012), for tokens and for the keys of nodes.
//!
//! Both are keyed, so tokens that collide can only be prepared with the key. The
//! first is a few multiplications, and good enough while the key is secret. The index changes to
//! `SipHash` when its keys cluster as chance does not make them, because then the key is known (an
//! image contains it). Collisions cost time and never a wrong answer: every pattern found is
//! compared with the subject.

use std::hash::{BuildHasher, Hasher};

use siphasher::sip::SipHasher13;

use super::node::FINGERPRINT_BITS;
use super::pattern::words::{load, lowest};

/// The key of a node in the hash table. Never 0, which marks a vacant position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct NodeKey(pub u64);

/// The hash functions of an index, with their key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenHasher {
    pub first: u64,
    pub second: u64,
    /// Use `SipHash` for tokens.
    pub strong: bool,
}

/// Odd constants without structure: the golden ratio, and one that marks rest children.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const REST: u64 = 0xd6e8_feb8_6659_fd93;

/// Both halves of the product, folded, so that every bit of both factors counts.
#[inline]
#[allow(clippy::cast_possible_truncation)] // both halves are wanted
fn folded_multiply(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product >> 64) as u64 ^ product as u64
}

impl TokenHasher {
    /// Hash functions with a random key.
    pub fn random(strong: bool) -> Self {
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

    /// The hash of the token `text[start..end]` at a position. The position is part of the hash, so
    /// that the hashes of several positions can be added.
    #[inline]
    pub fn token(&self, text: &[u8], start: usize, end: usize, position: usize) -> u64 {
        if self.strong {
            return self.siphash(text.get(start..end).unwrap_or_default(), position);
        }
        let length = end.wrapping_sub(start);
        let salt = self.salt(position);
        // Added, not by exclusive or, which bytes of the text could undo.
        let other = self.second.wrapping_add((length as u64).wrapping_mul(REST));
        if length <= 16 {
            // Both halves, with zeros behind the token: no branch on the length.
            let low = lowest(load(text, start), length);
            let high = lowest(load(text, start + 8), length.saturating_sub(8));
            return folded_multiply(low ^ salt, high ^ other);
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
            state = folded_multiply(eight(at) ^ state, eight(at + 8) ^ self.second);
            at += 16;
        }
        // The last sixteen bytes, some of which may have been read before.
        folded_multiply(eight(length - 16) ^ state, eight(length - 8) ^ other)
    }

    /// The fingerprint of a token: 20 bits of its last eight bytes. Cheap, as what it lets through
    /// is compared in full.
    #[inline]
    pub fn fingerprint(&self, text: &[u8], start: usize, end: usize) -> u64 {
        let from = start.max(end.saturating_sub(8));
        let bytes = lowest(load(text, from), end - from);
        bytes.wrapping_mul(self.second | 1) >> (64 - FINGERPRINT_BITS)
    }

    /// The hash of a number of tokens.
    #[inline]
    pub fn count(&self, count: usize) -> u64 {
        folded_multiply(
            count as u64 ^ self.salt(usize::from(u16::MAX)),
            self.second | 1,
        )
    }

    #[inline]
    fn salt(&self, position: usize) -> u64 {
        self.first
            .wrapping_add((position as u64 + 1).wrapping_mul(GOLDEN))
    }

    #[cold]
    fn siphash(&self, token: &[u8], position: usize) -> u64 {
        let mut hasher = SipHasher13::new_with_keys(self.first, self.second);
        hasher.write(&(position as u64).to_le_bytes());
        hasher.write(token);
        hasher.finish()
    }

    /// The key of the root.
    pub fn root(&self) -> NodeKey {
        never_zero(folded_multiply(self.first ^ REST, self.second | 1))
    }
}

/// The key of the child of `parent` for tokens whose hashes add up to `sum`.
#[inline]
pub(crate) fn child_key(parent: NodeKey, sum: u64) -> NodeKey {
    never_zero(folded_multiply(parent.0.rotate_left(23) ^ sum, GOLDEN))
}

/// The key of the rest child of `parent`, for patterns that no other child can hold.
#[inline]
pub(crate) fn rest_key(parent: NodeKey) -> NodeKey {
    never_zero(folded_multiply(parent.0 ^ REST, GOLDEN))
}

#[inline]
const fn never_zero(key: u64) -> NodeKey {
    NodeKey(if key == 0 { 1 } else { key })
}

#[cfg(test)]
mod tests {
    use super::TokenHasher;
    use std::collections::HashSet;

    #[test]
    fn every_byte_the_length_and_the_position_count() {
        for strong in [false, true] {
            let hasher = TokenHasher::random(strong);
            let mut seen = HashSet::new();
            for length in 0..70 {
                let text = vec![b'a'; length + 3];
                for position in 0..3 {
                    let hash = |text: &[u8]| hasher.token(text, 2, 2 + length, position);
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
