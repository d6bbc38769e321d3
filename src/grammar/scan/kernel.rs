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

/// A way to compute masks.
pub(crate) trait Kernel: Copy {
    /// The equal bytes of two blocks: one bit a byte, the first byte lowest.
    fn equal(self, left: &[u8; 32], right: &[u8; 32]) -> u32;

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
