//! Round robin over queue groups: how often each group was served, the only thing a lookup writes.
//!
//! Counters stand in chunks of doubling size, each allocated when a queue member first needs it, so
//! a counter never moves while lookups use it.
// A19.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::trie::address::Slot;

/// Counters of the first chunk. A larger one wastes memory in small indexes, a smaller one makes
/// more chunks; no record compares sizes.
const FIRST_CHUNK: usize = 32;

/// So many chunks hold a counter for every slot of 32 bits.
const CHUNKS: usize = 28;

/// A counter for every slot.
#[derive(Default)]
pub(crate) struct RoundRobin {
    chunks: [OnceLock<Box<[AtomicU64]>>; CHUNKS],
}

impl Clone for RoundRobin {
    fn clone(&self) -> Self {
        let copy = Self::default();
        for (chunk, other) in self.chunks.iter().zip(&copy.chunks) {
            if let Some(counters) = chunk.get() {
                let value = |counter: &AtomicU64| AtomicU64::new(counter.load(Ordering::Relaxed));
                other.get_or_init(|| counters.iter().map(value).collect());
            }
        }
        copy
    }
}

impl RoundRobin {
    /// The counter of a slot.
    pub fn counter(&self, slot: Slot) -> &AtomicU64 {
        let at = slot.index();
        let number = (at / FIRST_CHUNK + 1).ilog2() as usize;
        let allocate = || (0..FIRST_CHUNK << number).map(|_| AtomicU64::new(0));
        let counters = self.chunks[number].get_or_init(|| allocate().collect());
        &counters[at + FIRST_CHUNK - (FIRST_CHUNK << number)]
    }

    /// Memory in bytes.
    pub fn memory(&self) -> usize {
        let allocated = self.chunks.iter().filter_map(OnceLock::get);
        allocated
            .map(|chunk| chunk.len() * size_of::<AtomicU64>())
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{RoundRobin, Slot};
    use std::sync::atomic::Ordering;

    #[test]
    fn every_slot_has_a_counter_of_its_own() {
        let counters = RoundRobin::default();
        let slots = || (0..5000).map(|number| (u64::from(number) + 7, Slot(number)));
        for (value, slot) in slots() {
            counters.counter(slot).store(value, Ordering::Relaxed);
        }
        let copy = counters.clone();
        counters.counter(Slot(3)).store(0, Ordering::Relaxed);
        for (value, slot) in slots() {
            assert_eq!(copy.counter(slot).load(Ordering::Relaxed), value);
        }
    }
}
