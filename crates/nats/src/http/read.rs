//! Reading of plain messages, with `httparse`.
//!
//! `httparse` accepts some heads that a strict parser refuses or reads otherwise: lines that end with
//! a bare LF, empty lines before the head, repeated lengths. They are not plain. A line that continues
//! the one before it is refused by `httparse` itself.

use subtrie::microbus::METHODS;

/// Maximum number of bytes of request line and headers, with the empty line after them.
const MAX_HEAD: usize = 1 << 16;

/// Maximum number of headers of a plain message; messages on the bus have about ten.
const MAX_HEADERS: usize = 96;

/// Maximum digits of a length, so that it fits in 64 bits.
const MAX_LENGTH_DIGITS: usize = 18;

/// A header: its name as it was sent, and its value without spaces around it.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::read_request;
///
/// let request = read_request(b"GET / HTTP/1.1\r\nHost: a.b\r\n\r\n").unwrap();
/// assert_eq!((request.headers[0].name, request.headers[0].value), ("Host", b"a.b".as_slice()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header<'a> {
    /// The name, a token of RFC 9110.
    pub name: &'a str,
    /// The value: no control character except the tab.
    pub value: &'a [u8],
}

/// A plain request.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::read_request;
///
/// let data = b"POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 2\r\n\r\nhi";
/// assert_eq!(read_request(data).unwrap().body, b"hi");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMessage<'a> {
    /// The method, one of [`METHODS`].
    pub method: &'a str,
    /// The target, printable ASCII.
    pub target: &'a str,
    /// The headers in order.
    pub headers: Vec<Header<'a>>,
    /// The body.
    pub body: &'a [u8],
}

/// A plain response.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::read_response;
///
/// let response = read_response(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").unwrap();
/// assert_eq!((response.status, response.body), (200, b"hi".as_slice()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseMessage<'a> {
    /// The status, 100 to 999.
    pub status: u16,
    /// The headers in order.
    pub headers: Vec<Header<'a>>,
    /// The body.
    pub body: &'a [u8],
}

/// Read a request, `None` if it is not plain.
///
/// Plain is a whole message of HTTP/1.1 with one of the nine methods except CONNECT, one `Host`, a
/// body of the length in `Content-Length` (none without it), lines that end with CR LF, at most 96
/// headers and 64 KiB of head.
///
/// Cost: one pass over the head, one allocation.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::read_request;
///
/// let data = b"GET / HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
/// assert_eq!(read_request(data), None);
/// ```
#[must_use]
pub fn read_request(data: &[u8]) -> Option<RequestMessage<'_>> {
    let (head, body) = split(data)?;
    let mut parsed = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut parsed);
    complete(request.parse(head), head)?;
    let (method, target) = (request.method?, request.path?);
    if request.version != Some(1) || method == "CONNECT" || !METHODS.contains(&method) {
        return None;
    }
    // Text beyond ASCII is decided by the complete parser.
    if !target.is_ascii() {
        return None;
    }
    let framing = Framing::of(request.headers)?;
    if framing.hosts != 1 || body.len() as u64 != framing.length.unwrap_or(0) {
        return None;
    }
    Some(RequestMessage {
        method,
        target,
        headers: headers(request.headers),
        body,
    })
}

/// Read a response to a request other than HEAD, `None` if it is not plain.
///
/// Plain is a whole message of HTTP/1.1; the status is not 101; a body is of the length in
/// `Content-Length`, or without it all that follows; there is none after 1xx, 204 and 304. Lines and
/// limits are those of [`read_request`].
///
/// Cost: one pass over the head, one allocation.
///
/// # Examples
///
/// ```
/// use subtrie_nats::http::read_response;
///
/// assert_eq!(read_response(b"HTTP/1.1 204 No Content\r\n\r\nbody"), None);
/// ```
#[must_use]
pub fn read_response(data: &[u8]) -> Option<ResponseMessage<'_>> {
    let (head, body) = split(data)?;
    let mut parsed = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut parsed);
    complete(response.parse(head), head)?;
    let status = response.code?;
    if response.version != Some(1) || !(100..1000).contains(&status) || status == 101 {
        return None;
    }
    let framing = Framing::of(response.headers)?;
    let length = match status {
        100..200 | 204 | 304 => 0,
        _ => framing.length.unwrap_or(body.len() as u64),
    };
    if body.len() as u64 != length {
        return None;
    }
    Some(ResponseMessage {
        status,
        headers: headers(response.headers),
        body,
    })
}

/// Split a message behind its first empty line; `None` if a line of the head does not end with CR LF,
/// or the head is too long.
fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let bounded = data.get(..data.len().min(MAX_HEAD))?;
    if matches!(data.first(), Some(b'\r' | b'\n')) {
        return None;
    }
    let mut line = 0;
    for end in memchr::memchr_iter(b'\n', bounded) {
        if end == 0 || bounded.get(end - 1) != Some(&b'\r') {
            return None;
        }
        if end == line + 1 {
            return data.split_at_checked(end + 1);
        }
        line = end + 1;
    }
    None
}

/// Whether the parser read exactly the head.
fn complete(parsed: httparse::Result<usize>, head: &[u8]) -> Option<()> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if length == head.len() => Some(()),
        _ => None,
    }
}

/// The headers that decide where the body ends, and who receives the request.
struct Framing {
    length: Option<u64>,
    hosts: usize,
}

impl Framing {
    /// Read them; `None` if the message is not plain.
    fn of(headers: &[httparse::Header<'_>]) -> Option<Self> {
        let mut framing = Self {
            length: None,
            hosts: 0,
        };
        for header in headers {
            // Compared by length first: most headers have another one.
            match header.name.len() {
                4 if header.name.eq_ignore_ascii_case("Host") => framing.hosts += 1,
                7 if header.name.eq_ignore_ascii_case("Upgrade") => return None,
                17 if header.name.eq_ignore_ascii_case("Transfer-Encoding") => return None,
                14 if header.name.eq_ignore_ascii_case("Content-Length") => {
                    if framing.length.is_some() {
                        return None;
                    }
                    framing.length = Some(length(trimmed(header.value))?);
                }
                _ => {}
            }
        }
        Some(framing)
    }
}

/// Read a length: digits only.
fn length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty()
        || digits.len() > MAX_LENGTH_DIGITS
        || !digits.iter().all(u8::is_ascii_digit)
    {
        return None;
    }
    let digit = |sum: u64, &byte: &u8| sum * 10 + u64::from(byte - b'0');
    Some(digits.iter().fold(0, digit))
}

fn headers<'a>(parsed: &[httparse::Header<'a>]) -> Vec<Header<'a>> {
    let header = |header: &httparse::Header<'a>| Header {
        name: header.name,
        value: trimmed(header.value),
    };
    parsed.iter().map(header).collect()
}

fn trimmed(value: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_space(byte));
    let end = value.iter().rposition(|byte| !is_space(byte));
    match (start, end) {
        (Some(start), Some(end)) => value.get(start..=end).unwrap_or_default(),
        _ => &[],
    }
}
