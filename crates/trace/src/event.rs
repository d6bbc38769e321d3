//! Reports of the reader to its sink: events, and later the outcome of a publish.

use super::matching::Served;
use super::operation::{Names, Refusal};

/// The identity of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// The account.
    pub account: Option<Box<str>>,
    /// The name in the JWT, the nkey or the user, as the broker proved it; else the client's name,
    /// also beside a user that cannot be the host of a service.
    pub identity: Option<Box<str>>,
    /// The user as the broker knows it: the subject of the JWT, the nkey or the user.
    pub user: Option<Box<str>>,
    /// The name that the client gave itself.
    pub client: Option<Box<str>>,
    /// The proof that the identity rests on: `jwt`, `nkey`, `user`, `token`, `claimed`.
    pub source: Option<&'static str>,
}

/// The fields that the lines of a connection have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    /// The process id, the kind and the number of the connection: `7/client:8`.
    pub conn: Box<str>,
    /// The number that the reader gave the connection.
    pub conn_id: u32,
    /// Whether it is a client's connection, not one between servers.
    pub client: bool,
    /// Whether it is that of a leaf node.
    pub leaf: bool,
    /// The direction of the operation.
    pub direction: Direction,
    /// Whether the line is the payload of a message.
    pub payload: bool,
    /// The identity of the connection.
    pub who: Who,
}

/// The direction of an operation, as the server sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Received.
    In,
    /// Sent.
    Out,
    /// Neither: the server's own action.
    Local,
}

impl Direction {
    /// Return the name of the direction, a value of the column `direction`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Local => "local",
        }
    }
}

/// A row of the table of events. Text that a row does not have is empty.
#[derive(Debug, Clone, Copy, Default)]
pub struct Event<'a> {
    /// The position of the line.
    pub position: u64,
    /// Microseconds since 1970.
    pub time: Option<i64>,
    /// The connection.
    pub prefix: Option<&'a Prefix>,
    /// The connection of a row without a prefix.
    pub conn: &'a str,
    /// Whether the row is an operation, which has a direction.
    pub directed: bool,
    /// The operation, or `VIOLATION`, `SLOW`, `CLOSED`, `START`, `CLAIM`, `STORED`, `STREAM`,
    /// `CONSUMER`, `ACK`, `ERROR`, `LOGIN`, `DENIED`, `LINK`, `SERVER`.
    pub op: &'a [u8],
    /// The account of a message between servers, where the line names it.
    pub account: &'a [u8],
    /// The subject or pattern.
    pub subject: &'a [u8],
    /// The reply subject.
    pub reply: &'a [u8],
    /// The queue group.
    pub queue: &'a [u8],
    /// The subscription id.
    pub sid: &'a [u8],
    /// The size of a message.
    pub size: Option<i64>,
    /// The operation that was refused.
    pub refused: Option<Refusal>,
    /// The position of the SUB line of the subscription that a message was delivered to; of a message
    /// that the server received, that of the latest line before it that can change subscriptions.
    pub subscription: Option<u64>,
    /// The reason for which the line could not be parsed.
    pub reason: Option<&'static str>,
    /// The line that could not be parsed.
    pub text: &'a [u8],
}

impl<'a> Event<'a> {
    /// Return the account of a message: the named one, else that of its connection.
    #[must_use]
    pub fn account(&self) -> &'a [u8] {
        let of_connection = || Some(self.prefix?.who.account.as_deref()?.as_bytes());
        let named = Some(self.account).filter(|name| !name.is_empty());
        named.or_else(of_connection).unwrap_or_default()
    }

    /// Return the names of a message.
    #[must_use]
    pub fn names(&self) -> Names<'a> {
        Names {
            account: self.account(),
            subject: self.subject,
            reply: self.reply,
        }
    }
}

/// The outcome of a message that the server received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The first position outside its window.
    pub until: u64,
    /// The kind of the refusal.
    pub refused: Option<Refusal>,
    /// Whether a mapping put another message in its place, whose row follows.
    pub mapped: bool,
    /// The deliveries that it took, unless it was refused.
    pub served: Served,
}

/// Receives the events of a log in the order of its lines.
pub trait Sink {
    /// Add a row that is complete.
    fn add(&mut self, event: &Event<'_>);
    /// Add the row of a message; its outcome follows.
    fn open(&mut self, event: &Event<'_>, id: u64);
    /// Complete the row of a message with its subject and reply.
    fn resolve(&mut self, id: u64, outcome: &Outcome);
}

/// The number of lines by category. Every line is in one of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations.
    pub operations: u64,
    /// Payloads.
    pub payloads: u64,
    /// Other lines of the server.
    pub server: u64,
    /// Lines that could not be parsed.
    pub unparseable: u64,
    /// Delivery lines that no window took.
    pub unmatched: u64,
}
