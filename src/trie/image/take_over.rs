//! Taking over: an index with the tables of an image, so that the first change of an opened image
//! does not build them again.
//!
//! The hash key is then one that others may have read. So the index checks that each pattern is in
//! the leaf at which a lookup arrives; it draws another key, and uses the strong hash, when keys
//! cluster (`update/leaf_split.rs`).

use super::Image;
use super::layout::RECORD;
use super::restore::split_links;
use crate::error::{Error, ErrorKind};
use crate::grammar::{Form, check};
use crate::parallel::map_parts;
use crate::trie::address::{BlockAddr, Slot};
use crate::trie::index::Index;
use crate::trie::node::{Kind, LeafEntry, Node};
use crate::trie::pattern::packed_pattern::{header, list_ends, packed_len, text};
use crate::trie::storage::hash_table::HashTable;
use crate::trie::storage::leaf::entries_in;
use crate::trie::storage::pattern_table::PatternNumber;
use crate::trie::storage::queue_names::QueueId;
use crate::trie::storage::subscriptions::Record;

/// Words of the shortest packed pattern: no two begin within so many words.
const MIN_BLOCK: usize = 4;

/// Patterns that are validated by several threads: fewer take less time than a thread takes to start.
const PARALLEL_FROM: usize = 4096;

/// The addresses in an index of the packed patterns of an image, by their place in it.
struct Addresses(Vec<BlockAddr>);

impl Addresses {
    fn get(&self, BlockAddr(place): BlockAddr) -> Option<BlockAddr> {
        let address = self.0.get(place as usize / MIN_BLOCK).copied()?;
        (address != BlockAddr::NONE).then_some(address)
    }
}

impl Image<'_> {
    /// The content of the image as an index. Slots are in ascending order of ids.
    ///
    /// Cost: one pass over the image. An image without a hash table, or whose nodes are not those of
    /// its patterns, is built anew, which takes several times as long.
    ///
    /// # Errors
    ///
    /// `image-damaged` if the image contradicts itself, `index-full` if it is too large.
    pub fn to_index(&self) -> Result<Index, Error> {
        let mut index = Index::new(self.header.dialect, self.bounds());
        if !index.has_room(self.header.subscriptions, 8 * self.patterns.len()) {
            return Err(Error::new(ErrorKind::IndexFull));
        }
        let addresses = self.take_over_subscriptions(&mut index)?;
        if self.header.has_table
            && self.take_over_nodes(&mut index, &addresses).is_some()
            && index.nodes_are_whole()
        {
            return Ok(index);
        }
        self.build_index()
    }

    /// The content of the image as an index that is built anew, under a hash key of its own.
    fn build_index(&self) -> Result<Index, Error> {
        let (rows, next) = self.subscriptions()?;
        let mut index = Index::new(self.header.dialect, self.bounds());
        let patterns: Vec<&str> = rows.iter().map(|row| &*row.pattern).collect();
        index.insert_all(&patterns, |at| {
            let row = &rows[at];
            (row.id, row.queue.as_deref(), row.turn)
        });
        index.set_next_id(next);
        Ok(index)
    }

    /// Stores the patterns and the subscriptions.
    fn take_over_subscriptions(&self, index: &mut Index) -> Result<Addresses, Error> {
        let damaged = || Error::new(ErrorKind::ImageDamaged);
        let blocks = self.pattern_blocks()?;
        let whole = map_parts(&blocks, PARALLEL_FROM, |part| {
            part.iter().all(|(_, block)| self.is_valid_block(block))
        });
        if whole.into_iter().any(|whole| !whole) {
            return Err(damaged());
        }
        let mut addresses = vec![BlockAddr::NONE; self.patterns.len() / MIN_BLOCK + 1];
        let vacant = Record {
            id: 0,
            pattern: PatternNumber::NONE,
            queue: QueueId::NONE,
            next: Slot::NONE,
            previous: Slot::NONE,
        };
        let mut records = vec![vacant; self.header.subscriptions];
        for (at, block) in blocks {
            let address = index.patterns.insert(block);
            let number = index.pattern_table.acquire(address);
            index.pattern_count += 1;
            addresses[at / MIN_BLOCK] = address;
            self.take_over_list(block, number, &mut records)?;
        }
        // Each name is held by a member of its own, until the records are theirs.
        let names = self.queue_names()?;
        let kept = &mut index.subscriptions.queue_names;
        let queues: Vec<QueueId> = names.iter().map(|name| kept.acquire(Some(name))).collect();
        let mut last = None;
        for (place, record) in records.into_iter().enumerate() {
            let ascends = last.is_none_or(|last| last < record.id);
            if record.pattern == PatternNumber::NONE || !ascends || record.id >= self.next_id() {
                return Err(damaged());
            }
            last = Some(record.id);
            let queue = match record.queue {
                QueueId::NONE => QueueId::NONE,
                QueueId(number) => *queues.get(number as usize).ok_or_else(damaged)?,
            };
            index.subscriptions.queue_names.add_member(queue);
            let turn = self.records.get(place * RECORD + 2).copied();
            let record = Record { queue, ..record };
            index.subscriptions.push(record, turn.unwrap_or(0));
        }
        for queue in queues {
            index.subscriptions.queue_names.release(queue);
        }
        if index.pattern_count != self.header.pattern_count {
            return Err(damaged());
        }
        index.set_next_id(self.next_id());
        Ok(Addresses(addresses))
    }

    /// The packed patterns, each with its place.
    fn pattern_blocks(&self) -> Result<Vec<(usize, &[u64])>, Error> {
        let mut blocks = Vec::with_capacity(self.header.pattern_count.min(self.patterns.len()));
        let mut at = 0;
        while let Some(rest) = self.patterns.get(at..).filter(|rest| !rest.is_empty()) {
            let block = rest.get(..packed_len(rest));
            let block = block.ok_or_else(|| Error::new(ErrorKind::ImageDamaged))?;
            blocks.push((at, block));
            at += block.len();
        }
        Ok(blocks)
    }

    /// Whether this is the packed form of a valid pattern.
    fn is_valid_block(&self, block: &[u64]) -> bool {
        let bytes = text(block);
        let (dialect, bounds) = (self.header.dialect, self.bounds());
        std::str::from_utf8(&bytes)
            .is_ok_and(|text| check(text, Form::Pattern, dialect, bounds).is_ok())
            && block.first() == Some(&header(&bytes))
    }

    /// Stores the list of the subscriptions of a pattern.
    fn take_over_list(
        &self,
        block: &[u64],
        pattern: PatternNumber,
        records: &mut [Record],
    ) -> Result<(), Error> {
        let damaged = || Error::new(ErrorKind::ImageDamaged);
        let (first, last, first_id) = list_ends(block);
        let (mut slot, mut previous) = (first, Slot::NONE);
        loop {
            let words = self
                .records
                .get(slot.index() * RECORD..)
                .unwrap_or_default();
            let &[id, links, _] = words.first_chunk::<RECORD>().ok_or_else(damaged)?;
            let (next, queue) = split_links(links);
            let record = records.get_mut(slot.index()).ok_or_else(damaged)?;
            // A record in two lists, or twice in one, is damaged.
            let is_taken = record.pattern != PatternNumber::NONE;
            if is_taken || (slot == first && id != first_id) {
                return Err(damaged());
            }
            *record = Record {
                id,
                pattern,
                queue,
                next,
                previous,
            };
            if next == Slot::NONE {
                return if slot == last { Ok(()) } else { Err(damaged()) };
            }
            (previous, slot) = (slot, next);
        }
    }

    /// Stores the nodes; `None` if they contradict the rest of the image.
    fn take_over_nodes(&self, index: &mut Index, addresses: &Addresses) -> Option<()> {
        index.hasher = self.header.hasher;
        let moved = |entry: LeafEntry| Some(entry.with_pattern(addresses.get(entry.pattern())?));
        let root = index.hasher.root();
        let (entries, _) = self.table.as_chunks::<2>();
        // They come in ascending order, one beside the other in a table with room for all of them. In a
        // growing table the first keys would crowd the beginning, as if they were crafted.
        let nodes = || entries.iter().filter(|entry| entry[0] != 0);
        index.nodes = HashTable::with_room(nodes().count());
        let nodes = nodes().map(|&[key, node]| (crate::trie::hash::NodeKey(key), Node(node)));
        let mut in_leaves = 0;
        for (key, node) in std::iter::once((root, self.header.root)).chain(nodes) {
            let node = match node.kind() {
                Kind::Leaf1(entry) => {
                    in_leaves += 1;
                    moved(entry)?.node()
                }
                Kind::LeafN(leaf) => {
                    let words =
                        entries_in(crate::trie::view::View::leaf(self, leaf.address()), leaf);
                    let entries = words.iter().map(|&word| moved(LeafEntry(word)));
                    let entries: Vec<LeafEntry> = entries.collect::<Option<_>>()?;
                    if entries.len() != leaf.count() || entries.is_empty() {
                        return None;
                    }
                    in_leaves += entries.len();
                    index.leaves.insert(key, &entries).node()
                }
                Kind::Branch(_) => {
                    index.branch_count += 1;
                    node
                }
                Kind::Empty => node,
            };
            if key == root {
                index.root = node;
            } else {
                index.nodes.insert(key, node).ok()?;
            }
        }
        (in_leaves == index.pattern_count).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::grammar::Dialect;
    use crate::trie::{Image, Index, Scratch, as_words};

    #[test]
    fn large_tables_are_taken_over_too() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        for number in 0..20_000 {
            let pattern = format!("p.{}.*.{}.{number}", number % 97, number % 13);
            index.insert(&pattern, None).unwrap();
        }
        let bytes = index.to_image((None, None));
        let words = as_words(&bytes);
        let image = Image::open(&words, bytes.len(), true).unwrap();
        let opened = image.to_index().unwrap();
        assert_eq!(opened.hasher, index.hasher);
        assert_eq!(opened.branch_count, index.branch_count);
    }

    /// A peer that reads an image knows its hash key, and may send tokens that collide under it.
    #[test]
    fn tokens_chosen_with_the_key_of_an_image_make_the_index_change_its_hash() {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        // Under this key, tokens that begin with these eight bytes have the folded hash 0 at
        // position 0.
        let salt = u64::from_le_bytes(*b"abcdefgh");
        index.hasher.first = salt.wrapping_sub(0x9e37_79b9_7f4a_7c15);
        for number in 0..100 {
            index.insert(&format!("{number}.x"), None).unwrap();
        }
        let bytes = index.to_image((None, None));
        let words = as_words(&bytes);
        let image = Image::open(&words, bytes.len(), true).unwrap();
        let mut opened = image.to_index().unwrap();
        assert_eq!(opened.hasher, index.hasher);
        let tokens: Vec<String> = (0..3000).map(|n| format!("abcdefgh{n:08}")).collect();
        for token in &tokens {
            opened.insert(token, None).unwrap();
        }
        assert!(opened.hasher.strong && opened.hasher.first != index.hasher.first);
        let mut scratch = Scratch::default();
        for token in &tokens {
            assert_eq!(opened.count(token, &mut scratch), Ok(1));
            assert!(scratch.work() < 64, "{}", scratch.work());
        }
        assert_eq!(opened.count("99.x", &mut scratch), Ok(1));
    }
}
