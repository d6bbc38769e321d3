//! HTTP messages: what the reader accepts, a reader line by line takes apart in the same way.

use subtrie_nats::http::{
    Header, HeaderLine, read_request, read_response, write_request, write_response,
};

/// Use any bytes as a request and as a response.
pub fn http(data: &[u8]) {
    if let Some(request) = read_request(data) {
        let (start, lines, body) = taken_apart(data);
        assert_eq!(
            start,
            format!("{} {} HTTP/1.1", request.method, request.target).as_bytes()
        );
        same_headers(&request.headers, &lines);
        assert_eq!(request.body, body);
        let hosts = named(&request.headers, "host");
        assert_eq!(hosts.len(), 1);
        written_again(&request.headers, body, |headers| {
            let host = std::str::from_utf8(hosts[0]).unwrap_or_default();
            write_request(request.method, request.target, host, headers, body)
        });
    }
    if let Some(response) = read_response(data) {
        let (start, lines, body) = taken_apart(data);
        assert!(start.starts_with(format!("HTTP/1.1 {:03}", response.status).as_bytes()));
        same_headers(&response.headers, &lines);
        assert_eq!(response.body, body);
        written_again(&response.headers, body, |headers| {
            write_response(response.status, "Phrase", headers, body)
        });
    }
}

/// The first line, the lines of headers and the body, of a head whose lines end with CR LF.
fn taken_apart(data: &[u8]) -> (&[u8], Vec<&[u8]>, &[u8]) {
    let mut lines = Vec::new();
    let mut rest = data;
    loop {
        let end = rest
            .windows(2)
            .position(|two| two == b"\r\n")
            .expect("a line");
        let (line, after) = (&rest[..end], &rest[end + 2..]);
        assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
        rest = after;
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let start = lines.remove(0);
    (start, lines, rest)
}

fn same_headers(headers: &[Header<'_>], lines: &[&[u8]]) {
    assert_eq!(headers.len(), lines.len());
    for (header, line) in headers.iter().zip(lines) {
        let colon = line.iter().position(|&byte| byte == b':').expect("a colon");
        assert_eq!(header.name.as_bytes(), &line[..colon]);
        assert_eq!(header.value, line[colon + 1..].trim_ascii());
    }
    let lengths = named(headers, "content-length").len();
    assert!(lengths <= 1 && named(headers, "transfer-encoding").is_empty());
}

fn named<'a>(headers: &[Header<'a>], name: &str) -> Vec<&'a [u8]> {
    let all = headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case(name));
    all.map(|header| header.value).collect()
}

/// Assert that what is written from the headers is plain and has the body.
fn written_again(
    headers: &[Header<'_>],
    body: &[u8],
    write: impl Fn(&mut [HeaderLine<'_>]) -> Vec<u8>,
) {
    let texts: Option<Vec<HeaderLine<'_>>> = headers
        .iter()
        .filter(|header| {
            let is = |name| header.name.eq_ignore_ascii_case(name);
            !is("content-length") && !is("host") && !is("trailer") && !is("user-agent")
        })
        .map(|header| Some((header.name, std::str::from_utf8(header.value).ok()?)))
        .collect();
    let Some(mut texts) = texts else { return };
    if headers.len() > 90 || body.len() > 10_000 {
        return; // with a length it may exceed a limit
    }
    let written = write(&mut texts);
    let again = read_request(&written).map(|request| request.body.to_vec());
    let again = again.or_else(|| read_response(&written).map(|response| response.body.to_vec()));
    assert_eq!(again.as_deref(), Some(body), "{written:?}");
}
