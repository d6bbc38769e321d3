//! The prefix of a line: process id, time, level and connection.
//!
//! The server prints a prefix of its own, each part of which can be disabled. A system log, a
//! container or a supervisor may put another one before it, and colours into it. The parts are tried
//! in the order in which a regular expression with optional groups tries them.

use std::borrow::Cow;

use super::text::{prefix_length, unquote};

/// The number of characters that another program may put before the connection.
const MAX_FOREIGN: usize = 300;
/// The number of characters that another program may put before a message.
const MAX_FRAME: usize = 200;

/// A line about a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The digits of the process id.
    pub pid: Option<&'a [u8]>,
    /// The time as printed.
    pub time: Option<&'a [u8]>,
    /// The level, such as `TRC`.
    pub level: Option<&'a [u8]>,
    /// The address of the other end.
    pub peer: &'a [u8],
    /// The letter before `id`: `c`, `w`, `m`, `r`, `g` or `l`.
    pub kind: u8,
    /// The digits of the connection's number.
    pub number: &'a [u8],
    /// The client's description of itself, quoted.
    pub client: Option<&'a [u8]>,
    /// Account and user, quoted.
    pub login: Option<&'a [u8]>,
    /// The text after the connection.
    pub rest: &'a [u8],
}

/// A line of the server that names no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The digits of the process id.
    pub pid: Option<&'a [u8]>,
    /// The time as printed.
    pub time: Option<&'a [u8]>,
    /// The text.
    pub rest: &'a [u8],
}

/// Remove colours from the first characters of a line, where a terminal's log has them.
///
/// In a line that can be parsed as it is, a client may have chosen what looks like a colour.
#[must_use]
pub fn without_colour(line: &[u8]) -> Cow<'_, [u8]> {
    let length = prefix_length(line, MAX_FOREIGN);
    if !line[..length].contains(&0x1b) || own_line(line).is_some() {
        return Cow::Borrowed(line);
    }
    let mut made = Vec::with_capacity(line.len());
    let mut at = 0;
    while at < length {
        let digits = line[at..length].strip_prefix(b"\x1b[").map(|rest| {
            rest.iter()
                .position(|byte| !matches!(byte, b'0'..=b'9' | b';'))
        });
        match digits {
            Some(Some(count)) if line[at + 2 + count] == b'm' => at += count + 3,
            _ => {
                made.push(line[at]);
                at += 1;
            }
        }
    }
    made.extend_from_slice(&line[length..]);
    Cow::Owned(made)
}

/// Parse a line about a connection whose prefix is the server's own.
#[must_use]
pub fn own_line(line: &[u8]) -> Option<Line<'_>> {
    let with_pid = bracketed_digits(line);
    for (pid, rest) in options(with_pid, line) {
        for (time, rest) in options(leading_time(rest), rest) {
            for (level, rest) in options(leading_level(rest), rest) {
                if let Some(found) = connection(rest) {
                    return Some(Line {
                        pid,
                        time,
                        level,
                        ..found
                    });
                }
            }
        }
    }
    None
}

/// Parse a line about a connection after the prefix of another program.
#[must_use]
pub fn foreign_line(line: &[u8]) -> Option<Line<'_>> {
    let limit = prefix_length(line, MAX_FOREIGN);
    let mut at = 0;
    while let Some(blank) = line[at..].iter().position(|&byte| byte == b' ') {
        at += blank + 1;
        if at > limit {
            return None;
        }
        if let Some(found) = connection(&line[at..]) {
            let before = &line[..at];
            let pid = last(before, |text| {
                let (digits, rest) = bracketed(text)?;
                (rest.starts_with(b" ") || rest.starts_with(b": ")).then_some((digits, rest))
            });
            let time = last(before, time_at);
            let level = last(before, level_at);
            if pid.is_none() && time.is_none() && level.is_none() {
                return None; // no part of the server's prefix: a line of another program
            }
            return Some(Line {
                pid,
                time,
                level,
                ..found
            });
        }
    }
    None
}

/// Parse a line of the server that names no connection.
#[must_use]
pub fn message(line: &[u8]) -> Option<Message<'_>> {
    let direct = options(bracketed_digits(line), line)
        .into_iter()
        .find_map(|(pid, rest)| {
            options(leading_time(rest), rest)
                .into_iter()
                .find_map(|(time, rest)| {
                    let (level, rest) = leading_level(rest)?;
                    Some((pid, time, level, rest))
                })
        });
    if let Some((pid, time, level, rest)) = direct.or_else(|| framed(line)) {
        // Trace lines are about connections, except those of the server's own clients.
        let complete = level != b"TRC" || is_internal(rest);
        return complete.then_some(Message { pid, time, rest });
    }
    let bracket = line.iter().position(|byte| matches!(byte, b'[' | b']'))?;
    let named = line[..bracket].ends_with(b"nats-server");
    let before = &line[..bracket.saturating_sub(11)];
    if !named || before.len() > prefix_length(before, MAX_FRAME) {
        return None;
    }
    let (pid, rest) = bracketed(&line[bracket..])?;
    let rest = rest.strip_prefix(b": ")?;
    Some(Message {
        pid: Some(pid),
        time: None,
        rest,
    })
}

type Framed<'a> = (Option<&'a [u8]>, Option<&'a [u8]>, &'a [u8], &'a [u8]);

/// The complete prefix of the server after at most `MAX_FRAME` characters.
fn framed(line: &[u8]) -> Option<Framed<'_>> {
    let limit = prefix_length(line, MAX_FRAME);
    (0..=limit)
        .filter(|&at| line.get(at) == Some(&b'['))
        .find_map(|at| {
            let (pid, rest) = bracketed_digits(&line[at..])?;
            let (time, rest) = leading_time(rest)?;
            let (level, rest) = leading_level(rest)?;
            Some((Some(pid), Some(time), level, rest))
        })
}

/// A trace line of the server's own clients, such as `JETSTREAM - `.
fn is_internal(rest: &[u8]) -> bool {
    let run = rest
        .iter()
        .position(|byte| !matches!(byte, b'A'..=b'Z' | b' '))
        .unwrap_or(rest.len());
    run >= 2 && rest[0] != b' ' && rest[run - 1] == b' ' && rest[run..].starts_with(b"- ")
}

/// An optional part: present if it was found, then absent.
fn options<'a>(
    found: Option<(&'a [u8], &'a [u8])>,
    text: &'a [u8],
) -> impl IntoIterator<Item = (Option<&'a [u8]>, &'a [u8])> {
    found
        .map(|(part, rest)| (Some(part), rest))
        .into_iter()
        .chain(std::iter::once((None, text)))
}

/// `[digits]` with one to ten digits.
fn bracketed(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = text.strip_prefix(b"[")?;
    let count = digits(inside, 10);
    (count > 0).then_some(())?;
    Some((&inside[..count], inside[count..].strip_prefix(b"]")?))
}

fn bracketed_digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (found, rest) = bracketed(text)?;
    Some((found, rest.strip_prefix(b" ")?))
}

/// The number of leading digits, at most `limit`.
fn digits(text: &[u8], limit: usize) -> usize {
    text.iter()
        .take(limit)
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or_else(|| text.len().min(limit))
}

/// A time at the beginning: `YYYY/MM/DD HH:MM:SS` and at most nine digits of a fraction.
fn time_at(text: &[u8]) -> Option<(&[u8], &[u8])> {
    const FORM: &[u8; 19] = b"0000/00/00 00:00:00";
    let matches = text.len() >= FORM.len()
        && FORM.iter().zip(text).all(|(form, byte)| match form {
            b'0' => byte.is_ascii_digit(),
            other => other == byte,
        });
    if !matches {
        return None;
    }
    let mut end = FORM.len();
    if text.get(end) == Some(&b'.') {
        let count = digits(&text[end + 1..], 9);
        end += if count > 0 { count + 1 } else { 0 };
    }
    Some((&text[..end], &text[end..]))
}

fn leading_time(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (time, rest) = time_at(text)?;
    Some((time, rest.strip_prefix(b" ")?))
}

fn level_at(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let level = text.strip_prefix(b"[")?.get(..3)?;
    let known = [b"TRC", b"DBG", b"INF", b"WRN", b"ERR", b"FTL"];
    known
        .iter()
        .any(|name| name.as_slice() == level)
        .then_some(())?;
    Some((level, text[4..].strip_prefix(b"]")?))
}

fn leading_level(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (level, rest) = level_at(text)?;
    Some((level, rest.strip_prefix(b" ")?))
}

/// The last part that `find` recognises, as non-overlapping matches from the left.
fn last<'a>(
    text: &'a [u8],
    find: impl Fn(&'a [u8]) -> Option<(&'a [u8], &'a [u8])>,
) -> Option<&'a [u8]> {
    let (mut at, mut found) = (0, None);
    while at < text.len() {
        if let Some((part, rest)) = find(&text[at..]) {
            found = Some(part);
            at = text.len() - rest.len();
        } else {
            at += 1;
        }
    }
    found
}

/// A connection and the text after it.
fn connection(text: &[u8]) -> Option<Line<'_>> {
    let blank = |byte: &u8| matches!(byte, b' ' | 9..=13);
    let peer = text.iter().position(blank)?;
    let after = text[peer..].strip_prefix(b" - ").filter(|_| peer > 0)?;
    let (&kind, after) = after.split_first()?;
    b"crwmgl".contains(&kind).then_some(())?;
    let after = after.strip_prefix(b"id")?;
    let after = after
        .strip_prefix(b"_ws")
        .unwrap_or(after)
        .strip_prefix(b":")?;
    let count = digits(after, 19);
    (count > 0).then_some(())?;
    let (number, after) = after.split_at(count);
    let line = |client, login, rest| Line {
        pid: None,
        time: None,
        level: None,
        peer: &text[..peer],
        kind,
        number,
        client,
        login,
        rest,
    };
    if let Some((client, rest)) = quoted_part(after) {
        if let Some((login, rest)) = quoted_part(rest)
            && let Some(rest) = rest.strip_prefix(b" - ")
        {
            return Some(line(Some(client), Some(login), rest));
        }
        if let Some(rest) = rest.strip_prefix(b" - ") {
            return Some(line(Some(client), None, rest));
        }
    }
    Some(line(None, None, after.strip_prefix(b" - ")?))
}

fn quoted_part(text: &[u8]) -> Option<(&[u8], &[u8])> {
    quoted(text.strip_prefix(b" - \"")?)
}

/// Text up to the closing quote, and the text after the quote; the opening one is before it.
#[must_use]
pub fn quoted(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0;
    loop {
        match text.get(at)? {
            b'"' => return Some((&text[..at], &text[at + 1..])),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The login of a client, by the text that the server prints before each of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// The name of a user.
    Name(Vec<u8>),
    /// The subject of a JWT.
    Jwt(Vec<u8>),
    /// A public key.
    Nkey(Vec<u8>),
    /// A token, which is not printed.
    Token,
}

/// Return account and user of a quoted login: `ACCOUNT[/tag]/user:name`, or without an account.
#[must_use]
pub fn account_and_user(login: &[u8]) -> (Option<Vec<u8>>, Option<User>) {
    let text = unquote(login);
    if let Some(user) = user_of(&text) {
        return (None, Some(user));
    }
    // The account ends at the first slash, and one tag may stand before the kind: a user name that
    // holds slashes cannot pretend to be another one.
    let Some((account, rest)) = split_slash(&text) else {
        return (None, None);
    };
    let found = user_of(rest).or_else(|| split_slash(rest).and_then(|(_, rest)| user_of(rest)));
    match found {
        Some(user) => (Some(account.to_vec()), Some(user)),
        None => (None, None),
    }
}

/// The text before a user, and the user that it makes of the text after it.
type UserKind = (&'static [u8], fn(Vec<u8>) -> User);

/// The user of `user:name`, `jwt:subject`, `nkey:key` and `token`.
fn user_of(text: &[u8]) -> Option<User> {
    let kinds: [UserKind; 3] = [
        (b"user:", User::Name),
        (b"jwt:", User::Jwt),
        (b"nkey:", User::Nkey),
    ];
    let named = kinds
        .iter()
        .find_map(|(kind, make)| Some(make(text.strip_prefix(*kind)?.to_vec())));
    named.or_else(|| (text == b"token").then_some(User::Token))
}

fn split_slash(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let slash = text.iter().position(|&byte| byte == b'/')?;
    Some((&text[..slash], &text[slash + 1..]))
}

/// Return the name in a quoted `v<version>:<language>:<name>`.
#[must_use]
pub fn client_name(client: &[u8]) -> Option<Vec<u8>> {
    let text = unquote(client);
    let name = text.splitn(3, |&byte| byte == b':').nth(2)?;
    (!name.is_empty()).then(|| name.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_name_with_slashes_is_one_name() {
        let parts = |login: &str| {
            let (account, user) = account_and_user(login.as_bytes());
            let text = |part: Vec<u8>| String::from_utf8(part).unwrap();
            let name = user.and_then(|user| match user {
                User::Name(name) => Some(text(name)),
                _ => None,
            });
            (account.map(text), name)
        };
        let pair = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
        assert_eq!(parts("$G/user:a"), pair("$G", "a"));
        assert_eq!(parts("APP/tag/user:a"), pair("APP", "a"));
        assert_eq!(
            parts("$G/user:a/user:bank.core"),
            pair("$G", "a/user:bank.core")
        );
        assert_eq!(parts("$G/token"), (Some("$G".to_owned()), None));
        assert_eq!(parts("user:a/b"), (None, Some("a/b".to_owned())));
        assert_eq!(parts("a/b/c/user:x"), (None, None));
    }

    #[test]
    fn another_program_may_put_so_many_characters_before_a_line() {
        // A character of several bytes counts as one.
        for filler in ["x", "é"] {
            let before = |count: usize| filler.repeat(count);
            let own = "[7] 2026/11/21 08:24:03.747752 [TRC] ";
            let about = |count: usize| {
                let length = count - own.len() - 1;
                format!("{} {own}10.0.0.1:1 - cid:8 - <<- [PING]", before(length))
            };
            assert!(foreign_line(about(300).as_bytes()).is_some());
            assert!(foreign_line(about(301).as_bytes()).is_none());
            let told = |count| format!("{}{}", before(count), own.replace("TRC", "INF"));
            assert!(message(told(200).as_bytes()).is_some());
            assert!(message(told(201).as_bytes()).is_none());
            let syslog =
                |count: usize| format!("{} nats-server[7]: Server is ready", before(count - 1));
            assert!(message(syslog(200).as_bytes()).is_some());
            assert!(message(syslog(201).as_bytes()).is_none());
        }
    }
}
