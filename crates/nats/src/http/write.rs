//! Writing of messages, line for line as Go does.
//!
//! A request has the request line, `Host`, `User-Agent` if there is one, `Content-Length` if there is
//! a body or the method expects one, then the other headers by name. A response has
//! `Content-Length` first if there is a body, last if it is empty, and none for 1xx, 204 and 304.

use std::io::Write;

/// A name in canonical form and one value, to be written.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::HeaderLine;
///
/// let line: HeaderLine<'_> = ("Content-Type", "text/plain");
/// # let _ = line;
/// ```
pub type HeaderLine<'a> = (&'a str, &'a str);

/// Methods whose requests have `Content-Length` even without a body.
const EXPECT_LENGTH: [&str; 3] = ["POST", "PUT", "PATCH"];

/// Return the bytes of a request.
///
/// The headers are in any order, except that the values of one name are together and in order; they
/// are not validated. `authority` is written as `Host`; a `Host`, `Content-Length`,
/// `Transfer-Encoding`, `Trailer` among the headers is left out.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::write_request;
///
/// let data = write_request("GET", "https://a.b:443/", "a.b:443", &mut [("X", "1")], b"");
/// assert_eq!(data, b"GET https://a.b:443/ HTTP/1.1\r\nHost: a.b:443\r\nX: 1\r\n\r\n");
/// ```
#[must_use]
pub fn write_request(
    method: &str,
    url: &str,
    authority: &str,
    headers: &mut [HeaderLine<'_>],
    body: &[u8],
) -> Vec<u8> {
    let agent = headers.iter().find(|(name, _)| *name == "User-Agent");
    let agent = agent.map_or("", |(_, agent)| agent);
    let omitted = |name: &str| is_framing(name) || matches!(name, "Host" | "User-Agent");
    let mut out = Vec::with_capacity(method.len() + url.len() + room(headers) + body.len());
    for part in [method, " ", url, " HTTP/1.1\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
    push_line(&mut out, "Host", authority);
    if !agent.is_empty() {
        push_line(&mut out, "User-Agent", agent);
    }
    if !body.is_empty() || EXPECT_LENGTH.contains(&method) {
        push_length(&mut out, body.len());
    }
    push_headers(&mut out, headers, omitted);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
    out
}

/// Return the bytes of a response; a body is not written for 1xx, 204 and 304.
///
/// The headers are as in [`write_request`].
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::write_response;
///
/// let data = write_response(200, "OK", &mut [("X", "1")], b"");
/// assert_eq!(data, b"HTTP/1.1 200 OK\r\nX: 1\r\nContent-Length: 0\r\n\r\n");
/// ```
#[must_use]
pub fn write_response(
    status: u16,
    phrase: &str,
    headers: &mut [HeaderLine<'_>],
    body: &[u8],
) -> Vec<u8> {
    let bodiless = status < 200 || matches!(status, 204 | 304);
    let mut out = Vec::with_capacity(phrase.len() + room(headers) + body.len());
    // Writing to memory does not fail.
    let _ = write!(out, "HTTP/1.1 {status:03} {phrase}\r\n");
    if !body.is_empty() && !bodiless {
        push_length(&mut out, body.len());
    }
    push_headers(&mut out, headers, is_framing);
    if body.is_empty() && !bodiless {
        push_length(&mut out, 0);
    }
    out.extend_from_slice(b"\r\n");
    if !bodiless {
        out.extend_from_slice(body);
    }
    out
}

/// Whether the header is written from the body.
fn is_framing(name: &str) -> bool {
    matches!(name, "Content-Length" | "Transfer-Encoding" | "Trailer")
}

/// The bytes that the headers take, and the lines that are not among them.
fn room(headers: &[HeaderLine<'_>]) -> usize {
    const OTHER_LINES: usize = 128;
    let line = |(name, value): &HeaderLine<'_>| name.len() + value.len() + 4;
    headers.iter().map(line).sum::<usize>() + OTHER_LINES
}

fn push_headers(out: &mut Vec<u8>, headers: &mut [HeaderLine<'_>], omitted: impl Fn(&str) -> bool) {
    // Stable: the values of one name stay in order.
    headers.sort_by_key(|(name, _)| *name);
    for (name, value) in headers {
        if !omitted(name) {
            push_line(out, name, value);
        }
    }
}

fn push_length(out: &mut Vec<u8>, length: usize) {
    push_line(out, "Content-Length", &length.to_string());
}

fn push_line(out: &mut Vec<u8>, name: &str, value: &str) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// Return the name of a header in canonical form: `Microbus-Op-Code`.
///
/// # Examples
///
/// ```
/// assert_eq!(subtrie_nats::http::canonical_name("x-REQUEST-id"), "X-Request-Id");
/// ```
#[must_use]
pub fn canonical_name(name: &str) -> String {
    let mut begins = true;
    let letter = |letter: char| {
        let canonical = if begins {
            letter.to_ascii_uppercase()
        } else {
            letter.to_ascii_lowercase()
        };
        begins = letter == '-';
        canonical
    };
    name.chars().map(letter).collect()
}
