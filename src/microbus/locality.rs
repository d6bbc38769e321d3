//! A locality and the slots it answers to: broadest first, joined by hyphens (S0-046).
//!
//! A dotted locality is the reverse and is turned round. Parts are `[a-z0-9]+` (A8, A74); `all`
//! and what begins like a slot are reserved.

use super::fold::ascii_lower;
use super::hosts::is_slot_label;
use crate::error::Error;

/// The locality, broadest first: `1.b.west.us` gives `us-west-b-1`.
pub fn check_locality(locality: &str) -> Result<String, Error> {
    let mut begins = true;
    for (at, byte) in locality.bytes().enumerate() {
        match byte {
            b'-' | b'.' if !begins => begins = true,
            b'a'..=b'z' | b'0'..=b'9' => begins = false,
            _ => return Err(Error::at("locality", at)),
        }
    }
    if begins {
        return Err(Error::at("locality", locality.len()));
    }
    let broad = locality.rsplit('.').collect::<Vec<_>>().join("-");
    if broad == "all" || is_slot_label(&broad) {
        return Err(Error::at("reserved", 0));
    }
    Ok(broad)
}

/// One slot for each prefix of the locality, broadest first.
pub fn locality_slots(locality: &str) -> Result<Vec<String>, Error> {
    let broad = check_locality(locality)?;
    let ends = broad.match_indices('-').map(|(at, _)| at);
    Ok(ends
        .chain([broad.len()])
        .filter_map(|end| broad.get(..end))
        .map(|prefix| format!("loc-{prefix}"))
        .collect())
}

/// The slot of one whole locality, in lower case; empty text has none.
pub fn locality_slot(locality: &str) -> Result<String, Error> {
    if locality.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("loc-{}", check_locality(&ascii_lower(locality))?))
}

/// The longest common prefix of two localities, by whole parts; empty where there is none.
#[must_use]
pub fn common_locality<'a>(one: &'a str, other: &str) -> &'a str {
    let mut end = 0;
    for (left, right) in one.split('-').zip(other.split('-')) {
        if left != right {
            break;
        }
        end += left.len() + 1;
    }
    one.get(..end.saturating_sub(1)).unwrap_or_default()
}
