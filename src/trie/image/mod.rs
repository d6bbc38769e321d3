//! An index as one run of bytes: opened where it lies, from memory or a mapped file.
//!
//! `docs/index.md` has the format. What is opened is asked as it is: no number in it is believed,
//! what is followed is looked up within bounds, and walks have an end. So a damaged image that was
//! not verified gives a wrong answer or an error, and nothing worse.

mod held;
mod layout;
mod write;

use std::ops::Range;

pub use held::Held;
pub use layout::words;

use super::Ticket;
use super::entry::NOTHING;
use super::hash::Hashing;
use super::walk::{Scratch, Store, count, has_interest, match_into};
use crate::error::Error;
use crate::grammar::{Bounds, BoundsOverride, Dialect};
use layout::{ABSENT, FURTHEST, HEADER, MAGIC, ROW, SERVER, STRONG, TABLE, VERSION, sum, word};

/// An image that has been opened: asked as an index is, and never changed.
pub struct Image<'a> {
    hashing: Hashing,
    root: u64,
    dialect: Dialect,
    given: BoundsOverride,
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

impl<'a> Image<'a> {
    /// Opens an image of `length` bytes. `verify` reads all of it, to check its sum; without, only
    /// the header is read.
    pub fn open(words: &'a [u64], length: usize, verify: bool) -> Result<Self, Error> {
        if words.first() != Some(&MAGIC) {
            return Err(Error::new("image-magic"));
        }
        let Some((header, content)) = words.split_first_chunk::<HEADER>() else {
            return Err(Error::new("image-length"));
        };
        if header[word::VERSION] != VERSION {
            return Err(Error::new("image-version"));
        }
        if header[word::HEADER_SUM] != sum(&header[..word::HEADER_SUM]) {
            return Err(Error::new("image-header"));
        }
        let mut at = HEADER as u64;
        let mut sections = [Range { start: 0, end: 0 }, 0..0, 0..0, 0..0, 0..0];
        for (place, section) in sections.iter_mut().enumerate() {
            let [start, count] = [0, 1].map(|part| header[word::SECTIONS + 2 * place + part]);
            let end = start.checked_add(count).ok_or(Error::new("image-header"))?;
            if start != at {
                return Err(Error::new("image-header"));
            }
            *section = usize::try_from(start).unwrap_or(usize::MAX)
                ..usize::try_from(end).unwrap_or(usize::MAX);
            at = end;
        }
        if at.checked_mul(8) != Some(length as u64) || words.len() * 8 != length {
            return Err(Error::new("image-length"));
        }
        if verify && header[word::CONTENT_SUM] != sum(content) {
            return Err(Error::new("image-checksum"));
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
            return Err(Error::new("image-header"));
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
    pub const fn given(&self) -> BoundsOverride {
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
        self.dialect.bounds_with(self.given)
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
