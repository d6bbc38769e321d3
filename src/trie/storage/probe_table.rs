//! Ordered linear probing (Amble and Knuth 1974): the positions of a hash table.
//!
//! Entries stand in the order of their keys, each at its home position or as soon after it as there
//! is room. So an unsuccessful probe ends at the first greater key, all entries of the table are
//! sorted, and the entries of one key are neighbours: those of a small leaf.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::huge_words::HugeWords;
use crate::grammar::scan::{Baseline, Kernel};

/// A key and its node, as they stand in memory and in an image. Key 0 marks a vacant position.
pub(crate) type Entry = [u64; 2];

/// Entries of a cache line.
pub(super) const IN_LINE: usize = 4;

/// The probe limit is exceeded: probably hash flooding by a sender that knows the hash key.
#[derive(Debug)]
pub(crate) struct ProbeLimitExceeded;

/// Positions for entries.
#[derive(Clone, Default)]
pub(super) struct Table {
    words: HugeWords,
    /// The number of positions that can be home positions; those behind take the overflow.
    pub homes: u64,
}

/// The first position, from the home position on, that is vacant or has a key not below `key`.
#[inline(always)]
pub(crate) fn position<K: Kernel>(kernel: K, entries: &[Entry], home: usize, key: u64) -> usize {
    let mut at = home;
    // A vacant position, less one, is above every key.
    let below = |entry: &Entry| entry[0].wrapping_sub(1) < key.wrapping_sub(1);
    // Four at a time without a branch between: where a probe ends cannot be predicted.
    while let Some(four) = entries.get(at..).and_then(<[Entry]>::first_chunk::<4>) {
        let skipped = kernel.count_below(four, key);
        at += skipped;
        if skipped < 4 {
            return at;
        }
    }
    at + entries
        .get(at..)
        .unwrap_or_default()
        .iter()
        .take_while(|entry| below(entry))
        .count()
}

/// The home position of a key among `homes`, at which its probe begins: the first of a cache line,
/// so that most probes end within that line.
#[inline]
#[allow(clippy::cast_possible_truncation)] // below `homes`
pub(crate) const fn home(key: u64, homes: u64) -> usize {
    (((key >> 32) * homes) >> 32) as usize & !(IN_LINE - 1)
}

impl Table {
    pub fn with_homes(homes: usize, overflow: usize) -> Self {
        // A whole number of lines, so that all of them have as many keys.
        let homes = homes.next_multiple_of(IN_LINE);
        Self {
            words: HugeWords::zeroed((homes + overflow) * 2),
            homes: homes as u64,
        }
    }

    #[inline]
    pub fn entries(&self) -> &[Entry] {
        self.words.as_chunks().0
    }

    #[inline]
    pub fn entries_mut(&mut self) -> &mut [Entry] {
        self.words.as_chunks_mut().0
    }

    #[inline]
    pub fn position(&self, key: u64) -> usize {
        self.position_with(Baseline, key)
    }

    #[inline(always)]
    pub fn position_with<K: Kernel>(&self, kernel: K, key: u64) -> usize {
        position(kernel, self.entries(), home(key, self.homes), key)
    }

    /// The entries from the first with this key on; empty if there is none.
    #[inline]
    pub fn run(&self, key: u64) -> &[Entry] {
        let entries = self.entries().get(self.position(key)..).unwrap_or_default();
        match entries.first() {
            Some(first) if first[0] == key => entries,
            _ => &[],
        }
    }

    /// The positions of the entries with a key.
    pub fn positions(&self, key: u64) -> Range<usize> {
        let start = self.position(key);
        let same = self.entries()[start..].iter();
        start..start + same.take_while(|entry| entry[0] == key).count()
    }

    /// Inserts an entry in order.
    pub fn insert(&mut self, entry: Entry, max_probe: usize) -> Result<(), ProbeLimitExceeded> {
        let at = self.position(entry[0]);
        let homes = self.homes;
        let rest = self.entries_mut().get_mut(at..).unwrap_or_default();
        let vacant = rest.iter().position(|entry| entry[0] == 0);
        let vacant = vacant.ok_or(ProbeLimitExceeded)?;
        // The entry that moves furthest is the last one.
        let last = if vacant == 0 { entry } else { rest[vacant - 1] };
        if at + vacant - home(last[0], homes) > max_probe {
            return Err(ProbeLimitExceeded);
        }
        rest.copy_within(..vacant, 1);
        rest[0] = entry;
        Ok(())
    }

    /// Removes an entry and shifts back those behind it that are not at home.
    pub fn remove_at(&mut self, at: usize) {
        let homes = self.homes;
        let entries = self.entries_mut();
        let mut vacant = at;
        while let Some(&next) = entries.get(vacant + 1) {
            if next[0] == 0 || home(next[0], homes) > vacant {
                break;
            }
            entries[vacant] = next;
            vacant += 1;
        }
        entries[vacant] = [0, 0];
    }

    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        self.entries().iter().copied().filter(|entry| entry[0] != 0)
    }

    pub fn memory(&self) -> usize {
        size_of_val(&*self.words)
    }
}
