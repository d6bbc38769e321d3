//! Names of places in the storage: the addresses of patterns and leaves, and slots.

use crate::number::to_u32;

/// An address in a slab: the number of a page, and in the lowest 12 bits the word within it.
pub(crate) trait SlabAddress: Copy {
    /// Wraps the number that the slab gave.
    fn from_raw(raw: u32) -> Self;
    /// The number that the slab gave.
    fn raw(self) -> u32;
}

/// The address of a packed pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub(crate) struct BlockAddr(pub u32);

impl BlockAddr {
    /// No pattern.
    pub const NONE: Self = Self(u32::MAX);
}

impl SlabAddress for BlockAddr {
    fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    fn raw(self) -> u32 {
        self.0
    }
}

/// The address of a leaf bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct LeafAddr(pub u32);

impl SlabAddress for LeafAddr {
    fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    fn raw(self) -> u32 {
        self.0
    }
}

/// The position of a subscription's record. Any removal may move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Slot(pub(crate) u32);

impl Slot {
    /// No record: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The position as an index into a vector.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The slot at a position.
    pub(crate) fn at(index: usize) -> Self {
        Self(to_u32(index))
    }
}
