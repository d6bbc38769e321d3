//! The side that changes: insert, remove, clear, compact.

use std::sync::atomic::AtomicU64;

use super::node::{Nodes, ROOT};
use super::record::{Record, Records};
use super::ticket::NONE;
use super::{Index, Ticket, check_queue};
use crate::error::Error;
use crate::grammar::tokens;

impl Index {
    /// Subscribes to `pattern`, as a member of a queue group if one is named.
    ///
    /// Atomic: what is refused leaves nothing behind. Cost: one step a token.
    pub fn insert(&mut self, pattern: &str, queue: Option<&str>) -> Result<Ticket, Error> {
        self.check_pattern(pattern)?;
        queue.map_or(Ok(()), check_queue)?;
        let id = self.reserve(1, tokens(pattern).count())?;
        Ok(self.place(id, pattern, queue, 0))
    }

    /// Sets `count` ids aside for patterns of so many tokens in all, and returns the first.
    pub fn reserve(&mut self, count: usize, tokens: usize) -> Result<u64, Error> {
        let full = Error {
            reason: "index-full",
            position: None,
            field: None,
        };
        if !self.nodes.has_room(tokens) {
            return Err(full);
        }
        self.records.reserve(count).ok_or(full)
    }

    /// Puts in a checked pattern under an id that was set aside, with the turns of its group.
    pub fn place(&mut self, id: u64, pattern: &str, queue: Option<&str>, turn: u64) -> Ticket {
        let mut node = ROOT;
        let mut tail = false;
        for token in tokens(pattern) {
            if token == ">" {
                tail = true;
            } else {
                node = self.nodes.child(node, token);
            }
        }
        let queue = self.records.queue_number(queue);
        let ticket = self.records.put(Record {
            id,
            node,
            tail,
            queue,
            turn: AtomicU64::new(turn),
        });
        let list = self.nodes.list(node, tail);
        let at = list.partition_point(|other| other.id < id);
        if list.is_empty() {
            list.reserve_exact(1); // most patterns have one subscription
        }
        list.insert(at, ticket);
        ticket
    }

    /// Goes on counting from `next`: for an index that is being restored.
    pub const fn set_next_id(&mut self, next: u64) {
        self.records.set_next_id(next);
    }

    /// Takes a subscription out and says which slot it had; `None` if it is not here.
    ///
    /// Cost: a search among the subscriptions of the same pattern, and the nodes that go with it.
    pub fn remove(&mut self, id: u64) -> Option<u32> {
        let (slot, record) = self.records.take(id)?;
        let list = self.nodes.list(record.node, record.tail);
        if let Ok(at) = list.binary_search_by_key(&id, |ticket| ticket.id) {
            list.remove(at);
        }
        if list.capacity() / 4 >= list.len() {
            list.shrink_to(list.len() * 2);
        }
        self.nodes.prune(record.node);
        Some(slot)
    }

    /// Takes all subscriptions out. Ids are not given again.
    pub fn clear(&mut self) {
        let next = self.next_id();
        self.nodes = Nodes::new();
        self.records = Records::new();
        self.records.set_next_id(next);
    }

    /// Gives memory back when most of it is left over from what was removed.
    ///
    /// Subscriptions then stand in new slots, in order of their ids: the answer lists, for each new
    /// slot, the one it had. Worth a call after a removal; its cost is spread over many of them.
    pub fn compact(&mut self) -> Option<Vec<u32>> {
        if !self.records.is_sparse() && !self.nodes.is_sparse() {
            return None;
        }
        let order = self.tickets();
        let mut fresh = Self::new(self.dialect, self.bounds);
        for &ticket in &order {
            let pattern = self.pattern(ticket);
            fresh.place(ticket.id, &pattern, self.queue(ticket), self.turn(ticket));
        }
        fresh.set_next_id(self.next_id());
        *self = fresh;
        debug_assert!(order.len() < NONE as usize);
        Some(order.into_iter().map(|ticket| ticket.slot).collect())
    }
}
