//! Validation of JSON objects in `INFO` and `CONNECT`, without building them.
//!
//! Standard JSON, as `serde_json` reads it, with three restrictions: a maximum depth, a maximum length
//! of numbers, and no name twice in one object. Bytes beyond ASCII may stand in strings only.
// A66

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::{self, Formatter, Write};

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Maximum nesting of objects and arrays that are not empty.
const MAX_DEPTH: usize = 128;
/// Maximum length of a number in characters.
const MAX_NUMBER: usize = 1024;

/// Whether the text is exactly one JSON object.
pub(super) fn is_object(text: &[u8]) -> bool {
    text.starts_with(b"{")
        && text.ends_with(b"}")
        && as_utf8(text).is_some_and(|text| serde_json::from_str(&text).is_ok_and(is_within_limits))
}

/// Writes each byte that is not UTF-8 as the escape of a lone surrogate, as Python's `surrogateescape`
/// decodes it. `None` if it follows a backslash, which then escapes nothing.
fn as_utf8(text: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = str::from_utf8(text) {
        return Some(text.into());
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        escaped.push_str(valid);
        if (valid.len() - valid.trim_end_matches('\\').len()) % 2 == 1 {
            return None;
        }
        for byte in chunk.invalid() {
            write!(escaped, "\\udc{byte:02x}").ok()?;
        }
    }
    Some(escaped.into())
}

/// Whether a value is nested no deeper than allowed, with unique names and short numbers.
fn is_within_limits(value: &RawValue) -> bool {
    // Each level is validated before the next is read, so the stack holds no more than `MAX_DEPTH`.
    let mut level = vec![value];
    for _ in 0..=MAX_DEPTH {
        let mut next = Vec::new();
        for value in level {
            let text = value.get();
            match text.as_bytes().first() {
                Some(b'{' | b'[') => match serde_json::from_str(text) {
                    Ok(Values(values)) => next.extend(values),
                    Err(_) => return false,
                },
                Some(b'-' | b'0'..=b'9') if text.len() > MAX_NUMBER => return false,
                _ => {}
            }
        }
        if next.is_empty() {
            return true;
        }
        level = next;
    }
    false
}

/// The values of an object, whose names are unique, or of an array.
struct Values<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for Values<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor).map(Self)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str("an object or an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(values)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let (mut names, mut values) = (HashSet::new(), Vec::new());
        while let Some((Name(name), value)) = items.next_entry()? {
            if !names.insert(name) {
                return Err(de::Error::custom("a name twice"));
            }
            values.push(value);
        }
        Ok(values)
    }
}

/// A name without its escapes, so that two spellings of one name are equal. As bytes, since a lone
/// surrogate is not a character.
struct Name(Vec<u8>);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(NameVisitor).map(Self)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str("a name")
    }

    fn visit_bytes<E>(self, name: &[u8]) -> Result<Vec<u8>, E> {
        Ok(name.to_vec())
    }
}
