//! An index written as an image.

use std::collections::HashMap;

use super::layout::{
    ABSENT, FURTHEST, HEADER, MAGIC, ROW, SERVER, STRONG, TABLE, VERSION, sum, word,
};
use crate::grammar::{BoundsOverride, Dialect};
use crate::trie::Index;
use crate::trie::entry::{MANY, ONE, One};
use crate::trie::list::readdressed;
use crate::trie::pattern::{ends_of, set_ends, words_of};
use crate::trie::ticket::{NONE, Ticket};

impl Index {
    /// The image of the index. Cost: all of it.
    #[must_use]
    pub fn to_image(&self, given: BoundsOverride) -> Vec<u8> {
        let order = self.tickets();
        let mut slots = vec![NONE; order.len()];
        for (slot, ticket) in (0..).zip(&order) {
            slots[ticket.slot as usize] = slot;
        }
        let moved = |slot: u32| slots.get(slot as usize).copied().unwrap_or(NONE);
        let (blocks, addresses) = self.image_of_blocks(&order, moved);
        let mut lists = Vec::new();
        let mut entry = |entry: u64| match entry & 3 {
            ONE => One(entry).moved(addresses[&One(entry).block()]).0,
            MANY => {
                let at = u32::try_from(lists.len()).unwrap_or(NONE);
                lists.push(0);
                let ones = self.lists.ones(entry);
                lists.extend(ones.map(|one| one.moved(addresses[&one.block()]).0));
                readdressed(entry, at)
            }
            _ => entry,
        };
        let root = entry(self.root);
        let entries: Vec<[u64; 2]> = self
            .table
            .entries()
            .map(|[key, value]| [key, entry(value)])
            .collect();
        let (table, places) = image_of_table(&entries);
        let mut names = Vec::new();
        let mut numbers = HashMap::new();
        let mut rows = Vec::with_capacity(order.len() * ROW);
        for ticket in &order {
            let queue = self.queue(*ticket).map_or(NONE, |name| {
                *numbers.entry(name).or_insert_with(|| {
                    names.push(name);
                    u32::try_from(names.len() - 1).unwrap_or(NONE)
                })
            });
            let next = self.rows.get(ticket.slot).map_or(NONE, |row| row.next);
            rows.extend([
                ticket.id,
                u64::from(queue) | u64::from(moved(next)) << 32,
                self.turn(*ticket),
            ]);
        }
        let mut queues = Vec::new();
        for name in names {
            queues.push(name.len() as u64);
            queues.extend(
                (0..name.len())
                    .step_by(8)
                    .map(|at| crate::trie::bytes::load(name.as_bytes(), at)),
            );
        }
        // The largest number says that none was given.
        let largest = |bound: u64| bound.min(ABSENT - 1);
        let mut header = [0; HEADER];
        header[0] = MAGIC;
        header[word::VERSION] = VERSION;
        header[word::FLAGS] = TABLE
            | (u64::from(self.hashing.strong) * STRONG)
            | (u64::from(self.dialect == Dialect::Server) * SERVER);
        header[word::KEYS] = self.hashing.first;
        header[word::KEYS + 1] = self.hashing.second;
        header[word::ROOT] = root;
        header[word::MAX_TOKENS] = given.0.map_or(ABSENT, largest);
        header[word::MAX_LENGTH] = given.1.map_or(ABSENT, largest);
        header[word::NEXT_ID] = self.next_id();
        header[word::ROWS] = order.len() as u64;
        header[word::PATTERNS] = self.patterns as u64;
        header[word::PLACES] = places;
        let mut content: Vec<u64> = Vec::new();
        for (place, section) in [table, lists, blocks, rows, queues].iter().enumerate() {
            header[word::SECTIONS + 2 * place] = (HEADER + content.len()) as u64;
            header[word::SECTIONS + 2 * place + 1] = section.len() as u64;
            content.extend_from_slice(section);
        }
        header[word::CONTENT_SUM] = sum(&content);
        header[word::HEADER_SUM] = sum(&header[..word::HEADER_SUM]);
        let words = header.iter().chain(&content);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The blocks in the order of their first ids, and where each one came to stand.
    fn image_of_blocks(
        &self,
        order: &[Ticket],
        moved: impl Fn(u32) -> u32,
    ) -> (Vec<u64>, HashMap<u32, u32, foldhash::fast::RandomState>) {
        let mut blocks = Vec::new();
        let mut addresses = HashMap::default();
        for ticket in order {
            let Some(row) = self
                .rows
                .get(ticket.slot)
                .filter(|row| row.previous == NONE)
            else {
                continue;
            };
            let block = self.blocks.get(row.block);
            let at = blocks.len();
            addresses.insert(row.block, u32::try_from(at).unwrap_or(NONE));
            blocks.extend_from_slice(&block[..words_of(block)]);
            let (first, last, id) = ends_of(block);
            set_ends(&mut blocks[at..], moved(first), moved(last), id);
        }
        (blocks, addresses)
    }
}

/// All entries in one table, each near the place its key asks for.
#[allow(clippy::cast_possible_truncation)] // below 2^32
fn image_of_table(entries: &[[u64; 2]]) -> (Vec<u64>, u64) {
    let mut places = (entries.len() as u64 * 3 / 2).max(1);
    loop {
        let mut table = Vec::with_capacity(places as usize * 2);
        let mut furthest = 0;
        for &[key, value] in entries {
            let home = (((key >> 32) * places) >> 32) as usize;
            if table.len() < home * 2 {
                table.resize(home * 2, 0);
            }
            furthest = furthest.max(table.len() / 2 - home);
            table.extend([key, value]);
        }
        if furthest < FURTHEST || places > 16 * entries.len() as u64 + 1024 {
            return (table, places);
        }
        places *= 2;
    }
}
