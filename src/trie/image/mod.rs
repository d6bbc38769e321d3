//! An index as one run of bytes, looked up in place: in memory or a mapped file.
//!
//! `docs/subject-index.md` has the format. No number in an image is trusted: whatever is followed is looked
//! up within bounds, and every loop has an end. So a damaged image that was not verified gives a
//! wrong answer or an error, and nothing worse.
// A lookup is one function for each kernel.
#![allow(clippy::inline_always)]

mod layout;
mod open;
mod restore;
mod write;

pub use layout::as_words;
pub use restore::ImageSubscription;

use std::sync::Arc;

use super::hash::{NodeKey, TokenHasher};
use super::node::Node;
use super::pattern::packed_pattern::packed_len;
use super::prefix::sorted_patterns::SortedPatterns;
use super::storage::probe_table::{Entry, home, position};
use super::storage::to_u32;
use super::view::View;
use crate::grammar::scan::Kernel;
use crate::grammar::{Bounds, BoundsOverride, Dialect};
use crate::trie::address::{BlockAddr, LeafAddr, Slot};
use layout::{MAX_PROBE, RECORD};
use restore::split_links;

/// The header of an image, parsed.
#[derive(Clone, Copy)]
pub struct ImageHeader {
    hasher: TokenHasher,
    root: Node,
    dialect: Dialect,
    given: BoundsOverride,
    next_id: u64,
    subscriptions: usize,
    pattern_count: usize,
    /// Home positions of the hash table.
    homes: u64,
    has_table: bool,
    /// The ends of the sections.
    ends: [usize; 5],
}

/// An opened image: looked up as an index is, and never changed.
pub struct Image<'a> {
    header: ImageHeader,
    table: &'a [u64],
    leaves: &'a [u64],
    patterns: &'a [u64],
    records: &'a [u64],
    queue_names: &'a [u64],
}

impl Image<'_> {
    /// Whether subjects can be looked up in place. An image without a hash table has to be restored
    /// as an index first.
    #[must_use]
    pub const fn has_table(&self) -> bool {
        self.header.has_table
    }

    /// The dialect of its patterns.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.header.dialect
    }

    /// The bounds that were given when the index was made.
    #[must_use]
    pub const fn given(&self) -> BoundsOverride {
        self.header.given
    }

    /// The id of the next subscription.
    #[must_use]
    pub const fn next_id(&self) -> u64 {
        self.header.next_id
    }

    /// The number of subscriptions.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.header.subscriptions
    }

    /// Whether there are no subscriptions.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.header.subscriptions == 0
    }

    fn bounds(&self) -> Bounds {
        self.header.dialect.bounds_with(self.header.given)
    }
}

impl View for Image<'_> {
    fn hasher(&self) -> &TokenHasher {
        &self.header.hasher
    }

    fn root(&self) -> Node {
        self.header.root
    }

    #[inline]
    fn home(&self, NodeKey(key): NodeKey) -> usize {
        home(key, self.header.homes)
    }

    #[inline]
    fn entry_at(&self, _: NodeKey, home: usize) -> Option<&Entry> {
        let (entries, _) = self.table.as_chunks::<2>();
        entries.get(home)
    }

    #[inline(always)]
    fn entries<K: Kernel>(&self, kernel: K, key: NodeKey, home: usize) -> &[Entry] {
        let (entries, _) = self.table.as_chunks::<2>();
        // No probe of an intact table is longer.
        let near = entries.get(home..).unwrap_or_default();
        let near = &near[..near.len().min(MAX_PROBE)];
        near.get(position(kernel, near, 0, key.0)..)
            .unwrap_or_default()
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
        self.header.subscriptions
    }

    fn pattern_addresses(&self) -> Vec<BlockAddr> {
        let mut addresses = Vec::with_capacity(self.header.pattern_count.min(self.patterns.len()));
        let mut at = 0;
        while let Some(rest) = self.patterns.get(at..).filter(|rest| !rest.is_empty()) {
            addresses.push(BlockAddr(to_u32(at))); // fewer than `ImageHeader::parse` allows
            at = at.saturating_add(packed_len(rest));
        }
        addresses
    }

    /// They are not kept: only a batch of questions for the nearest patterns needs them.
    fn sorted_patterns(&self) -> (Arc<Vec<BlockAddr>>, usize) {
        SortedPatterns::default().order(self)
    }

    fn grammar(&self) -> (Dialect, Bounds) {
        (self.header.dialect, self.bounds())
    }
}
