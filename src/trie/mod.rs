//! Subjects find subscribers: an index of patterns, asked by subject.
//!
//! The index holds ids, never values. A pattern is a path of tokens in a tree; the edges of the
//! whole tree stand in **one** hash table, keyed by parent and token, under a random key of the
//! index's own (threat T9). A lookup splits and checks the subject in one pass, hashes each token
//! once, and then follows at each node the literal edge, the `*` edge, or both.
//!
//! Promises: answers equal a scan with [`crate::grammar::matches`]; they come in ascending id, the
//! order of insertion; a refused pattern leaves nothing behind; removal returns memory; work is
//! bounded by the nodes that agree with the subject; nothing recurses. Rules: M-05, S0-080, S0-081,
//! S0-128, S1-036 to S1-040, A17 to A19, A37, A39.

mod builder;
mod display;
mod explain;
mod groups;
mod node;
mod query;
mod record;
mod scan;
mod ticket;
mod walk;

pub use explain::Explanation;
pub use groups::{Groups, check_queue};
pub use scan::Scratch;
pub use ticket::Ticket;

use crate::error::Error;
use crate::grammar::{Bounds, Dialect, Form, check};
use node::{Node, Nodes};
use record::Records;

/// An index of patterns. Cloning copies it whole, ids and turns included.
#[derive(Clone)]
pub struct Index {
    dialect: Dialect,
    bounds: Bounds,
    nodes: Nodes,
    records: Records,
}

/// The size of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stats {
    /// How many subscriptions there are.
    pub subscriptions: usize,
    /// How many different patterns they have.
    pub patterns: usize,
    /// Nodes below the root; `>` needs none.
    pub nodes: usize,
    /// How many different queue names they have.
    pub queues: usize,
    /// Tokens of the deepest pattern.
    pub depth: usize,
    /// Bytes of the index's own structures, about.
    pub memory: usize,
}

impl Index {
    /// An empty index for subjects and patterns of `dialect` within `bounds`.
    #[must_use]
    pub fn new(dialect: Dialect, bounds: Bounds) -> Self {
        Self {
            dialect,
            bounds,
            nodes: Nodes::new(),
            records: Records::new(),
        }
    }

    /// How many subscriptions there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Is there no subscription?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id the next subscription gets.
    #[must_use]
    pub fn next_id(&self) -> u64 {
        self.records.next_id()
    }

    /// All subscriptions, in ascending id.
    #[must_use]
    pub fn tickets(&self) -> Vec<Ticket> {
        self.records.tickets()
    }

    /// Where the subscription with this id stands, if it is here.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Ticket> {
        self.records.find(id)
    }

    /// The queue name of a subscription.
    #[must_use]
    pub fn queue(&self, ticket: Ticket) -> Option<&str> {
        self.records.queue_name(ticket.slot)
    }

    /// How often the group led by this subscription was served (A19).
    #[must_use]
    pub fn turn(&self, ticket: Ticket) -> u64 {
        self.records.turn(ticket.slot)
    }

    /// The pattern of a subscription, put together from its path. Cost: its length.
    #[must_use]
    pub fn pattern(&self, ticket: Ticket) -> String {
        self.records
            .get(ticket.slot)
            .map_or_else(String::new, |record| {
                self.nodes.path(record.node, record.tail)
            })
    }

    /// Refuses what is no pattern of this index. Cost: one pass.
    pub fn check_pattern(&self, pattern: &str) -> Result<(), Error> {
        check(pattern, Form::Pattern, self.dialect, self.bounds)
    }

    /// Counts and memory. Cost: all nodes.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let mut stats = Stats {
            subscriptions: self.len(),
            nodes: self.nodes.count(),
            queues: self.records.queues_in_use(),
            memory: self.nodes.memory() + self.records.memory(),
            ..Stats::default()
        };
        let mut level = vec![node::ROOT];
        let mut depth = 0;
        while !level.is_empty() {
            let found = || level.iter().map(|&at| self.nodes.get(at));
            let ends = |list: fn(&Node) -> bool| found().filter(|node| list(node)).count();
            let tails = ends(|node| !node.tail.is_empty());
            stats.patterns += tails + ends(|node| !node.exact.is_empty());
            stats.depth = depth + usize::from(tails > 0);
            level = level
                .iter()
                .flat_map(|&at| self.nodes.children(at))
                .collect();
            depth += 1;
        }
        stats
    }
}
