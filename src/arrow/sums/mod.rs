//! Sums of the traffic of clients: messages and deliveries by subject and connection.
//!
//! The rows of a table of events are added up as they come, so that what leaves a worker is a row
//! for each distinct key. Sums of several workers are added to each other in the same way.

mod entries;
mod events;
mod input;
mod output;

use std::collections::HashMap;

use arrow_data::ArrayData;
use arrow_schema::ArrowError;
use foldhash::fast::RandomState;

use self::entries::{DeliveryKey, Entries, Message, PublishKey, Sums, extend};
use self::events::Events;
use self::input::Input;
pub use self::output::Taken;
use super::texts::{Last, NULL, Texts};
use crate::microbus::{Address, decode};

/// A message that no client received.
pub const UNDELIVERED: u8 = 1;
/// A message that was sent to other servers.
pub const FORWARDED: u8 = 2;
/// A message of another server.
pub const ARRIVED: u8 = 4;
/// The begin or the end of subscriptions.
pub const SUBSCRIPTION: u8 = 8;
/// A refused operation.
pub const VIOLATION: u8 = 16;
/// A message whose reply subject was refused.
pub const REFUSED_REPLY: u8 = 32;
/// A line that cannot be parsed.
pub const DAMAGED: u8 = 64;
/// A connection that reads more slowly than the server sends.
pub const SLOW: u8 = 128;

/// The numbers of a message that are summed, in this order.
pub const COUNTS: [&str; 7] = [
    "published",
    "refused",
    "taken",
    "undelivered",
    "forwarded",
    "ambiguous",
    "bytes",
];
/// The times of messages of which the least and the greatest are kept: all, accepted, undelivered.
pub const SPANS: [[&str; 2]; 3] = [
    ["first", "last"],
    ["first_accepted", "last_accepted"],
    ["first_undelivered", "last_undelivered"],
];
/// Sums of messages and of deliveries, until they are taken.
#[derive(Default)]
pub struct TrafficSums {
    /// The length of a period in microseconds; without it all times are one period.
    window: Option<i64>,
    /// Whether messages between servers are asked for.
    follow: bool,
    names: Texts,
    /// For each of `names` that is a connection: whether it is that of a client.
    clients: HashMap<u32, bool, RandomState>,
    subjects: Texts,
    publishes: Entries<PublishKey, Sums>,
    /// For each subject the row of `publishes` that was added to last.
    recent: Vec<u32>,
    deliveries: Entries<DeliveryKey, i64>,
    /// The planes of subjects that were accepted or delivered.
    planes: Vec<String>,
}

impl TrafficSums {
    /// Create sums of nothing.
    #[must_use]
    pub fn new(window: Option<i64>, follow: bool) -> Self {
        Self {
            window: window.filter(|&length| length > 0),
            follow,
            ..Self::default()
        }
    }

    /// Return the number of distinct keys and subjects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.publishes.rows.len() + self.deliveries.rows.len() + self.subjects.len()
    }

    /// Return whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Add the rows of a table of events.
    ///
    /// Returns for each row what it is beside a row that is summed (a combination of the constants
    /// of this module), or nothing if no row is. Cost: about 0.2 microseconds a row.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another type than that of events.
    pub fn add_events(&mut self, batch: ArrayData) -> Result<Vec<u8>, ArrowError> {
        let input = Input::new(batch)?;
        let events = Events::new(&input)?;
        let mut found = Vec::new();
        let mut last: [Last; 5] = Default::default();
        for row in 0..input.len() {
            let flags = events.flags(row) | self.add_event(&events, row, &mut last);
            if flags != 0 {
                if found.is_empty() {
                    found.resize(input.len(), 0);
                }
                found[row] = flags;
            }
        }
        Ok(found)
    }

    /// Add a row if it is a message or a delivery; return what it is beside that.
    fn add_event(&mut self, events: &Events, row: usize, last: &mut [Last; 5]) -> u8 {
        let op = events.op.get(row).unwrap_or_default();
        let direction = events.direction.get(row).unwrap_or_default();
        let publishes = direction == b"in" && matches!(op, b"PUB" | b"HPUB");
        let delivers = direction == b"out" && matches!(op, b"MSG" | b"HMSG");
        let arrives = self.follow && direction == b"in" && events.size.get(row).is_some();
        if !publishes && !delivers && !arrives {
            return 0;
        }
        let conn = last[0].number(&mut self.names, events.conn.get(row));
        if !self.is_client(conn) {
            return if arrives { ARRIVED } else { 0 };
        }
        if !publishes && !delivers {
            return 0;
        }
        let server = last[1].number(&mut self.names, events.server.get(row));
        let subject = self.subjects.number(events.subject.get(row));
        let window = self.period(events.time.get(row));
        if delivers {
            let sid = last[3].number(&mut self.names, events.sid.get(row));
            let queue = last[4].number(&mut self.names, events.queue.get(row));
            let subscription = events.subscription.get(row);
            let key = DeliveryKey {
                server,
                conn,
                sid,
                queue,
                subject,
                subscription,
                window,
            };
            self.deliver(key, 1);
            return 0;
        }
        let identity = last[2].number(&mut self.names, events.identity.get(row));
        let key = PublishKey {
            server,
            conn,
            identity,
            subject,
            window,
        };
        let message = events.message(row);
        self.publish(key, &message);
        let mut flags = 0;
        if !message.refused && message.deliveries == Some(0) && message.forwarded == Some(0) {
            flags |= UNDELIVERED;
        }
        if self.follow && message.forwarded.is_some_and(|count| count > 0) {
            flags |= FORWARDED;
        }
        if events.refused.get(row) == Some(b"reply") {
            flags |= REFUSED_REPLY;
        }
        flags
    }

    /// Add the messages of other sums, as `take` returned them.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another type.
    pub fn add_publishes(&mut self, batch: ArrayData) -> Result<(), ArrowError> {
        let input = Input::new(batch)?;
        let [server, conn, identity, subject] =
            texts(&input, ["server", "conn", "identity", "subject"])?;
        let window = input.numbers("window")?;
        let counts = numbers(&input, COUNTS)?;
        let firsts = numbers(&input, SPANS.map(|[first, _]| first))?;
        let lasts = numbers(&input, SPANS.map(|[_, last]| last))?;
        let mut last: [Last; 3] = Default::default();
        for row in 0..input.len() {
            let key = PublishKey {
                server: last[0].number(&mut self.names, server.get(row)),
                conn: last[1].number(&mut self.names, conn.get(row)),
                identity: last[2].number(&mut self.names, identity.get(row)),
                subject: self.subjects.number(subject.get(row)),
                window: window.get(row),
            };
            let sums = self.sums(key);
            for (sum, column) in sums.counts.iter_mut().zip(&counts) {
                *sum = sum.saturating_add(column.get(row).unwrap_or(0));
            }
            for (span, (first, last)) in sums.spans.iter_mut().zip(firsts.iter().zip(&lasts)) {
                extend(span, first.get(row));
                extend(span, last.get(row));
            }
        }
        Ok(())
    }

    /// Add the deliveries of other sums, as `take` returned them.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another type.
    pub fn add_deliveries(&mut self, batch: ArrayData) -> Result<(), ArrowError> {
        let input = Input::new(batch)?;
        let [server, conn, sid, queue, subject] =
            texts(&input, ["server", "conn", "sid", "queue", "subject"])?;
        let [window, subscription, count] = numbers(&input, ["window", "subscription", "count"])?;
        let mut last: [Last; 4] = Default::default();
        for row in 0..input.len() {
            let key = DeliveryKey {
                server: last[0].number(&mut self.names, server.get(row)),
                conn: last[1].number(&mut self.names, conn.get(row)),
                sid: last[2].number(&mut self.names, sid.get(row)),
                queue: last[3].number(&mut self.names, queue.get(row)),
                subject: self.subjects.number(subject.get(row)),
                subscription: subscription.get(row),
                window: window.get(row),
            };
            let (sum, _) = self.deliveries.value(key);
            *sum = sum.saturating_add(count.get(row).unwrap_or(0));
        }
        Ok(())
    }

    /// Return all sums, and begin again.
    ///
    /// Rows of one subject are in one of `buckets` groups, the same in every process.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has more than 2 GiB of text.
    pub fn take(&mut self, buckets: u32) -> Result<Taken, ArrowError> {
        let empty = Self::new(self.window, self.follow);
        std::mem::replace(self, empty).into_taken(buckets.max(1))
    }

    fn is_client(&mut self, conn: u32) -> bool {
        if let Some(&known) = self.clients.get(&conn) {
            return known;
        }
        let text = self.names.get(conn).unwrap_or_default();
        let kinds = ["/client:", "/websocket:", "/mqtt:"];
        let found = kinds.iter().any(|kind| text.contains(kind));
        self.clients.insert(conn, found);
        found
    }

    fn period(&self, time: Option<i64>) -> Option<i64> {
        let (window, time) = (self.window?, time?);
        Some(time.div_euclid(window) * window)
    }

    fn publish(&mut self, key: PublishKey, message: &Message) {
        let accepted = !message.refused;
        let taken = accepted && message.deliveries.is_some_and(|count| count > 0);
        let forwarded = message.forwarded.is_some_and(|count| count > 0);
        let left = accepted && !taken;
        // A table of messages does not say how many of them were delivered.
        let lost = left && message.deliveries.is_some() && !forwarded;
        let size = message.size.filter(|_| accepted).unwrap_or(0);
        let added = [
            i64::from(accepted),
            i64::from(message.refused),
            i64::from(taken),
            i64::from(lost),
            i64::from(left && forwarded),
            i64::from(message.ambiguous),
            size,
        ];
        let sums = self.sums(key);
        for (sum, added) in sums.counts.iter_mut().zip(added) {
            *sum = sum.saturating_add(added);
        }
        for (span, counted) in sums.spans.iter_mut().zip([true, accepted, lost]) {
            extend(span, message.time.filter(|_| counted));
        }
        if accepted && sums.counts[0] == 1 {
            self.find_plane(key.subject);
        }
    }

    /// Return the sums of a key. Most subjects have one key, so that of the last message is tried.
    fn sums(&mut self, key: PublishKey) -> &mut Sums {
        let subject = key.subject as usize;
        if key.subject == NULL {
            return self.publishes.value(key).0;
        }
        if subject >= self.recent.len() {
            self.recent.resize(subject + 1, u32::MAX);
        }
        self.publishes.value_near(key, &mut self.recent[subject])
    }

    fn deliver(&mut self, key: DeliveryKey, count: i64) {
        let (sum, new) = self.deliveries.value(key);
        *sum = sum.saturating_add(count);
        if new {
            self.find_plane(key.subject);
        }
    }

    /// Note the plane of a subject, if it is an address.
    fn find_plane(&mut self, subject: u32) {
        let Some(text) = self.subjects.get(subject) else {
            return;
        };
        let plane = text.split('.').next().unwrap_or_default();
        if !self.planes.iter().any(|known| known == plane)
            && let Ok(Address::Request(_) | Address::Reply(_)) = decode(text)
        {
            self.planes.push(plane.to_owned());
        }
    }
}

fn texts<const N: usize>(
    input: &Input,
    names: [&str; N],
) -> Result<[input::TextColumn; N], ArrowError> {
    collected(names.map(|name| input.texts(name)))
}

fn numbers<const N: usize>(
    input: &Input,
    names: [&str; N],
) -> Result<[input::NumberColumn; N], ArrowError> {
    collected(names.map(|name| input.numbers(name)))
}

/// Return the values of results, or the first error.
fn collected<T, const N: usize>(results: [Result<T, ArrowError>; N]) -> Result<[T; N], ArrowError> {
    let values: Vec<T> = results.into_iter().collect::<Result<_, _>>()?;
    values
        .try_into()
        .map_err(|_| ArrowError::InvalidArgumentError("columns".into()))
}
