//! Keyed hashes: folded multiplication (wyhash, Wang 2019) and `SipHash`-1-3 (Aumasson and Bernstein
//! 2012), for tokens and for the keys of nodes.
//!
//! Both are keyed, so tokens that collide can only be prepared with the key. The
//! first is a few multiplications, and good enough while the key is secret. The index changes to
//! `SipHash` when its keys cluster as chance does not make them, because then the key is known (an
//! image contains it). Collisions cost time and never a wrong answer: every pattern found is
//! compared with the subject.

// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use std::hash::{BuildHasher, Hasher};

use siphasher::sip::SipHasher13;

use super::words::{load, lowest};

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

/// Bits of a fingerprint. More would leave no room in a leaf entry (`node.rs`); with 20, one other last
/// token in a million passes the prefilter.
const FINGERPRINT_BITS: u32 = 20;

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

/// By a number of bytes up to sixteen, the bits of so many bytes, the first byte lowest.
const MASKS: [[u64; 2]; 17] = {
    let mut masks = [[0; 2]; 17];
    let mut bytes = 0;
    while bytes < masks.len() {
        let high = bytes.saturating_sub(8);
        masks[bytes] = [lowest(u64::MAX, bytes), lowest(u64::MAX, high)];
        bytes += 1;
    }
    masks
};

/// Sixteen bytes as two words, the first byte lowest, if the text has so many.
#[inline(always)]
fn sixteen(text: &[u8], at: usize) -> Option<[u64; 2]> {
    let bytes = text.get(at..)?.first_chunk::<16>()?;
    let (eights, _) = bytes.as_chunks::<8>();
    Some([u64::from_le_bytes(eights[0]), u64::from_le_bytes(eights[1])])
}

/// As [`sixteen`], with zeros behind the text.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // both halves are wanted
fn loaded(text: &[u8], at: usize) -> [u64; 2] {
    // Where the text ends earlier, its last sixteen bytes, shifted: no branch on how many there are.
    let begin = at.min(text.len().wrapping_sub(16));
    if let Some([low, high]) = sixteen(text, begin) {
        let word = u128::from(low) | u128::from(high) << 64;
        let word = word >> (8 * (at - begin) as u32 % 128);
        return [word as u64, (word >> 64) as u64];
    }
    [load(text, at), load(text, at + 8)]
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
    #[inline(always)]
    pub fn token(&self, text: &[u8], start: usize, end: usize, position: usize) -> u64 {
        if self.strong {
            return self.siphash(text.get(start..end).unwrap_or_default(), position);
        }
        self.weak(text, start, end, position)
    }

    /// As [`TokenHasher::token`] of a hasher that is not strong.
    #[inline(always)]
    pub fn weak(&self, text: &[u8], start: usize, end: usize, position: usize) -> u64 {
        let length = end.wrapping_sub(start);
        let salt = self.salt(position);
        // Added, not by exclusive or, which bytes of the text could undo.
        let other = self.second.wrapping_add((length as u64).wrapping_mul(REST));
        if length <= 16 {
            // Both halves, with zeros behind the token: no branch on the length.
            let halves = loaded(text, start);
            let [low, high] = MASKS[length];
            return folded_multiply(halves[0] & low ^ salt, halves[1] & high ^ other);
        }
        let mut state = salt;
        let mut at = start;
        while end - at > 16 {
            let Some([low, high]) = sixteen(text, at) else {
                return 0; // never: the token is within the text
            };
            state = folded_multiply(low ^ state, high ^ self.second);
            at += 16;
        }
        // The last sixteen bytes, some of which may have been read before.
        let [low, high] = sixteen(text, end - 16).unwrap_or_default();
        folded_multiply(low ^ state, high ^ other)
    }

    /// The fingerprint of a token: 20 bits of its last eight bytes. Cheap, as what it lets through
    /// is compared in full.
    #[inline]
    pub fn fingerprint(&self, text: &[u8], start: usize, end: usize) -> u64 {
        let length = end.wrapping_sub(start).min(8);
        let bytes = match text.last_chunk::<8>() {
            // The last token of a text: no branch on its length, which is at least 1.
            Some(eight) if end == text.len() && length > 0 => {
                u64::from_le_bytes(*eight) >> (64 - 8 * length)
            }
            _ => lowest(load(text, end - length), length),
        };
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
