//! The keys of sums, and what is summed for each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

/// A publisher in a period.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sender {
    pub server: u32,
    pub conn: u32,
    pub account: u32,
    pub identity: u32,
    pub source: u32,
    pub user: u32,
    pub client: u32,
    pub window: Option<i64>,
}

/// The key by which deliveries are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeliveryKey {
    pub server: u32,
    pub conn: u32,
    /// The account of the receiver.
    pub account: u32,
    pub sid: u32,
    pub queue: u32,
    /// Stream and consumer of a message of `JetStream`, as `consumer_of` tells them.
    pub consumer: u32,
    pub subject: u32,
    pub subscription: Option<i64>,
    pub window: Option<i64>,
}

/// The deliveries of a key.
#[derive(Clone, Copy, Default)]
pub struct Delivered {
    pub count: i64,
    /// The time of the first one that is more than the word that no client subscribes the subject.
    pub first: Option<i64>,
    /// The time of the last one; only of those of a consumer.
    pub last: Option<i64>,
}

impl Delivered {
    /// One delivery, with the times that are kept of it.
    pub fn one(first: Option<i64>, last: Option<i64>) -> Self {
        let count = 1;
        Self { count, first, last }
    }

    /// Add other deliveries of the key.
    pub fn add(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.first = match (self.first, other.first) {
            (Some(one), Some(another)) => Some(one.min(another)),
            (one, another) => one.or(another),
        };
        self.last = self.last.max(other.last);
    }
}

/// Keys in the order in which they were added, each with a value.
pub struct Entries<K, V> {
    places: HashMap<K, u32, RandomState>,
    pub rows: Vec<(K, V)>,
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        let (places, rows) = (HashMap::default(), Vec::new());
        Self { places, rows }
    }
}

impl<K: Copy + Eq + std::hash::Hash, V: Default> Entries<K, V> {
    /// Return the value of a key, and whether the key is new.
    pub fn value(&mut self, key: K) -> (&mut V, bool) {
        let (at, new) = self.place(key);
        (&mut self.rows[at].1, new)
    }

    /// Return the row of a key, and whether the key is new.
    pub fn place(&mut self, key: K) -> (usize, bool) {
        let next = self.rows.len();
        match self.places.entry(key) {
            Entry::Occupied(entry) => (*entry.get() as usize, false),
            Entry::Vacant(entry) => {
                entry.insert(u32::try_from(next).unwrap_or(u32::MAX));
                self.rows.push((key, V::default()));
                (next, true)
            }
        }
    }
}

/// The values of a message that are added up.
pub struct Message {
    pub time: Option<i64>,
    pub size: Option<i64>,
    pub deliveries: Option<i64>,
    pub forwarded: Option<i64>,
    pub refused: bool,
    pub ambiguous: bool,
    /// The position at which subscriptions last changed before it.
    pub changed: Option<i64>,
}

/// Make a span include a time.
pub fn extend(span: &mut (i64, i64), time: Option<i64>) {
    if let Some(time) = time {
        *span = (span.0.min(time), span.1.max(time));
    }
}
