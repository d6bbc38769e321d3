//! Validation of JSON objects in `INFO` and `CONNECT`, without building them.
//!
//! Standard JSON with three restrictions: a maximum depth, a maximum length of numbers, and no name
//! twice in one object. Bytes beyond ASCII may stand in strings only. The validator does not recurse.
// A66

use std::collections::HashSet;

/// Maximum nesting.
const MAX_DEPTH: usize = 128;
/// Maximum length of a number in characters.
const MAX_NUMBER: usize = 1024;

/// Whether the text is exactly one JSON object.
pub(super) fn is_object(text: &[u8]) -> bool {
    let mut validator = Validator { text, at: 0 };
    text.first() == Some(&b'{') && validator.value().is_ok() && validator.at == text.len()
}

/// The text is not JSON, or exceeds a limit.
struct NotJson;

struct Validator<'a> {
    text: &'a [u8],
    at: usize,
}

/// An object that has begun, with its names so far, or an array that has begun.
enum Container {
    Object(HashSet<Vec<u8>>),
    Array,
}

impl Validator<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Read one value with everything nested in it.
    fn value(&mut self) -> Result<(), NotJson> {
        let mut open: Vec<Container> = Vec::new();
        loop {
            self.blanks();
            match self.byte() {
                Some(b'{') => {
                    self.at += 1;
                    self.blanks();
                    if self.byte() == Some(b'}') {
                        self.at += 1;
                    } else {
                        let mut names = HashSet::new();
                        self.name(&mut names)?;
                        open.push(Container::Object(names));
                        check_depth(open.len())?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.blanks();
                    if self.byte() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(Container::Array);
                        check_depth(open.len())?;
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal(b"true")?,
                Some(b'f') => self.literal(b"false")?,
                Some(b'n') => self.literal(b"null")?,
                _ => return Err(NotJson),
            }
            // The end of a value may also be the end of the values around it.
            loop {
                let Some(inner) = open.last_mut() else {
                    return Ok(());
                };
                self.blanks();
                match (self.byte(), inner) {
                    (Some(b','), Container::Object(names)) => {
                        self.at += 1;
                        self.blanks();
                        let mut taken = std::mem::take(names);
                        self.name(&mut taken)?;
                        *names = taken;
                        break;
                    }
                    (Some(b','), Container::Array) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), Container::Object(_)) | (Some(b']'), Container::Array) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(NotJson),
                }
            }
        }
    }

    /// Read a name and its colon.
    fn name(&mut self, names: &mut HashSet<Vec<u8>>) -> Result<(), NotJson> {
        let start = self.at;
        if self.byte() != Some(b'"') {
            return Err(NotJson);
        }
        self.string()?;
        if !names.insert(unescape_name(&self.text[start + 1..self.at - 1])) {
            return Err(NotJson);
        }
        self.blanks();
        if self.byte() != Some(b':') {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.byte() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                            self.at += 1;
                        }
                        Some(b'u') => {
                            self.at += 1;
                            for _ in 0..4 {
                                if !self.byte().is_some_and(|byte| byte.is_ascii_hexdigit()) {
                                    return Err(NotJson);
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(NotJson),
                    }
                }
                Some(0..=0x1f) | None => return Err(NotJson),
                Some(_) => self.at += 1,
            }
        }
    }

    fn number(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.byte(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if self.at - start > MAX_NUMBER {
            return Err(NotJson);
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if start == self.at {
            Err(NotJson)
        } else {
            Ok(())
        }
    }

    fn literal(&mut self, literal: &[u8]) -> Result<(), NotJson> {
        for &byte in literal {
            if self.byte() != Some(byte) {
                return Err(NotJson);
            }
            self.at += 1;
        }
        Ok(())
    }
}

fn check_depth(depth: usize) -> Result<(), NotJson> {
    if depth > MAX_DEPTH {
        Err(NotJson)
    } else {
        Ok(())
    }
}

/// Resolve the escapes of a validated name, so that two spellings of one name are equal.
///
/// Lone surrogates and bytes that are not UTF-8 become three bytes, as Python's `surrogatepass`
/// encodes what its `surrogateescape` decodes.
fn unescape_name(name: &[u8]) -> Vec<u8> {
    let mut points: Vec<u32> = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        points.extend(chunk.valid().chars().map(u32::from));
        points.extend(chunk.invalid().iter().map(|&byte| 0xdc00 + u32::from(byte)));
    }
    let mut out = Vec::with_capacity(name.len());
    let mut at = 0;
    while let Some(&point) = points.get(at) {
        at += 1;
        if point != u32::from(b'\\') {
            push(&mut out, point);
            continue;
        }
        let escape = points
            .get(at)
            .copied()
            .and_then(char::from_u32)
            .unwrap_or_default();
        at += 1;
        let unit = match escape {
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'u' => {
                let high = hex_escape_at(&points, at);
                at += 4;
                let paired = points.get(at) == Some(&u32::from(b'\\'))
                    && points.get(at + 1) == Some(&u32::from(b'u'));
                let low = if paired {
                    hex_escape_at(&points, at + 2)
                } else {
                    0
                };
                if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) {
                    at += 6;
                    0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                } else {
                    high
                }
            }
            other => u32::from(other),
        };
        push(&mut out, unit);
    }
    out
}

fn hex_escape_at(points: &[u32], at: usize) -> u32 {
    let digits = points.get(at..at + 4).unwrap_or_default();
    digits.iter().fold(0, |sum, &point| {
        let digit = char::from_u32(point).and_then(|digit| digit.to_digit(16));
        sum * 16 + digit.unwrap_or(0)
    })
}

fn push(out: &mut Vec<u8>, point: u32) {
    match char::from_u32(point) {
        Some(character) => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            for (shift, lead) in [(12, 0xe0), (6, 0x80), (0, 0x80)] {
                let bits = if shift == 12 { 0x0f } else { 0x3f };
                let low = u8::try_from((point >> shift) & bits).unwrap_or(0);
                out.push(lead | low);
            }
        }
    }
}
