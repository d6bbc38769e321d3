//! The subscriptions that are active while a log is read in order: the queue group of each.
//!
//! A second SUB with an id in use is ignored, as the server ignores it. Deliveries in flight when a
//! subscription ends belong to it, so an ended one is remembered until its id is used again, or
//! until `REMEMBERED` others have ended.
//!
//! A log that does not say that connections close, or of more connections at once than `CONNECTIONS`,
//! has the subscriptions of the oldest ones forgotten: their later deliveries have no queue group and
//! no subscription, and each subscription id of them counts as a subscriber of its own.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use smallvec::SmallVec;

use super::connections::{CONNECTIONS, oldest};

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
}

/// A subscription id: usually a number, which needs no allocation.
pub type Sid = SmallVec<[u8; 16]>;

type BySid = HashMap<Sid, Subscription, RandomState>;

/// The subscriptions of a connection, by id.
#[derive(Default)]
pub struct OfConnection {
    /// The position of the first SUB line since it had none.
    pub since: u64,
    /// Those that have not ended.
    pub active: BySid,
    ended: BySid,
}

/// The subscriptions by connection and id.
#[derive(Default)]
pub struct Subscriptions {
    /// The subscriptions of each connection.
    pub by_conn: HashMap<u32, OfConnection, RandomState>,
    /// The ended ones in the order of their ends; some are forgotten, as their ids are used again.
    ended: VecDeque<(u32, Sid, u64)>,
    /// The number of ended ones that are remembered.
    remembered: usize,
    /// The position of the latest line that can begin or end one, of clients or of leaf nodes; 0 if
    /// there was none.
    pub changed: u64,
}

impl Subscriptions {
    /// Begin a subscription, unless its id is in use.
    pub fn begin(&mut self, conn: u32, sid: &[u8], queue: &[u8], start: u64) {
        if !self.by_conn.contains_key(&conn) {
            self.forget_connections();
        }
        let known = self.by_conn.entry(conn).or_insert_with(|| OfConnection {
            since: start,
            ..OfConnection::default()
        });
        if known.active.contains_key(sid) {
            return;
        }
        self.remembered -= usize::from(known.ended.remove(sid).is_some());
        let queue = queue.into();
        known
            .active
            .insert(sid.into(), Subscription { start, queue });
    }

    /// Return the subscription that deliveries with this id belong to.
    pub fn get(&self, conn: u32, sid: &[u8]) -> Option<&Subscription> {
        let known = self.by_conn.get(&conn)?;
        known.active.get(sid).or_else(|| known.ended.get(sid))
    }

    /// End a subscription: the client, the server or a refusal ended it.
    pub fn end(&mut self, conn: u32, sid: &[u8]) {
        let known = self.by_conn.get_mut(&conn);
        if let Some((sid, found)) = known.and_then(|known| known.active.remove_entry(sid)) {
            self.remember(conn, sid, found);
            self.forget();
        }
    }

    /// End all subscriptions of a connection.
    pub fn close(&mut self, conn: u32) {
        let Some(known) = self.by_conn.get_mut(&conn) else {
            return;
        };
        let mut active: Vec<_> = known.active.drain().collect();
        active.sort_unstable_by_key(|(_, found)| found.start);
        for (sid, found) in active {
            self.remember(conn, sid, found);
        }
        self.forget();
    }

    /// Return the ended subscriptions that are remembered, in the order of their ends.
    pub fn ended(&self) -> impl Iterator<Item = (u32, &Sid, &Subscription)> {
        self.ended.iter().filter_map(|(conn, sid, start)| {
            let found = self.by_conn.get(conn)?.ended.get(sid)?;
            (found.start == *start).then_some((*conn, sid, found))
        })
    }

    /// Remember a subscription that has ended.
    pub fn remember(&mut self, conn: u32, sid: Sid, found: Subscription) {
        self.ended.push_back((conn, sid.clone(), found.start));
        let known = self.by_conn.entry(conn).or_default();
        self.remembered += usize::from(known.ended.insert(sid, found).is_none());
    }

    /// Forget the oldest connections if there are too many.
    fn forget_connections(&mut self) {
        if self.by_conn.len() < CONNECTIONS {
            return;
        }
        let since = self
            .by_conn
            .iter()
            .map(|(&conn, known)| (known.since, conn));
        for conn in oldest(since.collect()) {
            if let Some(known) = self.by_conn.remove(&conn) {
                self.remembered -= known.ended.len();
            }
        }
    }

    fn forget(&mut self) {
        while self.remembered > REMEMBERED {
            let Some((conn, sid, start)) = self.ended.pop_front() else {
                return;
            };
            let Some(known) = self.by_conn.get_mut(&conn) else {
                continue;
            };
            if known
                .ended
                .get(&sid)
                .is_some_and(|found| found.start == start)
            {
                known.ended.remove(&sid);
                self.remembered -= 1;
            }
            if known.active.is_empty() && known.ended.is_empty() {
                self.by_conn.remove(&conn);
            }
        }
        if self.ended.len() > 2 * REMEMBERED {
            let by_conn = &self.by_conn;
            self.ended.retain(|(conn, sid, start)| {
                let known = by_conn.get(conn).and_then(|known| known.ended.get(sid));
                known.is_some_and(|found| found.start == *start)
            });
        }
    }
}
