//! How the tree takes shape: leaves become forks, and the first choice is thought over.
//!
//! A pattern goes down the forks to a leaf. A leaf of more than [`CROWD`] patterns becomes a fork,
//! where they differ most. Nothing else is touched, so a change costs the same at any size.

use super::Index;
use super::choose::choose;
use super::entry::{FORK, Fork, MANY, NOTHING, ONE, One};
use super::hash::Hashing;
use super::list::{Lists, Moved, count_of, readdressed};
use super::parsed::{Branch, Parsed};
use super::pattern::{is, text_into};
use super::rows::Row;
use super::table::{Crowded, Table};
use super::ticket::NONE;

/// More patterns than this make a leaf a fork.
const CROWD: usize = 8;

/// The first choice is made for so many times the patterns that are here: more will come.
const FORESIGHT: usize = 32;

/// At these sizes the first choice is thought over: with few patterns it was made of little. Later
/// sizes would make an insert wait.
const SECOND_THOUGHTS: [usize; 4] = [64, 256, 1024, 2048];

/// A leaf: its key, and what stands there.
pub(super) struct Leaf {
    pub key: u64,
    pub entry: u64,
}

impl Index {
    /// Gets ready for many patterns at once: `sample` is some of them, `count` how many there are.
    ///
    /// Where they outnumber what is here, the first choice is made anew with them in mind.
    pub fn expect<'a>(&mut self, count: usize, sample: impl Iterator<Item = &'a str>) {
        if count < 64 || count < self.patterns {
            return;
        }
        let mut patterns: Vec<Parsed> = sample.map(|text| Parsed::of(text.as_bytes())).collect();
        if patterns.is_empty() {
            return;
        }
        patterns.extend(self.sample(patterns.len()));
        let share = ((count + self.patterns) / patterns.len()).max(1);
        self.replan(&mut patterns, share);
    }

    /// At certain sizes, makes the first choice anew of the patterns that are here.
    pub(super) fn think_again(&mut self) {
        if SECOND_THOUGHTS.contains(&self.patterns) {
            let mut sample: Vec<Parsed> = self.sample(1024).collect();
            let share = self.patterns.div_ceil(sample.len().max(1));
            self.replan(&mut sample, share * FORESIGHT);
        }
    }

    /// Some of the patterns.
    fn sample(&self, most: usize) -> impl Iterator<Item = Parsed> {
        let step = self.rows.len().div_ceil(most.max(1)).max(1);
        self.first_rows()
            .step_by(step)
            .map(|block| self.parsed(block))
    }

    /// The block of every pattern.
    pub(super) fn first_rows(&self) -> impl Iterator<Item = u32> {
        let first = |(_, row): (u32, &Row)| (row.previous == NONE).then_some(row.block);
        self.rows.iter().filter_map(first)
    }

    fn parsed(&self, block: u32) -> Parsed {
        let mut parsed = Parsed::default();
        parsed.renew(|text| text_into(self.blocks.get(block), text));
        parsed
    }

    /// Makes the first choice anew; builds anew if it is another.
    fn replan(&mut self, sample: &mut [Parsed], share: usize) {
        let Some(fork) = choose(sample, share, &self.hashing) else {
            return;
        };
        let same = self.root & 3 == FORK && Fork(self.root).positions().eq(fork.positions());
        if !same {
            self.plan = Some(fork);
            self.rebuild(self.hashing.strong);
        }
    }

    /// Builds the index of the patterns anew, under a new key if it is to be a strong one.
    ///
    /// Cost: all patterns.
    pub(super) fn rebuild(&mut self, strong: bool) {
        let mut strong = strong;
        let mut hopeless = false;
        loop {
            if strong && !self.hashing.strong {
                self.hashing = Hashing::fresh(true);
            }
            self.table = Table::new();
            if hopeless {
                self.table.allow_crowds();
            }
            self.lists = Lists::default();
            self.root = self.plan.map_or(NOTHING, |fork| fork.0);
            self.forks = usize::from(self.plan.is_some());
            let blocks: Vec<u32> = self.first_rows().collect();
            let mut parsed = Parsed::default();
            let done = blocks.into_iter().try_for_each(|block| {
                parsed.renew(|text| text_into(self.blocks.get(block), text));
                let one = parsed.one(&self.hashing, block);
                let leaf = self.arrive(&mut parsed, self.hashing.root())?;
                self.enter(&leaf, one)
            });
            if done.is_ok() {
                return;
            }
            hopeless = strong;
            strong = true;
        }
    }

    /// Where a pattern stands or would stand.
    pub(super) fn leaf(&self, parsed: &mut Parsed) -> Leaf {
        let (mut key, mut entry) = (self.hashing.root(), self.root);
        while entry & 3 == FORK {
            let (Branch::Child(next) | Branch::Rest(next)) =
                parsed.branch(&self.hashing, Fork(entry), key);
            key = next;
            entry = self.table.find(key);
        }
        Leaf { key, entry }
    }

    /// The block of this very pattern in a leaf.
    pub(super) fn held(&self, entry: u64, pattern: &[u8]) -> Option<u32> {
        let here = |one: &One| is(self.blocks.get(one.block()), pattern);
        match entry & 3 {
            ONE => Some(One(entry)).filter(here).map(One::block),
            MANY => self.lists.ones(entry).find(here).map(One::block),
            _ => None,
        }
    }

    /// Goes from a key down to the leaf of a pattern that is to come in, leaving word in the forks
    /// that go by their rest. For a pattern that is in already nothing changes.
    pub(super) fn arrive(&mut self, parsed: &mut Parsed, from: u64) -> Result<Leaf, Crowded> {
        let mut key = from;
        let mut entry = self.entry(key);
        while entry & 3 == FORK {
            let fork = Fork(entry);
            key = match parsed.branch(&self.hashing, fork, key) {
                Branch::Child(next) => next,
                Branch::Rest(next) => {
                    let told = fork.with_rest(parsed.count(), parsed.has_tail());
                    if told != fork {
                        self.lead(key, told.0)?;
                    }
                    next
                }
            };
            entry = self.entry(key);
        }
        Ok(Leaf { key, entry })
    }

    /// Enters a pattern in the leaf it belongs to; splits the leaf, and those that come of it, as
    /// long as one is crowded.
    pub(super) fn enter(&mut self, leaf: &Leaf, one: One) -> Result<(), Crowded> {
        let mut crowded = Vec::new();
        self.settle(leaf, one, &mut crowded)?;
        while let Some(key) = crowded.pop() {
            self.split(key, &mut crowded)?;
        }
        Ok(())
    }

    /// Adds a pattern to a leaf, and says if that crowds it.
    fn settle(&mut self, leaf: &Leaf, one: One, crowded: &mut Vec<u64>) -> Result<(), Crowded> {
        let &Leaf { key, entry } = leaf;
        let (led, count) = match entry & 3 {
            ONE => (self.lists.put(key, &[One(entry), one]), 2),
            MANY => {
                let (list, moved) = self.lists.push(entry, one);
                self.follow(moved)?;
                (list, count_of(list))
            }
            _ => (one.0, 1),
        };
        self.lead(key, led)?;
        if count > CROWD && (count == CROWD + 1 || count.is_power_of_two()) {
            crowded.push(key);
        }
        Ok(())
    }

    fn entry(&self, key: u64) -> u64 {
        if key == self.hashing.root() {
            self.root
        } else {
            self.table.find(key)
        }
    }

    /// Leads a key to something else.
    pub(super) fn lead(&mut self, key: u64, entry: u64) -> Result<(), Crowded> {
        if key == self.hashing.root() {
            self.root = entry;
            Ok(())
        } else {
            self.table.set(key, entry)
        }
    }

    /// Makes a crowded leaf a fork, if its patterns differ anywhere a fork can tell.
    fn split(&mut self, key: u64, crowded: &mut Vec<u64>) -> Result<(), Crowded> {
        let entry = self.entry(key);
        let ones: Vec<One> = self.lists.ones(entry).collect();
        let mut patterns: Vec<Parsed> = ones.iter().map(|one| self.parsed(one.block())).collect();
        let Some(fork) = choose(&mut patterns, 1, &self.hashing) else {
            // Tokens that differ should have hashes that do: somebody knows the key.
            let known = !self.hashing.strong && disagree(&patterns);
            return if known { Err(Crowded) } else { Ok(()) };
        };
        let moved = self.lists.drop(entry);
        self.follow(moved)?;
        self.lead(key, fork.0)?;
        self.forks += 1;
        for (parsed, one) in patterns.iter_mut().zip(ones) {
            let leaf = self.arrive(parsed, key)?;
            self.settle(&leaf, one, crowded)?;
        }
        Ok(())
    }

    /// Leads to a list that moved.
    pub(super) fn follow(&mut self, moved: Option<Moved>) -> Result<(), Crowded> {
        match moved {
            Some(Moved { key, address }) => self.lead(key, readdressed(self.entry(key), address)),
            None => Ok(()),
        }
    }
}

/// Have two of the patterns different tokens at the same place?
fn disagree(patterns: &[Parsed]) -> bool {
    let deepest = patterns.iter().map(Parsed::count).max().unwrap_or(0);
    (0..deepest).any(|at| {
        let mut tokens = patterns.iter().filter_map(|pattern| pattern.literal(at));
        let first = tokens.next();
        tokens.any(|token| Some(token) != first)
    })
}

#[cfg(test)]
mod tests {
    use crate::grammar::Dialect;
    use crate::trie::{Index, Scratch};

    /// Tokens of sixteen bytes that all have the quick hash zero at position 0, under a key that
    /// somebody knows: their first half takes away the salt.
    fn colliding(index: &mut Index, count: usize) -> Vec<String> {
        let salt = u64::from_le_bytes(*b"abcdefgh");
        index.hashing.first = salt.wrapping_sub(0x9e37_79b9_7f4a_7c15);
        (0..count).map(|n| format!("abcdefgh{n:08}")).collect()
    }

    #[test]
    fn tokens_chosen_by_who_knows_the_key_do_not_crowd() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        let tokens = colliding(&mut index, 3000);
        let hash = |index: &Index, token: &str| index.hashing.token(token.as_bytes(), 0, 16, 0);
        assert_eq!(hash(&index, &tokens[0]), hash(&index, &tokens[1]));
        for token in &tokens {
            index.insert(token, None).unwrap();
        }
        assert!(index.hashing.strong);
        assert_ne!(hash(&index, &tokens[0]), hash(&index, &tokens[1]));
        let (mut scratch, mut found) = (Scratch::default(), Vec::new());
        for (number, token) in (0..).zip(&tokens) {
            found.clear();
            index.match_into(token, &mut scratch, &mut found).unwrap();
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].id, number);
            assert!(scratch.work() < 64, "{}", scratch.work());
        }
        for id in 0..3000 {
            assert!(index.remove(id).is_some());
        }
        assert!(index.is_empty() && !index.hashing.strong);
    }
}
