//! Parameters of a URL: in the parts of the path that name them, the others in the query.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::absolute_url::push_escape;
use super::url::escaped_at;

/// Return a URL with its parameters.
///
/// They are added to the query in the given order. If the URL has arguments in braces, each takes
/// the last value of its name from the query, `{}` that of `path1`, `path2` and so on, and the rest
/// of the query is sorted by name. `{name...}` keeps slashes. An argument without a value is empty.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::with_params;
///
/// let url = with_params("https://a.shop/{id}", &[("id", "x/y"), ("n", "1")]);
/// assert_eq!(url, "https://a.shop/x%2Fy?n=1");
/// ```
#[must_use]
pub fn with_params<'a>(url: &'a str, params: &[(&str, &str)]) -> Cow<'a, str> {
    if params.is_empty() {
        return filled(url).map_or(Cow::Borrowed(url), Cow::Owned);
    }
    let end = url.find('#').unwrap_or(url.len());
    let (before, fragment) = url.split_at_checked(end).unwrap_or((url, ""));
    let mut text = String::with_capacity(url.len() + 16 * params.len());
    text.push_str(before);
    let first = if before.contains('?') { '&' } else { '?' };
    for (number, (name, value)) in params.iter().enumerate() {
        text.push(if number == 0 { first } else { '&' });
        push_argument(&mut text, name, value);
    }
    text.push_str(fragment);
    Cow::Owned(filled(&text).unwrap_or(text))
}

/// Return the URL with its path arguments taken from the query; None if it has no brace.
fn filled(url: &str) -> Option<String> {
    if !url.contains('{') {
        return None;
    }
    let (text, query) = url.split_once('?').unwrap_or((url, ""));
    let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for argument in query.split('&').filter(|argument| !argument.is_empty()) {
        let (name, value) = argument.split_once('=').unwrap_or((argument, ""));
        given
            .entry(unquoted(name))
            .or_default()
            .push(unquoted(value));
    }
    let mut out = String::with_capacity(url.len());
    let mut count = 0_usize;
    for (place, part) in text.split('/').enumerate() {
        if place > 0 {
            out.push('/');
        }
        let Some(argument) = part.strip_prefix('{').and_then(|at| at.strip_suffix('}')) else {
            out.push_str(part);
            continue;
        };
        count += 1;
        let greedy = argument.strip_suffix("...");
        let name = match greedy.unwrap_or(argument) {
            "" => format!("path{count}"),
            name => name.to_owned(),
        };
        let value = given.remove(&name).and_then(|mut values| values.pop());
        for byte in value.unwrap_or_default().bytes() {
            if is_kept_in_segment(byte) || (byte == b'/' && greedy.is_some()) {
                out.push(char::from(byte));
            } else {
                push_escape(&mut out, byte);
            }
        }
    }
    let mut separator = '?';
    for (name, values) in &given {
        for value in values {
            out.push(separator);
            separator = '&';
            push_argument(&mut out, name, value);
        }
    }
    Some(out)
}

fn push_argument(out: &mut String, name: &str, value: &str) {
    push_quoted(out, name);
    out.push('=');
    push_quoted(out, value);
}

fn push_quoted(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                out.push(char::from(byte));
            }
            _ => push_escape(out, byte),
        }
    }
}

/// Undo the quoting; what is not UTF-8 becomes U+FFFD.
fn unquoted(text: &str) -> String {
    let text = text.as_bytes();
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let escaped = (byte == b'%').then(|| escaped_at(text, at)).flatten();
        let plain = if byte == b'+' { b' ' } else { byte };
        bytes.push(escaped.unwrap_or(plain));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether the byte stands for itself in a segment of a path.
const fn is_kept_in_segment(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b':' | b'=' | b'@'
        )
}
