//! Writing: an index as an image.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::layout::{
    ABSENT, HEADER, MAGIC, MAX_PROBE, RECORD, SERVER, STRONG, TABLE, VERSION, checksum, word,
};
use crate::grammar::{BoundsOverride, Dialect};
use crate::trie::address::{BlockAddr, LeafAddr, Slot};
use crate::trie::index::Index;
use crate::trie::node::{Kind, LeafEntry, Node};
use crate::trie::pattern::packed_pattern::{list_ends, packed_len, set_list_ends};
use crate::trie::storage::probe_table::{Entry, home};
use crate::trie::storage::queue_names::QueueId;
use crate::trie::storage::subscriptions::SubscriptionRef;
use crate::trie::storage::to_u32;
use crate::trie::words::load;

/// The position of each pattern of an index in its image.
type ImageAddresses = HashMap<BlockAddr, BlockAddr, RandomState>;

impl Index {
    /// The index as an image. `given` are the bounds that were given when it was made.
    ///
    /// Cost: the whole index.
    #[must_use]
    pub fn to_image(&self, given: BoundsOverride) -> Vec<u8> {
        let order = self.subscriptions();
        let mut slots = vec![Slot::NONE; order.len()];
        for (place, subscription) in order.iter().enumerate() {
            slots[subscription.slot.index()] = Slot::at(place);
        }
        let moved = |slot: Slot| slots.get(slot.index()).copied().unwrap_or(Slot::NONE);
        let (patterns, addresses) = self.image_of_patterns(&order, moved);
        let mut leaves = Vec::new();
        let moved_entry = |entry: LeafEntry| entry.with_pattern(addresses[&entry.pattern()]);
        let mut moved_node = |node: Node| match node.kind() {
            Kind::Leaf1(entry) => moved_entry(entry).node(),
            Kind::LeafN(leaf) => {
                let at = LeafAddr(to_u32(leaves.len()));
                leaves.push(0); // the key of the node, which only an update reads
                let entries = self.leaves.entries(leaf);
                leaves.extend(entries.map(|entry| moved_entry(entry).0));
                leaf.with_address(at).node()
            }
            _ => node,
        };
        let root = moved_node(self.root);
        let entries: Vec<Entry> = self
            .nodes
            .entries()
            .map(|[key, node]| [key, moved_node(Node(node)).0])
            .collect();
        let table = image_of_table(&entries);
        let has_table = table.is_some();
        let (table, homes) = table.unwrap_or_default();
        let (records, queue_names) = self.image_of_records(&order, moved);
        // The largest number says that no bound was given.
        let bound = |given: Option<u64>| given.map_or(ABSENT, |bound| bound.min(ABSENT - 1));
        let mut header = [0; HEADER];
        header[0] = MAGIC;
        header[word::VERSION] = VERSION;
        header[word::FLAGS] = (u64::from(has_table) * TABLE)
            | (u64::from(self.hasher.strong) * STRONG)
            | (u64::from(self.dialect == Dialect::Server) * SERVER);
        header[word::HASH_KEY] = self.hasher.first;
        header[word::HASH_KEY + 1] = self.hasher.second;
        header[word::ROOT] = root.0;
        header[word::MAX_TOKENS] = bound(given.0);
        header[word::MAX_LENGTH] = bound(given.1);
        header[word::NEXT_ID] = self.next_id();
        header[word::SUBSCRIPTIONS] = order.len() as u64;
        header[word::PATTERNS] = self.pattern_count as u64;
        header[word::HOMES] = homes;
        let mut content: Vec<u64> = Vec::new();
        let sections = [table, leaves, patterns, records, queue_names];
        for (place, section) in sections.iter().enumerate() {
            header[word::SECTIONS + 2 * place] = (HEADER + content.len()) as u64;
            header[word::SECTIONS + 2 * place + 1] = section.len() as u64;
            content.extend_from_slice(section);
        }
        header[word::CONTENT_CHECKSUM] = checksum(&content);
        header[word::HEADER_CHECKSUM] = checksum(&header[..word::HEADER_CHECKSUM]);
        let words = header.iter().chain(&content);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The packed patterns in the order of their first ids, and their addresses.
    fn image_of_patterns(
        &self,
        order: &[SubscriptionRef],
        moved: impl Fn(Slot) -> Slot,
    ) -> (Vec<u64>, ImageAddresses) {
        let mut patterns = Vec::new();
        let mut addresses = ImageAddresses::default();
        for subscription in order {
            let Some(record) = self
                .subscriptions
                .get(subscription.slot)
                .filter(|record| record.previous == Slot::NONE)
            else {
                continue;
            };
            let address = self.pattern_table.address(record.pattern);
            let block = self.patterns.get(address);
            let at = patterns.len();
            addresses.insert(address, BlockAddr(to_u32(at)));
            patterns.extend_from_slice(&block[..packed_len(block)]);
            let (first, last, id) = list_ends(block);
            set_list_ends(&mut patterns[at..], moved(first), moved(last), id);
        }
        (patterns, addresses)
    }

    /// The subscriptions in ascending id, and the queue names: length in bytes, then the text.
    fn image_of_records(
        &self,
        order: &[SubscriptionRef],
        moved: impl Fn(Slot) -> Slot,
    ) -> (Vec<u64>, Vec<u64>) {
        let mut names = Vec::new();
        let mut numbers = HashMap::new();
        let mut records = Vec::with_capacity(order.len() * RECORD);
        for &subscription in order {
            let queue = self.queue(subscription).map_or(QueueId::NONE, |name| {
                *numbers.entry(name).or_insert_with(|| {
                    names.push(name);
                    QueueId(to_u32(names.len() - 1))
                })
            });
            let record = self.subscriptions.get(subscription.slot);
            let next = moved(record.map_or(Slot::NONE, |record| record.next));
            records.extend([
                subscription.id,
                u64::from(queue.0) | u64::from(next.0) << 32,
                self.turn(subscription),
            ]);
        }
        let mut texts = Vec::new();
        for name in names {
            texts.push(name.len() as u64);
            let starts = (0..name.len()).step_by(8);
            texts.extend(starts.map(|at| load(name.as_bytes(), at)));
        }
        (records, texts)
    }
}

/// The hash table of all entries, each less than [`MAX_PROBE`] positions from its home, and the number
/// of homes; `None` if keys crowd so much that there is none of a reasonable size.
#[allow(clippy::cast_possible_truncation)] // below 2^32
fn image_of_table(entries: &[Entry]) -> Option<(Vec<u64>, u64)> {
    let mut homes = (entries.len() as u64 * 3 / 2).max(1);
    loop {
        let mut table = Vec::with_capacity(homes as usize * 2);
        let mut longest = 0;
        for &[key, node] in entries {
            let home = home(key, homes);
            if table.len() < home * 2 {
                table.resize(home * 2, 0);
            }
            longest = longest.max(table.len() / 2 - home);
            table.extend([key, node]);
        }
        if longest < MAX_PROBE {
            return Some((table, homes));
        }
        if homes > 16 * entries.len() as u64 + 1024 {
            return None;
        }
        homes *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PROBE, image_of_table};

    /// Readers look no further than `MAX_PROBE`, so a table that needs more is left out.
    #[test]
    fn keys_that_crowd_more_than_readers_look_have_no_table() {
        let crowded = |count: u64| -> Vec<_> { (0..count).map(|n| [(1 << 40) + n, 2]).collect() };
        assert!(image_of_table(&crowded(MAX_PROBE as u64)).is_some());
        assert!(image_of_table(&crowded(MAX_PROBE as u64 + 1)).is_none());
    }
}
