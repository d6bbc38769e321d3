//! The side that changes: insert, remove, clear.
//!
//! A pattern goes down the forks to a leaf. A leaf of more than [`CROWD`] patterns becomes a fork,
//! where they differ most. Nothing else is touched, so a change costs the same at any size. What a
//! removal empties it takes along, forks aside: those are cleared away when they outnumber patterns.

use super::choose::choose;
use super::entry::{FORK, Fork, MANY, NOTHING, ONE, One};
use super::hash::Hashing;
use super::list::{Lists, Moved, count_of, readdressed};
use super::parsed::{Branch, Parsed};
use super::pattern::{block_of, ends_of, is, set_ends, text_into, words_of};
use super::rows::Row;
use super::table::{Crowded, Table};
use super::ticket::NONE;
use super::{Index, Ticket, check_queue};
use crate::error::Error;

/// More patterns than this make a leaf a fork.
const CROWD: usize = 8;

/// The first choice is made for so many times the patterns that are here: more will come.
const FORESIGHT: usize = 32;

/// At these sizes the first choice is thought over: with few patterns it was made of little. Later
/// sizes would make an insert wait.
const SECOND_THOUGHTS: [usize; 4] = [64, 256, 1024, 2048];

/// A leaf: its key, and what stands there.
struct Leaf {
    key: u64,
    entry: u64,
}

impl Index {
    /// Subscribes to `pattern`, as a member of a queue group if one is named.
    ///
    /// Atomic: what is refused leaves nothing behind. Cost: one step a fork, and now and then a
    /// leaf that becomes a fork.
    pub fn insert(&mut self, pattern: &str, queue: Option<&str>) -> Result<Ticket, Error> {
        self.check_pattern(pattern)?;
        queue.map_or(Ok(()), check_queue)?;
        let id = self.reserve(1, pattern.len())?;
        Ok(self.place(id, pattern, queue, 0))
    }

    /// Sets `count` ids aside for patterns of so many bytes in all, and returns the first.
    pub fn reserve(&mut self, count: usize, bytes: usize) -> Result<u64, Error> {
        let full = Error::whole("index-full");
        if !self.has_room(count, bytes) {
            return Err(full);
        }
        self.rows.reserve(count).ok_or(full)
    }

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

    /// Puts in a checked pattern under an id that was set aside, with the turns of its group.
    pub fn place(&mut self, id: u64, pattern: &str, queue: Option<&str>, turn: u64) -> Ticket {
        let queue = self.rows.queues.engage(queue);
        self.rows.set_next_id(self.next_id().max(id + 1));
        let mut parsed = std::mem::take(&mut self.desk);
        parsed.renew(|text| text.extend_from_slice(pattern.as_bytes()));
        let row = Row {
            id,
            block: NONE,
            queue,
            next: NONE,
            previous: NONE,
        };
        let slot = self.rows.put(row, turn);
        let leaf = self.leaf(&mut parsed);
        match self.held(leaf.entry, parsed.text()) {
            Some(block) => self.link(block, id, slot),
            None => self.add(&mut parsed, id, slot),
        }
        self.desk = parsed;
        if let Some(order) = self.order.get_mut() {
            order.insert(pattern, id);
        }
        Ticket { id, slot }
    }

    /// Appends a row to those of a pattern.
    fn link(&mut self, block: u32, id: u64, slot: u32) {
        let (first, last, first_id) = ends_of(self.blocks.get(block));
        // Ids come in order but for what is restored or placed by several threads.
        let mut after = last;
        while let Some(row) = self.rows.get(after) {
            if row.id < id {
                break;
            }
            after = row.previous;
        }
        let before = match self.rows.get(after) {
            Some(row) => row.next,
            None => first,
        };
        if let Some(row) = self.rows.get_mut(slot) {
            (row.previous, row.next, row.block) = (after, before, block);
        }
        if let Some(row) = self.rows.get_mut(after) {
            row.next = slot;
        }
        if let Some(row) = self.rows.get_mut(before) {
            row.previous = slot;
        }
        let (first, first_id) = if after == NONE {
            (slot, id)
        } else {
            (first, first_id)
        };
        let last = if before == NONE { slot } else { last };
        set_ends(self.blocks.get_mut(block), first, last, first_id);
    }

    /// Adds a pattern that is not here yet.
    fn add(&mut self, parsed: &mut Parsed, id: u64, slot: u32) {
        let mut block = block_of(parsed.text());
        set_ends(&mut block, slot, slot, id);
        let block = self.blocks.put(&block);
        if let Some(row) = self.rows.get_mut(slot) {
            row.block = block;
        }
        self.patterns += 1;
        if self.enter(parsed, block).is_err() {
            self.rebuild(true);
        }
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
                self.enter(&mut parsed, block)
            });
            if done.is_ok() {
                return;
            }
            hopeless = strong;
            strong = true;
        }
    }

    /// Where a pattern stands or would stand.
    fn leaf(&self, parsed: &mut Parsed) -> Leaf {
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
    fn held(&self, entry: u64, pattern: &[u8]) -> Option<u32> {
        let here = |one: &One| is(self.blocks.get(one.block()), pattern);
        match entry & 3 {
            ONE => Some(One(entry)).filter(here).map(One::block),
            MANY => self.lists.ones(entry).find(here).map(One::block),
            _ => None,
        }
    }

    /// Enters a pattern in the leaf it belongs to; splits the leaf, and those that come of it, as
    /// long as one is crowded.
    fn enter(&mut self, parsed: &mut Parsed, block: u32) -> Result<(), Crowded> {
        let one = parsed.one(&self.hashing, block);
        let mut crowded = Vec::new();
        self.descend(parsed, one, self.hashing.root(), &mut crowded)?;
        while let Some(key) = crowded.pop() {
            self.split(key, &mut crowded)?;
        }
        Ok(())
    }

    /// Goes down from a key to a leaf, leaving word in the forks that go by their rest.
    fn descend(
        &mut self,
        parsed: &mut Parsed,
        one: One,
        from: u64,
        crowded: &mut Vec<u64>,
    ) -> Result<(), Crowded> {
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
        let (leaf, count) = match entry & 3 {
            ONE => (self.lists.put(key, &[One(entry), one]), 2),
            MANY => {
                let (list, moved) = self.lists.push(entry, one);
                self.follow(moved)?;
                (list, count_of(list))
            }
            _ => (one.0, 1),
        };
        self.lead(key, leaf)?;
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
    fn lead(&mut self, key: u64, entry: u64) -> Result<(), Crowded> {
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
            self.descend(parsed, one, key, crowded)?;
        }
        Ok(())
    }

    /// Leads to a list that moved.
    fn follow(&mut self, moved: Option<Moved>) -> Result<(), Crowded> {
        match moved {
            Some(Moved { key, address }) => self.lead(key, readdressed(self.entry(key), address)),
            None => Ok(()),
        }
    }

    /// Takes a subscription out and says which slot it had: the last subscription has that slot
    /// now, if it was another. `None` if the id is not here.
    ///
    /// Cost: a look at the pattern, and at the one whose block moves into its place.
    pub fn remove(&mut self, id: u64) -> Option<u32> {
        let slot = self.rows.find(id)?.slot;
        if self.order.get().is_some() {
            let pattern = self.pattern(Ticket { id, slot });
            if let Some(order) = self.order.get_mut() {
                order.remove(&pattern, id);
            }
        }
        self.unlink(slot);
        self.rows.take(slot)?;
        self.resettle(slot);
        if self.rows.len() == 0 {
            self.clear();
        } else if self.forks > 2 * self.patterns + 64 {
            self.plan = None;
            self.rebuild(self.hashing.strong);
        }
        Some(slot)
    }

    /// Takes a row out of those of its pattern, and the pattern with the last.
    fn unlink(&mut self, slot: u32) {
        let Some(&row) = self.rows.get(slot) else {
            return;
        };
        match (row.previous, row.next) {
            (NONE, NONE) => self.forget(row.block),
            (NONE, next) => {
                let (_, last, _) = ends_of(self.blocks.get(row.block));
                let mut id = 0;
                if let Some(after) = self.rows.get_mut(next) {
                    (after.previous, after.block) = (NONE, row.block);
                    id = after.id;
                }
                set_ends(self.blocks.get_mut(row.block), next, last, id);
            }
            (previous, NONE) => {
                let (first, _, id) = ends_of(self.blocks.get(row.block));
                if let Some(before) = self.rows.get_mut(previous) {
                    (before.next, before.block) = (NONE, row.block);
                }
                set_ends(self.blocks.get_mut(row.block), first, previous, id);
            }
            (previous, next) => {
                if let Some(before) = self.rows.get_mut(previous) {
                    before.next = next;
                }
                if let Some(after) = self.rows.get_mut(next) {
                    after.previous = previous;
                }
            }
        }
    }

    /// Tells its neighbours, and its pattern's block, that a row stands in this slot now.
    fn resettle(&mut self, slot: u32) {
        let Some(&row) = self.rows.get(slot) else {
            return;
        };
        if let Some(before) = self.rows.get_mut(row.previous) {
            before.next = slot;
        }
        if let Some(after) = self.rows.get_mut(row.next) {
            after.previous = slot;
        }
        if row.previous == NONE || row.next == NONE {
            let (first, last, id) = ends_of(self.blocks.get(row.block));
            let first = if row.previous == NONE { slot } else { first };
            let last = if row.next == NONE { slot } else { last };
            set_ends(self.blocks.get_mut(row.block), first, last, id);
        }
    }

    /// Takes a pattern out.
    fn forget(&mut self, block: u32) {
        let mut parsed = std::mem::take(&mut self.desk);
        parsed.renew(|text| text_into(self.blocks.get(block), text));
        let Leaf { key, entry } = self.leaf(&mut parsed);
        // What leads somewhere is there already, so nothing can crowd.
        let done = match entry & 3 {
            ONE if key == self.hashing.root() => {
                self.root = NOTHING;
                Ok(())
            }
            ONE => {
                self.table.remove(key);
                Ok(())
            }
            MANY if count_of(entry) > 2 => {
                let (list, moved) = self.lists.remove(entry, block);
                self.lead(key, list).and_then(|()| self.follow(moved))
            }
            MANY => {
                let other = self.lists.ones(entry).find(|one| one.block() != block);
                let moved = self.lists.drop(entry);
                self.lead(key, other.map_or(NOTHING, |one| one.0))
                    .and_then(|()| self.follow(moved))
            }
            _ => Ok(()),
        };
        debug_assert!(done.is_ok());
        let words = words_of(self.blocks.get(block));
        if let Some(from) = self.blocks.take(block, words) {
            self.readdress(from, block, &mut parsed);
        }
        self.patterns -= 1;
        self.desk = parsed;
    }

    /// Tells whoever points at a block that it has moved.
    fn readdress(&mut self, from: u32, to: u32, parsed: &mut Parsed) {
        let (first, last, _) = ends_of(self.blocks.get(to));
        for slot in [first, last] {
            if let Some(row) = self.rows.get_mut(slot) {
                row.block = to;
            }
        }
        parsed.renew(|text| text_into(self.blocks.get(to), text));
        let Leaf { key, entry } = self.leaf(parsed);
        let done = match entry & 3 {
            ONE => self.lead(key, One(entry).moved(to).0),
            MANY => {
                self.lists.readdress(entry, from, to);
                Ok(())
            }
            _ => Ok(()),
        };
        debug_assert!(done.is_ok());
    }

    /// Takes all subscriptions out. Ids are not given again.
    pub fn clear(&mut self) {
        let next = self.next_id();
        *self = Self::new(self.dialect, self.bounds);
        self.rows.set_next_id(next);
    }

    /// Goes on counting from `next`: for an index that is being restored.
    pub const fn set_next_id(&mut self, next: u64) {
        self.rows.set_next_id(next);
    }

    /// Is there room for `count` patterns of so many bytes in all?
    #[must_use]
    pub fn has_room(&self, count: usize, bytes: usize) -> bool {
        let words = count.saturating_mul(6).saturating_add(bytes / 8);
        self.blocks.has_room(words)
            && self.lists.has_room(words)
            && count < (NONE as usize).saturating_sub(self.len())
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
