//! The subscriptions of an image, read back to build an index of.

use std::sync::Arc;

use super::Image;
use super::layout::ROW;
use crate::error::Error;
use crate::trie::check_queue;
use crate::trie::pattern::{ends_of, text_of, words_of};
use crate::trie::ticket::NONE;

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

impl Image<'_> {
    /// All subscriptions, in ascending id, and the next id; an error if the image contradicts
    /// itself. Cost: all of it.
    pub fn held(&self) -> Result<(Vec<Held>, u64), Error> {
        let damaged = || Error::new("image-damaged");
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
        let damaged = || Error::new("image-damaged");
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
