//! Encoding of addresses to subjects and patterns: validate the parts, escape them and join them.
//!
//! The parts are validated in the order of the tokens of the subject (of a subscription: the path
//! before the slot), so that both engines report the same part.
// S0-004 to S0-015, S0-023 to S0-025, S0-037, S0-056 to S0-073, S0-075, S0-076

use std::borrow::Cow;

use super::case_folding::ascii_lower;
use super::escape::push_host;
use super::fields::{
    Port, Trust, check_method, check_plane, id_of, port_of, published_method_of, slot_of,
};
use super::hosts::{check_addressed_host, check_any_host, check_identity_host};
use super::paths::{push_path, push_route_path};
use crate::error::Error;
use crate::grammar::{self, Dialect, Form};

/// The parts of a request's subject.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Port, RequestParts};
///
/// let parts = RequestParts {
///     plane: "prod",
///     port: Port::Text("443"),
///     source: "web.shop",
///     host: "orders.shop",
///     method: "GET",
///     path: "/order/1",
///     slot: "id-7f",
/// };
/// # let _ = parts;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RequestParts<'a> {
    /// The plane: letters and digits.
    pub plane: &'a str,
    /// The port, 0 to 65535.
    pub port: Port<'a>,
    /// The sender: the host of a service, in any case.
    pub source: &'a str,
    /// The receiver: any text that is not empty.
    pub host: &'a str,
    /// The method, one of [`METHODS`](super::METHODS) in any case.
    pub method: &'a str,
    /// The path as plain text; one leading slash is dropped.
    pub path: &'a str,
    /// The slot: `id-…`, `loc-…` or empty.
    pub slot: &'a str,
}

/// The parts of a pattern that subscribes to requests.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Port, SubscriptionParts};
///
/// let parts = SubscriptionParts {
///     plane: "prod",
///     port: Port::Number(0),
///     host: "orders.shop",
///     method: "ANY",
///     path: "/order/{id}",
///     slot: "",
/// };
/// # let _ = parts;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SubscriptionParts<'a> {
    /// The plane: letters and digits.
    pub plane: &'a str,
    /// The port, 0 to 65535; 0 stands for every port except 666.
    pub port: Port<'a>,
    /// The receiver: any text that is not empty.
    pub host: &'a str,
    /// The method, one of [`METHODS`](super::METHODS) or `ANY`, in any case.
    pub method: &'a str,
    /// The path as plain text with path arguments: `{name}`, and `{name...}` at the end.
    pub path: &'a str,
    /// The slot: `id-…`, `loc-…` or empty.
    pub slot: &'a str,
}

/// The parts of a reply's subject.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::ReplyParts;
///
/// let parts = ReplyParts { plane: "prod", source: "orders.shop", host: "web.shop", id: "id-7f" };
/// # let _ = parts;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ReplyParts<'a> {
    /// The plane: letters and digits.
    pub plane: &'a str,
    /// The sender: the host of a service, in any case.
    pub source: &'a str,
    /// The sender of the request.
    pub host: &'a str,
    /// The instance that sent the request: `id-…`.
    pub id: &'a str,
}

/// Encode the subject of a request.
///
/// # Errors
///
/// The first part that is not valid, with its field: `plane`, `port`, `port-range`, `method`,
/// `method-any`, `slot`, `stacked`, `host-empty`, a reason of
/// [`check_identity_host`](super::check_identity_host) for the source; `too-long` or
/// `too-many-tokens` for the whole subject.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Port, RequestParts, encode_request};
///
/// let subject = encode_request(&RequestParts {
///     plane: "prod",
///     port: Port::Number(443),
///     source: "web.shop",
///     host: "orders.shop",
///     method: "GET",
///     path: "/order/1",
///     slot: "",
/// })?;
/// assert_eq!(subject, "prod.safe.443.web_shop.orders_shop._.GET.order.1");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn encode_request(parts: &RequestParts<'_>) -> Result<String, Error> {
    check_plane(parts.plane).map_err(|error| error.in_field("plane"))?;
    let port = port_of(parts.port).map_err(|error| error.in_field("port"))?;
    let source = source_of(parts.source)?;
    check_any_host(parts.host).map_err(|error| error.in_field("host"))?;
    let method = published_method_of(parts.method).map_err(|error| error.in_field("method"))?;
    let slot = slot_of(parts.slot).map_err(|error| error.in_field("slot"))?;
    check_addressed_host(parts.host, &slot).map_err(|error| error.in_field("host"))?;
    let mut subject = head(
        parts.plane,
        port,
        parts.host.len() + source.len() + parts.path.len(),
    );
    push_port(&mut subject, port);
    subject.push('.');
    push_host(&mut subject, &source);
    push_tail(&mut subject, parts.host, &slot, method);
    push_path(&mut subject, parts.path);
    checked(subject, Form::Subject)
}

/// Encode the pattern that subscribes to the requests of one endpoint.
///
/// # Errors
///
/// As [`encode_request`], but without the source, with `ANY` as a method, and with the reasons of
/// [`check_route_path`](super::check_route_path) for the path.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Port, SubscriptionParts, encode_subscription};
///
/// let pattern = encode_subscription(&SubscriptionParts {
///     plane: "prod",
///     port: Port::Number(443),
///     host: "orders.shop",
///     method: "ANY",
///     path: "/order/{id}",
///     slot: "",
/// })?;
/// assert_eq!(pattern, "prod.safe.443.*.orders_shop._.*.order.*");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn encode_subscription(parts: &SubscriptionParts<'_>) -> Result<String, Error> {
    check_plane(parts.plane).map_err(|error| error.in_field("plane"))?;
    let port = port_of(parts.port).map_err(|error| error.in_field("port"))?;
    check_any_host(parts.host).map_err(|error| error.in_field("host"))?;
    let method = check_method(parts.method).map_err(|error| error.in_field("method"))?;
    let mut path = String::with_capacity(parts.path.len() + 1);
    push_route_path(&mut path, parts.path).map_err(|error| error.in_field("path"))?;
    let slot = slot_of(parts.slot).map_err(|error| error.in_field("slot"))?;
    check_addressed_host(parts.host, &slot).map_err(|error| error.in_field("host"))?;
    let mut pattern = head(parts.plane, port, parts.host.len() + path.len());
    if port == 0 {
        pattern.push('*'); // S0-083
    } else {
        push_port(&mut pattern, port);
    }
    pattern.push_str(".*"); // S0-037
    let method = if method == "ANY" { "*" } else { method }; // S0-057
    push_tail(&mut pattern, parts.host, &slot, method);
    pattern.push_str(&path);
    checked(pattern, Form::Pattern)
}

/// Encode the subject of a reply from `source` to the instance `id` of `host`.
///
/// # Errors
///
/// The first part that is not valid, with its field: `plane`, `host-empty`, `slot` (for the id), a
/// reason of [`check_identity_host`](super::check_identity_host) for the source; `too-long` for the
/// whole subject.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{ReplyParts, encode_reply};
///
/// let subject = encode_reply(&ReplyParts {
///     plane: "prod",
///     source: "orders.shop",
///     host: "web.shop",
///     id: "id-7f",
/// })?;
/// assert_eq!(subject, "prod.reply._.orders_shop.web_shop.id-7f");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
// A1
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

/// Encode the pattern that subscribes to the replies to the instance `id` of `host`.
///
/// # Errors
///
/// As [`encode_reply`], but without the source.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::encode_reply_subscription;
///
/// let pattern = encode_reply_subscription("prod", "web.shop", "id-7f")?;
/// assert_eq!(pattern, "prod.reply._.*.web_shop.id-7f");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
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

/// Fold and validate the host of a sender.
// A74: encoders fold before they validate.
fn source_of(source: &str) -> Result<Cow<'_, str>, Error> {
    let lower = ascii_lower(source);
    check_identity_host(&lower).map_err(|error| error.in_field("source"))?;
    Ok(lower)
}

/// The tokens of plane and trust, each followed by a dot, with room for `more` bytes of text.
fn head(plane: &str, port: u16, more: usize) -> String {
    // The fields that `more` does not contain are shorter than this, except a long slot.
    const OTHER_FIELDS: usize = 48;
    let mut head = String::with_capacity(plane.len() + more + OTHER_FIELDS);
    head.push_str(plane);
    head.push('.');
    head.push_str(Trust::of(port).name());
    head.push('.');
    head
}

/// Append the digits of a port.
fn push_port(out: &mut String, port: u16) {
    match port {
        443 => out.push_str("443"),
        _ => out.push_str(&port.to_string()),
    }
}

/// Append the tokens of host, slot and method, each after a dot.
fn push_tail(out: &mut String, host: &str, slot: &str, method: &str) {
    out.push('.');
    push_host(out, host);
    out.push('.');
    out.push_str(if slot.is_empty() { "_" } else { slot });
    out.push('.');
    out.push_str(method);
}

/// Return the text if it is within the bounds of the strict dialect.
// A37
fn checked(text: String, form: Form) -> Result<String, Error> {
    let dialect = Dialect::Strict;
    grammar::check(&text, form, dialect, dialect.bounds())?;
    Ok(text)
}
