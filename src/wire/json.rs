//! Is this one JSON object, and may it be taken? Nothing is built here.
//!
//! Standard JSON (A66): nested at most so deep, numbers at most so long, and no name twice in one
//! object. Bytes beyond ASCII may stand in strings only.

use std::collections::HashSet;

/// Deepest nesting.
const DEPTH: usize = 128;
/// Longest number, in characters.
const DIGITS: usize = 1024;

/// Is the text one object, with nothing before or behind it?
pub(super) fn is_object(text: &[u8]) -> bool {
    let mut scan = Scan { text, at: 0 };
    text.first() == Some(&b'{') && scan.value().is_ok() && scan.at == text.len()
}

/// Not JSON, or more of it than is taken.
struct Refused;

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

/// An object or an array that is open, the names of an object with it.
enum Open {
    Object(HashSet<Vec<u8>>),
    Array,
}

impl Scan<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// One value, and whatever is nested in it, without recursion.
    fn value(&mut self) -> Result<(), Refused> {
        let mut open: Vec<Open> = Vec::new();
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
                        open.push(Open::Object(names));
                        deep(open.len())?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.at += 1;
                    self.blanks();
                    if self.byte() == Some(b']') {
                        self.at += 1;
                    } else {
                        open.push(Open::Array);
                        deep(open.len())?;
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true")?,
                Some(b'f') => self.word(b"false")?,
                Some(b'n') => self.word(b"null")?,
                _ => return Err(Refused),
            }
            // A value ended: so may what it stands in, and what that stands in.
            loop {
                let Some(inner) = open.last_mut() else {
                    return Ok(());
                };
                self.blanks();
                match (self.byte(), inner) {
                    (Some(b','), Open::Object(names)) => {
                        self.at += 1;
                        self.blanks();
                        let mut taken = std::mem::take(names);
                        self.name(&mut taken)?;
                        *names = taken;
                        break;
                    }
                    (Some(b','), Open::Array) => {
                        self.at += 1;
                        break;
                    }
                    (Some(b'}'), Open::Object(_)) | (Some(b']'), Open::Array) => {
                        self.at += 1;
                        open.pop();
                    }
                    _ => return Err(Refused),
                }
            }
        }
    }

    /// A name and its colon.
    fn name(&mut self, names: &mut HashSet<Vec<u8>>) -> Result<(), Refused> {
        let start = self.at;
        if self.byte() != Some(b'"') {
            return Err(Refused);
        }
        self.string()?;
        if !names.insert(spelled(&self.text[start + 1..self.at - 1])) {
            return Err(Refused);
        }
        self.blanks();
        if self.byte() != Some(b':') {
            return Err(Refused);
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), Refused> {
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
                                    return Err(Refused);
                                }
                                self.at += 1;
                            }
                        }
                        _ => return Err(Refused),
                    }
                }
                Some(0..=0x1f) | None => return Err(Refused),
                Some(_) => self.at += 1,
            }
        }
    }

    fn number(&mut self) -> Result<(), Refused> {
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
        if self.at - start > DIGITS {
            return Err(Refused);
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Refused> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if start == self.at {
            Err(Refused)
        } else {
            Ok(())
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Refused> {
        for &byte in word {
            if self.byte() != Some(byte) {
                return Err(Refused);
            }
            self.at += 1;
        }
        Ok(())
    }
}

fn deep(depth: usize) -> Result<(), Refused> {
    if depth > DEPTH { Err(Refused) } else { Ok(()) }
}

/// A checked name with its escapes resolved, so that two spellings of one name are one.
///
/// Code points beyond UTF-8 (lone halves of a pair) and bytes that are none are spelled as three
/// bytes, as Python's `surrogatepass` spells what its `surrogateescape` reads.
fn spelled(name: &[u8]) -> Vec<u8> {
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
                let high = unit_at(&points, at);
                at += 4;
                let paired = points.get(at) == Some(&u32::from(b'\\'))
                    && points.get(at + 1) == Some(&u32::from(b'u'));
                let low = if paired { unit_at(&points, at + 2) } else { 0 };
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

fn unit_at(points: &[u32], at: usize) -> u32 {
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
