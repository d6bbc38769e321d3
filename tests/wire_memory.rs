//! Allocations of the parser: none for operations that lie completely in a piece, and never the size
//! that a line announces.
#![allow(unsafe_code)] // for a counting allocator

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use subtrie::wire::{Conn, Limits, Parser};

/// The system allocator, with counters.
struct CountingAllocator;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is the system allocator's, with the same arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        let now = BYTES.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK_BYTES.fetch_max(now, Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The number of allocations of `work`, and the peak of its memory in bytes.
fn measured(work: impl FnOnce()) -> (usize, usize) {
    let (count, now) = (ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed));
    PEAK_BYTES.store(now, Relaxed);
    work();
    (
        ALLOCATIONS.load(Relaxed) - count,
        PEAK_BYTES.load(Relaxed) - now,
    )
}

// requirement: S4-004
// One test, as tests that run at the same time would be counted too.
#[test]
fn complete_operations_allocate_nothing_and_buffers_are_bounded() {
    let payload = "x".repeat(128);
    let message = format!("PUB orders.eu.new _INBOX.1 128\r\n{payload}\r\n");
    let stream = message.repeat(1000) + "SUB a.> q 1\r\nUNSUB 1 5\r\nPING\r\nPONG\r\n";
    let mut read = 0usize;
    let (count, _) = measured(|| {
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
    let (count, _) = measured(|| {
        let mut parser = Parser::new(Conn::Route, Limits::default());
        assert!(parser.feed(routed.as_bytes(), |_, _| read += 1).is_ok());
    });
    assert_eq!(count, 0);

    // A line that announces a gigabyte costs only the bytes that arrived.
    let (_, most) = measured(|| {
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
        let (_, most) = measured(|| {
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
