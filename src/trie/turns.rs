//! How often each queue member served its group: the only thing that a lookup ever writes (A19).
//!
//! Counters stand on shelves that double in size and are made when a queue member first needs one.
//! They are shared by the copies of an index that readers and the writer alternate between.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters on the first shelf.
const FIRST: usize = 32;

const SHELVES: usize = 28;

#[derive(Default)]
pub(super) struct Turns {
    shelves: [OnceLock<Box<[AtomicU64]>>; SHELVES],
}

impl Clone for Turns {
    fn clone(&self) -> Self {
        let twin = Self::default();
        for (shelf, other) in self.shelves.iter().zip(&twin.shelves) {
            if let Some(counters) = shelf.get() {
                let copy = |counter: &AtomicU64| AtomicU64::new(counter.load(Ordering::Relaxed));
                other.get_or_init(|| counters.iter().map(copy).collect());
            }
        }
        twin
    }
}

impl Turns {
    /// The counter for a slot.
    pub fn at(&self, slot: u32) -> &AtomicU64 {
        let place = slot as usize;
        let number = (place / FIRST + 1).ilog2() as usize;
        let counters = self.shelves[number]
            .get_or_init(|| (0..FIRST << number).map(|_| AtomicU64::new(0)).collect());
        &counters[place + FIRST - (FIRST << number)]
    }

    pub fn memory(&self) -> usize {
        let made = self.shelves.iter().filter_map(OnceLock::get);
        made.map(|shelf| shelf.len() * size_of::<AtomicU64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::Turns;
    use std::sync::atomic::Ordering;

    #[test]
    fn every_slot_has_a_counter_of_its_own() {
        let turns = Turns::default();
        for slot in 0..5000 {
            turns.at(slot).store(u64::from(slot) + 7, Ordering::Relaxed);
        }
        let twin = turns.clone();
        turns.at(3).store(0, Ordering::Relaxed);
        for slot in 0..5000 {
            assert_eq!(twin.at(slot).load(Ordering::Relaxed), u64::from(slot) + 7);
        }
    }
}
