//! Conversion of hosts to lower case, character by character, with the same result in both engines.
//!
//! Hosts are folded by the simple case mappings of Unicode 14, the tables of the oldest supported
//! Python: letters that got a lower case in a later version stay unchanged, whatever tables the
//! compiler has. Identities, slots and methods are ASCII.
// S0-069

use std::borrow::Cow;

/// Convert a host to lower case.
pub fn fold(host: &str) -> Cow<'_, str> {
    if host.is_ascii() {
        ascii_lower(host)
    } else {
        Cow::Owned(host.chars().map(fold_char).collect())
    }
}

/// Convert one character to lower case; the result is always one character.
pub fn fold_char(char: char) -> char {
    if char.is_ascii() || is_newer_than_unicode_14(char) {
        return char.to_ascii_lowercase();
    }
    // Only U+0130 maps to two characters, 'i' and a combining dot; its simple mapping is 'i'.
    char.to_lowercase().next().unwrap_or(char)
}

/// Whether the letter got its lower case after Unicode 14 (in 16 or 17).
fn is_newer_than_unicode_14(char: char) -> bool {
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

/// Convert A to Z to lower case and leave everything else unchanged.
pub fn ascii_lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}
