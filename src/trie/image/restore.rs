//! Restoring: the subscriptions of an image are read back, to build an index from.

use std::sync::Arc;

use super::Image;
use super::layout::RECORD;
use crate::error::{Error, ErrorKind};
use crate::grammar::{Form, check};
use crate::trie::address::Slot;
use crate::trie::index::Index;
use crate::trie::index::queue_groups::check_queue;
use crate::trie::pattern::packed_pattern::{header, list_ends, packed_len, unpack};
use crate::trie::storage::queue_names::QueueId;

/// A subscription of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSubscription {
    /// Its id.
    pub id: u64,
    /// Its pattern.
    pub pattern: Arc<str>,
    /// Its queue name.
    pub queue: Option<Arc<str>>,
    /// The round-robin counter of its group, if it is the oldest member.
    pub turn: u64,
}

/// The slot of the next subscription and the queue, from one word.
#[allow(clippy::cast_possible_truncation)] // the two halves
pub(super) const fn split_links(links: u64) -> (Slot, QueueId) {
    (Slot((links >> 32) as u32), QueueId(links as u32))
}

impl Image<'_> {
    /// The content of the image as an index, under a hash key of its own: others may have read that of
    /// the image. Slots are in ascending order of ids. Cost: a bulk load of all rows.
    ///
    /// # Errors
    ///
    /// `image-damaged` if the image contradicts itself, `index-full` if it is too large.
    pub fn to_index(&self) -> Result<Index, Error> {
        let mut index = Index::new(self.header.dialect, self.bounds());
        if !index.has_room(self.header.subscriptions, 8 * self.patterns.len()) {
            return Err(Error::new(ErrorKind::IndexFull));
        }
        let (rows, next) = self.subscriptions()?;
        let patterns: Vec<&str> = rows.iter().map(|row| &*row.pattern).collect();
        index.insert_all(&patterns, |at| {
            let row = &rows[at];
            (row.id, row.queue.as_deref(), row.turn)
        });
        index.set_next_id(next);
        Ok(index)
    }

    /// All subscriptions, in ascending id, and the id of the next one. Cost: the whole image.
    ///
    /// # Errors
    ///
    /// `image-damaged` if the image contradicts itself.
    pub fn subscriptions(&self) -> Result<(Vec<ImageSubscription>, u64), Error> {
        let damaged = || Error::new(ErrorKind::ImageDamaged);
        let names = self.queue_names()?;
        let mut found: Vec<Option<ImageSubscription>> = vec![None; self.header.subscriptions];
        let bounds = self.bounds();
        let mut rest = self.patterns;
        let mut pattern_count = 0;
        while !rest.is_empty() {
            pattern_count += 1;
            let words = packed_len(rest);
            let block = rest.get(..words).ok_or_else(damaged)?;
            let pattern: Arc<str> = unpack(block).into();
            check(&pattern, Form::Pattern, self.header.dialect, bounds).map_err(|_| damaged())?;
            if block.first() != Some(&header(pattern.as_bytes())) {
                return Err(damaged());
            }
            let (first, last, first_id) = list_ends(block);
            let mut slot = first;
            loop {
                let record = self
                    .records
                    .get(slot.index() * RECORD..)
                    .unwrap_or_default();
                let &[id, links, turn] = record.first_chunk::<RECORD>().ok_or_else(damaged)?;
                let place = found.get_mut(slot.index()).ok_or_else(damaged)?;
                let (next, queue) = split_links(links);
                let queue = match queue {
                    QueueId::NONE => None,
                    QueueId(number) => {
                        Some(names.get(number as usize).ok_or_else(damaged)?.clone())
                    }
                };
                let subscription = ImageSubscription {
                    id,
                    pattern: pattern.clone(),
                    queue,
                    turn,
                };
                // A record in two lists, or twice in one, is damaged.
                if place.replace(subscription).is_some() || (slot == first && id != first_id) {
                    return Err(damaged());
                }
                if next == Slot::NONE && slot == last {
                    break;
                }
                slot = next;
            }
            rest = &rest[words..];
        }
        let found: Vec<ImageSubscription> = found
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(damaged)?;
        let ascending = found.windows(2).all(|pair| pair[0].id < pair[1].id);
        if pattern_count != self.header.pattern_count
            || !ascending
            || found
                .last()
                .is_some_and(|last| last.id >= self.header.next_id)
        {
            return Err(damaged());
        }
        Ok((found, self.header.next_id))
    }

    fn queue_names(&self) -> Result<Vec<Arc<str>>, Error> {
        let damaged = || Error::new(ErrorKind::ImageDamaged);
        let mut names = Vec::new();
        let mut rest = self.queue_names;
        while let Some((&length, later)) = rest.split_first() {
            let length = usize::try_from(length).map_err(|_| damaged())?;
            let (text, later) = later
                .split_at_checked(length.div_ceil(8))
                .ok_or_else(damaged)?;
            let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).collect();
            let name = std::str::from_utf8(&bytes[..length]).map_err(|_| damaged())?;
            check_queue(name, self.header.dialect).map_err(|_| damaged())?;
            names.push(name.into());
            rest = later;
        }
        Ok(names)
    }
}
