//! Reading and writing of HTTP messages: what is plain, and what is left to a complete parser.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use subtrie_nats::http::{
    Acknowledgements, WrittenAck, canonical_name, read_request, read_response, write_request,
    write_response,
};

#[test]
fn a_request_is_taken_apart() {
    let data = b"POST /x?y HTTP/1.1\r\nHost: a\r\nx-Y: \t1 2 \r\nContent-Length: 2\r\n\r\nhi";
    let request = read_request(data).unwrap();
    assert_eq!(
        (request.method, request.target, request.body),
        ("POST", "/x?y", &b"hi"[..])
    );
    let headers: Vec<_> = request.headers.iter().map(|h| (h.name, h.value)).collect();
    assert_eq!(headers[1], ("x-Y", &b"1 2"[..]));
}

#[test]
fn what_parsers_read_differently_is_not_plain() {
    let accepted = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
    assert!(read_request(accepted.as_bytes()).is_some());
    for (from, to) in [
        ("\r\n\r\n", "\n\n"),
        ("Host: a\r\n", "Host: a\n"),
        ("GET", "\r\nGET"),
        ("Host: a", "Host: a\r\n b"),
        ("Host: a", "Host: a\r\n\tb"),
        ("Host: a", "Host: a\r\nHost: a"),
        ("Host: a\r\n", ""),
        ("Host: a", "Host : a"),
        (
            "Content-Length: 1",
            "Content-Length: 1\r\nContent-Length: 1",
        ),
        ("Content-Length: 1", "Content-Length: +1"),
        ("Content-Length: 1", "Content-Length: 1, 1"),
        ("Content-Length: 1", "Content-Length:"),
        ("Content-Length: 1", "Content-Length: 0000000000000000001"),
        ("Content-Length: 1", "Transfer-Encoding: chunked"),
        ("Host: a", "Host: a\r\nUpgrade: h2c"),
        ("x", ""),
        ("x", "xy"),
        ("GET", "get"),
        ("GET", "CONNECT"),
        ("1.1", "1.0"),
        (" / ", " /é "),
    ] {
        let changed = if from == "x" {
            format!("{}{to}", accepted.strip_suffix('x').unwrap())
        } else {
            accepted.replacen(from, to, 1)
        };
        assert_eq!(read_request(changed.as_bytes()), None, "{changed:?}");
    }
    let head = |count: usize, size: usize| {
        format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
            format!("X: {}\r\n", "y".repeat(size)).repeat(count)
        )
    };
    assert!(read_request(head(95, 9).as_bytes()).is_some());
    assert_eq!(read_request(head(96, 9).as_bytes()), None);
    let around = head(1, 0).len();
    assert!(read_request(head(1, (1 << 16) - around).as_bytes()).is_some());
    assert_eq!(
        read_request(head(1, (1 << 16) - around + 1).as_bytes()),
        None
    );
    let digits = accepted.replacen(" 1\r", " 000000000000000001\r", 1);
    assert_eq!(read_request(digits.as_bytes()).unwrap().body, b"x");
}

#[test]
fn responses_end_where_their_status_and_length_say() {
    let read = |text: &str| read_response(text.as_bytes()).map(|r| (r.status, r.body.to_vec()));
    assert_eq!(
        read("HTTP/1.1 200 OK\r\n\r\nall"),
        Some((200, b"all".to_vec()))
    );
    assert_eq!(
        read("HTTP/1.1 100 Continue\r\n\r\n"),
        Some((100, Vec::new()))
    );
    for refused in [
        "HTTP/1.1 204 x\r\n\r\nall",
        "HTTP/1.1 204 x\r\nContent-Length: 3\r\n\r\nall",
        "HTTP/1.1 304 x\r\n\r\nall",
        "HTTP/1.1 199 x\r\n\r\nall",
        "HTTP/1.1 100 x\r\n\r\nall",
        "HTTP/1.1 101 x\r\n\r\n",
        "HTTP/1.1 099 x\r\n\r\n",
        "HTTP/1.0 200 x\r\n\r\n",
        "HTTP/1.1 200 x\r\nContent-Length: 1\r\n\r\nall",
    ] {
        assert_eq!(read(refused), None, "{refused:?}");
    }
}

#[test]
fn a_response_without_a_body_has_neither_a_length_nor_one() {
    let write = |status: u16, body: &[u8]| {
        String::from_utf8(write_response(status, "x", &mut [("A", "1")], body)).unwrap()
    };
    for status in [100, 199, 204, 304] {
        let line = format!("HTTP/1.1 {status} x\r\nA: 1\r\n\r\n");
        assert_eq!(write(status, b"body"), line);
        assert_eq!(write(status, b""), line);
    }
    for status in [200, 203, 205, 303, 305] {
        let line = format!("HTTP/1.1 {status} x\r\n");
        assert_eq!(
            write(status, b"hi"),
            format!("{line}Content-Length: 2\r\nA: 1\r\n\r\nhi")
        );
        assert_eq!(
            write(status, b""),
            format!("{line}A: 1\r\nContent-Length: 0\r\n\r\n")
        );
    }
}

#[test]
fn a_request_has_its_lines_in_the_order_of_go() {
    let write = |method: &str, body: &[u8]| {
        let mut headers = [
            ("X", "2"),
            ("B", "1"),
            ("User-Agent", "me"),
            ("X", "1"),
            ("Host", "other"),
            ("Trailer", "t"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Length", "9"),
        ];
        String::from_utf8(write_request(method, "/", "a", &mut headers, body)).unwrap()
    };
    let (first, rest) = (
        "/ HTTP/1.1\r\nHost: a\r\nUser-Agent: me\r\n",
        "B: 1\r\nX: 2\r\nX: 1\r\n\r\n",
    );
    for method in ["POST", "PUT", "PATCH"] {
        assert_eq!(
            write(method, b""),
            format!("{method} {first}Content-Length: 0\r\n{rest}")
        );
    }
    for method in ["GET", "DELETE", "OPTIONS"] {
        assert_eq!(write(method, b""), format!("{method} {first}{rest}"));
        assert_eq!(
            write(method, b"x"),
            format!("{method} {first}Content-Length: 1\r\n{rest}x")
        );
    }
}

#[test]
fn a_letter_after_a_hyphen_is_a_capital() {
    assert_eq!(canonical_name("x-REQUEST-id"), "X-Request-Id");
    assert_eq!(canonical_name("x_a-b"), "X_a-B");
    assert_eq!(canonical_name("-é-É"), "-é-É");
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        name in "[A-Z][a-z]{0,9}",
        value in "[a-zé~]{0,9}",
        body in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        prop_assume!(!["Host", "Trailer", "Upgrade"].contains(&name.as_str()));
        let mut headers = [(name.as_str(), value.as_str())];
        let data = write_request("PUT", "http://a:80/", "a:80", &mut headers, &body);
        let request = read_request(&data).unwrap();
        prop_assert_eq!(request.body, &body);
        let last = request.headers.last().unwrap();
        prop_assert_eq!((last.name, last.value), (name.as_str(), value.as_bytes()));
        let data = write_response(418, "I'm a teapot", &mut headers, &body);
        prop_assert_eq!(read_response(&data).unwrap().body, &body);
        prop_assert_eq!(canonical_name(&name.to_lowercase()), name);
    }
}

fn acknowledgements() -> Acknowledgements {
    let written = |before: &[u8], after: &[u8]| WrittenAck {
        before: before.to_vec(),
        after: after.to_vec(),
    };
    Acknowledgements {
        plane: "p".into(),
        host: "orders.shop".into(),
        whole: written(b"<", b">"),
        fragment: written(b"(", b")"),
    }
}

const REQUEST: &str = "GET https://orders.shop/ HTTP/1.1\r\nHost: orders.shop\r\n\
    Microbus-From-Id: id-7\r\nMicrobus-Msg-Id: m1\r\nMicrobus-Fragment: 1/2\r\n\r\n";
const SUBJECT: &str = "p.safe.443.web_shop.orders_shop._.GET._";

#[test]
fn a_request_is_acknowledged_to_its_verified_source() {
    let mut out = b"before".to_vec();
    assert!(acknowledgements().write(SUBJECT, REQUEST.as_bytes(), |_| false, &mut out));
    assert_eq!(
        out,
        b"beforePUB p.reply._.orders_shop.web_shop.id-7 4\r\n(m1)\r\n"
    );
    for (from, to, frame) in [
        ("1/2", "1/1", &b"<m1>"[..]),
        ("1/2", "2/+3", b"(m1)"),
        ("1/2", "+1/2", b"(m1)"),
        ("1/2", "x/2", b"<m1>"),
        ("1/2", "/2", b"<m1>"),
        ("1/2", "1/2/3", b"<m1>"),
        ("1/2", "1/100000000000000000", b"(m1)"),
        ("1/2", "1/-3", b"<m1>"),
        ("1/2", "1/9999999999999999999", b"<m1>"),
        ("1/2", "", b"<m1>"),
        ("Microbus-Fragment", "X", b"<m1>"),
    ] {
        out.clear();
        let request = REQUEST.replace(from, to);
        assert!(acknowledgements().write(SUBJECT, request.as_bytes(), |_| false, &mut out));
        assert!(out.windows(4).any(|found| found == frame), "{from} {to}");
    }
}

#[test]
fn what_the_caller_must_decide_is_not_acknowledged() {
    let mut out = Vec::new();
    for (from, to) in [
        ("\r\n\r\n", "\n\n"),
        ("https://orders.shop/", "/"),
        ("m1", ""),
        ("m1", "\u{7f}"),
        ("Microbus-Msg-Id", "X"),
        ("Microbus-From-Id", "X"),
        ("id-7", "id-*"),
        ("id-7", "7"),
        ("Host: orders.shop\r\n", ""),
    ] {
        let request = REQUEST.replace(from, to);
        let composed = acknowledgements();
        assert!(
            !composed.write(SUBJECT, request.as_bytes(), |_| false, &mut out),
            "{from} {to}"
        );
    }
    for (length, written) in [(128, true), (129, false)] {
        let request = REQUEST.replace("id-7", &format!("id-{}", "x".repeat(length - 3)));
        out.clear();
        let composed = acknowledgements();
        assert_eq!(
            composed.write(SUBJECT, request.as_bytes(), |_| false, &mut out),
            written
        );
    }
    out.clear();
    for subject in ["q.safe.443.web_shop.orders_shop._.GET._", "orders", ""] {
        assert!(!acknowledgements().write(subject, REQUEST.as_bytes(), |_| false, &mut out));
    }
    let named = |host: &str| host == "web.shop";
    assert!(!acknowledgements().write(SUBJECT, REQUEST.as_bytes(), named, &mut out));
    assert_eq!(out, b"");
}

proptest! {
    #[test]
    fn whatever_arrives_gives_a_whole_frame_or_nothing(
        subject in "(p\\.safe\\.443\\.[a-z_%2e]{1,5}\\.orders_shop\\._\\.GET\\._|\\PC{0,20})",
        at in 0..REQUEST.len(),
        byte in any::<u8>(),
    ) {
        let mut request = REQUEST.as_bytes().to_vec();
        request[at] = byte;
        let mut out = Vec::new();
        let written = acknowledgements().write(&subject, &request, |_| false, &mut out);
        prop_assert_eq!(written, !out.is_empty());
        if written {
            let text = String::from_utf8(out).unwrap();
            prop_assert_eq!(text.matches("\r\n").count(), 2, "{}", text);
            prop_assert!(text.starts_with("PUB p.reply._.orders_shop."));
        }
    }
}
