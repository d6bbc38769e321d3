//! Messages of the server itself: refusals, slow consumers, closed connections, its own start.

use super::connections::pid_name;
use super::event::{Direction, Event, Prefix, Sink};
use super::jetstream::{self, Answer};
use super::operation::{self, Refusal};
use super::prefix::Line;
use super::reader::Reader;

impl Reader {
    /// Read a message about a connection: a refusal, that it reads too slowly, or that it closed.
    pub(super) fn message(
        &mut self,
        position: u64,
        time: Option<i64>,
        found: &Line<'_>,
        sink: &mut impl Sink,
    ) {
        let own = self.range.contains(&position);
        let prefix = self.prefix(found, Direction::Local, false);
        let base = Event {
            position,
            time,
            prefix: Some(&prefix),
            ..Event::default()
        };
        let Some(violation) = operation::violation(found.rest) else {
            let closes = prefix.client && operation::is_closing(found.rest);
            if closes {
                self.subscriptions.close(prefix.conn_id);
                self.logins.close(prefix.conn_id);
            }
            let slow = operation::is_slow(found.rest);
            if own && (closes || slow) {
                let op: &[u8] = if slow { b"SLOW" } else { b"CLOSED" };
                sink.add(&Event { op, ..base });
            }
            return;
        };
        let sid = violation.sid.as_deref().unwrap_or_default();
        if violation.kind == Refusal::Subscribe {
            self.subscriptions.end(prefix.conn_id, sid);
        } else {
            self.windows.refuse(prefix.conn_id, &violation, position);
        }
        if own {
            sink.add(&Event {
                op: b"VIOLATION",
                subject: &violation.subject,
                queue: violation.queue.as_deref().unwrap_or_default(),
                sid,
                refused: Some(violation.kind),
                ..base
            });
        }
    }

    /// Add a row if the client claims another user than the broker proved.
    pub(super) fn claim(
        &mut self,
        position: u64,
        time: Option<i64>,
        prefix: &Prefix,
        sink: &mut impl Sink,
    ) {
        let Some(claimed) = self.logins.claim(prefix.conn_id, &prefix.who) else {
            return;
        };
        if self.range.contains(&position) {
            sink.add(&Event {
                position,
                time,
                prefix: Some(prefix),
                op: b"CLAIM",
                subject: claimed.as_bytes(),
                ..Event::default()
            });
        }
    }

    /// End all connections of a server that starts again with the same process id.
    pub(super) fn restart(
        &mut self,
        position: u64,
        time: Option<i64>,
        pid: Option<&[u8]>,
        sink: &mut impl Sink,
    ) {
        let server = format!("{}/", pid_name(pid));
        let connections = self.connections.iter();
        for (_, conn) in connections.filter(|(name, _)| name.starts_with(&server)) {
            self.subscriptions.close(conn);
            self.logins.close(conn);
        }
        if self.range.contains(&position) {
            let conn = format!("{server}server");
            sink.add(&Event {
                position,
                time,
                conn: &conn,
                op: b"START",
                ..Event::default()
            });
        }
    }
}

/// Add the rows of an answer of `JetStream`: the stream that stored a message, the subjects of streams.
pub fn answered(
    position: u64,
    prefix: &Prefix,
    time: Option<i64>,
    body: &[u8],
    sink: &mut impl Sink,
) {
    let base = Event {
        position,
        time,
        prefix: Some(prefix),
        ..Event::default()
    };
    match jetstream::answer(body) {
        Some(Answer::Stored(queue)) => sink.add(&Event {
            op: b"STORED",
            queue: &queue,
            ..base
        }),
        Some(Answer::Streams(found)) => {
            for (queue, subject) in &found {
                sink.add(&Event {
                    op: b"STREAM",
                    subject,
                    queue,
                    ..base
                });
            }
        }
        None => {}
    }
}
