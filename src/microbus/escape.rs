//! Escaping of hosts and path segments as tokens, and the inverse for tokens in canonical form.
//!
//! Host: each dot becomes `_`, then every byte outside `[A-Za-z0-9_-]` becomes `%xx`. Path segment:
//! every byte outside `[A-Za-z0-9-]` becomes `%xx`. Hexadecimal digits are in lower case. A token
//! that the encoder would have written differently does not decode.
// S0-028 to S0-030, S0-064 to S0-067, A4, A7

use std::borrow::Cow;

use super::case_folding::{fold, fold_char};
use crate::error::{Error, ErrorKind};

/// Escape a host as a token, in lower case.
///
/// # Examples
///
/// ```
/// assert_eq!(subtrie::microbus::flatten_host("Orders.Shop"), "orders_shop");
/// ```
#[must_use]
pub fn flatten_host(host: &str) -> String {
    let mut token = String::with_capacity(host.len());
    push_host(&mut token, host);
    token
}

/// Escape one path segment as a token; an empty segment gives empty text, which encoders write `_`.
///
/// # Examples
///
/// ```
/// assert_eq!(subtrie::microbus::escape_segment("a.b"), "a%2eb");
/// ```
#[must_use]
pub fn escape_segment(segment: &str) -> String {
    let mut token = String::with_capacity(segment.len());
    push_segment(&mut token, segment);
    token
}

pub(super) fn push_host(out: &mut String, host: &str) {
    if host
        .bytes()
        .all(|byte| is_unescaped_in_host(byte) || byte == b'.')
    {
        return push_replaced(out, host, b'.', b'_');
    }
    for byte in fold(host).bytes() {
        match byte {
            b'.' | b'_' => out.push('_'),
            _ => push_byte(out, byte),
        }
    }
}

pub(super) fn push_segment(out: &mut String, segment: &str) {
    if segment.bytes().all(is_plain) {
        return out.push_str(segment);
    }
    for byte in segment.bytes() {
        push_byte(out, byte);
    }
}

fn push_byte(out: &mut String, byte: u8) {
    if is_plain(byte) {
        out.push(char::from(byte));
    } else {
        out.push('%');
        out.push(hex(byte >> 4));
        out.push(hex(byte & 15));
    }
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

/// Whether the byte stands for itself in the token of a host; `_`, which stands for a dot, too.
const fn is_unescaped_in_host(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_')
}

/// Append an ASCII text with one byte replaced by another, also ASCII.
pub(super) fn push_replaced(out: &mut String, text: &str, from: u8, to: u8) {
    let mut replaced = [0; 64];
    for chunk in text.as_bytes().chunks(replaced.len()) {
        for (place, &byte) in replaced.iter_mut().zip(chunk) {
            *place = if byte == from { to } else { byte };
        }
        let ascii = replaced.get(..chunk.len()).map(std::str::from_utf8);
        out.push_str(ascii.and_then(Result::ok).unwrap_or_default());
    }
}

fn hex(digit: u8) -> char {
    char::from(if digit < 10 {
        b'0' + digit
    } else {
        b'a' - 10 + digit
    })
}

/// Return the host of a token in canonical form; `_` always stands for a dot.
///
/// # Errors
///
/// `placeholder` for the token `_`, `not-canonical` for another spelling of the host, `escape` or
/// `utf8` for a malformed escape.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::unflatten_host;
///
/// assert_eq!(unflatten_host("orders_shop")?, "orders.shop");
/// assert_eq!(unflatten_host("Orders_Shop").unwrap_err().reason(), "not-canonical");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
// A5, A7
pub fn unflatten_host(token: &str) -> Result<Cow<'_, str>, Error> {
    if token == "_" {
        return Err(Error::at(ErrorKind::Placeholder, 0));
    }
    Ok(HostToken::check(token)?.text())
}

/// Return the path segment of a token in canonical form; `_` stands for the empty segment.
///
/// # Errors
///
/// `not-canonical` for another spelling of the segment, `escape` or `utf8` for a malformed escape.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::unescape_segment;
///
/// assert_eq!(unescape_segment("a%2eb")?, "a.b");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
// A13
pub fn unescape_segment(token: &str) -> Result<Cow<'_, str>, Error> {
    check_segment(token)?;
    let mut segment = String::new();
    if token == "_" || token.bytes().all(is_plain) {
        return Ok(Cow::Borrowed(if token == "_" { "" } else { token }));
    }
    push_unescaped_segment(&mut segment, token);
    Ok(Cow::Owned(segment))
}

/// A host token in canonical form; the host is decoded on demand.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Address, decode};
///
/// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
/// let Address::Request(request) = decode(subject)? else { unreachable!() };
/// let token = request.host;
/// assert_eq!((token.token(), token.text().as_ref()), ("orders_shop", "orders.shop"));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostToken<'a>(&'a str);

impl<'a> HostToken<'a> {
    /// Validate that the token is in canonical form. Cost: one pass.
    pub(super) fn check(token: &'a str) -> Result<Self, Error> {
        let bytes = token.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                _ if is_unescaped_in_host(byte) => at += 1,
                b'%' => {
                    let (char, end) = escape_at(bytes, at)?;
                    // The encoder never escapes these: it writes or folds them.
                    if matches!(char, '.' | '_' | '-')
                        || char.is_ascii_alphanumeric()
                        || fold_char(char) != char
                    {
                        return Err(Error::at(ErrorKind::NotCanonical, at));
                    }
                    at = end;
                }
                _ => return Err(Error::at(ErrorKind::NotCanonical, at)),
            }
        }
        Ok(Self(token))
    }

    /// A token that is known to be in canonical form.
    pub(super) const fn of_checked(token: &'a str) -> Self {
        Self(token)
    }

    /// Return the token as it stands in the subject.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::{Address, decode};
    ///
    /// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
    /// let Address::Request(request) = decode(subject)? else { unreachable!() };
    /// assert_eq!(request.host.token(), "orders_shop");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub const fn token(self) -> &'a str {
        self.0
    }

    /// Return the host; borrowed if the token equals it.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::{Address, decode};
    ///
    /// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
    /// let Address::Request(request) = decode(subject)? else { unreachable!() };
    /// assert_eq!(request.host.text(), "orders.shop");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        if self.0.bytes().any(|byte| matches!(byte, b'_' | b'%')) {
            let mut host = String::with_capacity(self.0.len());
            self.push_to(&mut host);
            Cow::Owned(host)
        } else {
            Cow::Borrowed(self.0)
        }
    }

    /// Append the host to `out`.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::{Address, decode};
    ///
    /// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
    /// let Address::Request(request) = decode(subject)? else { unreachable!() };
    /// let mut host = String::new();
    /// request.host.push_to(&mut host);
    /// assert_eq!(host, "orders.shop");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    pub fn push_to(self, out: &mut String) {
        push_unescaped(out, self.0, '.');
    }
}

/// Validate that the token of a path segment is in canonical form. Cost: one pass.
pub(super) fn check_segment(token: &str) -> Result<(), Error> {
    if token == "_" {
        return Ok(());
    }
    let bytes = token.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'%' => {
                let (char, end) = escape_at(bytes, at)?;
                // A slash separates segments (A14).
                if matches!(char, '-' | '/') || char.is_ascii_alphanumeric() {
                    return Err(Error::at(ErrorKind::NotCanonical, at));
                }
                at = end;
            }
            _ if is_plain(byte) => at += 1,
            _ => return Err(Error::at(ErrorKind::NotCanonical, at)),
        }
    }
    Ok(())
}

/// Append the path segment of a validated token.
pub(super) fn push_unescaped_segment(out: &mut String, token: &str) {
    if token != "_" {
        push_unescaped(out, token, '_');
    }
}

/// Append the text of a validated token, in which `_` stands for the character `underscore`.
fn push_unescaped(out: &mut String, token: &str, underscore: char) {
    let bytes = token.as_bytes();
    if memchr::memchr(b'%', bytes).is_none() {
        // Both are ASCII.
        let (from, to) = (b'_', u8::try_from(underscore).unwrap_or(b'_'));
        return push_replaced(out, token, from, to);
    }
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let (char, end) = match byte {
            b'%' => escape_at(bytes, at).unwrap_or(('%', at + 1)),
            b'_' => (underscore, at + 1),
            _ => (char::from(byte), at + 1),
        };
        out.push(char);
        at = end;
    }
}

/// Decode the character whose escapes begin at `at`; return it with the offset after them.
// A73
fn escape_at(token: &[u8], at: usize) -> Result<(char, usize), Error> {
    let first = byte_at(token, at).ok_or_else(|| Error::at(ErrorKind::Escape, at))?;
    let mut data = [first, 0, 0, 0];
    let mut read = 1;
    let length = match first {
        ..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    };
    for slot in data.iter_mut().take(length).skip(1) {
        let Some(byte) = byte_at(token, at + 3 * read) else {
            break;
        };
        *slot = byte;
        read += 1;
    }
    data.get(..read)
        .and_then(|data| std::str::from_utf8(data).ok())
        .and_then(|text| text.chars().next())
        .map(|char| (char, at + 3 * read))
        .ok_or_else(|| Error::at(ErrorKind::Utf8, at))
}

/// Decode the escaped byte at `at`, `None` if there is no escape.
fn byte_at(token: &[u8], at: usize) -> Option<u8> {
    match token.get(at..at + 3)? {
        [b'%', high, low] => Some(nibble(*high)? << 4 | nibble(*low)?),
        _ => None,
    }
}

/// The value of a lower-case hexadecimal digit.
const fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
