//! Addresses to subjects and patterns: the parts checked, escaped and joined in their order.
//!
//! Rules: S0-004 to S0-015, S0-023 to S0-025, S0-037, S0-056 to S0-073, S0-075, S0-076. The parts
//! are checked in the order of the fields below, so both engines blame the same one.

use std::borrow::Cow;

use super::escape::push_host;
use super::fields::{
    Port, Trust, check_method, check_plane, id_of, port_of, published_method_of, slot_of,
};
use super::fold::ascii_lower;
use super::hosts::{check_addressed_host, check_any_host, check_identity_host};
use super::paths::{push_path, push_route_path};
use crate::error::Error;
use crate::grammar::{self, Dialect, Form};

/// What a request says.
#[derive(Debug, Clone, Copy)]
pub struct RequestParts<'a> {
    /// Letters and digits.
    pub plane: &'a str,
    /// 0 to 65535.
    pub port: Port<'a>,
    /// The sender: an identity, in any case.
    pub source: &'a str,
    /// The receiver: any text that is not empty.
    pub host: &'a str,
    /// One of the nine, in any case.
    pub method: &'a str,
    /// Plain text; one leading slash is dropped.
    pub path: &'a str,
    /// `id-…`, `loc-…` or empty.
    pub slot: &'a str,
}

/// What an endpoint listens to.
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionParts<'a> {
    /// Letters and digits.
    pub plane: &'a str,
    /// 0 to 65535; 0 is any port but 666.
    pub port: Port<'a>,
    /// The receiver: any text that is not empty.
    pub host: &'a str,
    /// One of the nine or ANY, in any case.
    pub method: &'a str,
    /// Plain text with arguments.
    pub path: &'a str,
    /// `id-…`, `loc-…` or empty.
    pub slot: &'a str,
}

/// What a reply says.
#[derive(Debug, Clone, Copy)]
pub struct ReplyParts<'a> {
    /// Letters and digits.
    pub plane: &'a str,
    /// The sender: an identity, in any case.
    pub source: &'a str,
    /// Who asked.
    pub host: &'a str,
    /// The instance that asked: `id-…`.
    pub id: &'a str,
}

/// The subject of a request.
pub fn encode_request(parts: &RequestParts<'_>) -> Result<String, Error> {
    check_plane(parts.plane).map_err(|error| error.in_field("plane"))?;
    let port = port_of(parts.port).map_err(|error| error.in_field("port"))?;
    let source = source_of(parts.source)?;
    check_any_host(parts.host).map_err(|error| error.in_field("host"))?;
    let method = published_method_of(parts.method).map_err(|error| error.in_field("method"))?;
    let slot = slot_of(parts.slot).map_err(|error| error.in_field("slot"))?;
    check_addressed_host(parts.host, &slot).map_err(|error| error.in_field("host"))?;
    let mut subject = head(parts.plane, port, &port.to_string());
    push_host(&mut subject, &source);
    push_tail(&mut subject, parts.host, &slot, method);
    push_path(&mut subject, parts.path);
    checked(subject, Form::Subject)
}

/// The pattern that receives requests to one endpoint.
pub fn encode_subscription(parts: &SubscriptionParts<'_>) -> Result<String, Error> {
    check_plane(parts.plane).map_err(|error| error.in_field("plane"))?;
    let port = port_of(parts.port).map_err(|error| error.in_field("port"))?;
    check_any_host(parts.host).map_err(|error| error.in_field("host"))?;
    let method = check_method(parts.method).map_err(|error| error.in_field("method"))?;
    let mut path = String::with_capacity(parts.path.len() + 1);
    push_route_path(&mut path, parts.path).map_err(|error| error.in_field("path"))?;
    let slot = slot_of(parts.slot).map_err(|error| error.in_field("slot"))?;
    check_addressed_host(parts.host, &slot).map_err(|error| error.in_field("host"))?;
    let port_token = if port == 0 {
        Cow::Borrowed("*") // S0-083
    } else {
        Cow::Owned(port.to_string())
    };
    let mut pattern = head(parts.plane, port, &port_token);
    pattern.push('*'); // S0-037
    let method = if method == "ANY" { "*" } else { method }; // S0-057
    push_tail(&mut pattern, parts.host, &slot, method);
    pattern.push_str(&path);
    checked(pattern, Form::Pattern)
}

/// The subject of a reply from `source` to the instance `id` of `host` (A1).
pub fn encode_reply(parts: &ReplyParts<'_>) -> Result<String, Error> {
    check_plane(parts.plane).map_err(|error| error.in_field("plane"))?;
    let source = source_of(parts.source)?;
    check_any_host(parts.host).map_err(|error| error.in_field("host"))?;
    let id = id_of(parts.id).map_err(|error| error.in_field("id"))?;
    let mut subject = format!("{}.reply._.", parts.plane);
    push_host(&mut subject, &source);
    subject.push('.');
    push_host(&mut subject, parts.host);
    subject.push('.');
    subject.push_str(&id);
    checked(subject, Form::Subject)
}

/// The pattern that receives the replies to the instance `id` of `host`.
pub fn encode_reply_subscription(plane: &str, host: &str, id: &str) -> Result<String, Error> {
    check_plane(plane).map_err(|error| error.in_field("plane"))?;
    check_any_host(host).map_err(|error| error.in_field("host"))?;
    let id = id_of(id).map_err(|error| error.in_field("id"))?;
    let mut pattern = format!("{plane}.reply._.*.");
    push_host(&mut pattern, host);
    pattern.push('.');
    pattern.push_str(&id);
    checked(pattern, Form::Pattern)
}

/// A sender's host: encoders fold before they check (A74).
fn source_of(source: &str) -> Result<Cow<'_, str>, Error> {
    let lower = ascii_lower(source);
    check_identity_host(&lower).map_err(|error| error.in_field("source"))?;
    Ok(lower)
}

/// Plane, trust and port, each with its dot.
fn head(plane: &str, port: u16, port_token: &str) -> String {
    format!("{plane}.{}.{port_token}.", Trust::of(port).name())
}

/// Host, slot and method, each behind its dot.
fn push_tail(out: &mut String, host: &str, slot: &str, method: &str) {
    out.push('.');
    push_host(out, host);
    out.push('.');
    out.push_str(if slot.is_empty() { "_" } else { slot });
    out.push('.');
    out.push_str(method);
}

/// The whole, if it has not too many tokens or bytes (A37).
fn checked(text: String, form: Form) -> Result<String, Error> {
    let dialect = Dialect::Strict;
    grammar::check(&text, form, dialect, dialect.bounds())?;
    Ok(text)
}
