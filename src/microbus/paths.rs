//! Conversion between paths and tokens: one token for each segment.
//!
//! One leading slash is dropped; an empty segment is `_`, and so is an empty path. Path arguments
//! become wildcards in subscriptions only.
// S0-013, S0-014, S0-059 to S0-063, S0-073, A13

use super::escape::{check_segment, push_replaced, push_segment, push_unescaped_segment};
use super::shift_position;
use crate::error::{Error, ErrorKind};

/// Append the tokens of a request's path, in which wildcards and braces are text.
// S0-070, S0-071
pub(super) fn push_path(out: &mut String, path: &str) {
    for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
        out.push('.');
        push_path_segment(out, segment);
    }
}

fn push_path_segment(out: &mut String, segment: &str) {
    if segment.is_empty() {
        out.push('_');
    } else {
        push_segment(out, segment);
    }
}

/// Append the tokens of a route's path: `*` for a path argument, `>` for a greedy one.
pub(super) fn push_route_path(out: &mut String, path: &str) -> Result<(), Error> {
    let mut at = usize::from(path.starts_with('/'));
    let segments = path.strip_prefix('/').unwrap_or(path);
    for segment in segments.split('/') {
        let last = at + segment.len() == path.len();
        out.push('.');
        match wildcard(segment, last).map_err(|error| shift_position(error, at))? {
            Some(token) => out.push(token),
            None => push_path_segment(out, segment),
        }
        at += segment.len() + 1;
    }
    Ok(())
}

/// Validate the path arguments of a route, and return the path with one leading slash.
///
/// # Errors
///
/// `argument` if braces are not around a whole segment, `argument-name` if the name is not a
/// lower-case letter followed by letters and digits, `greedy` if `{name...}` is not the last segment.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::check_route_path;
///
/// assert_eq!(check_route_path("order/{id}")?, "/order/{id}");
/// assert_eq!(check_route_path("/{rest...}/x").unwrap_err().reason(), "greedy");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn check_route_path(path: &str) -> Result<String, Error> {
    push_route_path(&mut String::new(), path)?;
    Ok(if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    })
}

/// The wildcard that a segment stands for, if it is a path argument or `*`.
// S0-072
fn wildcard(segment: &str, last: bool) -> Result<Option<char>, Error> {
    if !segment.contains(['{', '}']) {
        return Ok((segment == "*").then_some('*'));
    }
    let name = segment
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .filter(|name| !name.contains(['{', '}']))
        .ok_or_else(|| Error::at(ErrorKind::Argument, 0))?; // A15
    let (name, greedy) = match name.strip_suffix("...") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let lower = name.is_empty() || name.starts_with(|char: char| char.is_ascii_lowercase());
    if !lower || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(Error::at(ErrorKind::ArgumentName, 1));
    }
    if greedy && !last {
        return Err(Error::at(ErrorKind::Greedy, 0)); // S0-063, S0-086
    }
    Ok(Some(if greedy { '>' } else { '*' }))
}

/// Whether the byte is a dot or stands for itself in a token.
const fn is_plain_or_dot(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.')
}

/// The path tokens of a subject in canonical form.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::{Address, decode};
///
/// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
/// let Address::Request(request) = decode(subject)? else { unreachable!() };
/// assert_eq!((request.path.tokens(), request.path.text().as_str()), ("order.a%2eb", "/order/a.b"));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathTokens<'a>(&'a str);

impl<'a> PathTokens<'a> {
    /// Validate each token. Cost: one pass.
    pub(super) fn check(tokens: &'a str) -> Result<Self, Error> {
        if tokens.bytes().all(is_plain_or_dot) {
            return Ok(Self(tokens)); // empty tokens are refused before
        }
        let mut at = 0;
        for token in tokens.split('.') {
            check_segment(token).map_err(|error| shift_position(error, at))?;
            at += token.len() + 1;
        }
        Ok(Self(tokens))
    }

    /// Return the tokens as they stand in the subject, joined by dots.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::{Address, decode};
    ///
    /// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
    /// let Address::Request(request) = decode(subject)? else { unreachable!() };
    /// assert_eq!(request.path.tokens(), "order.a%2eb");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub const fn tokens(self) -> &'a str {
        self.0
    }

    /// Append the path, with a leading slash; a single `_` is `/`.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::{Address, decode};
    ///
    /// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
    /// let Address::Request(request) = decode(subject)? else { unreachable!() };
    /// let mut path = String::new();
    /// request.path.push_to(&mut path);
    /// assert_eq!(path, "/order/a.b");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    // A13
    pub fn push_to(self, out: &mut String) {
        if self.0.bytes().all(is_plain_or_dot) {
            out.push('/');
            return push_replaced(out, self.0, b'.', b'/');
        }
        for token in self.0.split('.') {
            out.push('/');
            push_unescaped_segment(out, token);
        }
    }

    /// Return the path.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::{Address, decode};
    ///
    /// let subject = "prod.safe.443.web_shop.orders_shop._.GET.order.a%2eb";
    /// let Address::Request(request) = decode(subject)? else { unreachable!() };
    /// assert_eq!(request.path.text(), "/order/a.b");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn text(self) -> String {
        let mut path = String::with_capacity(self.0.len() + 1);
        self.push_to(&mut path);
        path
    }
}

/// The path tokens of a pattern in canonical form; the names of path arguments are not in it.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::decode_subscription;
///
/// let subscription = decode_subscription("prod.safe.443.*.orders_shop._.GET.order.*.>")?;
/// assert_eq!(subscription.path.text(), "/order/{}/{...}");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutePath<'a>(&'a str);

impl<'a> RoutePath<'a> {
    /// Validate each token. Cost: one pass.
    pub(super) fn check(tokens: &'a str) -> Result<Self, Error> {
        let mut at = 0;
        for token in tokens.split('.') {
            if !matches!(token, "*" | ">") {
                check_segment(token).map_err(|error| shift_position(error, at))?;
                // Encoding the path again would give a wildcard, or an error.
                if token == "%2a" || token.contains("%7b") || token.contains("%7d") {
                    return Err(Error::at(ErrorKind::NotCanonical, at));
                }
            }
            at += token.len() + 1;
        }
        Ok(Self(tokens))
    }

    /// Append the path, with `{}` for one segment and `{...}` for the remaining ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::decode_subscription;
    ///
    /// let subscription = decode_subscription("prod.safe.443.*.orders_shop._.GET.order.*.>")?;
    /// let mut path = String::new();
    /// subscription.path.push_to(&mut path);
    /// assert_eq!(path, "/order/{}/{...}");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    pub fn push_to(self, out: &mut String) {
        for token in self.0.split('.') {
            out.push('/');
            match token {
                "*" => out.push_str("{}"),
                ">" => out.push_str("{...}"),
                _ => push_unescaped_segment(out, token),
            }
        }
    }

    /// Return the path.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::microbus::decode_subscription;
    ///
    /// let subscription = decode_subscription("prod.safe.443.*.orders_shop._.GET.order.*.>")?;
    /// assert_eq!(subscription.path.text(), "/order/{}/{...}");
    /// # Ok::<(), subtrie::error::Error>(())
    /// ```
    #[must_use]
    pub fn text(self) -> String {
        let mut path = String::with_capacity(self.0.len() + 1);
        self.push_to(&mut path);
        path
    }
}
