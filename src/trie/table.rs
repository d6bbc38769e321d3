//! One hash table for the whole index, in parts that grow, split and merge one at a time.
//!
//! The highest bits of a key choose a part by way of a directory; inside, entries stand in the order
//! of their keys, each at the place its key asks for or as soon after it as there is room. So a
//! search ends at the first greater key, splitting a part is cutting it in two, and no change ever
//! moves more than one part: there is no long pause, and memory follows the content down again.

/// A key and what it leads to. Key 0 marks an empty place.
pub(super) type Slot = [u64; 2];

/// A part with more entries than this is cut in two.
const FULL: usize = 768;

/// Two neighbours with fewer entries than this together become one.
const THIN: usize = 256;

/// Cutting never makes the directory larger than this many times the parts it serves.
const STRETCH: usize = 64;

#[derive(Clone, Default)]
struct Part {
    slots: Box<[Slot]>,
    /// How many places keys ask for; the rest of `slots` is room to spill into.
    places: u64,
    used: usize,
    /// How many of the highest bits all keys here share.
    depth: u32,
}

/// How far a key may stand from where it belongs, where that is no matter.
const ANY: usize = usize::MAX;

/// Keys crowd as chance never has them do: somebody knows the hash.
#[derive(Debug)]
pub(super) struct Crowded;

#[derive(Clone)]
pub(super) struct Table {
    directory: Vec<u32>,
    depth: u32,
    parts: Vec<Part>,
    free: Vec<u32>,
    entries: usize,
    /// How far a key may stand from where it belongs.
    crowd: usize,
}

impl Part {
    fn with_places(places: usize, depth: u32) -> Self {
        Self {
            slots: vec![[0, 0]; places + places / 16 + 4].into(),
            places: places as u64,
            used: 0,
            depth,
        }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below `places`
    fn home(&self, key: u64) -> usize {
        let within = key << self.depth >> 32;
        ((within * self.places) >> 32) as usize
    }

    /// Where the key is, or where it would stand.
    #[inline]
    fn seek(&self, key: u64) -> (usize, bool) {
        let mut at = self.home(key);
        while let Some(&[found, _]) = self.slots.get(at) {
            if found >= key || found == 0 {
                return (at, found == key);
            }
            at += 1;
        }
        (at, false)
    }

    /// Puts a new entry in its place; false if there is no room left to spill into.
    fn put(&mut self, key: u64, value: u64) -> bool {
        let (at, _) = self.seek(key);
        let Some(rest) = self.slots.get_mut(at..) else {
            return false;
        };
        let Some(gap) = rest.iter().position(|slot| slot[0] == 0) else {
            return false;
        };
        rest.copy_within(..gap, 1);
        rest[0] = [key, value];
        self.used += 1;
        true
    }

    fn take(&mut self, at: usize) {
        let mut gap = at;
        while let Some(&next) = self.slots.get(gap + 1) {
            if next[0] == 0 || self.home(next[0]) > gap {
                break;
            }
            self.slots[gap] = next;
            gap += 1;
        }
        self.slots[gap] = [0, 0];
        self.used -= 1;
    }

    fn entries(&self) -> impl Iterator<Item = Slot> {
        self.slots.iter().copied().filter(|slot| slot[0] != 0)
    }

    /// A part for these entries, which come in ascending order: two thirds full, or less where
    /// keys would stand further than `crowd` from where they belong.
    fn of(entries: &[Slot], least: usize, depth: u32, crowd: usize) -> Result<Self, Crowded> {
        let mut places = (entries.len() * 3 / 2).max(least).max(4);
        loop {
            let mut part = Self::with_places(places, depth);
            // In order, so each goes behind the one before: no shifting.
            let mut next = 0;
            let mut widest = 0;
            for &[key, value] in entries {
                let home = part.home(key);
                let at = next.max(home);
                widest = widest.max(at - home);
                match part.slots.get_mut(at) {
                    Some(slot) => *slot = [key, value],
                    None => widest = ANY,
                }
                next = at + 1;
            }
            part.used = entries.len();
            if widest < crowd {
                return Ok(part);
            }
            if places > entries.len().max(64) * 8 {
                return Err(Crowded);
            }
            places *= 2;
        }
    }
}

impl Table {
    pub fn new() -> Self {
        Self {
            directory: vec![0],
            depth: 0,
            parts: vec![Part::with_places(4, 0)],
            free: Vec::new(),
            entries: 0,
            crowd: 64,
        }
    }

    pub const fn len(&self) -> usize {
        self.entries
    }

    /// Lets keys stand however close they come. For when no better hash is left.
    pub const fn allow_crowds(&mut self) {
        self.crowd = ANY;
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below the length of the directory
    fn place(&self, key: u64) -> usize {
        // Twice, because a shift by 64 is none.
        (key >> 1 >> (63 - self.depth)) as usize
    }

    #[inline]
    fn part(&self, key: u64) -> Option<&Part> {
        let number = *self.directory.get(self.place(key))?;
        self.parts.get(number as usize)
    }

    /// What the key leads to; 0 is nothing.
    #[inline]
    pub fn find(&self, key: u64) -> u64 {
        let Some(part) = self.part(key) else { return 0 };
        let slots = part.slots.get(part.home(key)..).unwrap_or_default();
        for &[found, value] in slots {
            if found >= key {
                return if found == key { value } else { 0 };
            }
            if found == 0 {
                return 0;
            }
        }
        0
    }

    /// Where [`Table::find`] begins to look.
    #[inline]
    pub fn near(&self, key: u64) -> Option<&u64> {
        let part = self.part(key)?;
        part.slots.get(part.home(key)).map(|[found, _]| found)
    }

    /// Leads the key to something else, or to something for the first time.
    pub fn set(&mut self, key: u64, value: u64) -> Result<(), Crowded> {
        let number = self.directory[self.place(key)] as usize;
        let part = &mut self.parts[number];
        let (at, found) = part.seek(key);
        if found {
            part.slots[at][1] = value;
            return Ok(());
        }
        let far = at - part.home(key);
        let roomy = (part.used as u64 + 1) * 4 <= part.places * 3;
        if roomy && far <= self.crowd && part.put(key, value) {
            self.entries += 1;
            return Ok(());
        }
        self.make_room(number)?;
        // The part has room now, so this goes no deeper than one cut after another.
        self.set(key, value)
    }

    /// Grows a part, or cuts it in two.
    fn make_room(&mut self, number: usize) -> Result<(), Crowded> {
        let part = &self.parts[number];
        let (depth, crowd) = (part.depth, self.crowd);
        let entries: Vec<Slot> = part.entries().collect();
        let can_cut = depth < 40
            && (depth < self.depth || self.directory.len() <= self.parts.len() * STRETCH);
        if entries.len() < FULL || (!can_cut && crowd == ANY) {
            let more = usize::try_from(part.places).unwrap_or(usize::MAX) * 9 / 8 + 1;
            self.parts[number] = Part::of(&entries, more, depth, crowd)?;
            return Ok(());
        }
        if !can_cut {
            return Err(Crowded);
        }
        let half = entries.partition_point(|slot| slot[0] << depth >> 63 == 0);
        let low = Part::of(&entries[..half], 0, depth + 1, crowd)?;
        let high = Part::of(&entries[half..], 0, depth + 1, crowd)?;
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|&n| [n, n]).collect();
            self.depth += 1;
        }
        let other = self.keep(high);
        self.parts[number] = low;
        let (first, span) = self.reach(entries[0][0], depth);
        for entry in &mut self.directory[first + span / 2..first + span] {
            *entry = other;
        }
        Ok(())
    }

    fn keep(&mut self, part: Part) -> u32 {
        if let Some(number) = self.free.pop() {
            self.parts[number as usize] = part;
            return number;
        }
        self.parts.push(part);
        u32::try_from(self.parts.len() - 1).unwrap_or(u32::MAX)
    }

    /// The directory entries for the part of `depth` that the key belongs to: first and how many.
    fn reach(&self, key: u64, depth: u32) -> (usize, usize) {
        let span = 1 << (self.depth - depth);
        (self.place(key) / span * span, span)
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: u64) {
        let number = self.directory[self.place(key)] as usize;
        let part = &mut self.parts[number];
        let (at, found) = part.seek(key);
        if !found {
            return;
        }
        part.take(at);
        self.entries -= 1;
        if (part.used as u64) * 4 < part.places {
            self.shrink(key, number);
        }
    }

    /// Gives memory back: merges a part with its neighbours, or makes it smaller.
    fn shrink(&mut self, key: u64, number: usize) {
        if self.merge(key) {
            while self.merge(key) {}
            self.fold_directory();
            return;
        }
        let part = &self.parts[number];
        if part.places > 16.max(2 * part.used as u64) {
            let entries: Vec<Slot> = part.entries().collect();
            if let Ok(smaller) = Part::of(&entries, 0, part.depth, self.crowd) {
                self.parts[number] = smaller;
            }
        }
    }

    /// Merges the part of a key with its neighbour, if both are thin.
    fn merge(&mut self, key: u64) -> bool {
        let depth = self.part(key).map_or(0, |part| part.depth);
        let Some(lower) = depth.checked_sub(1) else {
            return false;
        };
        let (first, span) = self.reach(key, lower);
        let (low, high) = (self.directory[first], self.directory[first + span / 2]);
        let both = [low, high].map(|number| &self.parts[number as usize]);
        let used: usize = both.iter().map(|part| part.used).sum();
        if used >= THIN || both.iter().any(|part| part.depth != depth) {
            return false;
        }
        let entries: Vec<Slot> = both.iter().flat_map(|part| part.entries()).collect();
        let Ok(merged) = Part::of(&entries, 0, lower, self.crowd) else {
            return false;
        };
        self.parts[low as usize] = merged;
        self.parts[high as usize] = Part::default();
        self.free.push(high);
        self.directory[first..first + span].fill(low);
        true
    }

    /// Halves the directory once nothing needs its last bit.
    fn fold_directory(&mut self) {
        let live = self.parts.len() - self.free.len();
        while self.depth > 0
            && (self.directory.len() > 4 * live || live == 1)
            && self.directory.chunks(2).all(|pair| pair[0] == pair[1])
        {
            self.directory = self.directory.iter().step_by(2).copied().collect();
            self.depth -= 1;
        }
        if live == 1 && self.depth == 0 && !self.free.is_empty() {
            let only = self.directory[0] as usize;
            let part = std::mem::take(&mut self.parts[only]);
            self.parts = vec![part];
            self.free = Vec::new();
            self.directory = vec![0];
        }
    }

    /// All entries, in ascending order of their keys.
    pub fn entries(&self) -> impl Iterator<Item = Slot> {
        let mut last = u32::MAX;
        self.directory
            .iter()
            .filter(move |&&number| std::mem::replace(&mut last, number) != number)
            .filter_map(|&number| self.parts.get(number as usize))
            .flat_map(Part::entries)
    }

    /// Bytes.
    pub fn memory(&self) -> usize {
        let slots: usize = self.parts.iter().map(|part| part.slots.len()).sum();
        slots * size_of::<Slot>()
            + self.parts.capacity() * size_of::<Part>()
            + (self.directory.capacity() + self.free.capacity()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::Table;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn spread(number: u64) -> u64 {
        (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    #[test]
    fn it_grows_and_shrinks_to_nothing() {
        let mut table = Table::new();
        let empty = table.memory();
        for number in 0..100_000 {
            table.set(spread(number), number + 1).unwrap();
        }
        assert_eq!(table.len(), 100_000);
        assert!(table.memory() < 100_000 * 28, "{}", table.memory());
        for number in 0..100_000 {
            assert_eq!(table.find(spread(number)), number + 1);
            assert_eq!(table.find(spread(number) ^ 2), 0);
        }
        let keys: Vec<u64> = table.entries().map(|slot| slot[0]).collect();
        assert!(keys.len() == 100_000 && keys.is_sorted());
        for number in 0..100_000 {
            table.remove(spread(number));
            if number == 90_000 {
                assert!(table.memory() < 800_000, "{}", table.memory());
            }
        }
        assert_eq!(table.len(), 0);
        assert!(table.memory() < empty + 1000, "{}", table.memory());
    }

    #[test]
    fn keys_that_crowd_are_reported_and_nothing_is_lost() {
        let mut table = Table::new();
        let mut held = 0;
        for number in 1..100_000u64 {
            if table.set(number, number).is_err() {
                break;
            }
            held = number;
        }
        assert!(held < 10_000, "{held}");
        assert_eq!(table.len() as u64, held);
        assert!((1..=held).all(|number| table.find(number) == number));
        let mut table = Table::new();
        table.allow_crowds();
        for number in 1..=700 {
            table.set(number, number).unwrap();
        }
        assert!((1..=700).all(|number| table.find(number) == number));
    }

    proptest! {
        #[test]
        fn it_is_a_map(changes in prop::collection::vec((0u64..300, any::<bool>()), 0..2000)) {
            let mut table = Table::new();
            let mut map = BTreeMap::new();
            for (step, (number, put)) in changes.into_iter().enumerate() {
                let key = spread(number);
                if put {
                    table.set(key, step as u64 + 1).unwrap();
                    map.insert(key, step as u64 + 1);
                } else {
                    table.remove(key);
                    map.remove(&key);
                }
            }
            prop_assert_eq!(table.len(), map.len());
            let all: Vec<(u64, u64)> = table.entries().map(|[key, value]| (key, value)).collect();
            prop_assert_eq!(all, map.into_iter().collect::<Vec<_>>());
        }
    }
}
