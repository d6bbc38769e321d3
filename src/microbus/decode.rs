//! Subjects and patterns to addresses: canonical text or nothing (A7).
//!
//! A subject decodes only if encoding the address again gives the same bytes, and its source is an
//! identity. So two spellings never stand for one sender (S0-003, S0-041). An address borrows from
//! the subject; decoding allocates nothing.

use std::borrow::Cow;

use super::escape::HostToken;
use super::fields::{METHODS, Port, Trust, check_plane, id_of, port_of, slot_of};
use super::hosts::{check_addressed_host, check_identity_token};
use super::moved;
use super::paths::{PathTokens, RoutePath};
use crate::error::Error;
use crate::grammar::{self, Dialect, Form};

/// What a subject says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address<'a> {
    /// Someone asks an endpoint.
    Request(Request<'a>),
    /// An endpoint answers.
    Reply(Reply<'a>),
}

/// A decoded request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// Letters and digits.
    pub plane: &'a str,
    /// Follows from the port.
    pub trust: Trust,
    /// 0 to 65535.
    pub port: u16,
    /// The verified sender.
    pub source: HostToken<'a>,
    /// The receiver.
    pub host: HostToken<'a>,
    /// `id-…`, `loc-…` or empty.
    pub slot: &'a str,
    /// One of the nine.
    pub method: &'a str,
    /// One token for each part.
    pub path: PathTokens<'a>,
}

/// A decoded reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply<'a> {
    /// Letters and digits.
    pub plane: &'a str,
    /// The verified sender.
    pub source: HostToken<'a>,
    /// Who asked.
    pub host: HostToken<'a>,
    /// The instance that asked: `id-…`.
    pub id: &'a str,
}

/// A decoded pattern for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription<'a> {
    /// Letters and digits.
    pub plane: &'a str,
    /// Follows from the port.
    pub trust: Trust,
    /// `None` is any port but 666.
    pub port: Option<u16>,
    /// The receiver.
    pub host: HostToken<'a>,
    /// `id-…`, `loc-…` or empty.
    pub slot: &'a str,
    /// `None` is any method.
    pub method: Option<&'a str>,
    /// One token for each part.
    pub path: RoutePath<'a>,
}

/// The tokens of a checked text before the path, one after another, and where each begins.
struct Tokens<'a> {
    rest: Option<&'a str>,
    start: usize,
}

impl<'a> Tokens<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            rest: Some(text),
            start: 0,
        }
    }

    /// The next token under a rule, whose fault is `field`'s.
    fn read<T>(
        &mut self,
        field: &'static str,
        rule: impl FnOnce(&'a str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let rest = self.rest.unwrap_or_default();
        let (token, rest) = match rest.split_once('.') {
            Some((token, rest)) => (token, Some(rest)),
            None => (rest, None),
        };
        let start = self.start;
        self.rest = rest;
        self.start += token.len() + 1;
        rule(token).map_err(|error| moved(error, start).in_field(field))
    }
}

/// The address of a canonical subject. Cost: two passes, no allocation.
pub fn decode(subject: &str) -> Result<Address<'_>, Error> {
    let count = counted(subject, Form::Subject)?;
    let mut tokens = Tokens::new(subject);
    let plane = tokens.read("plane", check_plane)?;
    if count < 2 {
        return Err(Error::at("too-few-tokens", subject.len()));
    }
    let trust_at = tokens.start;
    let Some(trust) = tokens.read("trust", trust_of)? else {
        return reply(subject, count, plane, tokens).map(Address::Reply);
    };
    if count < 8 {
        return Err(Error::at("too-few-tokens", subject.len())); // S0-005
    }
    let port = tokens.read("port", |token| port_of(Port::Text(token)))?;
    if trust != Trust::of(port) {
        return Err(Error::at("trust", trust_at).in_field("trust"));
    }
    let source = tokens.read("source", identity)?;
    let (host, slot) = addressed(&mut tokens)?;
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

/// S0-075: six tokens, of which the third is `_` (S0-076).
fn reply<'a>(
    subject: &'a str,
    count: usize,
    plane: &'a str,
    mut tokens: Tokens<'a>,
) -> Result<Reply<'a>, Error> {
    if count != 6 {
        let seventh = subject.match_indices('.').nth(5).map(|(dot, _)| dot + 1);
        return Err(Error::at("reply-tokens", seventh.unwrap_or(subject.len())));
    }
    tokens.read("port", |token| expect(token, "_", "reply-port"))?;
    Ok(Reply {
        plane,
        source: tokens.read("source", identity)?,
        host: tokens.read("host", HostToken::check)?,
        id: tokens.read("id", |token| lower(token, id_of))?,
    })
}

/// The address of a canonical pattern for requests; not for replies. Cost: two passes.
pub fn decode_subscription(pattern: &str) -> Result<Subscription<'_>, Error> {
    let count = counted(pattern, Form::Pattern)?;
    let mut tokens = Tokens::new(pattern);
    let plane = tokens.read("plane", check_plane)?;
    if count < 2 {
        return Err(Error::at("too-few-tokens", pattern.len()));
    }
    let trust_at = tokens.start;
    let trust = tokens.read("trust", |token| {
        trust_of(token)?.ok_or_else(|| Error::at("reply-subscription", 0))
    })?;
    if count < 8 {
        return Err(Error::at("too-few-tokens", pattern.len()));
    }
    let port = tokens.read("port", |token| match token {
        "*" => Ok(None),
        "0" => Err(Error::at("not-canonical", 0)), // it would have been written '*'
        _ => port_of(Port::Text(token)).map(Some),
    })?;
    if trust != Trust::of(port.unwrap_or(0)) {
        return Err(Error::at("trust", trust_at).in_field("trust"));
    }
    tokens.read("source", |token| expect(token, "*", "subscription-source"))?;
    let (host, slot) = addressed(&mut tokens)?;
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

/// The verified source, or `None` where the message must be rejected (S0-041, A7).
#[must_use]
pub fn source_of(subject: &str) -> Option<Cow<'_, str>> {
    match decode(subject).ok()? {
        Address::Request(request) => Some(request.source.text()),
        Address::Reply(reply) => Some(reply.source.text()),
    }
}

/// The family of a subject: Microbus by its layout, the others by their prefix.
#[must_use]
pub fn classify(subject: &str) -> &'static str {
    match decode(subject) {
        Ok(Address::Request(_)) => "microbus-request",
        Ok(Address::Reply(_)) => "microbus-reply",
        Err(_) => grammar::classify(subject),
    }
}

/// The grammar first, so that all that follows is printable ASCII without an empty token.
fn counted(text: &str, form: Form) -> Result<usize, Error> {
    let dialect = Dialect::Strict;
    grammar::check(text, form, dialect, dialect.bounds())?;
    Ok(text.bytes().filter(|&byte| byte == b'.').count() + 1)
}

/// S0-007; `None` is a reply.
fn trust_of(token: &str) -> Result<Option<Trust>, Error> {
    match token {
        "safe" => Ok(Some(Trust::Safe)),
        "danger" => Ok(Some(Trust::Danger)),
        "reply" => Ok(None),
        _ => Err(Error::at("trust", 0)),
    }
}

fn expect(token: &str, wanted: &str, reason: &'static str) -> Result<(), Error> {
    if token == wanted {
        Ok(())
    } else {
        Err(Error::at(reason, 0))
    }
}

/// A source: its host must be an identity, so each of its characters is one byte of the token.
fn identity(token: &str) -> Result<HostToken<'_>, Error> {
    let host = HostToken::check(token)?;
    check_identity_token(token)?;
    Ok(host)
}

/// Host and slot, of which only one begins like a slot (A9).
fn addressed<'a>(tokens: &mut Tokens<'a>) -> Result<(HostToken<'a>, &'a str), Error> {
    let host_at = tokens.start;
    let host = tokens.read("host", HostToken::check)?;
    let slot = tokens.read("slot", |token| match token {
        "_" => Ok(""),
        _ => lower(token, slot_of),
    })?;
    // A token is in lower case, and '-' stands for itself.
    check_addressed_host(host.token(), slot)
        .map_err(|error| moved(error, host_at).in_field("host"))?;
    Ok((host, slot))
}

/// A slot that is in lower case already.
fn lower<'a>(
    token: &'a str,
    rule: impl FnOnce(&'a str) -> Result<Cow<'a, str>, Error>,
) -> Result<&'a str, Error> {
    rule(token)?;
    match token.bytes().position(|byte| byte.is_ascii_uppercase()) {
        Some(at) => Err(Error::at("not-canonical", at)),
        None => Ok(token),
    }
}

fn method(token: &str) -> Result<&str, Error> {
    match token {
        "ANY" => Err(Error::at("method-any", 0)),
        _ if METHODS.contains(&token) => Ok(token),
        _ => Err(Error::at("method", 0)),
    }
}

/// The tokens that are left.
fn path<'a, T>(
    tokens: &Tokens<'a>,
    check: impl FnOnce(&'a str) -> Result<T, Error>,
) -> Result<T, Error> {
    check(tokens.rest.unwrap_or_default())
        .map_err(|error| moved(error, tokens.start).in_field("path"))
}
