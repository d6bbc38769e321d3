//! Leaves of several patterns: a key, then a word for each pattern.
//!
//! The key says which entry leads here, for when a list moves. The entry has the number of patterns
//! and the address.

use super::blocks::Blocks;
use super::entry::{MANY, One};

/// Up to here lists have exactly the room they need; larger ones double.
const EXACT: usize = 16;

#[derive(Clone, Default)]
pub(super) struct Lists(Blocks);

/// A list that moved: its key, and where it stands now.
#[derive(Clone, Copy)]
pub(super) struct Moved {
    pub key: u64,
    pub address: u32,
}

const fn room(count: usize) -> usize {
    if count <= EXACT {
        count
    } else {
        count.next_power_of_two()
    }
}

const fn entry_of(count: usize, address: u32) -> u64 {
    MANY | (count as u64) << 2 | (address as u64) << 32
}

/// How many patterns the list of an entry has.
#[inline]
pub(super) const fn count_of(entry: u64) -> usize {
    (entry >> 2 & 0x3fff_ffff) as usize
}

/// Where the list of an entry stands.
#[inline]
pub(super) const fn address_of(entry: u64) -> u32 {
    (entry >> 32) as u32
}

/// The entry once its list stands elsewhere.
pub(super) const fn readdressed(entry: u64, address: u32) -> u64 {
    entry & 0xffff_ffff | (address as u64) << 32
}

/// The patterns' words among those of a list.
#[inline]
pub(super) fn ones_in(words: &[u64], entry: u64) -> &[u64] {
    let end = words.len().min(count_of(entry) + 1);
    words.get(1..end).unwrap_or_default()
}

impl Lists {
    pub fn has_room(&self, words: usize) -> bool {
        self.0.has_room(words)
    }

    #[inline]
    pub fn get(&self, address: u32) -> &[u64] {
        self.0.get(address)
    }

    pub fn ones(&self, entry: u64) -> impl Iterator<Item = One> {
        let words = ones_in(self.get(address_of(entry)), entry);
        words.iter().map(|&word| One(word))
    }

    /// Keeps a new list and says what leads to it.
    pub fn put(&mut self, key: u64, ones: &[One]) -> u64 {
        let mut words = Vec::with_capacity(1 + room(ones.len()));
        words.push(key);
        words.extend(ones.iter().map(|one| one.0));
        words.resize(1 + room(ones.len()), 0);
        entry_of(ones.len(), self.0.put(&words))
    }

    /// Gives up a list. Another one may move.
    pub fn drop(&mut self, entry: u64) -> Option<Moved> {
        let address = address_of(entry);
        self.0.take(address, 1 + room(count_of(entry)))?;
        let key = *self.get(address).first()?;
        Some(Moved { key, address })
    }

    /// Adds a pattern: what leads to the list now, and which other list moved.
    pub fn push(&mut self, entry: u64, one: One) -> (u64, Option<Moved>) {
        let count = count_of(entry);
        if room(count + 1) == room(count) {
            if let Some(place) = self.0.get_mut(address_of(entry)).get_mut(count + 1) {
                *place = one.0;
            }
            return (entry_of(count + 1, address_of(entry)), None);
        }
        let ones: Vec<One> = self.ones(entry).chain([one]).collect();
        self.replace(entry, &ones)
    }

    /// Takes a pattern out of a list of at least two.
    pub fn remove(&mut self, entry: u64, block: u32) -> (u64, Option<Moved>) {
        let mut ones: Vec<One> = self.ones(entry).collect();
        ones.retain(|one| one.block() != block);
        self.replace(entry, &ones)
    }

    fn replace(&mut self, entry: u64, ones: &[One]) -> (u64, Option<Moved>) {
        let key = self.get(address_of(entry)).first().copied().unwrap_or(0);
        let made = self.put(key, ones);
        let moved = self.drop(entry);
        (made, moved)
    }

    /// Says in a list that a pattern's block has moved.
    pub fn readdress(&mut self, entry: u64, from: u32, to: u32) {
        let count = count_of(entry);
        let words = self.0.get_mut(address_of(entry));
        let found = words
            .iter_mut()
            .skip(1)
            .take(count)
            .find(|word| One(**word).block() == from);
        if let Some(word) = found {
            *word = One(*word).moved(to).0;
        }
    }

    pub fn memory(&self) -> usize {
        self.0.memory()
    }
}
