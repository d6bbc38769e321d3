//! Bytes of a connection: pieces do not matter, every byte is accounted for, no form reads as two
//! operations, and what is kept stays below the limits.

use subtrie::grammar::Dialect;
use subtrie::wire::{Conn, Limits, ParseError, Parser};

/// What a server reads from a client.
pub fn client(data: &[u8]) {
    laws(Conn::Client, data);
}

/// What a client reads from a server.
pub fn server_to_client(data: &[u8]) {
    laws(Conn::ServerToClient, data);
}

/// What servers of one cluster say to each other today.
pub fn route(data: &[u8]) {
    laws(Conn::Route, data);
}

/// What a server and its leaf node say to each other.
pub fn leaf(data: &[u8]) {
    laws(Conn::Leaf, data);
}

/// Routes as seed 004 prints them.
pub fn route_legacy(data: &[u8]) {
    laws(Conn::RouteLegacy, data);
}

#[derive(Debug, PartialEq, Eq)]
struct Read {
    /// Name, bytes and canonical form of every operation.
    operations: Vec<(&'static str, Vec<u8>, Vec<u8>)>,
    fault: Option<ParseError>,
    complete: bool,
    offset: u64,
}

fn read<'a>(conn: Conn, limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut parser = Parser::new(conn, limits);
    let mut operations = Vec::new();
    let mut fault = None;
    // A line and what may stand around it, or a payload behind a line; and one piece more.
    let line = limits.max_control_line * if conn == Conn::Client { 1 } else { 16 };
    for piece in pieces {
        let outcome = parser.feed(piece, |op, _| {
            let mut canonical = Vec::new();
            op.write_into(&mut canonical);
            let views = [op.payload().len(), op.queues().map(<[u8]>::len).sum()];
            assert!(views.iter().all(|length| *length <= op.raw.len()));
            operations.push((op.kind.name(), op.raw.to_vec(), canonical));
        });
        assert!(fault.is_none() || outcome.err() == fault, "a fault stays");
        fault = outcome.err();
        let most = 2 * line + limits.max_payload + piece.len() + 64;
        assert!(
            parser.buffered() <= most,
            "{} kept of {most}",
            parser.buffered()
        );
    }
    Read {
        operations,
        fault,
        complete: parser.is_complete(),
        offset: parser.offset(),
    }
}

fn laws(conn: Conn, data: &[u8]) {
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
    match whole.fault {
        Some(fault) => {
            assert!(!whole.complete);
            assert_eq!(fault.resume, whole.offset, "reading can go on there");
            assert!(fault.position >= fault.resume && fault.position <= stream.len() as u64);
        }
        None => assert_eq!(whole.complete, raw.len() == stream.len()),
    }
    // What was read under a short line may have a canonical form that is longer.
    let limits = Limits {
        max_control_line: 4096,
        ..limits
    };
    for (name, _, canonical) in whole.operations {
        let again = read(conn, limits, [&canonical[..]]);
        assert!(again.fault.is_none() && again.complete, "{again:?}");
        assert_eq!(again.operations, [(name, canonical.clone(), canonical)]);
    }
}
