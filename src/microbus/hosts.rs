//! Which hosts may a service have, and which may a route name?
//!
//! An identity is made of lower-case letters, digits and hyphens between dots (S0-034). `id-`,
//! `loc-`, `all` and `*.all` are reserved (S0-052 to S0-054, A21). A route may name any host that
//! a URL can (A74), folded to lower case, and `all` itself.

use super::fields::slot_of;
use super::fold::{ascii_lower, fold};
use crate::error::Error;

/// Longest host, counted in characters.
const LONGEST: usize = 252;

/// The host, if a service may have it. Upper case is refused, not folded.
pub fn check_identity_host(host: &str) -> Result<&str, Error> {
    check_labels(host.char_indices(), host.len(), identity_fault)?;
    if host == "all" {
        return Err(Error::at("reserved", 0));
    }
    check_reserved(host, '.')?;
    Ok(host)
}

/// The same for the token of a host: an escape in it is a character no identity holds.
pub(super) fn check_identity_token(token: &str) -> Result<(), Error> {
    let dotted = |(at, char)| (at, if char == '_' { '.' } else { char });
    check_labels(
        token.char_indices().map(dotted),
        token.len(),
        identity_fault,
    )?;
    if token == "all" {
        return Err(Error::at("reserved", 0));
    }
    check_reserved(token, '_')
}

fn identity_fault(char: char) -> Option<&'static str> {
    (!matches!(char, 'a'..='z' | '0'..='9' | '-')).then_some("identity")
}

/// The host in lower case, if a route may name it.
pub fn check_route_host(host: &str) -> Result<String, Error> {
    check_labels(host.char_indices(), host.len(), |char| {
        (char.is_ascii() && !is_url_host(char)).then_some("host-character")
    })?;
    let folded = fold(host);
    if folded != "all" {
        check_reserved(&folded, '.')?;
    }
    Ok(folded.into_owned())
}

/// The ASCII characters that Go's URL parser admits in a host (A74).
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

/// No empty label, no stray character, not too long. `length` is where the host ends.
fn check_labels(
    chars: impl Iterator<Item = (usize, char)>,
    length: usize,
    fault: impl Fn(char) -> Option<&'static str>,
) -> Result<(), Error> {
    if length == 0 {
        return Err(Error::at("host-empty", 0));
    }
    let mut begins = true;
    for (count, (at, char)) in chars.enumerate() {
        if count == LONGEST {
            return Err(Error::at("host-length", at));
        }
        if char == '.' {
            if begins {
                return Err(Error::at("empty-label", at));
            }
            begins = true;
            continue;
        }
        begins = false;
        if let Some(reason) = fault(char) {
            return Err(Error::at(reason, at));
        }
    }
    if begins {
        return Err(Error::at("empty-label", length));
    }
    Ok(())
}

fn check_reserved(host: &str, dot: char) -> Result<(), Error> {
    let below_all = host
        .strip_suffix("all")
        .is_some_and(|rest| rest.ends_with(dot));
    if is_slot_label(host) || below_all {
        return Err(Error::at("reserved", 0));
    }
    Ok(())
}

/// Does the host begin like a slot? (S0-052)
pub(super) fn is_slot_label(host: &str) -> bool {
    host.starts_with("id-") || host.starts_with("loc-")
}

/// Any text that is not empty: where a request goes is not ours to check (A74).
pub(super) fn check_any_host(host: &str) -> Result<(), Error> {
    if host.is_empty() {
        return Err(Error::at("host-empty", 0));
    }
    Ok(())
}

/// The host behind a slot is not a second slot, which nothing could be named (A9).
pub(super) fn check_addressed_host(host: &str, slot: &str) -> Result<(), Error> {
    if !slot.is_empty() && is_slot_label(&fold(host)) {
        return Err(Error::at("stacked", 0));
    }
    Ok(())
}

/// Lifts a leading `id-` or `loc-` label, if a dot follows it (S0-055).
///
/// Gives the rest, its case untouched, and the slot in lower case.
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
