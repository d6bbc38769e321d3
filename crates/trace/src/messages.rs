//! Messages of the server itself: refusals, slow consumers, closed connections, its own start.

use super::connection::pid_name;
use super::event::{Direction, Event, Sink};
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
        } else if let Some(&id) = self.open_by_conn.get(&prefix.conn_id) {
            let refused = violation.kind == Refusal::Reply
                || self
                    .windows
                    .get(&id)
                    .and_then(|window| window.groups.first())
                    .is_some_and(|&group| self.groups.has_subject(group, &violation.subject));
            if refused {
                self.open_by_conn.remove(&prefix.conn_id);
                self.close(id, position, Some(violation.kind));
            }
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

    /// End all connections of a server that starts again with the same process id.
    pub(super) fn restart(
        &mut self,
        position: u64,
        time: Option<i64>,
        pid: Option<&[u8]>,
        sink: &mut impl Sink,
    ) {
        let server = format!("{}/", pid_name(pid));
        let ended = self
            .conns
            .iter()
            .filter(|(conn, _)| conn.starts_with(&server));
        for (_, conn) in ended {
            self.subscriptions.close(*conn);
            self.logins.close(*conn);
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
