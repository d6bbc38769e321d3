//! Ordered linear probing (Amble and Knuth 1974): a bucket of the hash table.
//!
//! Entries stand in the order of their keys, each at its home position or as soon after it as there
//! is room. So an unsuccessful probe ends at the first greater key, the entries of a bucket are
//! sorted, and cutting a bucket in two is a partition.

/// A key and its node, as they stand in memory and in an image. Key 0 marks a vacant position.
pub(crate) type Entry = [u64; 2];

/// An entry may stand fewer positions than this from its home. Linear probing at three quarters
/// full stays far below by chance; lower would mistake chance for an attack, higher lets probes of
/// crafted keys grow longer before the index changes its hash. No record compares values.
pub(super) const MAX_PROBE: usize = 64;

/// Without a limit: the distance from home does not matter.
pub(super) const NO_LIMIT: usize = usize::MAX;

/// Keys stand further from home than a keyed hash places them by chance: the hash key is known.
#[derive(Debug)]
pub(crate) struct ProbeLimitExceeded;

/// A part of the hash table.
#[derive(Clone, Default)]
pub(super) struct Bucket {
    pub entries: Box<[Entry]>,
    /// The number of positions that can be home positions; the rest of `entries` takes the overflow.
    pub homes: u64,
    pub used: usize,
    /// The number of highest bits that all keys here share.
    pub depth: u32,
}

impl Bucket {
    pub fn with_homes(homes: usize, depth: u32) -> Self {
        Self {
            entries: vec![[0, 0]; homes + homes / 16 + 4].into(),
            homes: homes as u64,
            used: 0,
            depth,
        }
    }

    /// The home position of a key, at which the probe begins.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below `homes`
    pub fn home(&self, key: u64) -> usize {
        let within = key << self.depth >> 32;
        ((within * self.homes) >> 32) as usize
    }

    /// The position of a key, or at which it would be inserted, and whether it is there.
    #[inline]
    pub fn probe(&self, key: u64) -> (usize, bool) {
        let mut at = self.home(key);
        while let Some(&[found, _]) = self.entries.get(at) {
            if found >= key || found == 0 {
                return (at, found == key);
            }
            at += 1;
        }
        (at, false)
    }

    /// Inserts a new entry in order; false if there is no room left for the overflow.
    pub fn insert(&mut self, key: u64, node: u64) -> bool {
        let (at, _) = self.probe(key);
        let Some(rest) = self.entries.get_mut(at..) else {
            return false;
        };
        let Some(vacant) = rest.iter().position(|entry| entry[0] == 0) else {
            return false;
        };
        rest.copy_within(..vacant, 1);
        rest[0] = [key, node];
        self.used += 1;
        true
    }

    /// Removes an entry and shifts back those behind it that are not at home.
    pub fn remove_at(&mut self, at: usize) {
        let mut vacant = at;
        while let Some(&next) = self.entries.get(vacant + 1) {
            if next[0] == 0 || self.home(next[0]) > vacant {
                break;
            }
            self.entries[vacant] = next;
            vacant += 1;
        }
        self.entries[vacant] = [0, 0];
        self.used -= 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = Entry> {
        self.entries.iter().copied().filter(|entry| entry[0] != 0)
    }

    /// A bucket of these entries, which are in ascending order: two thirds full, or less if keys
    /// would stand `max_probe` positions from home.
    pub fn of(
        entries: &[Entry],
        min_homes: usize,
        depth: u32,
        max_probe: usize,
    ) -> Result<Self, ProbeLimitExceeded> {
        let mut homes = (entries.len() * 3 / 2).max(min_homes).max(4);
        loop {
            let mut bucket = Self::with_homes(homes, depth);
            // In ascending order each entry goes behind the one before, without shifts.
            let mut next = 0;
            let mut longest = 0;
            for &[key, node] in entries {
                let home = bucket.home(key);
                let at = next.max(home);
                longest = longest.max(at - home);
                match bucket.entries.get_mut(at) {
                    Some(entry) => *entry = [key, node],
                    None => longest = NO_LIMIT,
                }
                next = at + 1;
            }
            bucket.used = entries.len();
            if longest < max_probe {
                return Ok(bucket);
            }
            if homes > entries.len().max(64) * 8 {
                return Err(ProbeLimitExceeded);
            }
            homes *= 2;
        }
    }
}
