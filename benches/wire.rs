//! The speed of the wire parser: PUB and MSG of 128 bytes, in pieces as a socket gives them, and
//! short operations. Criterion: `cargo bench --bench wire`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use subtrie_nats::wire::{Conn, Limits, Parser};

/// Bytes that a server reads at once.
const PIECE: usize = 65_536;

fn parse(criterion: &mut Criterion) {
    let payload = "x".repeat(128);
    let streams = [
        (
            "pub-128",
            Conn::Client,
            format!("PUB orders.eu.new 128\r\n{payload}\r\n"),
        ),
        (
            "msg-128",
            Conn::ServerToClient,
            format!("MSG orders.eu.new 42 _INBOX.abc.1 128\r\n{payload}\r\n"),
        ),
        (
            "pub-16",
            Conn::Client,
            "PUB orders.eu.new 16\r\n0123456789abcdef\r\n".to_owned(),
        ),
        (
            "rs+",
            Conn::Route,
            "RS+ $G orders.eu.* workers 1\r\n".to_owned(),
        ),
    ];
    let mut group = criterion.benchmark_group("parse");
    for (name, conn, message) in streams {
        let stream = message.repeat(4_000_000 / message.len());
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut parser = Parser::new(conn, Limits::default());
                let mut size = 0usize;
                for piece in stream.as_bytes().chunks(PIECE) {
                    let outcome = parser.feed(black_box(piece), |op, _| size += op.payload().len());
                    debug_assert!(outcome.is_ok());
                }
                size
            });
        });
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
