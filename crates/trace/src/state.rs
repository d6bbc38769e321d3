//! The state of a reader at a position of a log, as bytes: open windows and active subscriptions.
//!
//! With it a log is read in ranges by several processes, with the result of one pass. The bytes are
//! for processes of one version, on machines of any kind.

use std::ops::Range;

use smallvec::SmallVec;

use super::login::Login;
use super::matching::{Group, Groups, Subscriber, WindowId};
use super::processes::Alternating;
use super::reader::Reader;
use super::subscriptions::{Sid, Subscription};
use super::windows::Window;

/// The first byte of a state: the version of its form.
const VERSION: u64 = 8;

impl Reader {
    /// Return the state before the next line.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let mut to = Writer::default();
        to.number(VERSION);
        to.number(self.windows.next);
        to.number(self.subscriptions.changed);
        to.number(u64::from(self.connections.next));
        let used = self.used_connections();
        let known = self.connections.iter();
        let mut known: Vec<_> = known
            .filter(|(_, id)| used.binary_search(id).is_ok())
            .collect();
        known.sort_unstable_by_key(|(_, id)| *id);
        to.number(known.len() as u64);
        for (name, id) in known {
            to.number(u64::from(id));
            to.bytes(name.as_bytes());
        }
        let windows = &self.windows;
        let mut groups: Vec<_> = windows.groups.iter().collect();
        groups.sort_unstable_by_key(|group| &group.key);
        to.number(groups.len() as u64);
        for group in groups {
            write_group(&mut to, group);
        }
        let mut open: Vec<_> = windows.open_by_conn.values().collect();
        open.sort_unstable();
        to.number(open.len() as u64);
        for id in open {
            if let Some(window) = windows.by_id.get(id) {
                write_window(&mut to, &windows.groups, *id, window);
            }
        }
        let mut subscriptions: Vec<_> = self.subscriptions.by_conn.iter().collect();
        subscriptions.sort_unstable_by_key(|(conn, _)| **conn);
        to.number(subscriptions.len() as u64);
        for (&conn, known) in subscriptions {
            let mut active: Vec<_> = known.active.iter().collect();
            active.sort_unstable_by_key(|(_, found)| found.start);
            to.number(u64::from(conn));
            to.number(known.since);
            to.number(active.len() as u64);
            for (sid, found) in active {
                write_subscription(&mut to, sid, found);
            }
        }
        let ended: Vec<_> = self.subscriptions.ended().collect();
        to.number(ended.len() as u64);
        for (conn, sid, found) in ended {
            to.number(u64::from(conn));
            write_subscription(&mut to, sid, found);
        }
        let mut logins: Vec<_> = self.logins.iter().collect();
        logins.sort_unstable_by_key(|(conn, _)| *conn);
        to.number(logins.len() as u64);
        for (conn, login) in logins {
            to.number(u64::from(conn));
            write_login(&mut to, login);
        }
        to.number(self.parts.position);
        to.bytes(&self.parts.kept);
        to.bytes(&self.processes.latest);
        to.number(self.processes.since);
        for list in [&self.processes.ended, &self.processes.strays] {
            to.number(list.len() as u64);
            for each in list {
                to.bytes(each);
            }
        }
        to.0
    }

    /// The servers whose lines are in one log, if there are several.
    #[must_use]
    pub const fn alternating(&self) -> Option<&Alternating> {
        self.processes.alternating.as_ref()
    }

    /// The beginning of the first message whose deliveries are not decided; `None` if all are.
    #[must_use]
    pub fn settled(&self) -> Option<u64> {
        let windows = self.windows.by_id.values();
        let open = self.parts.open();
        windows.map(|window| window.start).chain(open).min()
    }

    /// Return the numbers of the connections that have windows, lines, subscriptions or a login, in
    /// ascending order.
    pub(super) fn used_connections(&self) -> Vec<u32> {
        let mut used = self.windows.connections();
        used.extend(self.subscriptions.by_conn.keys());
        used.extend(self.logins.iter().map(|(conn, _)| conn));
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Create a reader of the lines that begin in a range, with the state at its start.
    ///
    /// Returns `None` if the bytes are not a state of this version.
    #[must_use]
    pub fn restore(range: Range<u64>, state: &[u8]) -> Option<Self> {
        let mut from = Parser(state);
        let mut reader = Self::new(range);
        if from.number()? != VERSION {
            return None;
        }
        reader.windows.next = from.number()?;
        reader.subscriptions.changed = from.number()?;
        reader.connections.next = from.small()?;
        for _ in 0..from.number()? {
            let id = from.small()?;
            let name = std::str::from_utf8(from.bytes()?).ok()?;
            reader.connections.insert(name, id);
        }
        for _ in 0..from.number()? {
            reader.windows.groups.restore(read_group(&mut from)?);
        }
        for _ in 0..from.number()? {
            let (id, window) = read_window(&mut from, &reader.windows.groups)?;
            reader.windows.insert(id, window);
        }
        for _ in 0..from.number()? {
            let conn = from.small()?;
            let known = reader.subscriptions.by_conn.entry(conn).or_default();
            known.since = from.number()?;
            for _ in 0..from.number()? {
                let (sid, found) = read_subscription(&mut from)?;
                known.active.insert(sid, found);
            }
        }
        for _ in 0..from.number()? {
            let conn = from.small()?;
            let (sid, found) = read_subscription(&mut from)?;
            reader.subscriptions.remember(conn, sid, found);
        }
        for _ in 0..from.number()? {
            let conn = from.small()?;
            reader.logins.insert(conn, read_login(&mut from)?);
        }
        reader.parts.position = from.number()?;
        reader.parts.kept = from.bytes()?.to_vec();
        reader.processes.latest = from.bytes()?.to_vec();
        reader.processes.since = from.number()?;
        for list in [&mut reader.processes.ended, &mut reader.processes.strays] {
            for _ in 0..from.number()? {
                list.push(from.bytes()?.to_vec());
            }
        }
        from.0.is_empty().then_some(reader)
    }
}

fn write_window(to: &mut Writer, groups: &Groups, id: WindowId, window: &Window) {
    to.number(id);
    to.number(window.start);
    to.number(u64::from(window.conn));
    to.number(u64::from(window.limit.is_some()));
    to.number(window.limit.unwrap_or_default().cast_unsigned());
    to.number(window.groups.len() as u64);
    for &group in &window.groups {
        to.bytes(&groups.get(group).key);
    }
}

/// An empty text is a missing one.
fn write_login(to: &mut Writer, login: &Login) {
    let [issuer, account] = &login.issuers;
    for text in [
        &login.name,
        &login.subject,
        issuer,
        account,
        &login.nkey,
        &login.user,
        &login.client,
    ] {
        to.bytes(text.as_deref().unwrap_or_default().as_bytes());
    }
    to.number(u64::from(login.told));
    to.number(login.since);
}

fn read_login(from: &mut Parser<'_>) -> Option<Login> {
    let mut text = || {
        let text = std::str::from_utf8(from.bytes()?).ok()?;
        Some((!text.is_empty()).then(|| text.to_owned()))
    };
    Some(Login {
        name: text()?,
        subject: text()?,
        issuers: [text()?, text()?],
        nkey: text()?,
        user: text()?,
        client: text()?,
        told: from.number()? == 1,
        since: from.number()?,
    })
}

fn write_subscription(to: &mut Writer, sid: &Sid, found: &Subscription) {
    to.bytes(sid);
    to.number(found.start);
    to.bytes(&found.queue);
}

fn read_subscription(from: &mut Parser<'_>) -> Option<(Sid, Subscription)> {
    let (sid, start) = (from.bytes()?.into(), from.number()?);
    let queue = from.bytes()?.into();
    Some((sid, Subscription { start, queue }))
}

fn read_window(from: &mut Parser<'_>, groups: &Groups) -> Option<(WindowId, Window)> {
    let (id, start, conn) = (from.number()?, from.number()?, from.small()?);
    let (limited, limit) = (from.number()? == 1, from.number()?.cast_signed());
    let mut found = SmallVec::new();
    for _ in 0..from.number()? {
        found.push(groups.find(from.bytes()?)?);
    }
    let mut window = Window::new(start, conn, found);
    window.limit = limited.then_some(limit);
    Some((id, window))
}

fn write_group(to: &mut Writer, group: &Group) {
    to.bytes(&group.key);
    to.number(group.covered);
    to.number(group.shared);
    let open = group
        .open
        .iter()
        .filter_map(|&(id, start)| Some((id, start?)));
    to.number(open.clone().count() as u64);
    for (id, start) in open {
        to.number(id);
        to.number(start);
    }
    to.number(group.free.iter().count() as u64);
    for (subscriber, line) in group.free.iter() {
        to.bytes(subscriber);
        to.number(line);
    }
    to.number(group.hops.iter().count() as u64);
    for (&conn, line) in group.hops.iter() {
        to.number(u64::from(conn));
        to.number(line);
    }
}

fn read_group(from: &mut Parser<'_>) -> Option<Group> {
    let mut group = Group::default();
    group.key.extend_from_slice(from.bytes()?);
    (group.covered, group.shared) = (from.number()?, from.number()?);
    for _ in 0..from.number()? {
        group.open.push_back((from.number()?, Some(from.number()?)));
    }
    for _ in 0..from.number()? {
        let subscriber = Subscriber::from_slice(from.bytes()?);
        group.free.add(subscriber, from.number()?);
    }
    for _ in 0..from.number()? {
        group.hops.add(from.small()?, from.number()?);
    }
    Some(group)
}

#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    /// Seven bits a byte, the lowest first; the high bit says that more follow.
    fn number(&mut self, mut value: u64) {
        while value > 127 {
            self.0.push((value & 127) as u8 | 128);
            value >>= 7;
        }
        self.0.push((value & 127) as u8);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

struct Parser<'a>(&'a [u8]);

impl<'a> Parser<'a> {
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(value);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        u32::try_from(self.number()?).ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}
