//! Bulk load into an empty index: the trie is built from the root down.
//!
//! One by one, a pattern descends to its leaf, and a leaf that is full is split by what it has then.
//! Here each branch is selected once, with all its patterns in view, and each pattern is stored
//! beside those of its leaf.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::Cursor;
use super::leaf_entries::{IN_TABLE_UP_TO, SPLIT_LEAF_ABOVE};
use super::leaf_split::{MIN_BULK_LOAD, have_different_tokens};
use super::random_sample::random_sample;
use super::select_positions::{SAMPLE_SIZE, select_positions};
use super::unwind;
use crate::trie::hash::NodeKey;
use crate::trie::index::Index;
use crate::trie::node::{Branch, LeafEntry};
use crate::trie::pattern::packed_pattern::{pack, set_list_ends};
use crate::trie::pattern::parsed_pattern::{Child, ParsedPattern};
use crate::trie::storage::hash_table::HashTable;
use crate::trie::storage::pattern_table::PatternNumber;
use crate::trie::storage::probe_table::ProbeLimitExceeded;
use crate::trie::storage::subscriptions::{Record, Slot};

/// A row that has the same pattern as none before it: the key of its leaf or branch, and its number.
type Place = (u64, u32);

/// The end of a list of rows.
const NO_ROW: u32 = u32::MAX;

/// A load reads each pattern so many times on average, at most: once for each branch above it. Sets in
/// which every branch tells only a few patterns from the others are inserted one by one instead, for
/// which they are no harder than others. Higher spends more before it gives up; the patterns of a
/// deployment are read three to five times.
const MAX_PASSES: usize = 32;

/// The rows have to be inserted one by one: patterns are read too often, or keys cluster as chance
/// does not make them.
struct GivenUp;

impl From<ProbeLimitExceeded> for GivenUp {
    fn from(_: ProbeLimitExceeded) -> Self {
        Self
    }
}

/// Rows whose patterns are below one node.
struct Group {
    key: NodeKey,
    start: usize,
    end: usize,
    /// Whether no two of them have the same pattern.
    distinct: bool,
}

/// A bulk load at work.
struct Load<'a> {
    index: &'a mut Index,
    patterns: &'a [&'a str],
    ids: &'a dyn Fn(usize) -> u64,
    places: Vec<Place>,
    groups: Vec<Group>,
    /// The next row with the same pattern.
    same: Vec<u32>,
    parsed: Vec<ParsedPattern>,
    /// The patterns that may still be read.
    budget: usize,
}

/// Clears the index if a load panics or fails: it was empty before.
struct ClearUnlessDone<'a> {
    index: &'a mut Index,
    done: bool,
}

impl Drop for ClearUnlessDone<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.index.clear();
        }
    }
}

impl Index {
    /// Inserts valid patterns in ascending order of reserved ids. `row` gives the id of each, its
    /// queue name, and the turns of the group that it leads.
    ///
    /// If the core panics while an empty index is filled, it is empty again; otherwise the rows
    /// before are inserted.
    pub fn insert_all<'a>(
        &mut self,
        patterns: &[&str],
        row: impl Fn(usize) -> (u64, Option<&'a str>, u64),
    ) {
        self.prepare_bulk_load(patterns.iter().copied());
        if self.is_empty() && patterns.len() >= MIN_BULK_LOAD && self.load(patterns, &row).is_ok() {
            return;
        }
        for (at, pattern) in patterns.iter().enumerate() {
            let (id, queue, turn) = row(at);
            self.insert_reserved(id, pattern, queue, turn);
        }
    }

    /// Fills an empty index. If it gives up, the index is empty.
    fn load<'a>(
        &mut self,
        patterns: &[&str],
        row: &impl Fn(usize) -> (u64, Option<&'a str>, u64),
    ) -> Result<(), GivenUp> {
        let mut guard = ClearUnlessDone {
            index: self,
            done: false,
        };
        let index = &mut *guard.index;
        index.nodes = HashTable::with_room(patterns.len());
        for at in 0..patterns.len() {
            let (id, queue, turn) = row(at);
            index.set_next_id(index.next_id().max(id + 1));
            let queue = index.subscriptions.queue_names.acquire(queue);
            let record = Record {
                id,
                pattern: PatternNumber::NONE,
                queue,
                next: Slot::NONE,
                previous: Slot::NONE,
            };
            index.subscriptions.push(record, turn);
        }
        let ids = |at: usize| row(at).0;
        let root = index.hasher.root();
        let load = Load {
            index,
            patterns,
            ids: &ids,
            places: (0u32..).zip(patterns).map(|(row, _)| (0, row)).collect(),
            groups: vec![Group {
                key: root,
                start: 0,
                end: patterns.len(),
                distinct: false,
            }],
            same: vec![NO_ROW; patterns.len()],
            parsed: Vec::new(),
            budget: patterns.len() * MAX_PASSES,
        };
        load.run()?;
        guard.done = true;
        Ok(())
    }
}

impl Load<'_> {
    fn run(mut self) -> Result<(), GivenUp> {
        let hasher = RandomState::default();
        while let Some(mut group) = self.groups.pop() {
            let count = group.end - group.start;
            self.budget = self.budget.checked_sub(count).ok_or(GivenUp)?;
            let root = (group.key == self.index.hasher.root()).then(|| self.index.root.branch());
            if let Some(branch) = root.flatten() {
                self.divide_large(&group, branch)?;
                continue;
            }
            if !group.distinct {
                self.merge_equal(&mut group, &hasher);
            }
            self.build(&group)?;
        }
        Ok(())
    }

    fn parse(&mut self, at: usize, row: u32) {
        if at == self.parsed.len() {
            self.parsed.push(ParsedPattern::default());
        }
        let pattern = self.patterns[row as usize].as_bytes();
        self.parsed[at].parse(|text| text.extend_from_slice(pattern));
    }

    /// Chains the rows with one pattern, and keeps the first of them in the group.
    fn merge_equal(&mut self, group: &mut Group, hasher: &RandomState) {
        group.distinct = true;
        if group.end - group.start == 1 {
            return;
        }
        let patterns = self.patterns;
        let places = &mut self.places[group.start..group.end];
        for (key, row) in &mut *places {
            *key = hasher.hash_one(patterns[*row as usize].as_bytes());
        }
        places.sort_unstable();
        let mut kept = 0;
        // The first of the rows kept with the present hash, and the last row of each chain.
        let mut ends: Vec<(usize, u32)> = Vec::new();
        for at in 0..places.len() {
            let (hash, row) = places[at];
            let pattern = patterns[row as usize];
            if kept == 0 || places[kept - 1].0 != hash {
                ends.clear();
            }
            let is_same = |end: &&mut (usize, u32)| patterns[places[end.0].1 as usize] == pattern;
            if let Some((_, last)) = ends.iter_mut().find(is_same) {
                self.same[*last as usize] = row;
                *last = row;
                continue;
            }
            ends.push((kept, row));
            places[kept] = (hash, row);
            kept += 1;
        }
        group.end = group.start + kept;
    }

    /// Makes a group of different patterns a leaf or a branch.
    fn build(&mut self, group: &Group) -> Result<(), GivenUp> {
        let &Group {
            key, start, end, ..
        } = group;
        let count = end - start;
        if count <= SAMPLE_SIZE {
            for at in 0..count {
                self.parse(at, self.places[start + at].1);
            }
        } else {
            let rows = random_sample(start..end, count, SAMPLE_SIZE);
            for (at, place) in rows.collect::<Vec<_>>().into_iter().enumerate() {
                self.parse(at, self.places[place].1);
            }
        }
        if count <= SPLIT_LEAF_ABOVE {
            return self.place_leaf(key, start, &mut (0..count));
        }
        let parsed = &mut self.parsed[..count.min(SAMPLE_SIZE)];
        let weight = count.div_ceil(parsed.len());
        let Some(branch) = select_positions(parsed, weight, &self.index.hasher) else {
            // As for a leaf that is split: patterns with equal hashes stay together.
            if !self.index.hasher.strong && have_different_tokens(parsed) {
                return Err(GivenUp);
            }
            return self.place_bucket(key, start, count);
        };
        self.index.branch_count += 1;
        if count > SAMPLE_SIZE {
            return self.divide_large(group, branch);
        }
        let hasher = &self.index.hasher;
        let mut branch = branch;
        let mut children: Vec<(u64, u32, usize)> = Vec::with_capacity(count);
        for (at, parsed) in parsed.iter_mut().enumerate() {
            let child = child_of(parsed.child(hasher, branch, key), parsed, &mut branch);
            children.push((child.0, self.places[start + at].1, at));
        }
        self.index.set_node(key, branch.node())?;
        children.sort_unstable();
        let mut first = start;
        for child in children.chunk_by(|one, other| one.0 == other.0) {
            for (at, &(key, row, _)) in (first..).zip(child) {
                self.places[at] = (key, row);
            }
            let key = NodeKey(child[0].0);
            if child.len() <= SPLIT_LEAF_ABOVE {
                self.place_leaf(key, first, &mut child.iter().map(|&(_, _, at)| at))?;
            } else {
                self.groups.push(Group {
                    key,
                    start: first,
                    end: first + child.len(),
                    distinct: true,
                });
            }
            first += child.len();
        }
        Ok(())
    }

    /// Divides a group among the children of a branch, parsing one pattern at a time.
    fn divide_large(&mut self, group: &Group, mut branch: Branch) -> Result<(), GivenUp> {
        for at in group.start..group.end {
            self.parse(0, self.places[at].1);
            let parsed = &mut self.parsed[0];
            let child = parsed.child(&self.index.hasher, branch, group.key);
            self.places[at].0 = child_of(child, parsed, &mut branch).0;
        }
        self.index.set_node(group.key, branch.node())?;
        let places = &mut self.places[group.start..group.end];
        places.sort_unstable();
        let mut start = group.start;
        for child in places.chunk_by(|one, other| one.0 == other.0) {
            self.groups.push(Group {
                key: NodeKey(child[0].0),
                start,
                end: start + child.len(),
                distinct: group.distinct,
            });
            start += child.len();
        }
        Ok(())
    }

    /// Makes the patterns from a place on, parsed at the positions in `parsed`, a leaf.
    fn place_leaf(
        &mut self,
        key: NodeKey,
        start: usize,
        parsed: &mut dyn Iterator<Item = usize>,
    ) -> Result<(), GivenUp> {
        if key == self.index.hasher.root() {
            let count = parsed.count();
            return self.place_bucket(key, start, count);
        }
        for (place, parsed) in (start..).zip(parsed) {
            let entry = self.store(place, parsed);
            unwind::fault_point();
            self.index.nodes.insert(key, entry.node())?;
        }
        Ok(())
    }

    /// Makes patterns a leaf of the root, or one that no position divides.
    fn place_bucket(&mut self, key: NodeKey, start: usize, count: usize) -> Result<(), GivenUp> {
        let mut entries = Vec::with_capacity(count);
        for place in start..start + count {
            self.parse(0, self.places[place].1);
            entries.push(self.store(place, 0));
        }
        if let [entry] = entries[..] {
            return Ok(self.index.set_node(key, entry.node())?);
        }
        if key == self.index.hasher.root() || count > IN_TABLE_UP_TO {
            let bucket = self.index.leaves.insert(key, &entries);
            return Ok(self.index.set_node(key, bucket.node())?);
        }
        for entry in entries {
            let node = self.index.node_at(key);
            self.index
                .add_to_leaf(&Cursor { key, node }, entry, &mut Vec::new())?;
        }
        Ok(())
    }

    /// Stores a pattern with its subscriptions, and returns its leaf entry.
    fn store(&mut self, place: usize, parsed: usize) -> LeafEntry {
        let index = &mut *self.index;
        let parsed = &mut self.parsed[parsed];
        let mut block = pack(parsed.text());
        let first = self.places[place].1;
        // A slot is the number of its row, as the index was empty.
        let rows = || {
            let next = |&row: &u32| Some(self.same[row as usize]).filter(|&row| row != NO_ROW);
            std::iter::successors(Some(first), next)
        };
        let last = Slot(rows().last().unwrap_or(first));
        set_list_ends(&mut block, Slot(first), last, (self.ids)(first as usize));
        let address = index.patterns.insert(&block);
        let number = index.pattern_table.acquire(address);
        index.pattern_count += 1;
        let mut previous = Slot::NONE;
        for row in rows() {
            let slot = Slot(row);
            if let Some(record) = index.subscriptions.get_mut(previous) {
                record.next = slot;
            }
            if let Some(record) = index.subscriptions.get_mut(slot) {
                (record.previous, record.pattern) = (previous, number);
            }
            previous = slot;
        }
        parsed.leaf_entry(&index.hasher, address)
    }
}

/// The key of a child. Extends the length range of the rest child if the pattern is below it.
fn child_of(child: Child, parsed: &ParsedPattern, branch: &mut Branch) -> NodeKey {
    match child {
        Child::Literal(key) => key,
        Child::Rest(key) => {
            *branch = branch.with_rest(parsed.count(), parsed.has_tail());
            key
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::grammar::Dialect;
    use crate::trie::update::unwind::panics_after;
    use crate::trie::{Index, Scratch};

    /// Patterns of several kinds, some of them twice, some of which no position divides.
    fn patterns(count: usize, kind: usize) -> Vec<String> {
        let pattern = |n: usize| match kind {
            0 => format!("p.{}.{}.{n}", n % 9, n % 7),
            1 => format!("p.{}.*.{}", n % 9, n % 60),
            2 => "same.*".to_owned(),
            3 => [">", "*", "*.>", "*.*", "a.>", "a.*", "*.a"][n % 7].to_owned(),
            4 => (0..9)
                .map(|at| ["*", "a"][n >> at & 1])
                .collect::<Vec<_>>()
                .join("."),
            _ => format!("s{}.{}>", n % 31, "*.".repeat(n % 5)),
        };
        (0..count).map(pattern).collect()
    }

    fn empty() -> Index {
        Index::new(Dialect::Strict, Dialect::Strict.bounds())
    }

    fn row<'a>(at: usize) -> (u64, Option<&'a str>, u64) {
        (
            3 * at as u64,
            at.is_multiple_of(4).then_some("q"),
            at as u64 % 5,
        )
    }

    fn ids(index: &Index, subject: &str) -> Vec<u64> {
        let (mut scratch, mut found) = (Scratch::default(), Vec::new());
        index.match_into(subject, &mut scratch, &mut found).unwrap();
        found.iter().map(|found| found.id).collect()
    }

    #[test]
    fn a_loaded_index_is_like_one_that_was_filled_one_by_one() {
        for kind in 0..6 {
            for count in [64, 65, 300, 5000] {
                let patterns = patterns(count, kind);
                let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
                let (mut loaded, mut filled) = (empty(), empty());
                loaded.insert_all(&patterns, row);
                for (at, pattern) in patterns.iter().enumerate() {
                    let (id, queue, turn) = row(at);
                    filled.insert_reserved(id, pattern, queue, turn);
                }
                assert!(loaded.nodes_are_whole());
                assert_eq!(loaded.pattern_count, filled.pattern_count);
                assert_eq!(loaded.to_string(), filled.to_string());
                assert_eq!(loaded.next_id(), filled.next_id());
                for pattern in patterns.iter().take(700) {
                    let subject = pattern.replace('*', "x").replace('>', "y.z");
                    assert_eq!(ids(&loaded, &subject), ids(&filled, &subject));
                }
                for found in filled.subscriptions() {
                    let loaded_one = loaded.find(found.id).unwrap();
                    assert_eq!(loaded.pattern(loaded_one), filled.pattern(found));
                    assert_eq!(loaded.queue(loaded_one), filled.queue(found));
                    assert_eq!(loaded.turn(loaded_one), filled.turn(found));
                }
                // What follows a load: changes of each kind.
                for (at, pattern) in patterns.iter().enumerate() {
                    loaded.insert_reserved((3 * count + at) as u64, pattern, None, 0);
                    assert!(loaded.remove(row(at).0).is_some());
                }
                assert!(loaded.nodes_are_whole());
                assert_eq!(loaded.len(), count);
                assert_eq!(loaded.pattern_count, filled.pattern_count);
            }
        }
    }

    #[test]
    fn an_index_is_empty_after_a_load_that_panics() {
        let patterns = patterns(500, 0);
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        for faults in [1, 2, 50, 400] {
            let mut index = empty();
            assert!(panics_after(faults, || index.insert_all(&patterns, row)));
            assert!(index.is_empty() && index.pattern_count == 0);
            index.insert_all(&patterns, row);
            assert_eq!(index.len(), 500);
            assert!(index.nodes_are_whole());
        }
    }

    /// Each position tells one pattern from all others, so branches form a chain.
    #[test]
    fn a_chain_of_branches_is_given_up() {
        let token = |n: usize, at: usize| if n == at { "a" } else { "*" };
        let pattern = |n| {
            (0..300)
                .map(|at| token(n, at))
                .collect::<Vec<_>>()
                .join(".")
        };
        let patterns: Vec<String> = (0..300).map(pattern).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let mut index = empty();
        index.prepare_bulk_load(patterns.iter().copied());
        assert!(index.load(&patterns, &row).is_err());
        assert!(index.is_empty() && index.pattern_count == 0);
        index.insert_all(&patterns, row);
        assert!(index.nodes_are_whole());
        assert_eq!(index.pattern_count, 300);
    }

    #[test]
    fn a_load_of_colliding_tokens_changes_the_hash() {
        let mut index = empty();
        let salt = u64::from_le_bytes(*b"abcdefgh");
        index.hasher.first = salt.wrapping_sub(0x9e37_79b9_7f4a_7c15);
        let patterns: Vec<String> = (0..3000).map(|n| format!("abcdefgh{n:08}")).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        index.insert_all(&patterns, row);
        assert!(index.nodes_are_whole());
        assert_eq!(ids(&index, patterns[2999]), [3 * 2999]);
    }
}
