//! The subscriptions that are active while a log is read in order: the queue group of each.
//!
//! A second SUB with an id in use is ignored, as the server ignores it. Deliveries in flight when a
//! subscription ends belong to it, so an ended one is remembered until its id is used again, or
//! until `REMEMBERED` others have ended.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;

/// The number of ended subscriptions that are remembered: it bounds the memory for a client that
/// makes a subscription for every request.
const REMEMBERED: usize = 65_536;

/// A subscription of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// The position of its SUB line.
    pub start: u64,
    /// Its queue group; empty without one.
    pub queue: Box<[u8]>,
    /// Whether it has ended.
    pub ended: bool,
}

type BySid = HashMap<Box<[u8]>, Subscription, RandomState>;

/// The subscriptions by connection and id.
#[derive(Default)]
pub struct Subscriptions {
    /// The subscriptions of each connection.
    pub by_conn: HashMap<u32, BySid, RandomState>,
    ended: VecDeque<(u32, Box<[u8]>, u64)>,
}

impl Subscriptions {
    /// Begin a subscription, unless its id is in use.
    pub fn begin(&mut self, conn: u32, sid: &[u8], queue: &[u8], start: u64) {
        let known = self.by_conn.entry(conn).or_default();
        if known.get(sid).is_none_or(|subscription| subscription.ended) {
            let (queue, ended) = (queue.into(), false);
            known.insert(
                sid.into(),
                Subscription {
                    start,
                    queue,
                    ended,
                },
            );
        }
    }

    /// Return the subscription that deliveries with this id belong to.
    pub fn get(&self, conn: u32, sid: &[u8]) -> Option<&Subscription> {
        self.by_conn.get(&conn)?.get(sid)
    }

    /// End a subscription: the client, the server or a refusal ended it.
    pub fn end(&mut self, conn: u32, sid: &[u8]) {
        let known = self
            .by_conn
            .get_mut(&conn)
            .and_then(|known| known.get_mut(sid));
        if let Some(subscription) = known.filter(|subscription| !subscription.ended) {
            subscription.ended = true;
            self.ended.push_back((conn, sid.into(), subscription.start));
            self.forget();
        }
    }

    /// End all subscriptions of a connection.
    pub fn close(&mut self, conn: u32) {
        for (sid, subscription) in self.by_conn.get_mut(&conn).into_iter().flatten() {
            if !subscription.ended {
                subscription.ended = true;
                self.ended
                    .push_back((conn, sid.clone(), subscription.start));
            }
        }
        self.forget();
    }

    fn forget(&mut self) {
        while self.ended.len() > REMEMBERED {
            let Some((conn, sid, start)) = self.ended.pop_front() else {
                return;
            };
            if let Some(known) = self.by_conn.get_mut(&conn) {
                if known
                    .get(&sid)
                    .is_some_and(|found| found.ended && found.start == start)
                {
                    known.remove(&sid);
                }
                if known.is_empty() {
                    self.by_conn.remove(&conn);
                }
            }
        }
    }

    /// Add a subscription of a saved state.
    pub fn restore(&mut self, conn: u32, sid: Box<[u8]>, found: Subscription) {
        if found.ended {
            self.ended.push_back((conn, sid.clone(), found.start));
        }
        self.by_conn.entry(conn).or_default().insert(sid, found);
    }
}
