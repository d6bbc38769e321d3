//! Validation of the fields other than host and path: plane, trust, port, slot and method.

use std::borrow::Cow;

use super::case_folding::ascii_lower;
use crate::error::{Error, ErrorKind};

/// The methods a request may have.
// A12
pub const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

/// The trust zone of a port, a token of the subject.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::Trust;
///
/// assert_eq!(Trust::of(666).name(), "danger");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Every port except 666.
    Safe, // S0-023
    /// Port 666.
    Danger, // S0-024
}

impl Trust {
    /// Return the trust zone of a port; port 0, which stands for every port except 666, is safe.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::Trust;
    ///
    /// assert_eq!((Trust::of(443), Trust::of(666)), (Trust::Safe, Trust::Danger));
    /// ```
    // A16
    #[must_use]
    pub const fn of(port: u16) -> Self {
        if port == 666 {
            Self::Danger
        } else {
            Self::Safe
        }
    }

    /// Return the token of the trust zone.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie::microbus::Trust::Safe.name(), "safe");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Danger => "danger",
        }
    }
}

/// A port as the caller gives it.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::Port;
///
/// assert_ne!(Port::Number(443), Port::Text("443"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port<'a> {
    /// A number; validated to be 0 to 65535.
    Number(i64),
    /// Text; validated to be digits without a leading zero.
    Text(&'a str),
}

/// Validate a plane: one or more ASCII letters and digits.
///
/// # Errors
///
/// `plane`, at the first other character, or at 0 if the plane is empty.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::check_plane;
///
/// assert_eq!(check_plane("prod1")?, "prod1");
/// assert_eq!(check_plane("prod-1").unwrap_err().position, Some(4));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
// S0-016, A6
pub fn check_plane(plane: &str) -> Result<&str, Error> {
    match plane.bytes().position(|byte| !byte.is_ascii_alphanumeric()) {
        Some(at) => Err(Error::at(ErrorKind::Plane, at)),
        None if plane.is_empty() => Err(Error::at(ErrorKind::Plane, 0)),
        None => Ok(plane),
    }
}

/// Read a port: 0 to 65535; as text, digits without a leading zero.
// A10
pub(super) fn port_of(port: Port<'_>) -> Result<u16, Error> {
    match port {
        Port::Number(number) => u16::try_from(number).map_err(|_| Error::new(ErrorKind::PortRange)),
        Port::Text(text) => {
            if let Some(at) = text.bytes().position(|byte| !byte.is_ascii_digit()) {
                return Err(Error::at(ErrorKind::Port, at));
            }
            if text.is_empty() || (text.starts_with('0') && text != "0") {
                return Err(Error::at(ErrorKind::Port, 0));
            }
            text.parse().map_err(|_| Error::new(ErrorKind::PortRange))
        }
    }
}

/// Convert a slot to lower case and validate it: `id-…`, `loc-…` or empty.
// S0-011, S0-069, A8
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
        return Err(Error::at(ErrorKind::Slot, 0));
    };
    let mut empty = true;
    for (at, byte) in lower.bytes().enumerate().skip(start) {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' => empty = false,
            b'-' if joined && !empty => empty = true,
            _ => return Err(Error::at(ErrorKind::Slot, at)),
        }
    }
    if empty {
        return Err(Error::at(ErrorKind::Slot, lower.len()));
    }
    Ok(lower)
}

/// Convert the id of an instance to lower case and validate it: `id-…`.
// A8
pub(super) fn id_of(id: &str) -> Result<Cow<'_, str>, Error> {
    if !ascii_lower(id).starts_with("id-") {
        return Err(Error::at(ErrorKind::Slot, 0));
    }
    slot_of(id)
}

/// Return a method in upper case: one of [`METHODS`], or `ANY`.
///
/// # Errors
///
/// `method` if it is not one of them.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::check_method;
///
/// assert_eq!(check_method("get")?, "GET");
/// assert_eq!(check_method("FETCH").unwrap_err().reason(), "method");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
// S0-012, S0-056, A3, A12
pub fn check_method(method: &str) -> Result<&'static str, Error> {
    METHODS
        .iter()
        .chain(&["ANY"])
        .find(|known| **known == method)
        .or_else(|| {
            let mut all = METHODS.iter().chain(&["ANY"]);
            all.find(|known| known.eq_ignore_ascii_case(method))
        })
        .copied()
        .ok_or_else(|| Error::at(ErrorKind::Method, 0))
}

/// Return the method of a request in upper case; `ANY` is for subscriptions only.
// A11
pub(super) fn published_method_of(method: &str) -> Result<&'static str, Error> {
    match check_method(method)? {
        "ANY" => Err(Error::at(ErrorKind::MethodAny, 0)),
        method => Ok(method),
    }
}
