//! Texts in a JSON object of a log: options of CONNECT, claims of a JWT.

use super::text::number;

/// The deepest nesting of objects and lists in text that is read.
const MAX_DEPTH: usize = 128;

/// Return the texts of an object under the wanted names, where it has them; a name within an object
/// of it is written with a point, `nats.issuer_account`. Text that is not an object has none.
///
/// As the server reads them, names are equal whatever their case, the last of equal ones counts, and
/// `null` says nothing.
pub fn texts<const N: usize>(json: &[u8], wanted: [&str; N]) -> [Option<String>; N] {
    let mut found = [const { None }; N];
    let mut reader = Reader::new(json);
    let read = reader.object(&wanted, "", &mut found);
    if read.is_none() || reader.byte().is_some() {
        return [const { None }; N];
    }
    found
}

/// Return the bytes of the string with which a text begins, and whether it is complete.
pub fn leading_text(json: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut reader = Reader::new(json);
    reader.take(b'"')?;
    let mut bytes = Vec::with_capacity(json.len());
    let complete = reader.rest_of_string(&mut bytes).is_some();
    Some((bytes, complete))
}

struct Reader<'a> {
    json: &'a [u8],
    at: usize,
    /// The number of objects and lists that are open.
    depth: usize,
}

impl<'a> Reader<'a> {
    const fn new(json: &'a [u8]) -> Self {
        Self {
            json,
            at: 0,
            depth: 0,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        while matches!(self.json.get(self.at)?, b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
        self.json.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.byte()? == byte).then(|| self.at += 1)
    }

    /// Read an object whose names begin with `before`.
    fn object(
        &mut self,
        wanted: &[&str],
        before: &str,
        found: &mut [Option<String>],
    ) -> Option<()> {
        self.members(b'{', b'}', |reader| {
            let name = format!("{before}{}", folded(&reader.string()?));
            reader.take(b':')?;
            let inside = format!("{name}.");
            let nested = wanted.iter().any(|each| each.starts_with(&inside));
            let place = wanted.iter().position(|each| *each == name);
            match (reader.byte()?, place) {
                (b'"', Some(place)) => found[place] = Some(reader.string()?),
                (b'{', _) if nested => reader.object(wanted, &inside, found)?,
                (b'n', _) => reader.skip()?,
                _ => {
                    if let Some(place) = place {
                        found[place] = None;
                    }
                    reader.skip()?;
                }
            }
            Some(())
        })
    }

    /// Read an object or a list, of which `member` reads each member.
    fn members(
        &mut self,
        open: u8,
        close: u8,
        mut member: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.take(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        if self.byte()? != close {
            member(self)?;
            while self.byte()? == b',' {
                self.at += 1;
                member(self)?;
            }
        }
        self.depth -= 1;
        self.take(close)
    }

    /// Read a string. A lone surrogate becomes U+FFFD.
    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let mut bytes = Vec::new();
        self.rest_of_string(&mut bytes)?;
        Some(super::text::escape(&bytes).into_owned())
    }

    /// Read the bytes of a string after its first quote; `None` if it has no end.
    fn rest_of_string(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        loop {
            let byte = *self.json.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => {
                    let sign = *self.json.get(self.at)?;
                    self.at += 1;
                    let plain = match sign {
                        b'"' | b'\\' | b'/' => sign,
                        b'b' => 8,
                        b'f' => 12,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'u' => {
                            let character = self.unicode()?;
                            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                            continue;
                        }
                        _ => return None,
                    };
                    bytes.push(plain);
                }
                _ => bytes.push(byte),
            }
        }
    }

    /// Read the four digits after `\u`, and a second escape if both are a pair of surrogates.
    fn unicode(&mut self) -> Option<char> {
        let first = self.digits()?;
        let begin = self.at;
        if (0xd800..0xdc00).contains(&first) && self.json.get(begin..begin + 2) == Some(b"\\u") {
            self.at += 2;
            let second = self.digits()?;
            if (0xdc00..0xe000).contains(&second) {
                return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
            }
            self.at = begin;
        }
        Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn digits(&mut self) -> Option<u32> {
        let text = self.json.get(self.at..self.at + 4)?;
        self.at += 4;
        number(text, 16)
    }

    /// Skip a value.
    fn skip(&mut self) -> Option<()> {
        match self.byte()? {
            b'"' => self.string().map(drop),
            b'{' => self.members(b'{', b'}', |reader| {
                reader.string()?;
                reader.take(b':')?;
                reader.skip()
            }),
            b'[' => self.members(b'[', b']', Self::skip),
            _ => {
                let text = &self.json[self.at..];
                let end = |byte: &u8| b",:}] \t\r\n".contains(byte);
                let text = &text[..text.iter().position(end).unwrap_or(text.len())];
                self.at += text.len();
                let known = matches!(text, b"true" | b"false" | b"null") || is_number(text);
                known.then_some(())
            }
        }
    }
}

/// Whether text is a number of JSON.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || whole > 1 && text[0] == b'0' {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', power @ ..] | [b'e' | b'E', power @ ..] => {
            !power.is_empty() && digits(power) == power.len()
        }
        _ => false,
    }
}

/// Return a name without case, as Go compares names: `ſ` is an `s`, the Kelvin sign a `k`.
fn folded(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

/// Decode base64 in the alphabet of URLs, without padding.
pub fn base64_url(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'-' => 62,
            b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap_or_default());
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_an_object() {
        let json = br#" {"a": "x\u00e9\ud83d\ude00\n", "b":[1,{"a":"no"}],"n":{"z":{"i":"no"},"i":"deep"},"c":null} "#;
        let [a, deep, c, b] = texts(json, ["a", "n.i", "c", "b"]);
        assert_eq!(a.as_deref(), Some("xé😀\n"));
        assert_eq!(deep.as_deref(), Some("deep"));
        assert_eq!((c, b), (None, None));
        assert_eq!(
            texts(br#"{"a":"1","a":"2"}"#, ["a"])[0].as_deref(),
            Some("2")
        );
        assert_eq!(
            texts(br#"{"a":"\ud800"}"#, ["a"])[0].as_deref(),
            Some("\u{fffd}")
        );
    }

    #[test]
    fn names_without_case() {
        for name in ["USER", "u\u{17f}er", "User"] {
            let json = format!(r#"{{"user":"1","{name}":"2","user":null}}"#);
            assert_eq!(
                texts(json.as_bytes(), ["user"])[0].as_deref(),
                Some("2"),
                "{name}"
            );
        }
        let kelvin = "{\"n\u{212a}ey\":\"1\"}";
        assert_eq!(texts(kelvin.as_bytes(), ["nkey"])[0].as_deref(), Some("1"));
    }

    #[test]
    fn damaged_text_has_no_texts() {
        let open = "[".repeat(100_000);
        let deep = format!(r#"{{"b":{open}"#);
        for json in [
            r#"{"a":"1""#,
            r#"{"a":"1",}"#,
            "",
            "[]",
            r#"{"a":"\q"}"#,
            r#"{"a"}"#,
            r#"{"a":"1"}x"#,
            &deep,
        ] {
            assert_eq!(texts(json.as_bytes(), ["a"]), [None], "{json}");
        }
        let whole = br#"{"a":"1","b":[{"c":[true,-1.5e3,null,"x"]}]}"#;
        for end in 0..whole.len() {
            assert_eq!(texts(&whole[..end], ["a"]), [None]);
        }
    }

    #[test]
    fn base64_of_urls() {
        assert_eq!(base64_url(b"-_8").as_deref(), Some(&[0xfb, 0xff][..]));
        assert_eq!(base64_url(b"-_8="), None);
        assert_eq!(base64_url(b"-_8-_"), None);
        assert_eq!(base64_url(b"a+b"), None);
    }

    #[test]
    fn a_sign_in_place_of_a_digit_is_refused() {
        for digits in ["+0e9", "-0e9", " 0e9", "00eg"] {
            let json = format!("{{\"a\":\"\\u{digits}\"}}");
            assert_eq!(texts(json.as_bytes(), ["a"]), [None], "{digits}");
        }
    }

    #[test]
    fn a_value_has_a_greatest_depth() {
        for (depth, read) in [(MAX_DEPTH - 1, true), (MAX_DEPTH, false)] {
            let value = "[".repeat(depth) + &"]".repeat(depth);
            let json = format!(r#"{{"a":"1","b":{value}}}"#);
            assert_eq!(texts(json.as_bytes(), ["a"])[0].is_some(), read, "{depth}");
        }
    }
}
