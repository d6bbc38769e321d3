//! An index as one run of bytes: opened where it lies, from memory or a mapped file.
//!
//! `docs/index.md` has the format. What is opened is asked as it is: no number in it is believed,
//! what is followed is looked up within bounds, and walks have an end. So a damaged image that was
//! not verified gives a wrong answer or an error, and nothing worse.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::entry::{MANY, NOTHING, ONE, One};
use super::hash::Hashing;
use super::list::readdressed;
use super::pattern::{ends_of, set_ends, text_of, words_of};
use super::ticket::{NONE, Ticket};
use super::walk::{Scratch, Store, count, has_interest, match_into};
use super::{Index, check_queue};
use crate::error::Error;
use crate::grammar::{Bounds, Dialect};

const MAGIC: u64 = u64::from_le_bytes(*b"subtrie\n");
const VERSION: u64 = 1;
const HEADER: usize = 32;

/// Words of the header by number.
mod word {
    pub const VERSION: usize = 1;
    pub const FLAGS: usize = 2;
    pub const KEYS: usize = 3;
    pub const ROOT: usize = 5;
    pub const MAX_TOKENS: usize = 6;
    pub const MAX_LENGTH: usize = 7;
    pub const NEXT_ID: usize = 8;
    pub const ROWS: usize = 9;
    pub const PATTERNS: usize = 10;
    pub const PLACES: usize = 11;
    pub const SECTIONS: usize = 12;
    pub const CONTENT_SUM: usize = 30;
    pub const HEADER_SUM: usize = 31;
}

const SERVER: u64 = 1;
const STRONG: u64 = 2;
const TABLE: u64 = 4;

/// Words of a row.
const ROW: usize = 3;

/// No key of an image stands further from its place.
const FURTHEST: usize = 512;

/// A number not given.
const ABSENT: u64 = u64::MAX;

/// The bounds that were asked for, tokens and bytes; `None` where the dialect's hold.
pub type Given = (Option<u64>, Option<u64>);

/// An image that has been opened: asked as an index is, and never changed.
pub struct Image<'a> {
    hashing: Hashing,
    root: u64,
    dialect: Dialect,
    given: Given,
    next_id: u64,
    rows: usize,
    patterns: usize,
    places: u64,
    has_table: bool,
    table: &'a [u64],
    lists: &'a [u64],
    blocks: &'a [u64],
    row_words: &'a [u64],
    queues: &'a [u64],
}

/// A subscription of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its id.
    pub id: u64,
    /// Its pattern.
    pub pattern: Arc<str>,
    /// Its queue.
    pub queue: Option<Arc<str>>,
    /// How often the group it leads was served.
    pub turn: u64,
}

/// The words of an image: where they lie, if they lie well, else a copy.
#[must_use]
pub fn words(bytes: &[u8]) -> Cow<'_, [u64]> {
    if cfg!(target_endian = "little")
        && let Ok(words) = bytemuck::try_cast_slice(bytes)
    {
        return Cow::Borrowed(words);
    }
    let (eights, _) = bytes.as_chunks::<8>();
    Cow::Owned(
        eights
            .iter()
            .map(|eight| u64::from_le_bytes(*eight))
            .collect(),
    )
}

fn sum(words: &[u64]) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    if cfg!(target_endian = "little") {
        hasher.update(bytemuck::cast_slice(words));
    } else {
        for word in words {
            hasher.update(&word.to_le_bytes());
        }
    }
    u64::from(hasher.finalize())
}

impl<'a> Image<'a> {
    /// Opens an image of `length` bytes. `verify` reads all of it, to check its sum; without, only
    /// the header is read.
    pub fn open(words: &'a [u64], length: usize, verify: bool) -> Result<Self, Error> {
        if words.first() != Some(&MAGIC) {
            return Err(Error::whole("image-magic"));
        }
        let Some((header, content)) = words.split_first_chunk::<HEADER>() else {
            return Err(Error::whole("image-length"));
        };
        if header[word::VERSION] != VERSION {
            return Err(Error::whole("image-version"));
        }
        if header[word::HEADER_SUM] != sum(&header[..word::HEADER_SUM]) {
            return Err(Error::whole("image-header"));
        }
        let mut at = HEADER as u64;
        let mut sections = [Range { start: 0, end: 0 }, 0..0, 0..0, 0..0, 0..0];
        for (place, section) in sections.iter_mut().enumerate() {
            let [start, count] = [0, 1].map(|part| header[word::SECTIONS + 2 * place + part]);
            let end = start
                .checked_add(count)
                .ok_or(Error::whole("image-header"))?;
            if start != at {
                return Err(Error::whole("image-header"));
            }
            *section = usize::try_from(start).unwrap_or(usize::MAX)
                ..usize::try_from(end).unwrap_or(usize::MAX);
            at = end;
        }
        if at.checked_mul(8) != Some(length as u64) || words.len() * 8 != length {
            return Err(Error::whole("image-length"));
        }
        if verify && header[word::CONTENT_SUM] != sum(content) {
            return Err(Error::whole("image-checksum"));
        }
        let [table, lists, blocks, row_words, queues] =
            sections.map(|section| words.get(section).unwrap_or_default());
        let flags = header[word::FLAGS];
        let rows = usize::try_from(header[word::ROWS]).unwrap_or(usize::MAX);
        let bounds = [word::MAX_TOKENS, word::MAX_LENGTH].map(|at| header[at]);
        if bounds.contains(&0)
            || flags >= 8
            || row_words.len() % ROW != 0
            || rows != row_words.len() / ROW
        {
            return Err(Error::whole("image-header"));
        }
        let absent = |number: u64| (number != ABSENT).then_some(number);
        let dialect = if flags & SERVER == 0 {
            Dialect::Strict
        } else {
            Dialect::Server
        };
        Ok(Self {
            hashing: Hashing {
                first: header[word::KEYS],
                second: header[word::KEYS + 1],
                strong: flags & STRONG != 0,
            },
            root: header[word::ROOT],
            dialect,
            given: (
                absent(header[word::MAX_TOKENS]),
                absent(header[word::MAX_LENGTH]),
            ),
            next_id: header[word::NEXT_ID],
            rows,
            patterns: usize::try_from(header[word::PATTERNS]).unwrap_or(usize::MAX),
            places: header[word::PLACES] & 0xffff_ffff,
            has_table: flags & TABLE != 0,
            table,
            lists,
            blocks,
            row_words,
            queues,
        })
    }

    /// Can it be asked as it is? An image without a table must be built first.
    #[must_use]
    pub const fn has_table(&self) -> bool {
        self.has_table
    }

    /// The dialect of its patterns.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The bounds that were asked for.
    #[must_use]
    pub const fn given(&self) -> Given {
        self.given
    }

    /// The id the next subscription would get.
    #[must_use]
    pub const fn next_id(&self) -> u64 {
        self.next_id
    }

    /// How many subscriptions it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// Has it none?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes that lookups go through.
    pub(super) const fn size(&self) -> usize {
        (self.table.len() + self.lists.len() + self.blocks.len()) * 8
    }

    fn bounds(&self) -> Bounds {
        let own = self.dialect.bounds();
        let size = |given: Option<u64>, own| {
            given.map_or(own, |given| usize::try_from(given).unwrap_or(usize::MAX))
        };
        Bounds {
            max_tokens: size(self.given.0, own.max_tokens),
            max_length: size(self.given.1, own.max_length),
        }
    }

    /// As [`Index::match_into`]. Slots are those of the image.
    pub fn match_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<Ticket>,
    ) -> Result<(), Error> {
        match_into(self, subject.as_bytes(), scratch, found)
    }

    /// As [`Index::count`].
    pub fn count(&self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        count(self, subject, scratch)
    }

    /// As [`Index::has_interest`].
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        has_interest(self, subject, scratch)
    }

    /// All subscriptions, in ascending id, and the next id; an error if the image contradicts
    /// itself. Cost: all of it.
    pub fn held(&self) -> Result<(Vec<Held>, u64), Error> {
        let damaged = || Error::whole("image-damaged");
        let names = self.names()?;
        let mut held: Vec<Option<Held>> = vec![None; self.rows];
        let bounds = self.bounds();
        let mut rest = self.blocks;
        let mut patterns = 0;
        while !rest.is_empty() {
            patterns += 1;
            let words = words_of(rest);
            let block = rest.get(..words).ok_or_else(damaged)?;
            let pattern: Arc<str> = text_of(block).into();
            crate::grammar::check(
                &pattern,
                crate::grammar::Form::Pattern,
                self.dialect,
                bounds,
            )
            .map_err(|_| damaged())?;
            let (mut slot, last, _) = ends_of(block);
            loop {
                let row = self
                    .row_words
                    .get(slot as usize * ROW..)
                    .unwrap_or_default();
                let &[id, links, turn] = row.first_chunk::<ROW>().ok_or_else(damaged)?;
                let place = held.get_mut(slot as usize).ok_or_else(damaged)?;
                #[allow(clippy::cast_possible_truncation)] // the two halves
                let (queue, next) = (links as u32, (links >> 32) as u32);
                let queue = match queue {
                    NONE => None,
                    number => Some(names.get(number as usize).ok_or_else(damaged)?.clone()),
                };
                let row = Held {
                    id,
                    pattern: pattern.clone(),
                    queue,
                    turn,
                };
                // Whatever is led to twice is no row of one pattern.
                if place.replace(row).is_some() {
                    return Err(damaged());
                }
                if next == NONE && slot == last {
                    break;
                }
                slot = next;
            }
            rest = &rest[words..];
        }
        let held: Vec<Held> = held
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(damaged)?;
        let ascending = held.windows(2).all(|pair| pair[0].id < pair[1].id);
        if patterns != self.patterns
            || !ascending
            || held.last().is_some_and(|last| last.id >= self.next_id)
        {
            return Err(damaged());
        }
        Ok((held, self.next_id))
    }

    fn names(&self) -> Result<Vec<Arc<str>>, Error> {
        let damaged = || Error::whole("image-damaged");
        let mut names = Vec::new();
        let mut rest = self.queues;
        while let Some((&length, later)) = rest.split_first() {
            let length = usize::try_from(length).map_err(|_| damaged())?;
            let (text, later) = later
                .split_at_checked(length.div_ceil(8))
                .ok_or_else(damaged)?;
            let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).collect();
            let name = std::str::from_utf8(&bytes[..length]).map_err(|_| damaged())?;
            check_queue(name).map_err(|_| damaged())?;
            names.push(name.into());
            rest = later;
        }
        Ok(names)
    }
}

impl Store for Image<'_> {
    fn hashing(&self) -> &Hashing {
        &self.hashing
    }

    fn root(&self) -> u64 {
        self.root
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below 2^32
    fn find(&self, key: u64) -> u64 {
        let home = (((key >> 32) * self.places) >> 32) as usize;
        let (slots, _) = self.table.as_chunks::<2>();
        let slots = slots.get(home..).unwrap_or_default();
        for &[found, value] in slots.iter().take(FURTHEST) {
            if found >= key {
                return if found == key { value } else { NOTHING };
            }
            if found == 0 {
                return NOTHING;
            }
        }
        NOTHING
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below 2^32
    fn near(&self, key: u64) -> Option<&u64> {
        let home = (((key >> 32) * self.places) >> 32) as usize;
        self.table.get(2 * home)
    }

    #[inline]
    fn list(&self, address: u32) -> &[u64] {
        self.lists.get(address as usize..).unwrap_or_default()
    }

    #[inline]
    fn block(&self, address: u32) -> &[u64] {
        self.blocks.get(address as usize..).unwrap_or_default()
    }

    fn most_work(&self) -> usize {
        2 * self.table.len() + self.lists.len() + 16
    }

    fn row(&self, slot: u32) -> Option<(u64, u32)> {
        let row = self.row_words.get(slot as usize * ROW..)?;
        let &[id, links, _] = row.first_chunk::<ROW>()?;
        #[allow(clippy::cast_possible_truncation)] // the high half
        Some((id, (links >> 32) as u32))
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds())
    }
}

impl Index {
    /// The image of the index. Cost: all of it.
    #[must_use]
    pub fn to_image(&self, given: Given) -> Vec<u8> {
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
                    .map(|at| super::bytes::load(name.as_bytes(), at)),
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
