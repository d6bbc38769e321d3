//! Streams of a connection: splitting changes nothing, every byte belongs to an operation, a canonical
//! form is one operation, and the buffer stays within the limits.

use subtrie::grammar::Dialect;
use subtrie_nats::wire::{Conn, Limits, ParseError, Parser};

/// Parse a stream from a client to a server.
pub fn client(data: &[u8]) {
    check_properties(Conn::Client, data);
}

/// Parse a stream from a server to a client.
pub fn server_to_client(data: &[u8]) {
    check_properties(Conn::ServerToClient, data);
}

/// Parse a stream between servers of a cluster.
pub fn route(data: &[u8]) {
    check_properties(Conn::Route, data);
}

/// Parse a stream between a server and its leaf node.
pub fn leaf(data: &[u8]) {
    check_properties(Conn::Leaf, data);
}

/// Parse a stream between servers before nats-server 2.0.
pub fn route_legacy(data: &[u8]) {
    check_properties(Conn::RouteLegacy, data);
}

#[derive(Debug, PartialEq, Eq)]
struct Read {
    /// Name, bytes and canonical form of every operation.
    operations: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    error: Option<ParseError>,
    complete: bool,
    offset: u64,
}

fn read<'a>(conn: Conn, limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut parser = Parser::new(conn, limits);
    let mut operations = Vec::new();
    let mut error = None;
    // The buffer holds at most a line with its blanks, or a line and a payload, and one piece more.
    let line = limits.max_control_line * if conn == Conn::Client { 1 } else { 16 };
    for piece in pieces {
        let outcome = parser.feed(piece, |op, _| {
            let mut canonical = Vec::new();
            op.write_into(&mut canonical);
            let views = [op.payload().len(), op.queues().map(<[u8]>::len).sum()];
            assert!(views.iter().all(|length| *length <= op.raw.len()));
            operations.push((op.kind.name(), op.raw.to_vec(), canonical));
        });
        assert!(
            error.is_none() || outcome.err() == error,
            "every later call returns the same error"
        );
        error = outcome.err();
        let most = 2 * line + limits.max_payload + piece.len() + 64;
        assert!(
            parser.buffered() <= most,
            "{} buffered of {most}",
            parser.buffered()
        );
    }
    Read {
        operations,
        error,
        complete: parser.is_complete(),
        offset: parser.offset(),
    }
}

fn check_properties(conn: Conn, data: &[u8]) {
    let ([chosen, at], stream) = super::options::<2>(data);
    let dialects = [Dialect::Server, Dialect::Strict];
    let limits = Limits {
        dialect: dialects[usize::from(chosen & 1)],
        max_control_line: [4096, 20, 8, 1][usize::from(chosen >> 1 & 3)],
        max_payload: [1_048_576, 16, 4, 0][usize::from(chosen >> 3 & 3)],
        pinned: chosen & 32 != 0,
        lnocu: chosen & 64 != 0,
    };
    let whole = read(conn, limits, [stream]);
    assert_eq!(read(conn, limits, stream.chunks(1)), whole);
    let at = usize::from(at).min(stream.len());
    assert_eq!(read(conn, limits, [&stream[..at], &stream[at..]]), whole);
    let raw: Vec<u8> = (whole.operations.iter())
        .flat_map(|(_, raw, _)| raw)
        .copied()
        .collect();
    assert!(stream.starts_with(&raw));
    assert_eq!(whole.offset, raw.len() as u64);
    match whole.error {
        Some(error) => {
            assert!(!whole.complete);
            assert_eq!(error.resume, whole.offset, "parsing can resume there");
            assert!(error.position >= error.resume && error.position <= stream.len() as u64);
        }
        None => assert_eq!(whole.complete, raw.len() == stream.len()),
    }
    // A canonical form can exceed a small limit of the line.
    let limits = Limits {
        max_control_line: 4096,
        ..limits
    };
    for (name, _, canonical) in whole.operations {
        let again = read(conn, limits, [&canonical[..]]);
        assert!(again.error.is_none() && again.complete, "{again:?}");
        assert_eq!(again.operations, [(name, canonical.clone(), canonical)]);
    }
}
