//! Properties of the parser on random streams: splitting changes nothing, and a canonical form is one
//! operation.

use proptest::prelude::*;
use subtrie::grammar::Dialect;
use subtrie_nats::wire::{Conn, Limits, ParseError, Parser};

type Read = (
    Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    Option<ParseError>,
    bool,
    u64,
);

/// Name, bytes and canonical form of every operation; the error; whether the last one is complete.
fn read<'a>(conn: Conn, limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut parser = Parser::new(conn, limits);
    let mut found = Vec::new();
    let mut error = None;
    for piece in pieces {
        let outcome = parser.feed(piece, |op, _| {
            let mut canonical = Vec::new();
            op.write_into(&mut canonical);
            found.push((op.kind.name(), op.raw.to_vec(), canonical));
        });
        error = outcome.err();
    }
    (found, error, parser.is_complete(), parser.offset())
}

fn conn() -> impl Strategy<Value = Conn> {
    prop_oneof![
        Just(Conn::Client),
        Just(Conn::ServerToClient),
        Just(Conn::Route),
        Just(Conn::Leaf),
        Just(Conn::RouteLegacy),
    ]
}

fn limits() -> impl Strategy<Value = Limits> {
    let dialect = prop_oneof![Just(Dialect::Server), Just(Dialect::Strict)];
    let line = prop_oneof![Just(1usize), Just(8), Just(4096)];
    let payload = prop_oneof![Just(1usize), Just(4), Just(1_048_576)];
    (dialect, line, payload, any::<bool>(), any::<bool>()).prop_map(
        |(dialect, max_control_line, max_payload, pinned, lnocu)| Limits {
            dialect,
            max_control_line,
            max_payload,
            pinned,
            lnocu,
        },
    )
}

/// Mostly words of the protocol, so that complete operations are frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        8 => prop::sample::select(vec![
            "PUB foo 2\r\nok\r\n", "PUB a b 0\r\n\r\n", "HPUB a 1 2\r\nxx\r\n", "SUB a q 1\r\n",
            "UNSUB 1 5\r\n", "PING\r\n", "pong \n", "+OK\r\n", "-ERR 'x'\r\n", "INFO {\"a\":1} \r\n",
            "CONNECT{\"a\":[{}]}\r\n", "MSG a 1 r 2\r\nok\r\n", "HMSG a 1 1 2\r\nok\r\n",
            "RS+ $G a q 2\r\n", "RS- $G a\r\n", "LS+ o $G a\r\n", "LS- a\r\n", "A+ acc\r\n",
            "RMSG $G a + r q 2\r\nok\r\n", "RMSG a | q 2\r\nok\r\n", "LMSG o $G a r 0 2\r\nok\r\n",
            "LMSG a r 2\r\nok\r\n", "HMSG $G a 0 2\r\nok\r\n", "SUB a RSID:1:1\r\n",
            "UNSUB 1 QRSID:1:x 2\r\n", "MSG a QRSID:1:1 2\r\nok\r\n",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        2 => prop::sample::select(vec![
            "PUB", "SUB", "MSG", " ", "\t", "\r", "\n", "\r\n", "foo", "+", "|", "2", "999999999",
            "{", "}", "\"a\"", "RSID:", "x y\n",
        ]).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(word, 0..8).prop_map(|words| words.concat())
}

proptest! {
    // requirement: S1-007
    #[test]
    fn splitting_a_stream_changes_nothing(
        conn in conn(), limits in limits(), stream in stream(), at in any::<prop::sample::Index>(),
    ) {
        let whole = read(conn, limits, [&stream[..]]);
        prop_assert_eq!(&read(conn, limits, stream.chunks(1)), &whole);
        let at = at.index(stream.len() + 1);
        prop_assert_eq!(&read(conn, limits, [&stream[..at], &stream[at..]]), &whole);
        let raw: Vec<u8> = whole.0.iter().flat_map(|(_, raw, _)| raw.clone()).collect();
        prop_assert!(stream.starts_with(&raw));
        prop_assert_eq!(whole.3, raw.len() as u64);
    }

    #[test]
    fn a_canonical_form_parses_to_exactly_one_operation(
        conn in conn(), limits in limits(), stream in stream(),
    ) {
        let limits = Limits { max_control_line: 4096, ..limits };
        for (name, _, canonical) in read(conn, limits, [&stream[..]]).0 {
            let (again, error, complete, _) = read(conn, limits, [&canonical[..]]);
            prop_assert_eq!(error, None);
            prop_assert!(complete);
            prop_assert_eq!(again, vec![(name, canonical.clone(), canonical)]);
        }
    }

    #[test]
    fn any_bytes_give_operations_or_an_error(
        conn in conn(), limits in limits(), stream in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (_, error, complete, offset) = read(conn, limits, [&stream[..]]);
        prop_assert!(offset <= stream.len() as u64);
        if let Some(error) = error {
            prop_assert!(!complete);
            prop_assert_eq!(error.resume, offset);
            prop_assert!(error.position >= error.resume);
        }
    }
}
