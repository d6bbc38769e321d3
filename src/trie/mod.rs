//! Subjects find subscribers: an index of patterns, asked by subject.
//!
//! To its user it is a prefix trie: drawn, walked, explained and asked by prefix. In memory it is an
//! adaptive hash trie: it looks at the token positions that tell most, one probe of a hash table for
//! several tokens at once, and compares the pattern with the subject once, at the end. What each
//! room does stands at its head; `docs/design-of-the-index.md` tells it with pictures.
//!
//! Promises: answers equal a scan with [`crate::grammar::matches`]; they come in ascending id, the
//! order of insertion; a refused pattern leaves nothing behind; removal returns memory; no lookup
//! looks at anything twice; nothing recurses. Rules: M-05, S0-080, S0-081, S0-128, S1-036 to S1-040,
//! A17 to A19, A37, A39.

mod batch;
mod blocks;
mod bytes;
mod choose;
mod display;
mod entry;
mod explain;
mod groups;
mod growth;
mod hash;
mod ids;
mod image;
mod insert;
mod lanes;
mod list;
mod order;
mod paged;
mod parsed;
mod pattern;
mod query;
mod queues;
mod reached;
mod remove;
mod rows;
mod sides;
mod stats;
mod table;
mod ticket;
mod tokens;
mod turns;
mod walk;

use std::sync::{Arc, OnceLock};

pub use batch::{Bench, Reading};
pub use explain::Explanation;
pub use groups::{Groups, check_queue};
pub use image::{Held, Image, words};
pub use reached::Reached;
pub use sides::Sides;
pub use stats::Stats;
pub use ticket::Ticket;
pub use walk::Scratch;

use crate::error::Error;
use crate::grammar::{Bounds, Dialect, Form, check};
use blocks::Blocks;
use entry::{Fork, NOTHING};
use hash::Hashing;
use list::Lists;
use order::Order;
use parsed::Parsed;
use rows::Rows;
use table::Table;

/// An index of patterns. Cloning copies it whole, ids and turns included.
pub struct Index {
    dialect: Dialect,
    bounds: Bounds,
    hashing: Hashing,
    /// What stands at the root: an entry like all others, kept out of the table.
    root: u64,
    table: Table,
    lists: Lists,
    blocks: Blocks,
    rows: Rows,
    patterns: usize,
    forks: usize,
    /// The choice for the root, once made with many patterns in mind.
    plan: Option<Fork>,
    /// The patterns in order, once somebody has asked by pattern.
    order: OnceLock<Order>,
    /// Room for the pattern at work.
    desk: Parsed,
}

/// The turns of queue groups, as copies of an index share them.
pub struct SharedTurns(Arc<turns::Turns>);

impl Clone for Index {
    fn clone(&self) -> Self {
        Self {
            rows: self.rows.clone(),
            ..self.twin()
        }
    }
}

impl Index {
    /// An empty index for subjects and patterns of `dialect` within `bounds`.
    #[must_use]
    pub fn new(dialect: Dialect, bounds: Bounds) -> Self {
        Self {
            dialect,
            bounds,
            hashing: Hashing::fresh(false),
            root: NOTHING,
            table: Table::new(),
            lists: Lists::default(),
            blocks: Blocks::default(),
            rows: Rows::default(),
            patterns: 0,
            forks: 0,
            plan: None,
            order: OnceLock::new(),
            desk: Parsed::default(),
        }
    }

    /// A copy that counts the turns of queue groups together with this one.
    #[must_use]
    pub fn twin(&self) -> Self {
        Self {
            table: self.table.clone(),
            lists: self.lists.clone(),
            blocks: self.blocks.clone(),
            rows: self.rows.twin(),
            order: OnceLock::new(),
            desk: Parsed::default(),
            ..*self
        }
    }

    /// Counts turns together with `other` from now on. Meant for indexes without subscriptions.
    pub fn share_turns(&mut self, other: &SharedTurns) {
        self.rows.share_turns(&other.0);
    }

    /// The counts of turns, to be shared with another copy.
    #[must_use]
    pub fn turns(&self) -> SharedTurns {
        SharedTurns(self.rows.turns())
    }

    /// How many subscriptions there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows.len()
    }

    /// Is there no subscription?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id the next subscription gets.
    #[must_use]
    pub const fn next_id(&self) -> u64 {
        self.rows.next_id()
    }

    /// All subscriptions, in ascending id.
    #[must_use]
    pub fn tickets(&self) -> Vec<Ticket> {
        self.rows.tickets()
    }

    /// Where the subscription with this id stands, if it is here.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Ticket> {
        self.rows.find(id)
    }

    /// The queue name of a subscription.
    #[must_use]
    pub fn queue(&self, ticket: Ticket) -> Option<&str> {
        self.rows.queues.name(self.rows.queue(ticket.slot))
    }

    /// How often the group led by this subscription was served (A19).
    #[must_use]
    pub fn turn(&self, ticket: Ticket) -> u64 {
        self.rows.turn(ticket.slot)
    }

    /// The pattern of a subscription. Cost: its length, and those added before it to the pattern.
    #[must_use]
    pub fn pattern(&self, ticket: Ticket) -> String {
        let mut slot = ticket.slot;
        // The first and the last row of a pattern know its block.
        while let Some(row) = self.rows.get(slot) {
            if row.previous == ticket::NONE || row.next == ticket::NONE {
                return pattern::text_of(self.blocks.get(row.block));
            }
            slot = row.previous;
        }
        String::new()
    }

    /// Bytes that lookups go through, about.
    pub(crate) fn memory_of_reading(&self) -> usize {
        self.table.len() * 24 + self.patterns * 112
    }

    /// Refuses what is no pattern of this index. Cost: one pass.
    pub fn check_pattern(&self, pattern: &str) -> Result<(), Error> {
        check(pattern, Form::Pattern, self.dialect, self.bounds)
    }
}
