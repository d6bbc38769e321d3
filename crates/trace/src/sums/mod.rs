//! Sums of the traffic of clients: messages and deliveries by subject and connection.
//!
//! The rows of a table of events are added up as they come, so that what leaves a worker is a row
//! for each distinct key. Sums of several workers are added to each other in the same way.

mod addresses;
mod bucket;
mod by_address;
mod entries;
mod events;
mod input;
mod output;
mod placed;
mod rates;
mod summed;

use std::collections::HashMap;

use arrow_data::ArrayData;
use arrow_schema::ArrowError;
use foldhash::fast::RandomState;

use self::bucket::Bucket;

pub use self::by_address::ByAddress;
use self::entries::{Delivered, DeliveryKey, Entries, Sender};
use self::events::Events;
use self::input::Input;
pub use self::output::{Numbered, Taken};
use self::placed::{Placed, by_bucket, placed};
pub use self::rates::added_rates;
use crate::jetstream::{consumer_of, lacks_responders};
use subtrie::microbus::{Address, decode};
use subtrie_columns::{Last, NULL, Texts};

/// A message that no client received.
pub const UNDELIVERED: u16 = 1;
/// A message that was sent to other servers.
pub const FORWARDED: u16 = 2;
/// A message of another server.
pub const ARRIVED: u16 = 4;
/// The begin or the end of subscriptions.
pub const SUBSCRIPTION: u16 = 8;
/// A refused operation.
pub const VIOLATION: u16 = 16;
/// A message whose reply subject was refused.
pub const REFUSED_REPLY: u16 = 32;
/// A line that cannot be parsed.
pub const DAMAGED: u16 = 64;
/// A connection that reads more slowly than the server sends, or whose client claims another user.
pub const ABOUT_CONNECTION: u16 = 128;
/// An accepted message with a reply subject.
pub const REQUEST: u16 = 256;
/// A stream that stored a message, or the subjects that a stream stores.
pub const ABOUT_STREAM: u16 = 512;
/// A login, a link to another server, or what a server says about itself.
pub const ABOUT_SERVER: u16 = 1024;
/// A message on a connection to another server.
pub const CROSSED: u16 = 2048;
/// A packet of MQTT.
pub const MQTT: u16 = 4096;

/// A day in microseconds.
const DAY: i64 = 86_400_000_000;
/// The most new texts of a row.
const TEXTS_OF_ROW: usize = 8;

/// The numbers of a message that are summed, in this order; `lines` are those that delivered it.
pub const COUNTS: [&str; 8] = [
    "published",
    "refused",
    "taken",
    "undelivered",
    "forwarded",
    "ambiguous",
    "bytes",
    "lines",
];
/// The times of messages of which the least and the greatest are kept: all, accepted, undelivered.
pub const SPANS: [[&str; 2]; 3] = [
    ["first", "last"],
    ["first_accepted", "last_accepted"],
    ["first_undelivered", "last_undelivered"],
];
/// The column with the days of messages: for each day a number, four times the time of its first
/// accepted message (else of its first), plus 2 if one was accepted, plus 1 if a client received one.
pub const DAYS: &str = "days";
/// The column with two numbers for each line at which subscriptions last changed before a message:
/// its position, and the number of these messages.
pub const CHANGES: &str = "changes";
/// The columns with the rates of the accepted and of the undelivered messages, as `Rate` writes them.
pub const RATES: [&str; 2] = ["rate_accepted", "rate_undelivered"];
/// Sums of messages and of deliveries, until they are taken.
pub struct TrafficSums {
    /// The length of a period in microseconds; without it all times are one period.
    window: Option<i64>,
    /// Whether messages between servers are asked for.
    follow: bool,
    /// Whether the days of messages are asked for, and the messages with a reply subject.
    days: bool,
    names: Texts,
    /// For each of `names` that is a connection: whether it is that of a client.
    clients: HashMap<u32, bool, RandomState>,
    senders: Entries<Sender, ()>,
    last_sender: Option<(Sender, u32)>,
    /// The subjects, by the checksum of their texts.
    buckets: Vec<Bucket>,
    /// The planes of subjects that were accepted or delivered.
    planes: Vec<String>,
}

impl TrafficSums {
    /// Create sums of nothing.
    ///
    /// Rows of one subject are in one of `buckets` groups, the same in every process.
    #[must_use]
    pub fn new(window: Option<i64>, follow: bool, days: bool, buckets: u32) -> Self {
        Self {
            window: window.filter(|&length| length > 0),
            follow,
            days,
            names: Texts::default(),
            clients: HashMap::default(),
            senders: Entries::default(),
            last_sender: None,
            buckets: (0..buckets.max(1)).map(|_| Bucket::default()).collect(),
            planes: Vec::new(),
        }
    }

    /// Return the number of distinct keys and subjects. Cost: a step for each bucket.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.iter().map(Bucket::len).sum()
    }

    /// Return whether nothing was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Add the rows of a table of events; `constants` are the columns with one text in all rows.
    ///
    /// Returns for each row what it is beside a row that is summed (a combination of the constants
    /// of this module), or nothing if no row is. Cost: about 0.2 microseconds a row.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has another type than that of events.
    pub fn add_events(
        &mut self,
        batch: ArrayData,
        constants: Vec<(String, String)>,
    ) -> Result<Vec<u16>, ArrowError> {
        let input = self.input(batch, constants)?;
        let events = Events::new(&input)?;
        let mut found = Vec::new();
        let mut last: [Last; 10] = Default::default();
        let placed = placed(&events.subject, input.len(), self.buckets.len());
        for row in by_bucket(&placed, self.buckets.len()) {
            let flags = self.add_event(&events, row, &placed[row], &mut last)? | events.flags(row);
            if flags != 0 {
                if found.is_empty() {
                    found.resize(input.len(), 0);
                }
                found[row] = flags;
            }
        }
        events.drop_repeated_ends(&mut found);
        Ok(found)
    }

    /// Add a row if it is a message or a delivery; return what it is beside that.
    fn add_event(
        &mut self,
        events: &Events,
        row: usize,
        placed: &Placed<'_>,
        last: &mut [Last; 10],
    ) -> Result<u16, ArrowError> {
        let op = events.op.get(row).unwrap_or_default();
        let direction = events.direction.get(row).unwrap_or_default();
        let publishes = direction == b"in" && matches!(op, b"PUB" | b"HPUB");
        let delivers = direction == b"out" && matches!(op, b"MSG" | b"HMSG");
        let arrives = direction == b"in" && !publishes && events.size.get(row).is_some();
        // Where only the log of one server is read, a leaf node is the publisher of what it sends.
        let of_leaf = arrives && !self.follow && events.is_of_leaf(row);
        if !(publishes || delivers || of_leaf || arrives && self.follow) {
            return Ok(0);
        }
        let conn = last[0].number(&mut self.names, events.conn.get(row))?;
        if !of_leaf && !self.is_client(conn) {
            return Ok(if arrives && self.follow { ARRIVED } else { 0 });
        }
        if !publishes && !delivers && !of_leaf {
            return Ok(0);
        }
        let server = last[1].number(&mut self.names, events.server.get(row))?;
        let bucket = placed.bucket;
        let subject = self.buckets[bucket]
            .subjects
            .number_of(placed.text.as_deref())?;
        let window = self.period(events.time.get(row));
        if delivers {
            let sid = last[3].number(&mut self.names, events.sid.get(row))?;
            let queue = last[4].number(&mut self.names, events.queue.get(row))?;
            let consumer = events.reply.get(row).and_then(consumer_of);
            let ended = consumer.and(events.time.get(row)).filter(|_| self.days);
            let consumer = last[8].number(&mut self.names, consumer)?;
            let account = last[9].number(&mut self.names, events.account.get(row))?;
            let subscription = events.subscription.get(row);
            let key = DeliveryKey {
                server,
                conn,
                account,
                sid,
                queue,
                consumer,
                subject,
                subscription,
                window,
            };
            let answers = self.days && !lacks_responders(op, events.size.get(row));
            let first = events.time.get(row).filter(|_| answers);
            self.deliver(bucket, key, Delivered::one(first, ended));
            return Ok(0);
        }
        let sender = Sender {
            server,
            conn,
            account: last[9].number(&mut self.names, events.account.get(row))?,
            identity: last[2].number(&mut self.names, events.identity.get(row))?,
            source: last[5].number(&mut self.names, events.source.get(row))?,
            user: last[6].number(&mut self.names, events.user.get(row))?,
            client: last[7].number(&mut self.names, events.client.get(row))?,
            window,
        };
        let sender = self.sender(sender);
        let message = events.message(row);
        let sums = &mut self.buckets[bucket];
        let row_of_sums = sums.row(subject, sender);
        if sums.publish(row_of_sums, &message, self.days) {
            self.find_plane(bucket, subject);
        }
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
        if self.days && !message.refused && events.reply.get(row).is_some() {
            flags |= REQUEST;
        }
        Ok(flags)
    }

    /// Return all sums, and begin again.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has more than 2 GiB of text.
    pub fn take(&mut self) -> Result<Taken, ArrowError> {
        self.begin_again().into_taken()
    }

    /// Return all sums with the numbers of subjects, and the subjects by number; begin again.
    ///
    /// # Errors
    ///
    /// `ArrowError` if a column has more than 2 GiB of text.
    pub fn take_numbered(&mut self) -> Result<Numbered, ArrowError> {
        self.begin_again().into_numbered()
    }

    fn begin_again(&mut self) -> Self {
        let buckets = u32::try_from(self.buckets.len()).unwrap_or(1);
        let empty = Self::new(self.window, self.follow, self.days, buckets);
        std::mem::replace(self, empty)
    }

    /// Take the columns of a batch.
    ///
    /// # Errors
    ///
    /// `ArrowError` if it is not a batch of rows, or the rows and texts would be more than 32 bits
    /// can number.
    fn input(
        &self,
        batch: ArrayData,
        constants: Vec<(String, String)>,
    ) -> Result<Input, ArrowError> {
        let input = Input::new(batch, constants)?;
        let rows = input.len();
        let of_buckets = self.buckets.iter().map(Bucket::most);
        let most = of_buckets.max().unwrap_or(0).max(self.senders.rows.len());
        let texts = self
            .names
            .count()
            .saturating_add(rows.saturating_mul(TEXTS_OF_ROW));
        if most.saturating_add(rows).max(texts) >= (NULL - 1) as usize {
            return Err(ArrowError::InvalidArgumentError(format!(
                "a batch of {rows} rows has no room among the sums, which number at most {} rows \
                 and texts: take the sums first",
                NULL - 1
            )));
        }
        Ok(input)
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

    /// Return the number of a sender.
    fn sender(&mut self, sender: Sender) -> u32 {
        if let Some((known, number)) = self.last_sender
            && known == sender
        {
            return number;
        }
        let number = u32::try_from(self.senders.place(sender).0).unwrap_or(NULL);
        self.last_sender = Some((sender, number));
        number
    }

    fn deliver(&mut self, bucket: usize, key: DeliveryKey, added: Delivered) {
        let (sum, new) = self.buckets[bucket].deliveries.value(key);
        sum.add(added);
        if new {
            self.find_plane(bucket, key.subject);
        }
    }

    /// Note the plane of a subject, if it is an address.
    fn find_plane(&mut self, bucket: usize, subject: u32) {
        let Some(text) = self.buckets[bucket].subjects.get(subject) else {
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
