//! The layout of an image: the words of the header, and the checksum (CRC-32).

use std::borrow::Cow;

use crate::parallel::map_parts;

/// The first word.
pub const MAGIC: u64 = u64::from_le_bytes(*b"subtrie\n");
/// The format that this library reads and writes.
pub const VERSION: u64 = 2;
/// Words of the header.
pub const HEADER: usize = 32;

/// The words of the header.
pub mod word {
    pub const VERSION: usize = 1;
    pub const FLAGS: usize = 2;
    /// And the word after it.
    pub const HASH_KEY: usize = 3;
    pub const ROOT: usize = 5;
    pub const MAX_TOKENS: usize = 6;
    pub const MAX_LENGTH: usize = 7;
    pub const NEXT_ID: usize = 8;
    pub const SUBSCRIPTIONS: usize = 9;
    pub const PATTERNS: usize = 10;
    pub const HOMES: usize = 11;
    /// Five pairs: where a section begins, and how many words it has.
    pub const SECTIONS: usize = 12;
    pub const CONTENT_CHECKSUM: usize = 30;
    pub const HEADER_CHECKSUM: usize = 31;
}

/// Flag: the dialect is `server`.
pub const SERVER: u64 = 1;
/// Flag: tokens are hashed with `SipHash`.
pub const STRONG: u64 = 2;
/// Flag: the image has a hash table.
pub const TABLE: u64 = 4;
/// All flags.
pub const FLAGS: u64 = SERVER | STRONG | TABLE;

/// Words of a subscription: id; slot of the next one and queue; turn.
pub const RECORD: usize = 3;

/// No entry of the hash table stands this many positions from its home, so no probe is longer. The
/// writer enlarges the table until that is so. No record compares values.
pub const MAX_PROBE: usize = 512;

/// A bound that was not given.
pub const ABSENT: u64 = u64::MAX;

/// The words of an image: borrowed if the bytes are aligned, else a copy.
#[must_use]
pub fn as_words(bytes: &[u8]) -> Cow<'_, [u64]> {
    if cfg!(target_endian = "little")
        && let Ok(words) = bytemuck::try_cast_slice(bytes)
    {
        return Cow::Borrowed(words);
    }
    let (eights, _) = bytes.as_chunks::<8>();
    Cow::Owned(
        eights
            .iter()
            .map(|eight| u64::from_le_bytes(*eight))
            .collect(),
    )
}

/// Words of which the checksum is computed in parts: 8 MiB. Fewer are read in less time than a thread
/// takes to start.
const PARALLEL_FROM: usize = 1 << 20;

/// The checksum of words in little-endian bytes.
pub fn checksum(words: &[u64]) -> u64 {
    let mut whole = crc32fast::Hasher::new();
    for part in map_parts(words, PARALLEL_FROM, hashed) {
        whole.combine(&part);
    }
    u64::from(whole.finalize())
}

fn hashed(words: &[u64]) -> crc32fast::Hasher {
    let mut hasher = crc32fast::Hasher::new();
    if cfg!(target_endian = "little") {
        hasher.update(bytemuck::cast_slice(words));
    } else {
        for word in words {
            hasher.update(&word.to_le_bytes());
        }
    }
    hasher
}

#[cfg(test)]
mod tests {
    use super::{PARALLEL_FROM, checksum};

    #[test]
    fn the_checksum_of_parts_is_that_of_the_whole() {
        for words in [0, 1, PARALLEL_FROM - 1, PARALLEL_FROM, PARALLEL_FROM + 3] {
            let words: Vec<u64> = (0..words as u64).map(|at| at.wrapping_mul(at)).collect();
            let whole = crc32fast::hash(bytemuck::cast_slice(&words));
            if cfg!(target_endian = "little") {
                assert_eq!(checksum(&words), u64::from(whole));
            }
        }
    }
}
