//! Redaction of secrets in text of a log: values of named options and headers, JWTs and seeds.

use std::borrow::Cow;

use memchr::{memchr, memmem};

/// The text that replaces a secret, as in the log of nats-server.
const REDACTED: &str = "[REDACTED]";

/// Options of CONNECT and INFO whose values are secrets.
const SECRET: [&str; 8] = [
    "pass",
    "password",
    "auth_token",
    "jwt",
    "nkey",
    "sig",
    "proxy_sig",
    "nonce",
];

/// Headers whose values are credentials.
const HEADERS: [&str; 4] = [
    "proxy-authorization",
    "authorization",
    "set-cookie",
    "cookie",
];

/// The shortest text with a secret, which is a header; shorter text is returned as it is.
const SHORTEST: usize = "cookie:x".len();

/// Whether bytes are text without any sign of a secret, so that neither `escape` nor `redact` changes
/// them. One pass without branches: most text of a log is so.
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    // Sums of bytes, so that the compiler uses vector instructions.
    let sign = |byte: u8| (byte & 128) | u8::from(matches!(byte, b'"' | b':' | b'J'));
    if bytes.iter().fold(0, |found, &byte| found | sign(byte)) != 0 {
        return false;
    }
    let in_seeds = bytes.chunks(usize::from(u8::MAX)).map(|chunk| {
        let count = chunk.iter().map(|&byte| u8::from(is_base32(byte)));
        usize::from(count.sum::<u8>())
    });
    bytes.len() < SEED || in_seeds.sum::<usize>() < SEED
}

/// Return a text with every secret replaced. Cost: linear.
#[must_use]
pub fn redact(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    if bytes.len() < SHORTEST && !bytes.contains(&b'"') {
        return Cow::Borrowed(text);
    }
    let mut text = Cow::Borrowed(text);
    if memchr(b'"', bytes).is_some() {
        replace(&mut text, option_values);
    }
    if memchr(b':', bytes).is_some() {
        replace(&mut text, header_values);
    }
    if memmem::find(bytes, b"eyJ").is_some() {
        replace(&mut text, tokens);
    }
    if bytes.len() >= SEED && memchr(b'S', bytes).is_some() {
        replace(&mut text, seeds);
    }
    text
}

/// Replace the ranges that `find` returns, which are ascending and begin and end at characters.
fn replace(text: &mut Cow<'_, str>, find: fn(&[u8]) -> Vec<(usize, usize)>) {
    let found = find(text.as_bytes());
    if found.is_empty() {
        return;
    }
    let mut made = String::with_capacity(text.len());
    let mut done = 0;
    for (start, end) in found {
        made.push_str(&text[done..start]);
        made.push_str(REDACTED);
        done = end;
    }
    made.push_str(&text[done..]);
    *text = Cow::Owned(made);
}

/// Find the values of secret options, without their quotes.
fn option_values(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(quote) = bytes[at..].iter().position(|&byte| byte == b'"') {
        let name = at + quote + 1;
        at = name;
        for secret in SECRET {
            let end = name + secret.len();
            let named = bytes
                .get(name..end)
                .is_some_and(|text| text.eq_ignore_ascii_case(secret.as_bytes()));
            if !named || bytes.get(end) != Some(&b'"') {
                continue;
            }
            let colon = skip_blanks(bytes, end + 1);
            if bytes.get(colon) != Some(&b':') {
                continue;
            }
            let value = skip_blanks(bytes, colon + 1);
            if bytes.get(value) != Some(&b'"') {
                continue;
            }
            let close = end_of_value(bytes, value + 1);
            found.push((value + 1, close));
            at = (close + 1).min(bytes.len());
        }
    }
    found
}

fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes
        .get(at)
        .is_some_and(|byte| matches!(byte, b' ' | 9..=13))
    {
        at += 1;
    }
    at
}

/// The position of the closing quote, or the end of a text that was truncated.
fn end_of_value(bytes: &[u8], mut at: usize) -> usize {
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Find the values of headers that carry credentials, up to the end of the line or of a quoted text.
fn header_values(bytes: &[u8]) -> Vec<(usize, usize)> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = memchr(b':', &bytes[at..]) {
        let colon = at + offset;
        let before = &bytes[at..colon];
        let name = before.len()
            - before
                .iter()
                .rev()
                .take_while(|byte| is_blank(byte))
                .count();
        let after = &bytes[colon + 1..];
        let value = colon + 1 + after.iter().take_while(|byte| is_blank(byte)).count();
        let end = bytes[value..]
            .iter()
            .position(|byte| matches!(byte, b'\r' | b'\n' | b'\\' | b'"'))
            .map_or(bytes.len(), |length| value + length);
        if end > value && names_credentials(&before[..name]) {
            found.push((value, end));
            at = end;
        } else {
            at = colon + 1;
        }
    }
    found
}

/// Whether a text ends with the name of such a header, as a whole word. In quoted text the name may
/// follow an escape, as in `\r\nCookie`.
fn names_credentials(text: &[u8]) -> bool {
    HEADERS.iter().any(|name| {
        let Some(start) = text.len().checked_sub(name.len()) else {
            return false;
        };
        let (before, last) = text.split_at(start);
        last.eq_ignore_ascii_case(name.as_bytes())
            && match before {
                [.., b'\\', b'r' | b'n' | b't'] | [] => true,
                [.., byte] => !(byte.is_ascii_alphanumeric() || *byte == b'-'),
            }
    })
}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Find JWTs: a part that begins with `eyJ` and has eight more characters, and one or two further
/// parts of at least four, joined by dots.
fn tokens(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        // Each run of characters is scanned once, so the cost is linear for any text.
        let end = run_end(bytes, at);
        let start = bytes[at..end]
            .windows(3)
            .position(|three| three == b"eyJ")
            .map(|offset| at + offset)
            .filter(|start| end - start >= 11);
        let second = start.and_then(|_| next_part(bytes, end));
        if let (Some(start), Some(second)) = (start, second) {
            let last = next_part(bytes, second).unwrap_or(second);
            found.push((start, last));
            at = last;
        } else {
            at = end + 1;
        }
    }
    found
}

fn run_end(bytes: &[u8], from: usize) -> usize {
    bytes[from..]
        .iter()
        .position(|&byte| !is_token_byte(byte))
        .map_or(bytes.len(), |length| from + length)
}

/// The end of a further part that follows a dot at `at`, if it has at least four characters.
fn next_part(bytes: &[u8], at: usize) -> Option<usize> {
    let end = (bytes.get(at) == Some(&b'.')).then(|| run_end(bytes, at + 1))?;
    (end - at > 4).then_some(end)
}

/// The length of a seed.
const SEED: usize = 58;

const fn is_base32(byte: u8) -> bool {
    matches!(byte, b'A'..=b'Z' | b'2'..=b'7')
}

/// Find seeds of nkeys: `S`, the kind, and 56 characters of base 32, and no further one.
fn seeds(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..]
            .iter()
            .position(|&byte| !is_base32(byte))
            .unwrap_or(bytes.len() - at);
        let kinds = b"UAONCX";
        if length == SEED && bytes[at] == b'S' && kinds.contains(&bytes[at + 1]) {
            found.push((at, at + length));
        }
        at += length + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_replaced() {
        let jwt = "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl";
        let seed = format!("SU{}", "A".repeat(56));
        assert_eq!(redact(jwt), REDACTED);
        assert_eq!(redact(&format!("x {seed}.")), format!("x {REDACTED}."));
        assert_eq!(redact(&format!("x {seed}A")), format!("x {seed}A"));
        assert_eq!(
            redact(r#"{"user":"u","PASS" : "a\"b","jwt":"half"#),
            r#"{"user":"u","PASS" : "[REDACTED]","jwt":"[REDACTED]"#
        );
    }

    #[test]
    fn plain_text_is_not_changed() {
        let seed = format!("SU{}", "A".repeat(56));
        assert!(is_plain(b"p.443.orders_shop._.POST.create"));
        assert!(is_plain("POST.a.".repeat(10).as_bytes()));
        for text in [
            &seed,
            "eyJhbGciOiJub25lIn0.eyJhIjoxfQ",
            "cookie:x",
            "\"pass\"",
            "é",
        ] {
            assert!(!is_plain(text.as_bytes()), "{text}");
        }
        proptest!(|(text in "[ -~]{0,70}|[A-Z2-7.]{50,70}")| {
            prop_assert!(!is_plain(text.as_bytes()) || redact(&text) == text);
        });
    }

    #[test]
    fn values_of_headers_are_replaced() {
        for (text, shown) in [
            ("Cookie:x", "Cookie:[REDACTED]"),
            (
                "AUTHORIZATION \t:\t a b\r\nX: y",
                "AUTHORIZATION \t:\t [REDACTED]\r\nX: y",
            ),
            (
                r#"["a\r\ncookie: c: d\r\n"]"#,
                r#"["a\r\ncookie: [REDACTED]\r\n"]"#,
            ),
            ("Set-Cookie: a; Cookie: b", "Set-Cookie: [REDACTED]"),
            ("x-cookie: a 1cookie: b", "x-cookie: a 1cookie: b"),
            ("cookie: \r\n cookie:", "cookie: \r\n cookie:"),
        ] {
            assert_eq!(redact(text), shown);
        }
    }
}
