//! Lower case, character by character, so that both engines agree (S0-069).
//!
//! Hosts fold by the simple mappings of Unicode 14, the tables of the oldest Python supported:
//! younger letters stay as they are, whatever tables the compiler brings. Identities, slots and
//! methods are ASCII and fold as such.

use std::borrow::Cow;

/// The host in lower case.
pub fn fold(host: &str) -> Cow<'_, str> {
    if host.is_ascii() {
        ascii_lower(host)
    } else {
        Cow::Owned(host.chars().map(folded).collect())
    }
}

/// One character in lower case: always one character.
pub fn folded(char: char) -> char {
    if char.is_ascii() || is_younger(char) {
        return char.to_ascii_lowercase();
    }
    // Only U+0130 has two: 'i' and a combining dot. Its simple mapping is 'i'.
    char.to_lowercase().next().unwrap_or(char)
}

/// A letter whose lower case came after Unicode 14 (in 16 and 17).
fn is_younger(char: char) -> bool {
    matches!(
        char,
        '\u{1C89}'
            | '\u{A7CB}'..='\u{A7CC}'
            | '\u{A7CE}'
            | '\u{A7D2}'
            | '\u{A7D4}'
            | '\u{A7DA}'
            | '\u{A7DC}'
            | '\u{10D50}'..='\u{10D65}'
            | '\u{16EA0}'..='\u{16EB8}'
    )
}

/// A to Z in lower case, all else as it is.
pub fn ascii_lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}
