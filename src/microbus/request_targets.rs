//! The targets of the requests of one sender: plain URLs in one pass, others by [`request_target`].
//!
//! A URL is plain if nothing in it is escaped, folded, or left out: `https` or `http`, a host in
//! lower case without a slot, and a path of letters, digits and hyphens.

use super::encode::{RequestParts, encode_request};
use super::fields::Port;
use super::hosts::is_slot_label;
use super::{METHODS, RequestTarget, request_target};
use crate::error::Error;

const LONGEST_SUBJECT: usize = 512; // bytes, half of the bound: longer ones are judged as others are
const MOST_SEGMENTS: usize = 32; // half of the bound on tokens

/// The targets of the requests of one sender.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::RequestTargets;
///
/// let targets = RequestTargets::new("prod", "web.shop")?;
/// let target = targets.of("GET", "https://orders.shop/order/1?x=1")?;
/// assert_eq!(target.subject, "prod.safe.443.web_shop.orders_shop._.GET.order.1");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RequestTargets {
    plane: String,
    source: String,
    /// The token of the source, between two dots.
    source_token: String,
}

impl RequestTargets {
    /// Validate the plane and the source.
    ///
    /// # Errors
    ///
    /// Those of [`encode_request`] for the plane and the source.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::RequestTargets;
    ///
    /// assert_eq!(RequestTargets::new("prod-1", "web.shop").unwrap_err().field, Some("plane"));
    /// ```
    pub fn new(plane: &str, source: &str) -> Result<Self, Error> {
        let subject = encode_request(&RequestParts {
            plane,
            port: Port::Number(443),
            source,
            host: "h",
            method: "GET",
            path: "",
            slot: "",
        })?;
        let source_token = subject.split('.').nth(3).unwrap_or_default();
        Ok(Self {
            plane: plane.to_owned(),
            source: source.to_owned(),
            source_token: format!(".{source_token}."),
        })
    }

    /// Return the target of a request.
    ///
    /// # Errors
    ///
    /// Those of [`request_target`].
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::RequestTargets;
    ///
    /// let targets = RequestTargets::new("prod", "web.shop")?;
    /// assert_eq!(targets.of("GET", "/order").unwrap_err().reason(), "url-host");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    pub fn of(&self, method: &str, url: &str) -> Result<RequestTarget, Error> {
        match self.plain(method, url) {
            Some(target) => Ok(target),
            None => request_target(&self.plane, &self.source, method, url),
        }
    }

    /// Return the target of a plain URL; None for every other.
    fn plain(&self, method: &str, url: &str) -> Option<RequestTarget> {
        if !METHODS.contains(&method) {
            return None;
        }
        let (scheme, default, rest) = match url.strip_prefix("https://") {
            Some(rest) => ("https", "443", rest),
            None => ("http", "80", url.strip_prefix("http://")?),
        };
        let bytes = rest.as_bytes();
        let host_end = bytes.iter().position(|&byte| !is_host(byte))?;
        let host = rest.get(..host_end)?;
        if host.is_empty() || is_slot_label(host) {
            return None;
        }
        let mut path_start = host_end;
        let mut port = default;
        if bytes.get(host_end) == Some(&b':') {
            let digits = rest.get(host_end + 1..)?;
            let count = digits.bytes().position(|byte| !byte.is_ascii_digit())?;
            port = digits.get(..count)?;
            let number: u16 = port.parse().ok()?;
            if number == 0 || number == 666 || port.starts_with('0') {
                return None;
            }
            path_start = host_end + 1 + count;
        }
        let (path, query) = split_path(rest, path_start)?;
        let size = self.plane.len() + self.source_token.len() + host.len() + path.len();
        if size > LONGEST_SUBJECT {
            return None;
        }
        let mut subject = String::with_capacity(size + ".safe.65535._.OPTIONS".len());
        subject.push_str(&self.plane);
        subject.push_str(".safe.");
        subject.push_str(port);
        subject.push_str(&self.source_token);
        push_dotted(&mut subject, host, '.', '_');
        subject.push_str("._.");
        subject.push_str(method);
        push_dotted(&mut subject, path, '/', '.');
        let size = scheme.len() + host.len() + port.len() + rest.len() - path_start + "://:".len();
        let mut text = String::with_capacity(size);
        text.push_str(scheme);
        text.push_str("://");
        text.push_str(host);
        text.push(':');
        text.push_str(port);
        text.push_str(path);
        if let Some(query) = query {
            text.push('?');
            text.push_str(query);
        }
        Some(RequestTarget::plain(
            text, scheme, host, port, path, subject,
        ))
    }
}

/// Append an ASCII text with one character replaced by another.
fn push_dotted(out: &mut String, text: &str, from: char, to: char) {
    let mut parts = text.split(from);
    if let Some(first) = parts.next() {
        out.push_str(first);
    }
    for part in parts {
        out.push(to);
        out.push_str(part);
    }
}

/// Split the path from the query; None unless both are plain, and no segment is empty.
fn split_path(rest: &str, start: usize) -> Option<(&str, Option<&str>)> {
    let tail = rest.get(start..)?;
    let (path, query) = match tail.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (tail, None),
    };
    if query.is_some_and(|query| !query.bytes().all(is_query)) {
        return None;
    }
    let mut segments = 0;
    let mut before = b'-';
    for byte in path.bytes() {
        match byte {
            b'/' if before != b'/' => segments += 1,
            b'-' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' if segments > 0 => {}
            _ => return None,
        }
        before = byte;
    }
    (segments > 0 && segments <= MOST_SEGMENTS && before != b'/').then_some((path, query))
}

/// Whether the byte stands in the host of a plain URL.
const fn is_host(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.')
}

/// Whether the byte stands in the query of a plain URL.
const fn is_query(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && !matches!(byte, b'#' | b'`')
}
