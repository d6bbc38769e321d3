//! Text as words: eight bytes at a time, the first byte lowest.

/// The eight bytes at `at`, the first one lowest, with zeros beyond the end of the text.
#[inline]
pub(crate) fn load(text: &[u8], at: usize) -> u64 {
    if let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_le_bytes(*eight);
    }
    let rest = text.get(at..).unwrap_or_default();
    // If the text has eight bytes, its last eight, shifted, need no loop.
    if let Some(eight) = text.last_chunk::<8>() {
        return match rest.len() {
            0 => 0,
            some => u64::from_le_bytes(*eight) >> (8 * (8 - some)),
        };
    }
    rest.iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// The lowest `count` bytes of a word, up to eight.
#[inline]
pub(crate) const fn lowest(word: u64, count: usize) -> u64 {
    let bits = if count >= 8 { 0 } else { 64 - 8 * count };
    // In two steps, as a shift by 64 is not defined.
    word & (u64::MAX >> (bits / 2) >> (bits / 2))
}

#[cfg(test)]
mod tests {
    use super::{load, lowest};

    #[test]
    fn short_texts_are_read_with_zeros_behind() {
        let text = b"abcdefghij";
        for length in 0..=text.len() {
            for at in 0..length + 2 {
                let mut expected = [0; 8];
                for (place, &byte) in text[..length].iter().skip(at).take(8).enumerate() {
                    expected[place] = byte;
                }
                let expected = u64::from_le_bytes(expected);
                assert_eq!(load(&text[..length], at), expected, "{length} {at}");
                assert_eq!(lowest(expected, 9), expected);
            }
        }
        assert_eq!(lowest(u64::MAX, 3), 0xff_ffff);
        assert_eq!(lowest(u64::MAX, 0), 0);
    }
}
