//! The bounds of what a reader keeps of a log with many connections.

#![allow(clippy::unwrap_used)]

use super::connections::CONNECTIONS;
use super::subscriptions::Subscriptions;
use super::{Event, Outcome, Reader, Sink};

/// The queue group of each delivery.
#[derive(Default)]
struct Deliveries(Vec<Vec<u8>>);

impl Sink for Deliveries {
    fn add(&mut self, event: &Event<'_>) {
        if event.op == b"MSG" {
            self.0.push(event.queue.to_vec());
        }
    }
    fn open(&mut self, _: &Event<'_>, _: u64) {}
    fn resolve(&mut self, _: u64, _: &Outcome) {}
}

/// A reader of a log, whose lines are given without the prefix that they have in common.
struct Log(Reader, u64, Deliveries);

impl Log {
    fn line(&mut self, conn: usize, text: &str) {
        let line = format!("[7] 2026/11/21 08:24:03.747752 [TRC] 10.0.0.1:1 - cid:{conn} - {text}");
        self.0.line(self.1, line.as_bytes(), &mut self.2);
        self.1 += line.len() as u64 + 1;
    }

    fn names(&self) -> usize {
        self.0.connections.iter().count()
    }
}

#[test]
fn connections_without_state_are_forgotten() {
    let mut log = Log(Reader::new(0..u64::MAX), 0, Deliveries::default());
    log.line(1, "<<- [SUB a.b q 9]");
    for conn in 2..CONNECTIONS * 2 + 10 {
        log.line(conn, "<<- [PING]");
        assert!(log.0.connections.next as usize == conn);
    }
    assert!(log.names() <= CONNECTIONS + 2, "{}", log.names());
    log.line(1, "->> [MSG a.b 9 5]");
    assert_eq!(log.2.0[0], b"q");
}

#[test]
fn the_oldest_subscriptions_and_logins_are_forgotten_beyond_the_bound() {
    let mut log = Log(Reader::new(0..u64::MAX), 0, Deliveries::default());
    for conn in 0..=CONNECTIONS {
        log.line(conn, r#"<<- [CONNECT {"nkey":"U"}]"#);
        log.line(conn, "<<- [SUB a.b q 1]");
        if conn % 65_536 == 0 {
            let state = log.0.save();
            log.0 = Reader::restore(0..u64::MAX, &state).unwrap();
        }
    }
    assert!(log.0.subscriptions.by_conn.len() < CONNECTIONS);
    assert!(log.0.logins.iter().count() < CONNECTIONS);
    for conn in [0, CONNECTIONS / 4 + 1, CONNECTIONS] {
        log.line(conn, "->> [MSG a.b 1 5]");
    }
    assert_eq!(log.2.0, [&b""[..], b"q", b"q"]);
}

#[test]
fn an_ended_subscription_of_a_connection_that_is_forgotten_leaves_room_for_another() {
    let mut known = Subscriptions::default();
    let connections = u32::try_from(CONNECTIONS).unwrap();
    for (conn, start) in (0..connections).zip(1..) {
        known.begin(conn, b"1", b"", start);
        if conn < connections / 4 {
            known.begin(conn, b"2", b"", start);
            known.end(conn, b"2");
        }
    }
    assert_eq!(known.ended().count(), CONNECTIONS / 4);
    known.begin(connections, b"1", b"", u64::MAX); // the oldest ones are forgotten
    assert_eq!(known.ended().count(), 0);
    known.begin(connections, b"2", b"q", u64::MAX);
    known.end(connections, b"2");
    let found = known.get(connections, b"2").unwrap();
    assert_eq!(&*found.queue, b"q");
}
