//! Text of a log: bytes that are not UTF-8 are written as escapes, Go's quotes are resolved.

use std::borrow::Cow;
use std::fmt::Write;

/// Return bytes as text, with escapes such as `\xff` for what is not UTF-8.
#[must_use]
pub fn escape(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.utf8_chunks().fold(String::new(), |mut text, chunk| {
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                // Writing to a String cannot fail.
                let _ = write!(text, "\\x{byte:02x}");
            }
            text
        })),
    }
}

/// Return the number of bytes of the first `limit` characters; a byte that is not UTF-8 is one.
#[must_use]
pub fn prefix_length(bytes: &[u8], limit: usize) -> usize {
    if bytes.len() <= limit {
        return bytes.len();
    }
    if bytes[..limit].is_ascii() {
        return limit;
    }
    let (mut left, mut length) = (limit, 0);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if left == 0 {
                return length;
            }
            left -= 1;
            length += character.len_utf8();
        }
        for _ in chunk.invalid() {
            if left == 0 {
                return length;
            }
            left -= 1;
            length += 1;
        }
    }
    length
}

/// Resolve the escapes of text between Go's quotes.
#[must_use]
pub fn unquote(quoted: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = quoted.iter().position(|&byte| byte == b'\\') else {
        return Cow::Borrowed(quoted);
    };
    let mut bytes = quoted[..first].to_vec();
    let mut rest = &quoted[first..];
    while let Some((&byte, after)) = rest.split_first() {
        if byte != b'\\' || after.is_empty() {
            bytes.push(byte);
            rest = after;
            continue;
        }
        rest = resolve(after, &mut bytes);
    }
    Cow::Owned(bytes)
}

/// Return the number that at most eight digits are; a sign is none of them.
#[must_use]
pub fn number(digits: &[u8], radix: u32) -> Option<u32> {
    digits.iter().try_fold(0, |found, &digit| {
        Some(found * radix + char::from(digit).to_digit(radix)?)
    })
}

/// Append what the escape after a backslash stands for, and return the text after it.
fn resolve<'a>(after: &'a [u8], bytes: &mut Vec<u8>) -> &'a [u8] {
    let digits = |from: usize, count: usize, radix| number(after.get(from..from + count)?, radix);
    let wide = match after[0] {
        b'x' => digits(1, 2, 16).map(|value| (value, 3, true)),
        b'u' => digits(1, 4, 16).map(|value| (value, 5, false)),
        b'U' => digits(1, 8, 16).map(|value| (value, 9, false)),
        _ => digits(0, 3, 8).map(|value| (value & 0xff, 3, true)),
    };
    if let Some((value, length, is_byte)) = wide {
        if let (true, Ok(byte)) = (is_byte, u8::try_from(value)) {
            bytes.push(byte);
        } else {
            // Go writes the replacement character for a code point that is not valid.
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        return &after[length..];
    }
    bytes.push(match after[0] {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => 10,
        b'r' => 13,
        b't' => 9,
        b'v' => 11,
        other => other,
    });
    &after[1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_go_are_resolved() {
        let quoted = br#"a\r\n\t\"\\\x41\101\u00e9\U0001f600"#;
        assert_eq!(escape(&unquote(quoted)), "a\r\n\t\"\\AA\u{e9}\u{1f600}");
        assert_eq!(
            escape(&unquote(br"\xc3\xa9 \xff \ud800 \x4 \")),
            "\u{e9} \\xff \u{fffd} x4 \\"
        );
    }

    #[test]
    fn a_character_that_is_not_utf8_counts_as_one() {
        assert_eq!(prefix_length("aéb".as_bytes(), 2), 3);
        assert_eq!(prefix_length(b"\xff\xffab", 3), 3);
        assert_eq!(prefix_length(b"ab", 300), 2);
    }
}
