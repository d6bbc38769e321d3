//! The layout of an image: what each word of the header is, and the sums.

use std::borrow::Cow;

pub const MAGIC: u64 = u64::from_le_bytes(*b"subtrie\n");
pub const VERSION: u64 = 1;
pub const HEADER: usize = 32;

/// Words of the header by number.
pub mod word {
    pub const VERSION: usize = 1;
    pub const FLAGS: usize = 2;
    pub const KEYS: usize = 3;
    pub const ROOT: usize = 5;
    pub const MAX_TOKENS: usize = 6;
    pub const MAX_LENGTH: usize = 7;
    pub const NEXT_ID: usize = 8;
    pub const ROWS: usize = 9;
    pub const PATTERNS: usize = 10;
    pub const PLACES: usize = 11;
    pub const SECTIONS: usize = 12;
    pub const CONTENT_SUM: usize = 30;
    pub const HEADER_SUM: usize = 31;
}

pub const SERVER: u64 = 1;
pub const STRONG: u64 = 2;
pub const TABLE: u64 = 4;

/// Words of a row.
pub const ROW: usize = 3;

/// No key of an image stands further from its place.
pub const FURTHEST: usize = 512;

/// A number not given.
pub const ABSENT: u64 = u64::MAX;

/// The words of an image: where they lie, if they lie well, else a copy.
#[must_use]
pub fn words(bytes: &[u8]) -> Cow<'_, [u64]> {
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

/// The checksum of words as they lie, CRC-32.
pub fn sum(words: &[u64]) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    if cfg!(target_endian = "little") {
        hasher.update(bytemuck::cast_slice(words));
    } else {
        for word in words {
            hasher.update(&word.to_le_bytes());
        }
    }
    u64::from(hasher.finalize())
}
