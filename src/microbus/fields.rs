//! The tokens that are no host and no path: plane, trust, port, slot, method.

use std::borrow::Cow;

use super::fold::ascii_lower;
use crate::error::Error;

/// The methods that may be published (A12).
pub const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// How much the endpoint is trusted to be asked by few.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Every port but 666 (S0-023).
    Safe,
    /// Port 666 (S0-024).
    Danger,
}

impl Trust {
    /// The trust of a port; any port is safe, and never 666 (A16).
    #[must_use]
    pub const fn of(port: u16) -> Self {
        if port == 666 {
            Self::Danger
        } else {
            Self::Safe
        }
    }

    /// The token.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Danger => "danger",
        }
    }
}

/// A port as it was given: a number, or text still to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port<'a> {
    /// A number, of whatever size.
    Number(i64),
    /// Digits.
    Text(&'a str),
}

/// The plane, if it is one: digits and ASCII letters, and at least one (S0-016, A6).
pub fn check_plane(plane: &str) -> Result<&str, Error> {
    match plane.bytes().position(|byte| !byte.is_ascii_alphanumeric()) {
        Some(at) => Err(Error::at("plane", at)),
        None if plane.is_empty() => Err(Error::at("plane", 0)),
        None => Ok(plane),
    }
}

/// 0 to 65535; as text, digits without a leading zero (A10).
pub(super) fn port_of(port: Port<'_>) -> Result<u16, Error> {
    match port {
        Port::Number(number) => u16::try_from(number).map_err(|_| Error::new("port-range")),
        Port::Text(text) => {
            if let Some(at) = text.bytes().position(|byte| !byte.is_ascii_digit()) {
                return Err(Error::at("port", at));
            }
            if text.is_empty() || (text.starts_with('0') && text != "0") {
                return Err(Error::at("port", 0));
            }
            text.parse().map_err(|_| Error::new("port-range"))
        }
    }
}

/// `id-…`, `loc-…` or nothing, in lower case (S0-011, S0-069, A8).
pub(super) fn slot_of(slot: &str) -> Result<Cow<'_, str>, Error> {
    let lower = ascii_lower(slot);
    if lower.is_empty() {
        return Ok(lower);
    }
    let (start, joined) = if lower.starts_with("id-") {
        (3, false)
    } else if lower.starts_with("loc-") {
        (4, true)
    } else {
        return Err(Error::at("slot", 0));
    };
    let mut empty = true;
    for (at, byte) in lower.bytes().enumerate().skip(start) {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => empty = false,
            b'-' if joined && !empty => empty = true,
            _ => return Err(Error::at("slot", at)),
        }
    }
    if empty {
        return Err(Error::at("slot", lower.len()));
    }
    Ok(lower)
}

/// An instance: `id-…` and nothing else (A8).
pub(super) fn id_of(id: &str) -> Result<Cow<'_, str>, Error> {
    if !ascii_lower(id).starts_with("id-") {
        return Err(Error::at("slot", 0));
    }
    slot_of(id)
}

/// One of the nine, or `ANY`, in upper case (S0-012, S0-056, A3, A12).
pub fn check_method(method: &str) -> Result<&'static str, Error> {
    METHODS
        .iter()
        .chain(&["ANY"])
        .find(|known| known.eq_ignore_ascii_case(method))
        .copied()
        .ok_or_else(|| Error::at("method", 0))
}

/// One of the nine, in upper case; `ANY` is for subscriptions (A11).
pub(super) fn published_method_of(method: &str) -> Result<&'static str, Error> {
    match check_method(method)? {
        "ANY" => Err(Error::at("method-any", 0)),
        method => Ok(method),
    }
}
