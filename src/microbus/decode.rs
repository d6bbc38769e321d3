//! Decoding of subjects and patterns in canonical form to addresses.
//!
//! A subject decodes only if encoding its address gives the same bytes and its source is an
//! identity, so that a sender has exactly one spelling. An address borrows from the subject;
//! decoding allocates nothing.
// S0-003, S0-041, A7

use std::borrow::Cow;

use super::escape::HostToken;
use super::fields::{METHODS, Port, Trust, check_plane, id_of, port_of, slot_of};
use super::hosts::{check_addressed_host, check_identity_token, is_plain_identity};
use super::paths::{PathTokens, RoutePath};
use super::shift_position;
use crate::error::{Error, ErrorKind};
use crate::grammar::scan::scan;
use crate::grammar::{self, Dialect, Form};

/// A decoded subject.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Address, decode};
///
/// let address = decode("prod.reply._.orders_shop.web_shop.id-7f")?;
/// assert!(matches!(address, Address::Reply(_)));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address<'a> {
    /// A request to an endpoint.
    Request(Request<'a>),
    /// A reply to the sender of a request.
    Reply(Reply<'a>),
}

/// A decoded request.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Address, decode};
///
/// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order";
/// let Address::Request(request) = decode(subject)? else { unreachable!() };
/// assert_eq!((request.plane, request.slot), ("prod", ""));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The plane.
    pub plane: &'a str,
    /// The trust zone, which follows from the port.
    pub trust: Trust,
    /// The port.
    pub port: u16,
    /// The verified sender.
    pub source: HostToken<'a>,
    /// The receiver.
    pub host: HostToken<'a>,
    /// The slot: `id-…`, `loc-…` or empty.
    pub slot: &'a str,
    /// The method, one of [`METHODS`].
    pub method: &'static str,
    /// The path, one token for each part.
    pub path: PathTokens<'a>,
}

/// A decoded reply.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Address, decode};
///
/// let subject = "prod.reply._.orders_shop.web_shop.id-7f";
/// let Address::Reply(reply) = decode(subject)? else { unreachable!() };
/// assert_eq!((reply.source.text().as_ref(), reply.id), ("orders.shop", "id-7f"));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply<'a> {
    /// The plane.
    pub plane: &'a str,
    /// The verified sender of the reply.
    pub source: HostToken<'a>,
    /// The sender of the request.
    pub host: HostToken<'a>,
    /// The instance that sent the request: `id-…`.
    pub id: &'a str,
}

/// A decoded subscription to requests.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::decode_subscription;
///
/// let subscription = decode_subscription("prod.safe.443.*.orders_shop._.GET.order.*")?;
/// assert_eq!((subscription.port, subscription.method), (Some(443), Some("GET")));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subscription<'a> {
    /// The plane.
    pub plane: &'a str,
    /// The trust zone, which follows from the port.
    pub trust: Trust,
    /// The port, `None` for every port except 666.
    pub port: Option<u16>,
    /// The receiver.
    pub host: HostToken<'a>,
    /// The slot: `id-…`, `loc-…` or empty.
    pub slot: &'a str,
    /// The method, `None` for every method.
    pub method: Option<&'static str>,
    /// The path, one token for each part.
    pub path: RoutePath<'a>,
}

/// Tokens whose ends are kept: those before the path are seven, and the scan writes eight at a time.
const KEPT_ENDS: usize = 16;

/// Reads the tokens before the path one after another, and keeps the offset of the next one.
struct TokenReader<'a> {
    text: &'a str,
    ends: [u32; KEPT_ENDS],
    /// The number of tokens of the text.
    count: usize,
    /// The number of tokens that were read.
    read: usize,
    start: usize,
}

impl<'a> TokenReader<'a> {
    /// Validate the grammar; the text is then printable ASCII without empty tokens.
    fn new(text: &'a str, form: Form) -> Result<Self, Error> {
        let (dialect, bounds) = (Dialect::Strict, Dialect::Strict.bounds());
        let mut ends = [0; KEPT_ENDS];
        let found = scan(text.as_bytes(), form, dialect, ends.as_mut_slice());
        if !found.valid || found.count > bounds.max_tokens || text.len() > bounds.max_length {
            grammar::check(text, form, dialect, bounds)?;
        }
        Ok(Self {
            text,
            ends,
            count: found.count,
            read: 0,
            start: 0,
        })
    }

    /// The tokens that were not read, joined by dots.
    fn rest(&self) -> &'a str {
        self.text.get(self.start..).unwrap_or_default()
    }

    /// Apply a rule to the next token; an error is reported in `field`.
    fn read<T>(
        &mut self,
        field: &'static str,
        rule: impl FnOnce(&'a str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let start = self.start;
        let end = if self.read + 1 < self.count {
            self.ends.get(self.read).map_or(0, |&end| end as usize)
        } else {
            self.text.len()
        };
        self.read += 1;
        self.start = end + 1;
        let token = self.text.get(start..end).unwrap_or_default();
        rule(token).map_err(|error| shift_position(error, start).in_field(field))
    }
}

/// Decode a subject in canonical form.
///
/// Cost: the scan of the grammar and one pass over each token, no allocation.
///
/// # Errors
///
/// The first field that does not decode, in the order of the tokens: a reason of
/// [`grammar::check`](crate::grammar::check), `too-few-tokens`, `plane`, `trust`, `port`,
/// `port-range`, `slot`, `method`, `method-any`, `reply-tokens`, `reply-port`, `not-canonical`,
/// `escape`, `utf8`, `stacked`, or a reason of [`check_identity_host`](super::check_identity_host)
/// for the source.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Address, decode};
///
/// let Address::Request(request) = decode("prod.safe.443.web_shop.orders_shop._.GET.a._")? else {
///     unreachable!()
/// };
/// assert_eq!((request.port, request.method), (443, "GET"));
/// assert_eq!(request.path.text(), "/a/");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn decode(subject: &str) -> Result<Address<'_>, Error> {
    let mut tokens = TokenReader::new(subject, Form::Subject)?;
    let count = tokens.count;
    let plane = tokens.read("plane", check_plane)?;
    if count < 2 {
        return Err(Error::at(ErrorKind::TooFewTokens, subject.len()));
    }
    let trust_at = tokens.start;
    let Some(trust) = tokens.read("trust", trust_of)? else {
        return reply(subject, count, plane, tokens).map(Address::Reply);
    };
    if count < 8 {
        return Err(Error::at(ErrorKind::TooFewTokens, subject.len())); // S0-005
    }
    let port = tokens.read("port", |token| port_of(Port::Text(token)))?;
    if trust != Trust::of(port) {
        return Err(Error::at(ErrorKind::Trust, trust_at).in_field("trust"));
    }
    let source = tokens.read("source", identity)?;
    let (host, slot) = host_and_slot(&mut tokens)?;
    let method = tokens.read("method", method)?;
    let path = path(&tokens, PathTokens::check)?;
    Ok(Address::Request(Request {
        plane,
        trust,
        port,
        source,
        host,
        slot,
        method,
        path,
    }))
}

/// Decode a reply: six tokens, the third of which is `_`.
// S0-075, S0-076
fn reply<'a>(
    subject: &'a str,
    count: usize,
    plane: &'a str,
    mut tokens: TokenReader<'a>,
) -> Result<Reply<'a>, Error> {
    if count != 6 {
        let seventh = subject.match_indices('.').nth(5).map(|(dot, _)| dot + 1);
        return Err(Error::at(
            ErrorKind::ReplyTokens,
            seventh.unwrap_or(subject.len()),
        ));
    }
    tokens.read("port", |token| {
        require_token(token, "_", ErrorKind::ReplyPort)
    })?;
    Ok(Reply {
        plane,
        source: tokens.read("source", identity)?,
        host: tokens.read("host", HostToken::check)?,
        id: tokens.read("id", |token| require_lowercase(token, id_of))?,
    })
}

/// Decode a pattern in canonical form that subscribes to requests.
///
/// Cost: the scan of the grammar and one pass over each token, no allocation.
///
/// # Errors
///
/// As [`decode`], and `reply-subscription` for a pattern of replies, `subscription-source` if the
/// source is not `*`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::decode_subscription;
///
/// let address = decode_subscription("prod.safe.*.*.orders_shop._.*.order.*")?;
/// assert_eq!((address.port, address.method), (None, None));
/// assert_eq!(address.path.text(), "/order/{}");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn decode_subscription(pattern: &str) -> Result<Subscription<'_>, Error> {
    let mut tokens = TokenReader::new(pattern, Form::Pattern)?;
    let count = tokens.count;
    let plane = tokens.read("plane", check_plane)?;
    if count < 2 {
        return Err(Error::at(ErrorKind::TooFewTokens, pattern.len()));
    }
    let trust_at = tokens.start;
    let trust = tokens.read("trust", |token| {
        trust_of(token)?.ok_or_else(|| Error::at(ErrorKind::ReplySubscription, 0))
    })?;
    if count < 8 {
        return Err(Error::at(ErrorKind::TooFewTokens, pattern.len()));
    }
    let port = tokens.read("port", |token| match token {
        "*" => Ok(None),
        "0" => Err(Error::at(ErrorKind::NotCanonical, 0)), // the canonical form is '*'
        _ => port_of(Port::Text(token)).map(Some),
    })?;
    if trust != Trust::of(port.unwrap_or(0)) {
        return Err(Error::at(ErrorKind::Trust, trust_at).in_field("trust"));
    }
    tokens.read("source", |token| {
        require_token(token, "*", ErrorKind::SubscriptionSource)
    })?;
    let (host, slot) = host_and_slot(&mut tokens)?;
    let method = tokens.read("method", |token| match token {
        "*" => Ok(None),
        _ => method(token).map(Some),
    })?;
    let path = path(&tokens, RoutePath::check)?;
    Ok(Subscription {
        plane,
        trust,
        port,
        host,
        slot,
        method,
        path,
    })
}

/// Return the verified source of a subject, `None` if the message must be rejected.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::source_of;
///
/// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order";
/// assert_eq!(source_of(subject).as_deref(), Some("web.shop"));
/// assert_eq!(source_of("orders.new"), None);
/// ```
// S0-041, A7
#[must_use]
pub fn source_of(subject: &str) -> Option<Cow<'_, str>> {
    match decode(subject).ok()? {
        Address::Request(request) => Some(request.source.text()),
        Address::Reply(reply) => Some(reply.source.text()),
    }
}

/// Return the family of a subject: Microbus subjects by their layout, others by their prefix.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::classify;
///
/// assert_eq!(classify("prod.reply._.orders_shop.web_shop.id-1"), "microbus-reply");
/// assert_eq!(classify("$KV.orders.1"), "kv");
/// ```
#[must_use]
pub fn classify(subject: &str) -> &'static str {
    match decode(subject) {
        Ok(Address::Request(_)) => "microbus-request",
        Ok(Address::Reply(_)) => "microbus-reply",
        Err(_) => grammar::classify(subject),
    }
}

/// Read the trust token; `None` for a reply.
// S0-007
fn trust_of(token: &str) -> Result<Option<Trust>, Error> {
    match token {
        "safe" => Ok(Some(Trust::Safe)),
        "danger" => Ok(Some(Trust::Danger)),
        "reply" => Ok(None),
        _ => Err(Error::at(ErrorKind::Trust, 0)),
    }
}

fn require_token(token: &str, expected: &str, kind: ErrorKind) -> Result<(), Error> {
    if token == expected {
        Ok(())
    } else {
        Err(Error::at(kind, 0))
    }
}

/// Read a source: a host token without escapes whose host is an identity.
fn identity(token: &str) -> Result<HostToken<'_>, Error> {
    if is_plain_identity(token, b'_') {
        return Ok(HostToken::of_checked(token));
    }
    let host = HostToken::check(token)?;
    check_identity_token(token)?;
    Ok(host)
}

/// Read host and slot, only one of which may begin like a slot.
// A9
fn host_and_slot<'a>(tokens: &mut TokenReader<'a>) -> Result<(HostToken<'a>, &'a str), Error> {
    let host_at = tokens.start;
    let host = tokens.read("host", HostToken::check)?;
    let slot = tokens.read("slot", |token| match token {
        "_" => Ok(""),
        _ => require_lowercase(token, slot_of),
    })?;
    // A host token is in lower case, so it can be compared without decoding it.
    check_addressed_host(host.token(), slot)
        .map_err(|error| shift_position(error, host_at).in_field("host"))?;
    Ok((host, slot))
}

/// Apply a rule to a token that must be in lower case already.
fn require_lowercase<'a>(
    token: &'a str,
    rule: impl FnOnce(&'a str) -> Result<Cow<'a, str>, Error>,
) -> Result<&'a str, Error> {
    rule(token)?;
    match token.bytes().position(|byte| byte.is_ascii_uppercase()) {
        Some(at) => Err(Error::at(ErrorKind::NotCanonical, at)),
        None => Ok(token),
    }
}

fn method(token: &str) -> Result<&'static str, Error> {
    match METHODS.iter().find(|known| **known == token) {
        Some(method) => Ok(method),
        None if token == "ANY" => Err(Error::at(ErrorKind::MethodAny, 0)),
        None => Err(Error::at(ErrorKind::Method, 0)),
    }
}

/// Apply a rule to the remaining tokens, the path.
fn path<'a, T>(
    tokens: &TokenReader<'a>,
    check: impl FnOnce(&'a str) -> Result<T, Error>,
) -> Result<T, Error> {
    check(tokens.rest()).map_err(|error| shift_position(error, tokens.start).in_field("path"))
}
