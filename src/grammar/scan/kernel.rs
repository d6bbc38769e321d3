//! A kernel: how blocks of bytes are classified and compared, one for each set of instructions.
// As in the parent module: a kernel becomes part of the function that uses it.
#![allow(clippy::inline_always)]

/// Work that is compiled once for each kernel. [`Task::run`] and what it calls are inlined, so that
/// all of it is compiled for the instructions of the kernel.
pub(crate) trait Task {
    /// The result of the work.
    type Output;
    /// Does the work with a kernel.
    fn run<K: Kernel>(self, kernel: K) -> Self::Output;
}

/// The classes of up to 64 bytes: one bit a byte, the first byte lowest.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Masks {
    pub dots: u64,
    /// `*` and `>`; only of a pattern.
    pub wildcards: u64,
    /// Bytes that no valid text has; of a subject, also wildcards.
    pub illegal: u64,
    /// Bytes beyond ASCII; only of the server's dialect.
    pub high: u64,
}

impl Masks {
    /// Add the masks of the bytes that begin `by` bytes later; both may hold some of the same bytes.
    #[inline(always)]
    pub const fn or_shifted(self, later: Self, by: usize) -> Self {
        Self {
            dots: self.dots | later.dots << by,
            wildcards: self.wildcards | later.wildcards << by,
            illegal: self.illegal | later.illegal << by,
            high: self.high | later.high << by,
        }
    }

    /// Drops the first `by` bytes, up to 63.
    #[inline(always)]
    pub const fn drop_first(self, by: usize) -> Self {
        Self {
            dots: self.dots >> by,
            wildcards: self.wildcards >> by,
            illegal: self.illegal >> by,
            high: self.high >> by,
        }
    }
}

/// Positions that are expanded at a time.
pub(crate) const EXPANDED: usize = 32;

/// A SIMD backend that computes masks.
pub(crate) trait Kernel: Copy {
    /// The equal bytes of two blocks: one bit a byte, the first byte lowest.
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32;

    /// Whether two texts of one length are equal, if they are short enough for one comparison and
    /// no byte around them has to be read.
    #[inline(always)]
    fn equal_texts(self, _left: &[u8], _right: &[u8]) -> Option<bool> {
        None
    }

    /// The count of pairs whose first number is below `bound`; 0 counts as above all.
    #[inline(always)]
    fn count_below(self, pairs: &[[u64; 2]; 4], bound: u64) -> usize {
        let below = |pair: &[u64; 2]| pair[0].wrapping_sub(1) < bound.wrapping_sub(1);
        pairs.iter().map(|pair| usize::from(below(pair))).sum()
    }

    /// `start` plus the index of each set bit; `None` without a compress instruction. What follows the last one, and those after the first [`EXPANDED`], have no meaning.
    #[inline(always)]
    fn expand(self, _bits: u64, _start: u16) -> Option<[u16; EXPANDED]> {
        None
    }

    /// The masks of sixteen bytes.
    fn sixteen<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 16]) -> Masks;

    /// The masks of 32 bytes.
    #[inline(always)]
    fn thirty_two<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 32]) -> Masks {
        let (low, high) = halves(bytes);
        let low = self.sixteen::<PATTERN, SERVER>(low);
        low.or_shifted(self.sixteen::<PATTERN, SERVER>(high), 16)
    }

    /// The masks of 64 bytes.
    #[inline(always)]
    fn sixty_four<const PATTERN: bool, const SERVER: bool>(self, bytes: &[u8; 64]) -> Masks {
        let (low, high) = halves(bytes);
        let low = self.thirty_two::<PATTERN, SERVER>(low);
        low.or_shifted(self.thirty_two::<PATTERN, SERVER>(high), 32)
    }

    /// The masks of the last `length` bytes of a text, 1 to 63, behind whole blocks.
    #[inline(always)]
    fn last<const PATTERN: bool, const SERVER: bool>(self, text: &[u8], length: usize) -> Masks {
        // The last bytes; those that were in the block before are shifted out.
        if length <= 32
            && let Some(block) = text.last_chunk::<32>()
        {
            let masks = self.thirty_two::<PATTERN, SERVER>(block);
            return masks.drop_first(32 - length);
        }
        if let Some(block) = text.last_chunk::<64>() {
            let masks = self.sixty_four::<PATTERN, SERVER>(block);
            return masks.drop_first(64 - length);
        }
        if let (Some(first), Some(last)) = (text.first_chunk::<32>(), text.last_chunk::<32>()) {
            let first = self.thirty_two::<PATTERN, SERVER>(first);
            return first.or_shifted(self.thirty_two::<PATTERN, SERVER>(last), length - 32);
        }
        if let (Some(first), Some(last)) = (text.first_chunk::<16>(), text.last_chunk::<16>()) {
            let first = self.sixteen::<PATTERN, SERVER>(first);
            return first.or_shifted(self.sixteen::<PATTERN, SERVER>(last), length - 16);
        }
        let mut padded = [b'x'; 16];
        for (to, from) in padded.iter_mut().zip(text) {
            *to = *from;
        }
        self.sixteen::<PATTERN, SERVER>(&padded)
    }
}

/// Both halves of a block; `HALF` is half of `WHOLE`.
#[inline(always)]
pub(super) fn halves<const WHOLE: usize, const HALF: usize>(
    bytes: &[u8; WHOLE],
) -> (&[u8; HALF], &[u8; HALF]) {
    const { assert!(2 * HALF == WHOLE) };
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(low), Some(high)) => (low, high),
        _ => unreachable!(), // removed by the compiler: the lengths are constants
    }
}

/// The words of a block, the first byte lowest.
#[inline(always)]
pub(super) fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u64; WORDS] {
    const { assert!(8 * WORDS == BYTES) };
    let (eights, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|at| u64::from_le_bytes(eights[at]))
}
