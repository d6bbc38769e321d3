//! Validation of hosts: those a service may have, and those a route may name.
//!
//! The host of a service, its identity, consists of labels of lower-case letters, digits and hyphens
//! separated by dots. Hosts that begin with `id-` or `loc-`, `all` and `*.all` are reserved. A route
//! may name any host that a URL can, folded to lower case, and also `all`.
// S0-034, S0-052 to S0-054, A21, A74

use super::case_folding::{ascii_lower, fold};
use super::fields::slot_of;
use crate::error::{Error, ErrorKind};

/// Maximum length of a host in characters.
const MAX_HOST: usize = 252;

/// Validate the host of a service; upper case is rejected, not folded.
///
/// # Errors
///
/// `host-empty`, `empty-label`, `host-length` (more than 252 characters), `identity` (another
/// character than `a` to `z`, `0` to `9` and `-`), `reserved`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::check_identity_host;
///
/// assert_eq!(check_identity_host("orders.shop")?, "orders.shop");
/// assert_eq!(check_identity_host("Orders.shop").unwrap_err().reason(), "identity");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn check_identity_host(host: &str) -> Result<&str, Error> {
    if is_plain_identity(host, b'.') {
        return Ok(host);
    }
    check_labels(host.char_indices(), host.len(), identity_fault)?;
    if host == "all" {
        return Err(Error::at(ErrorKind::Reserved, 0));
    }
    check_reserved(host, '.')?;
    Ok(host)
}

/// Whether the text is the host of a service beyond doubt, as nearly all are: with one pass. `dot`
/// separates its labels.
pub(super) fn is_plain_identity(host: &str, dot: u8) -> bool {
    let mut before = dot;
    let labels = host.bytes().all(|byte| {
        let valid = match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => true,
            _ => byte == dot && before != dot,
        };
        before = byte;
        valid
    });
    // A host that ends in `all` may be reserved.
    labels
        && before != dot
        && host.len() <= MAX_HOST
        && !host.ends_with("all")
        && !is_slot_label(host)
}

/// Validate the host of a service as a token; an escape stands for a character it cannot hold.
pub(super) fn check_identity_token(token: &str) -> Result<(), Error> {
    let dotted = |(at, char)| (at, if char == '_' { '.' } else { char });
    check_labels(
        token.char_indices().map(dotted),
        token.len(),
        identity_fault,
    )?;
    if token == "all" {
        return Err(Error::at(ErrorKind::Reserved, 0));
    }
    check_reserved(token, '_')
}

fn identity_fault(char: char) -> Option<ErrorKind> {
    (!matches!(char, 'a'..='z' | '0'..='9' | '-')).then_some(ErrorKind::Identity)
}

/// Validate a host that a route names, and return it in lower case.
///
/// # Errors
///
/// `host-empty`, `empty-label`, `host-length` (more than 252 characters), `host-character` (an ASCII
/// character that a URL's host cannot hold), `reserved`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::check_route_host;
///
/// assert_eq!(check_route_host("Orders.Shop")?, "orders.shop");
/// assert_eq!(check_route_host("id-1.shop").unwrap_err().reason(), "reserved");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn check_route_host(host: &str) -> Result<String, Error> {
    check_labels(host.char_indices(), host.len(), |char| {
        (char.is_ascii() && !is_url_host(char)).then_some(ErrorKind::HostCharacter)
    })?;
    let folded = fold(host);
    if folded != "all" {
        check_reserved(&folded, '.')?;
    }
    Ok(folded.into_owned())
}

/// Whether Go's URL parser accepts the ASCII character in a host.
// A74
pub(super) const fn is_url_host(char: char) -> bool {
    char.is_ascii_alphanumeric()
        || matches!(
            char,
            '-' | '.'
                | '_'
                | '~'
                | '!'
                | '$'
                | '&'
                | '\''
                | '('
                | ')'
                | '*'
                | '+'
                | ','
                | ';'
                | '='
                | ':'
                | '['
                | ']'
                | '<'
                | '>'
                | '"'
        )
}

/// Reject empty labels, characters for which `fault` gives a reason, and hosts that are too long.
/// `length` is the offset of the end of the host.
fn check_labels(
    chars: impl Iterator<Item = (usize, char)>,
    length: usize,
    fault: impl Fn(char) -> Option<ErrorKind>,
) -> Result<(), Error> {
    if length == 0 {
        return Err(Error::at(ErrorKind::HostEmpty, 0));
    }
    let mut begins = true;
    for (count, (at, char)) in chars.enumerate() {
        if count == MAX_HOST {
            return Err(Error::at(ErrorKind::HostLength, at));
        }
        if char == '.' {
            if begins {
                return Err(Error::at(ErrorKind::EmptyLabel, at));
            }
            begins = true;
            continue;
        }
        begins = false;
        if let Some(kind) = fault(char) {
            return Err(Error::at(kind, at));
        }
    }
    if begins {
        return Err(Error::at(ErrorKind::EmptyLabel, length));
    }
    Ok(())
}

fn check_reserved(host: &str, dot: char) -> Result<(), Error> {
    let below_all = host
        .strip_suffix("all")
        .is_some_and(|rest| rest.ends_with(dot));
    if is_slot_label(host) || below_all {
        return Err(Error::at(ErrorKind::Reserved, 0));
    }
    Ok(())
}

/// Whether the host begins like a slot.
// S0-052
pub(super) fn is_slot_label(host: &str) -> bool {
    host.starts_with("id-") || host.starts_with("loc-")
}

/// Validate the destination of a request: any text that is not empty.
// A74
pub(super) fn check_any_host(host: &str) -> Result<(), Error> {
    if host.is_empty() {
        return Err(Error::at(ErrorKind::HostEmpty, 0));
    }
    Ok(())
}

/// Reject a host that begins like a slot after a slot: no service can have it.
// A9
pub(super) fn check_addressed_host(host: &str, slot: &str) -> Result<(), Error> {
    if !slot.is_empty() && is_slot_label(&fold(host)) {
        return Err(Error::at(ErrorKind::Stacked, 0));
    }
    Ok(())
}

/// Split a leading `id-…` or `loc-…` label off a host, if a dot follows it.
///
/// Returns the rest in its original case, and the slot in lower case, empty if there is none.
///
/// # Errors
///
/// `slot` if the label is not a valid slot, `stacked` if the rest begins like a slot.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::cut_slot;
///
/// assert_eq!(cut_slot("id-7F.orders.shop")?, ("orders.shop", "id-7f".to_owned()));
/// assert_eq!(cut_slot("orders.shop")?, ("orders.shop", String::new()));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
// S0-055
pub fn cut_slot(host: &str) -> Result<(&str, String), Error> {
    match host.split_once('.') {
        Some((label, rest)) if is_slot_label(&ascii_lower(label)) => {
            let slot = slot_of(label)?;
            check_addressed_host(rest, &slot)?;
            Ok((rest, slot.into_owned()))
        }
        _ => Ok((host, String::new())),
    }
}
