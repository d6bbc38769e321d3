//! The columns of a batch of events.

use arrow_schema::ArrowError;

use super::entries::Message;
use super::input::{FlagColumn, Input, NumberColumn, TextColumn};
use super::{
    ABOUT_CONNECTION, ABOUT_SERVER, ABOUT_STREAM, CROSSED, DAMAGED, MQTT, SUBSCRIPTION, VIOLATION,
};

/// The columns of a table of events that are summed, or decide what a row is.
pub struct Events {
    pub server: TextColumn,
    pub conn: TextColumn,
    pub account: TextColumn,
    pub identity: TextColumn,
    pub source: TextColumn,
    pub user: TextColumn,
    pub client: TextColumn,
    pub direction: TextColumn,
    pub op: TextColumn,
    pub subject: TextColumn,
    pub reply: TextColumn,
    pub queue: TextColumn,
    pub sid: TextColumn,
    pub refused: TextColumn,
    pub time: NumberColumn,
    pub size: NumberColumn,
    pub subscription: NumberColumn,
    deliveries: NumberColumn,
    forwarded: NumberColumn,
    ambiguous: FlagColumn,
    reason: TextColumn,
}

impl Events {
    /// Take the columns of a batch.
    ///
    /// # Errors
    ///
    /// `ArrowError` if one has another type than that of events.
    pub fn new(input: &Input) -> Result<Self, ArrowError> {
        Ok(Self {
            server: input.texts("server")?,
            conn: input.texts("conn")?,
            account: input.texts("account")?,
            identity: input.texts("identity")?,
            source: input.texts("identity_source")?,
            user: input.texts("user")?,
            client: input.texts("client")?,
            direction: input.texts("direction")?,
            op: input.texts("op")?,
            subject: input.texts("subject")?,
            reply: input.texts("reply")?,
            queue: input.texts("queue")?,
            sid: input.texts("sid")?,
            refused: input.texts("refused")?,
            time: input.numbers("time")?,
            size: input.numbers("size")?,
            subscription: input.numbers("subscription")?,
            deliveries: input.numbers("deliveries")?,
            forwarded: input.numbers("forwarded")?,
            ambiguous: input.flags("ambiguous")?,
            reason: input.texts("reason")?,
        })
    }

    /// Return what a row is whose connection has no effect on that.
    pub fn flags(&self, row: usize) -> u16 {
        let mut flags = 0;
        if self.reason.get(row).is_some() {
            flags |= DAMAGED;
        }
        match self.op.get(row).unwrap_or_default() {
            b"SUB" | b"UNSUB" | b"DELSUB" | b"CLOSED" | b"LS+" | b"LS-" => flags |= SUBSCRIPTION,
            b"START" | b"LINK" => flags |= SUBSCRIPTION | ABOUT_SERVER,
            b"LOGIN" | b"DENIED" | b"SERVER" => flags |= ABOUT_SERVER,
            b"SLOW" | b"CLAIM" | b"ERROR" => flags |= ABOUT_CONNECTION,
            b"STREAM" | b"STORED" | b"CONSUMER" | b"ACK" => flags |= ABOUT_STREAM,
            b"PUB" | b"HPUB" if self.deletes_stream(row) => flags |= ABOUT_STREAM,
            b"VIOLATION" => match self.refused.get(row) {
                Some(b"subscribe") => flags |= SUBSCRIPTION | VIOLATION,
                Some(kind) if kind != b"reply" => flags |= VIOLATION,
                _ => {}
            },
            b"CONNECT" | b"CONNACK" | b"PUBLISH" | b"PUBACK" | b"PUBREC" | b"PUBREL"
            | b"PUBCOMP" | b"SUBSCRIBE" | b"SUBACK" | b"UNSUBSCRIBE" | b"UNSUBACK" | b"PINGREQ"
            | b"PINGRESP" | b"DISCONNECT"
                if self.is_mqtt(row) =>
            {
                flags |= MQTT;
            }
            _ => {}
        }
        if matches!(self.op.get(row), Some(b"LMSG" | b"RMSG" | b"HMSG" | b"MSG"))
            && self.crosses(row)
        {
            flags |= CROSSED;
        }
        flags
    }

    /// Whether a row is an accepted request to delete a stream.
    fn deletes_stream(&self, row: usize) -> bool {
        let subject = self.subject.get(row).unwrap_or_default();
        subject.starts_with(b"$JS.")
            && memchr::memmem::find(subject, b"API.STREAM.DELETE.").is_some()
            && self.refused.get(row).is_none()
    }

    /// Whether a row is a packet of MQTT.
    fn is_mqtt(&self, row: usize) -> bool {
        let conn = self.conn.get(row).unwrap_or_default();
        let client = memchr::memmem::find(conn, b"/mqtt:").is_some();
        client && matches!(self.direction.get(row), Some(b"in" | b"out"))
    }

    /// Whether the connection of a row is one to another server.
    fn crosses(&self, row: usize) -> bool {
        let conn = self.conn.get(row).unwrap_or_default();
        let kind = memchr::memchr(b'/', conn).map_or(conn, |at| &conn[at + 1..]);
        [&b"leaf:"[..], b"route:", b"gateway:"]
            .iter()
            .any(|each| kind.starts_with(each))
    }

    /// Whether a row is a message of a leaf node whose user is known.
    pub fn is_of_leaf(&self, row: usize) -> bool {
        let conn = self.conn.get(row).unwrap_or_default();
        self.identity.get(row).is_some() && memchr::memmem::find(conn, b"/leaf:").is_some()
    }

    /// Remove the mark of each DELSUB that only repeats the end which the UNSUB before it tells: a
    /// third of the rows about subscriptions that begin and end often.
    pub fn drop_repeated_ends(&self, flags: &mut [u16]) {
        let mut before = None;
        for (row, flags) in flags.iter_mut().enumerate() {
            if *flags & SUBSCRIPTION == 0 {
                continue;
            }
            if before.is_some_and(|before| self.repeats_end(before, row)) {
                *flags &= !SUBSCRIPTION;
            } else {
                before = Some(row);
            }
        }
    }

    /// Whether a row is the DELSUB of the server for the UNSUB of a client in another row.
    fn repeats_end(&self, before: usize, row: usize) -> bool {
        let is = |at: usize, op: &[u8], direction: &[u8]| {
            self.op.get(at) == Some(op) && self.direction.get(at) == Some(direction)
        };
        let equal = |column: &TextColumn| column.get(before) == column.get(row);
        is(before, b"UNSUB", b"in")
            && self.size.get(before).is_none()
            && is(row, b"DELSUB", b"local")
            && equal(&self.server)
            && equal(&self.conn)
            && equal(&self.sid)
    }

    /// Return what is added up of a message.
    pub fn message(&self, row: usize) -> Message {
        Message {
            time: self.time.get(row),
            size: self.size.get(row),
            deliveries: self.deliveries.get(row),
            forwarded: self.forwarded.get(row),
            refused: self.refused.get(row).is_some(),
            ambiguous: self.ambiguous.is_true(row),
            changed: self.subscription.get(row),
        }
    }
}
