//! The speed of the reader of trace logs, in CPU time of one thread: into all columns, and the pass
//! that divides a log. One JSON object a row: `python benches/trace_record.py`.

use std::fmt::Write;
use std::hint::black_box;

use subtrie_trace::{Divider, EventColumns, Lines, Reader};

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;
/// The lead of the divider, as in the audit.
const SKIM: u64 = 1 << 20;
const ROUNDS: usize = 7;
const COLUMNS: [&str; 24] = [
    "offset",
    "until",
    "time",
    "conn",
    "account",
    "identity",
    "identity_source",
    "user",
    "client",
    "direction",
    "op",
    "subject",
    "reply",
    "queue",
    "sid",
    "size",
    "deliveries",
    "refused",
    "forwarded",
    "ambiguous",
    "subscription",
    "position",
    "reason",
    "_corrupt_record",
];

/// The seconds that this thread has run.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse().ok());
    nanoseconds.unwrap_or(f64::NAN) / 1e9
}

/// Return the least time of several rounds.
fn least(mut work: impl FnMut()) -> f64 {
    let times = (0..ROUNDS).map(|_| {
        let start = cpu();
        work();
        cpu() - start
    });
    times.fold(f64::INFINITY, f64::min)
}

fn read(log: &[u8]) {
    let (mut reader, mut lines) = (Reader::new(0..u64::MAX), Lines::new(0));
    let Some(mut columns) = EventColumns::new(COLUMNS, 0) else {
        return;
    };
    for piece in log.chunks(PIECE) {
        lines.feed(piece, |position, line| {
            reader.line(position, line, &mut columns);
            true
        });
        if columns.len() > 65_536 {
            black_box(columns.take()).ok();
        }
    }
    reader.finish(lines.position(), &mut columns);
    black_box(columns.take()).ok();
}

fn divide(log: &[u8], parts: u64) {
    let size = log.len() as u64;
    let targets = (1..parts).map(|part| part * size / parts).collect();
    let reader = Reader::new(u64::MAX..u64::MAX);
    let mut divider = Divider::new(reader, targets, 0, Some(SKIM));
    let mut lines = Lines::new(0);
    for piece in log.chunks(PIECE) {
        lines.feed(piece, |position, line| {
            if divider.divides(position) {
                black_box(divider.reader.save());
            }
            if !divider.is_done() {
                divider.line(position, line);
            }
            !divider.is_done()
        });
        if divider.is_done() {
            break;
        }
    }
    assert!(!divider.failed());
}

/// Write a log in which one message has many subscribers, or many connections publish at once;
/// return it with the number of deliveries.
fn crowded(subscribers: usize, senders: usize) -> (String, usize) {
    let (mut log, mut time, mut deliveries) = (String::new(), 0, 0);
    let mut line = |conn: usize, text: &str| {
        time += 1;
        let (seconds, fraction) = (time / 1_000_000, time % 1_000_000);
        let _ = writeln!(
            log,
            "[7] 2026/11/20 12:00:{seconds:02}.{fraction:06} [TRC] 10.0.0.1:4 - cid:{conn} - {text}"
        );
    };
    while deliveries < 400_000 {
        for sender in 0..senders {
            line(10_000 + sender, "<<- [PUB orders.new 5]");
            line(10_000 + sender, r#"<<- MSG_PAYLOAD: ["hello"]"#);
            for conn in 0..subscribers {
                line(conn, "->> [MSG orders.new 1 5]");
            }
        }
        deliveries += senders * subscribers;
    }
    (log, deliveries)
}

fn main() {
    for (subscribers, senders) in [
        (1, 1),
        (500, 1),
        (2_000, 1),
        (8_000, 1),
        (1, 500),
        (1, 2_000),
        (1, 4_000),
    ] {
        let (log, deliveries) = crowded(subscribers, senders);
        let microseconds = least(|| read(log.as_bytes())) * 1e6 / deliveries as f64;
        println!(
            r#"{{"measure": "delivery", "subscribers": {subscribers}, "senders": {senders}, "microseconds": {microseconds:.2}}}"#
        );
    }
    for path in std::env::args()
        .skip(1)
        .filter(|text| !text.starts_with('-'))
    {
        let Ok(log) = std::fs::read(&path) else {
            eprintln!("{path} cannot be read");
            std::process::exit(1);
        };
        let (columns, divider) = (least(|| read(&log)), least(|| divide(&log, 8)));
        let rate = |seconds: f64| log.len() as f64 / 1e6 / seconds;
        println!(
            r#"{{"measure": "log", "megabytes": {:.0}, "columns_mb_per_second": {:.0}, "divider_mb_per_second": {:.0}, "divider_share": {:.3}}}"#,
            log.len() as f64 / 1e6,
            rate(columns),
            rate(divider),
            divider / columns,
        );
    }
}
