//! Messages of the server itself: refusals, logins, slow consumers, links, closed connections, its
//! own start and end.

use memchr::{memchr, memmem, memrchr};

use super::connections::pid_name;
use super::event::{Direction, Event, Prefix, Sink, Who};
use super::operation::{self, Refusal, Violation};
use super::prefix::{Line, Message, quoted};
use super::reader::Reader;
use super::redact::redact;
use super::text::{escape, unquote};

/// Beginnings of messages of a server about itself, and what they say.
const STATES: [(&[u8], &[u8]); 4] = [
    (b"Server is ready", b"ready"),
    (b"Reloaded server configuration", b"reload"),
    (b"Entering lame duck mode", b"lame duck"),
    (b"Initiating Shutdown", b"stop"),
];
/// Beginnings of messages about a login that was refused, in lower case.
const DENIALS: [&[u8]; 3] = [
    b"authentication ",
    b"authorization timeout",
    b"maximum connections exceeded",
];

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
        let violation =
            operation::violation(found.rest).or_else(|| self.too_large(&prefix, found.rest));
        let Some(violation) = violation else {
            let closes = prefix.client && operation::is_closing(found.rest);
            if closes {
                self.subscriptions.close(prefix.conn_id);
                self.subscriptions.changed = position;
                self.logins.close(prefix.conn_id);
            } else if prefix.leaf && (operation::is_closing(found.rest) || is_denial(found.rest)) {
                self.subscriptions.changed = position;
                self.logins.close(prefix.conn_id);
                self.prefixes.clear(); // one of them names the user of this connection
            }
            let slow = operation::is_slow(found.rest);
            if own && (closes || slow) {
                let op: &[u8] = if slow { b"SLOW" } else { b"CLOSED" };
                sink.add(&Event { op, ..base });
            } else if own && !denied(&base, found, sink) && !prefix.client {
                linked(&base, found, sink);
            }
            return;
        };
        let sid = violation.sid.as_deref().unwrap_or_default();
        if violation.kind == Refusal::Subscribe {
            self.subscriptions.end(prefix.conn_id, sid);
            self.subscriptions.changed = position;
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

    /// Return the violation of a client whose publish was too large; its line names no subject.
    fn too_large(&self, prefix: &Prefix, message: &[u8]) -> Option<Violation> {
        if !(prefix.client && operation::is_too_large(message)) {
            return None;
        }
        Some(Violation {
            kind: Refusal::Payload,
            subject: self.windows.subject_of(prefix.conn_id)?.to_vec(),
            queue: None,
            sid: None,
        })
    }

    /// Add the row of a login, and one if the client claims another user than the broker proved.
    pub(super) fn login(
        &mut self,
        position: u64,
        time: Option<i64>,
        prefix: &Prefix,
        found: &Line<'_>,
        sink: &mut impl Sink,
    ) {
        let Some(accepted) = self.logins.login(prefix.conn_id, &prefix.who) else {
            return;
        };
        if !self.range.contains(&position) {
            return;
        }
        let base = Event {
            position,
            time,
            prefix: Some(prefix),
            ..Event::default()
        };
        sink.add(&Event {
            op: b"LOGIN",
            subject: host(found.peer),
            ..base
        });
        if let Some(claimed) = accepted.claimed {
            sink.add(&Event {
                op: b"CLAIM",
                subject: claimed.as_bytes(),
                ..base
            });
        }
    }

    /// Read a message that names no connection: the server starts, is ready, or ends.
    pub(super) fn told(
        &mut self,
        position: u64,
        time: Option<i64>,
        message: &Message<'_>,
        sink: &mut impl Sink,
    ) {
        if message.rest.starts_with(b"Starting nats-server") {
            self.prefixes.clear(); // of connections whose numbers come again
            self.restart(position, time, message.pid, sink);
            return;
        }
        if let (Some(queue), true) = (state_of(message.rest), self.range.contains(&position)) {
            let conn = format!("{}/server", pid_name(message.pid));
            sink.add(&Event {
                position,
                time,
                conn: &conn,
                op: b"SERVER",
                queue,
                ..Event::default()
            });
        }
    }

    /// End all windows, and all connections of a server that starts again with the same process id.
    pub(super) fn restart(
        &mut self,
        position: u64,
        time: Option<i64>,
        pid: Option<&[u8]>,
        sink: &mut impl Sink,
    ) {
        let server = format!("{}/", pid_name(pid));
        self.windows.finish(position);
        self.subscriptions.changed = position;
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

/// Return the state of the server that a message tells, a value of the column `queue`.
pub(super) fn state_of(message: &[u8]) -> Option<&'static [u8]> {
    let found = STATES.iter().find(|(text, _)| message.starts_with(text));
    found.map(|(_, state)| *state)
}

/// Whether a message is about a login that was refused.
pub(super) fn is_denial(message: &[u8]) -> bool {
    let begin = message.get(..32).unwrap_or(message).to_ascii_lowercase();
    DENIALS.iter().any(|text| begin.starts_with(text))
}

/// Add the row of a login that was refused; return whether the message is about one.
fn denied(base: &Event<'_>, found: &Line<'_>, sink: &mut impl Sink) -> bool {
    if !is_denial(found.rest) {
        return false;
    }
    let at = memmem::find(found.rest, b" - ").unwrap_or(found.rest.len());
    let (why, after) = found.rest.split_at(at);
    let user = memchr(b'"', after).and_then(|at| quoted(&after[at + 1..]));
    let user = user.map(|(text, _)| Box::<str>::from(redact(&escape(&unquote(text)))));
    let Some(prefix) = base.prefix else {
        return true;
    };
    let who = Who {
        source: user.as_ref().map(|_| "claimed"),
        identity: user.clone(),
        user,
        ..prefix.who.clone()
    };
    let prefix = Prefix {
        who,
        ..prefix.clone()
    };
    sink.add(&Event {
        op: b"DENIED",
        prefix: Some(&prefix),
        subject: host(found.peer),
        queue: why,
        ..*base
    });
    true
}

/// Add a row if a connection to another server was made or closed.
fn linked(base: &Event<'_>, found: &Line<'_>, sink: &mut impl Sink) {
    let rest = found.rest;
    let up = memmem::find(rest, b" connection created").is_some() || rest.ends_with(b" registered");
    if !up && !operation::is_closing(rest) {
        return;
    }
    let remote = memmem::find(rest, b"Remote: ").map(|at| rest[at + 8..].trim_ascii());
    let named = || memchr(b'"', rest).and_then(|at| Some(quoted(&rest[at + 1..])?.0));
    sink.add(&Event {
        op: b"LINK",
        subject: remote.or_else(named).unwrap_or_default(),
        sid: host(found.peer),
        queue: if up { b"up" } else { b"down" },
        ..*base
    });
}

/// Return an address without its port.
fn host(peer: &[u8]) -> &[u8] {
    let end = memrchr(b':', peer).unwrap_or(peer.len());
    let found = &peer[..end];
    let inside = found
        .strip_prefix(b"[")
        .and_then(|text| text.strip_suffix(b"]"));
    inside.unwrap_or(found)
}
