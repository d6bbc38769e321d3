//! Parsing of URLs to host, port and path, with the same results as Go's `net/url`.
//!
//! The path is percent-decoded, so that `%2F` separates segments. Query, fragment and user
//! information are dropped. A port must be canonical, and a colon must be followed by one.
// A10, A14, A74

use std::net::Ipv6Addr;

use super::fields::{Port, port_of};
use super::hosts::is_url_host;
use crate::error::{Error, ErrorKind};

/// The target of a URL or a route. Port 0 of a route stands for every port except 666.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::resolve_route;
///
/// let target = resolve_route("orders.shop", ":8080/order")?;
/// assert_eq!((target.host.as_str(), target.port), ("orders.shop", 8080));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The host as it was written, percent-decoded.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path, percent-decoded.
    pub path: String,
}

/// Parse a URL to its host, port and decoded path.
pub(super) fn target_of(url: &str) -> Result<Target, Error> {
    let raw = without_extras(url)?;
    let (scheme, start) = scheme_of(raw);
    let rest = raw.get(start..).unwrap_or_default();
    let hosted = rest.strip_prefix("//");
    let Some(hosted) = hosted.filter(|_| !scheme.is_empty() || !rest.starts_with("///")) else {
        return Err(Error::at(ErrorKind::UrlHost, start));
    };
    let end = hosted.find('/').unwrap_or(hosted.len());
    let (authority, path) = hosted.split_at(end);
    let (host, port) = authority_of(authority, start + 2, &scheme)?;
    let default = if scheme == "http" { 80 } else { 443 };
    Ok(Target {
        host,
        port: port.unwrap_or(default),
        path: path_text(path, start + 2 + end)?,
    })
}

/// Validate a URL as Go does, and return it without query and fragment.
pub(super) fn without_extras(url: &str) -> Result<&str, Error> {
    if let Some(at) = url.find('`') {
        return Err(Error::at(ErrorKind::UrlBacktick, at));
    }
    let (before, fragment) = match url.split_once('#') {
        Some((before, fragment)) => (before, Some(fragment)),
        None => (url, None),
    };
    if let Some(at) = before.bytes().position(|byte| byte.is_ascii_control()) {
        return Err(Error::at(ErrorKind::UrlControl, at));
    }
    if let Some(fragment) = fragment {
        unescaped(fragment, before.len() + 1)?;
    }
    Ok(before.split_once('?').map_or(before, |(bare, _)| bare))
}

/// The scheme in lower case, empty if there is none, and the offset of the rest.
fn scheme_of(raw: &str) -> (String, usize) {
    let mut scheme = String::new();
    for (at, char) in raw.char_indices() {
        match char {
            ':' if at > 0 => return (scheme, at + 1),
            'a'..='z' | 'A'..='Z' => scheme.push(char.to_ascii_lowercase()),
            '0'..='9' | '+' | '-' | '.' if at > 0 => scheme.push(char),
            _ => break,
        }
    }
    (String::new(), 0)
}

/// Parse the authority to the host, and the port if there is one.
fn authority_of(
    authority: &str,
    start: usize,
    scheme: &str,
) -> Result<(String, Option<u16>), Error> {
    let (user, authority) = authority
        .rsplit_once('@')
        .map_or((None, authority), |(user, rest)| (Some(user), rest));
    let start = match user {
        Some(user) => {
            check_user(user, start)?;
            start + user.len() + 1
        }
        None => start,
    };
    let (host, end) = match authority.rfind('[') {
        Some(0) => {
            let close = authority.rfind(']').unwrap_or(0);
            let address = authority.get(1..close).unwrap_or_default();
            if address.parse::<Ipv6Addr>().is_err() {
                return Err(Error::at(ErrorKind::UrlAddress, start));
            }
            (address.to_owned(), close + 1)
        }
        Some(bracket) => return Err(Error::at(ErrorKind::UrlAddress, start + bracket)),
        None => {
            // Go lets a host hold colons unless the scheme is http or https.
            let colon = if matches!(scheme, "http" | "https") {
                authority.find(':')
            } else {
                authority.rfind(':')
            };
            let end = colon.unwrap_or(authority.len());
            let host = authority.get(..end).unwrap_or_default();
            (host_text(host, start)?, end)
        }
    };
    if host.is_empty() {
        return Err(Error::at(ErrorKind::UrlHost, start));
    }
    match authority.get(end..).unwrap_or_default() {
        "" => Ok((host, None)),
        rest => match rest.strip_prefix(':') {
            Some(digits) => Ok((host, Some(url_port(digits, start + end + 1)?))),
            None => Err(Error::at(ErrorKind::UrlAddress, start + end)),
        },
    }
}

/// Validate the user information, which is then dropped.
fn check_user(user: &str, start: usize) -> Result<(), Error> {
    let stray = user
        .bytes()
        .position(|byte| !byte.is_ascii_alphanumeric() && !b"-._:~!$&'()*+,;=%@".contains(&byte));
    if let Some(at) = stray {
        return Err(Error::at(ErrorKind::UrlUser, start + at));
    }
    unescaped(user, start).map(drop)
}

/// Read the port of a URL: canonical, as every port.
// A10
pub(super) fn url_port(digits: &str, start: usize) -> Result<u16, Error> {
    port_of(Port::Text(digits))
        .map_err(|error| Error::at(error.kind, start + error.position.unwrap_or(0)))
}

/// Decode a host, in which only bytes beyond ASCII may be percent-encoded.
fn host_text(raw: &str, start: usize) -> Result<String, Error> {
    let bytes = raw.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'%' {
            match escaped_at(bytes, at) {
                None => return Err(Error::at(ErrorKind::UrlEscape, start + at)),
                Some(..0x80) => return Err(Error::at(ErrorKind::HostCharacter, start + at)),
                Some(_) => {}
            }
        } else if byte.is_ascii() && !is_url_host(char::from(byte)) {
            return Err(Error::at(ErrorKind::HostCharacter, start + at));
        }
    }
    path_text(raw, start)
}

/// Percent-decode a text; its bytes must be UTF-8.
// A73
pub(super) fn path_text(raw: &str, start: usize) -> Result<String, Error> {
    String::from_utf8(unescaped(raw, start)?).map_err(|_| Error::at(ErrorKind::Utf8, start))
}

/// Percent-decode to bytes.
fn unescaped(raw: &str, start: usize) -> Result<Vec<u8>, Error> {
    let bytes = raw.as_bytes();
    let mut data = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            data.push(
                escaped_at(bytes, at).ok_or_else(|| Error::at(ErrorKind::UrlEscape, start + at))?,
            );
            at += 3;
        } else {
            data.push(byte);
            at += 1;
        }
    }
    Ok(data)
}

/// The byte of the escape at `at`; its digits may be in either case.
pub(super) fn escaped_at(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| {
        let digit = char::from(*bytes.get(at)?).to_digit(16)?;
        u8::try_from(digit).ok()
    };
    Some(digit(at + 1)? << 4 | digit(at + 2)?)
}
