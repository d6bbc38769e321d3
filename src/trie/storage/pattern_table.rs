//! Pattern numbers: a name for each pattern that stays while its packed form moves.
//!
//! A subscription refers to its pattern by number, so that neither finding the pattern of one nor
//! moving a packed pattern depends on how many subscriptions the pattern has. Numbers of removed
//! patterns are given again; until then each names the next one that is free.

use super::paged_vec::PagedVec;
use super::to_u32;
use crate::trie::address::BlockAddr;

/// The number of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct PatternNumber(u32);

impl PatternNumber {
    /// No pattern yet.
    pub const NONE: Self = Self(u32::MAX);

    /// The number as such.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// The addresses of packed patterns by number.
#[derive(Clone)]
pub(crate) struct PatternTable {
    /// Of a free number: the next free number.
    addresses: PagedVec<u32>,
    free: PatternNumber,
}

impl Default for PatternTable {
    fn default() -> Self {
        Self {
            addresses: PagedVec::default(),
            free: PatternNumber::NONE,
        }
    }
}

impl PatternTable {
    /// A number for the pattern at an address. There are fewer patterns than slots, so 32 bits do.
    pub fn acquire(&mut self, address: BlockAddr) -> PatternNumber {
        let number = self.free;
        if let Some(place) = self.addresses.get_mut(number.0 as usize) {
            self.free = PatternNumber(std::mem::replace(place, address.0));
            return number;
        }
        self.addresses.push(address.0);
        PatternNumber(to_u32(self.addresses.len() - 1))
    }

    /// Frees the number of a pattern that is gone.
    pub fn release(&mut self, number: PatternNumber) {
        if let Some(place) = self.addresses.get_mut(number.0 as usize) {
            *place = self.free.0;
            self.free = number;
        }
    }

    /// The address of the pattern with this number.
    #[inline]
    pub fn address(&self, number: PatternNumber) -> BlockAddr {
        let address = self.addresses.get(number.0 as usize).copied();
        address.map_or(BlockAddr::NONE, BlockAddr)
    }

    /// Sets the address of a pattern that moved.
    pub fn set_address(&mut self, number: PatternNumber, address: BlockAddr) {
        if let Some(place) = self.addresses.get_mut(number.0 as usize) {
            *place = address.0;
        }
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        self.addresses.memory()
    }
}
