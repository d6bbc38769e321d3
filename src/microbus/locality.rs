//! Localities, and the slots an instance in a locality subscribes to.
//!
//! A locality is written broadest part first, joined by hyphens; a dotted locality is written the
//! other way round and is reversed. Parts are `[a-z0-9]+`; `all` and whatever begins like a slot are
//! reserved.
// S0-046, A8, A74

use super::case_folding::ascii_lower;
use super::hosts::is_slot_label;
use crate::error::{Error, ErrorKind};

/// Validate a locality, and return it broadest part first.
///
/// # Errors
///
/// `locality` at the first character that is not valid, `reserved`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::check_locality;
///
/// assert_eq!(check_locality("1.b.west.us")?, "us-west-b-1");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn check_locality(locality: &str) -> Result<String, Error> {
    let mut begins = true;
    for (at, byte) in locality.bytes().enumerate() {
        match byte {
            b'-' | b'.' if !begins => begins = true,
            b'a'..=b'z' | b'0'..=b'9' => begins = false,
            _ => return Err(Error::at(ErrorKind::Locality, at)),
        }
    }
    if begins {
        return Err(Error::at(ErrorKind::Locality, locality.len()));
    }
    let broad = locality.rsplit('.').collect::<Vec<_>>().join("-");
    if broad == "all" || is_slot_label(&broad) {
        return Err(Error::at(ErrorKind::Reserved, 0));
    }
    Ok(broad)
}

/// Return one slot for each prefix of the locality, broadest first.
///
/// # Errors
///
/// As [`check_locality`].
///
/// # Examples
///
/// ```
/// use subtrie::microbus::locality_slots;
///
/// assert_eq!(locality_slots("us-west")?, ["loc-us", "loc-us-west"]);
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn locality_slots(locality: &str) -> Result<Vec<String>, Error> {
    let broad = check_locality(locality)?;
    let ends = broad.match_indices('-').map(|(at, _)| at);
    Ok(ends
        .chain([broad.len()])
        .filter_map(|end| broad.get(..end))
        .map(|prefix| format!("loc-{prefix}"))
        .collect())
}

/// Return the slot of one whole locality, in lower case; empty for an empty locality.
///
/// # Errors
///
/// As [`check_locality`].
///
/// # Examples
///
/// ```
/// use subtrie::microbus::locality_slot;
///
/// assert_eq!(locality_slot("US-West")?, "loc-us-west");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn locality_slot(locality: &str) -> Result<String, Error> {
    if locality.is_empty() {
        return Ok(String::new());
    }
    Ok(format!("loc-{}", check_locality(&ascii_lower(locality))?))
}

/// Return the longest common prefix of two localities in whole parts, empty if there is none.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::common_locality;
///
/// assert_eq!(common_locality("us-west-a", "us-west-b"), "us-west");
/// ```
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
