//! An index as one run of bytes, looked up in place: in memory or a mapped file.
//!
//! `docs/index.md` has the format. No number in an image is trusted: whatever is followed is looked
//! up within bounds, and every loop has an end. So a damaged image that was not verified gives a
//! wrong answer or an error, and nothing worse.

mod layout;
mod restore;
mod write;

use std::ops::Range;

pub use layout::as_words;
pub use restore::ImageSubscription;

use super::hash::{NodeKey, TokenHasher};
use super::lookup::{Scratch, View, count, has_interest, match_into};
use super::node::Node;
use super::pattern::packed_pattern::BlockAddr;
use super::storage::leaf::LeafAddr;
use super::storage::subscriptions::{Slot, SubscriptionRef};
use crate::error::Error;
use crate::grammar::{Bounds, BoundsOverride, Dialect};
use layout::{
    ABSENT, FLAGS, HEADER, MAGIC, MAX_PROBE, RECORD, SERVER, STRONG, TABLE, VERSION, checksum, word,
};
use restore::split_links;

/// An opened image: looked up as an index is, and never changed.
pub struct Image<'a> {
    hasher: TokenHasher,
    root: Node,
    dialect: Dialect,
    given: BoundsOverride,
    next_id: u64,
    subscriptions: usize,
    pattern_count: usize,
    /// Home positions of the hash table, which is a single bucket.
    homes: u64,
    has_table: bool,
    table: &'a [u64],
    leaves: &'a [u64],
    patterns: &'a [u64],
    records: &'a [u64],
    queue_names: &'a [u64],
}

impl<'a> Image<'a> {
    /// Opens an image of `length` bytes.
    ///
    /// With `verify` the checksum of the whole image is compared; without, only the header is read.
    ///
    /// # Errors
    ///
    /// `image-magic`, `image-version`, `image-header`, `image-length` or `image-checksum`.
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
        if header[word::HEADER_CHECKSUM] != checksum(&header[..word::HEADER_CHECKSUM]) {
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
        if verify && header[word::CONTENT_CHECKSUM] != checksum(content) {
            return Err(Error::new("image-checksum"));
        }
        let [table, leaves, patterns, records, queue_names] =
            sections.map(|section| words.get(section).unwrap_or_default());
        let flags = header[word::FLAGS];
        let subscriptions = usize::try_from(header[word::SUBSCRIPTIONS]).unwrap_or(usize::MAX);
        let bounds = [word::MAX_TOKENS, word::MAX_LENGTH].map(|at| header[at]);
        if bounds.contains(&0)
            || flags & !FLAGS != 0
            || records.len() % RECORD != 0
            || subscriptions != records.len() / RECORD
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
            hasher: TokenHasher {
                first: header[word::HASH_KEY],
                second: header[word::HASH_KEY + 1],
                strong: flags & STRONG != 0,
            },
            root: Node(header[word::ROOT]),
            dialect,
            given: (
                absent(header[word::MAX_TOKENS]),
                absent(header[word::MAX_LENGTH]),
            ),
            next_id: header[word::NEXT_ID],
            subscriptions,
            pattern_count: usize::try_from(header[word::PATTERNS]).unwrap_or(usize::MAX),
            homes: header[word::HOMES] & 0xffff_ffff,
            has_table: flags & TABLE != 0,
            table,
            leaves,
            patterns,
            records,
            queue_names,
        })
    }

    /// Whether subjects can be looked up in place. An image without a hash table has to be restored
    /// as an index first.
    #[must_use]
    pub const fn has_table(&self) -> bool {
        self.has_table
    }

    /// The dialect of its patterns.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The bounds that were given when the index was made.
    #[must_use]
    pub const fn given(&self) -> BoundsOverride {
        self.given
    }

    /// The id of the next subscription.
    #[must_use]
    pub const fn next_id(&self) -> u64 {
        self.next_id
    }

    /// The number of subscriptions.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.subscriptions
    }

    /// Whether there are no subscriptions.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.subscriptions == 0
    }

    /// The bytes that lookups read.
    pub(super) const fn lookup_memory(&self) -> usize {
        (self.table.len() + self.leaves.len() + self.patterns.len()) * 8
    }

    fn bounds(&self) -> Bounds {
        self.dialect.bounds_with(self.given)
    }

    /// The home position of a key in the hash table.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below 2^32
    fn home(&self, NodeKey(key): NodeKey) -> usize {
        (((key >> 32) * self.homes) >> 32) as usize
    }

    /// As [`Index::match_into`](super::Index::match_into), with the slots of the image.
    ///
    /// # Errors
    ///
    /// The subject is not valid: a reason of [`crate::grammar::check`].
    pub fn match_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<SubscriptionRef>,
    ) -> Result<(), Error> {
        match_into(self, subject.as_bytes(), scratch, found)
    }

    /// The number of matching subscriptions.
    ///
    /// # Errors
    ///
    /// As for [`Image::match_into`].
    pub fn count(&self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        count(self, subject, scratch)
    }

    /// Whether any subscription matches. Stops at the first.
    ///
    /// # Errors
    ///
    /// As for [`Image::match_into`].
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        has_interest(self, subject, scratch)
    }
}

impl View for Image<'_> {
    fn hasher(&self) -> &TokenHasher {
        &self.hasher
    }

    fn root(&self) -> Node {
        self.root
    }

    #[inline]
    fn node(&self, key: NodeKey) -> Node {
        let (entries, _) = self.table.as_chunks::<2>();
        let entries = entries.get(self.home(key)..).unwrap_or_default();
        for &[found, node] in entries.iter().take(MAX_PROBE) {
            if found >= key.0 {
                return if found == key.0 {
                    Node(node)
                } else {
                    Node::EMPTY
                };
            }
            if found == 0 {
                return Node::EMPTY;
            }
        }
        Node::EMPTY
    }

    #[inline]
    fn first_probe(&self, key: NodeKey) -> Option<&u64> {
        self.table.get(2 * self.home(key))
    }

    #[inline]
    fn leaf(&self, address: LeafAddr) -> &[u64] {
        self.leaves.get(address.0 as usize..).unwrap_or_default()
    }

    #[inline]
    fn pattern(&self, address: BlockAddr) -> &[u64] {
        self.patterns.get(address.0 as usize..).unwrap_or_default()
    }

    fn max_work(&self) -> usize {
        2 * self.table.len() + self.leaves.len() + 16
    }

    fn subscription(&self, slot: Slot) -> Option<(u64, Slot)> {
        let record = self.records.get(slot.index() * RECORD..)?;
        let &[id, links, _] = record.first_chunk::<RECORD>()?;
        Some((id, split_links(links).0))
    }

    fn subscriptions(&self) -> usize {
        self.subscriptions
    }

    fn grammar(&self) -> (Dialect, Bounds) {
        (self.dialect, self.bounds())
    }
}
