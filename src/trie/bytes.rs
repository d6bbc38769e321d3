//! Eight bytes at a time: how texts are read by everything that must be quick.

/// The eight bytes at `at`, the first lowest; where the text ends sooner, zeros.
#[inline]
pub(super) fn load(text: &[u8], at: usize) -> u64 {
    if let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_le_bytes(*eight);
    }
    let rest = text.get(at..).unwrap_or_default();
    // Where there is text before, eight bytes that end with it, shifted, cost no loop.
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
pub(super) const fn lowest(word: u64, count: usize) -> u64 {
    let bits = if count >= 8 { 0 } else { 64 - 8 * count };
    // Twice, because a shift by 64 is none.
    word & (u64::MAX >> (bits / 2) >> (bits / 2))
}

/// What sixteen bytes hold: where dots are, and whether any byte is not plain.
///
/// Plain is printable ASCII without `*` and `>`: legal in every dialect, whatever the tokens.
#[derive(Clone, Copy)]
pub(super) struct Sixteen {
    /// One bit a byte, the first lowest.
    pub dots: u64,
    /// Not zero if a byte is not plain.
    pub odd: u32,
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
pub(super) fn sixteen(bytes: &[u8; 16]) -> Sixteen {
    // SAFETY: SSE2, all that the callee asks of the machine, belongs to every x86-64.
    unsafe { with_sse2(bytes) }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse2")]
fn with_sse2(bytes: &[u8; 16]) -> Sixteen {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x,
        _mm_set1_epi8,
    };
    let (low, high) = (load(bytes, 0), load(bytes, 8));
    let all = _mm_set_epi64x(high.cast_signed(), low.cast_signed());
    let every = |byte: u8| -> __m128i { _mm_set1_epi8(byte.cast_signed()) };
    // The signed comparison takes bytes from 128 on as small.
    let small = _mm_cmpgt_epi8(every(0x21), all);
    let signs = _mm_or_si128(
        _mm_cmpeq_epi8(all, every(b'*')),
        _mm_cmpeq_epi8(all, every(b'>')),
    );
    let odd = _mm_or_si128(small, _mm_cmpeq_epi8(all, every(0x7f)));
    let dots = _mm_cmpeq_epi8(all, every(b'.'));
    Sixteen {
        dots: u64::from(_mm_movemask_epi8(dots).cast_unsigned()),
        odd: _mm_movemask_epi8(_mm_or_si128(odd, signs)).cast_unsigned(),
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(super) fn sixteen(bytes: &[u8; 16]) -> Sixteen {
    portable(bytes)
}

/// The same for any machine.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
fn portable(bytes: &[u8; 16]) -> Sixteen {
    let odd = |byte: u8| !(0x21..=0x7e).contains(&byte) || byte == b'*' || byte == b'>';
    let half = |at| {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let zeros = load(bytes, at) ^ 0x2e2e_2e2e_2e2e_2e2e;
        let high = !(((zeros & LOW) + LOW) | zeros | LOW);
        // Gathers the high bits of the eight bytes in the top byte.
        (high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    };
    Sixteen {
        dots: half(0) | half(8) << 8,
        odd: bytes
            .iter()
            .fold(0, |seen, &byte| seen | u32::from(odd(byte))),
    }
}

#[cfg(test)]
mod tests {
    use super::{load, lowest, portable, sixteen};

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

    #[test]
    fn both_ways_to_look_at_sixteen_bytes_agree() {
        for byte in 0..=255u8 {
            for place in 0..16 {
                let mut bytes = *b"a.bcd..efgh.ijk.";
                bytes[place] = byte;
                let (one, other) = (sixteen(&bytes), portable(&bytes));
                assert_eq!(one.dots, other.dots, "{byte} {place}");
                assert_eq!(one.odd != 0, other.odd != 0, "{byte} {place}");
            }
        }
    }
}
