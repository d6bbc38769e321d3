//! Allocations of the parser: none for operations that lie completely in a piece, and never the size
//! that a line announces.

use subtrie_nats::wire::{Conn, Limits, Parser};

use crate::allocations;

// requirement: S4-004
#[test]
fn complete_operations_allocate_nothing_and_buffers_are_bounded() {
    let payload = "x".repeat(128);
    let message = format!("PUB orders.eu.new _INBOX.1 128\r\n{payload}\r\n");
    let stream = message.repeat(1000) + "SUB a.> q 1\r\nUNSUB 1 5\r\nPING\r\nPONG\r\n";
    let mut read = 0usize;
    let count = allocations::count(|| {
        let mut parser = Parser::new(Conn::Client, Limits::default());
        let outcome = parser.feed(stream.as_bytes(), |_, _| read += 1);
        assert!(outcome.is_ok());
    });
    assert_eq!(read, 1004);
    assert_eq!(
        count, 0,
        "operations that lie completely in a piece allocate nothing"
    );

    // Routed messages with many queues allocate nothing either.
    let routed = format!("RMSG $G a + r {} 2\r\nok\r\n", "queue ".repeat(100)).repeat(100);
    let count = allocations::count(|| {
        let mut parser = Parser::new(Conn::Route, Limits::default());
        assert!(parser.feed(routed.as_bytes(), |_, _| read += 1).is_ok());
    });
    assert_eq!(count, 0);

    // A line that announces a gigabyte costs only the bytes that arrived.
    let most = allocations::peak_bytes(|| {
        let limits = Limits {
            max_payload: usize::MAX,
            ..Limits::default()
        };
        let mut parser = Parser::new(Conn::Client, limits);
        assert!(parser.feed(b"PUB a 999999999\r\nxyz", |_, _| ()).is_ok());
        assert_eq!(parser.buffered(), 20);
    });
    assert!(most < 1024, "{most}");

    // A line without an end is rejected at the limit, whatever the size of the pieces.
    let endless = vec![b'a'; 10_000_000];
    for piece in [1, 100, 1 << 16, endless.len()] {
        let most = allocations::peak_bytes(|| {
            let mut parser = Parser::new(Conn::Client, Limits::default());
            assert!(parser.feed(b"PUB ", |_, _| ()).is_ok());
            let refused = endless
                .chunks(piece)
                .any(|piece| parser.feed(piece, |_, _| ()).is_err());
            assert!(refused);
        });
        assert!(most < 300_000, "{piece}: {most}");
    }
}
