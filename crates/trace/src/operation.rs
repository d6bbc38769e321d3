//! The operation of a line: its arguments, and whether they have the form of the operation.

use memchr::memchr2_iter;
use smallvec::SmallVec;

use super::prefix::quoted;
use super::text::unquote;

/// The line is not an operation of the server. This text and the next are values of the column
/// `reason`.
pub const NOT_AN_OPERATION: &str = "not an operation";
/// The operation has too few or too many arguments.
pub const WRONG_ARGUMENTS: &str = "wrong number of arguments";
/// The size of a message is not a number.
pub const BAD_SIZE: &str = "size is not a number";

/// The number of digits of the largest size.
const SIZE_DIGITS: usize = 17;

/// The number of words of the operations that are interpreted, including the operation itself.
const fn arity(op: &[u8]) -> Option<(usize, usize)> {
    match op {
        b"PUB" | b"SUB" => Some((3, 4)),
        b"HPUB" | b"MSG" => Some((4, 5)),
        b"HMSG" => Some((5, 6)),
        b"UNSUB" => Some((2, 3)),
        b"DELSUB" => Some((2, 2)),
        _ => None,
    }
}

/// An operation, with the words of its line. Text that an operation does not have is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Operation<'a> {
    /// The name of the operation.
    pub op: &'a [u8],
    /// The account of a message between servers, where it is printed.
    pub account: &'a [u8],
    /// The subject or pattern.
    pub subject: &'a [u8],
    /// The reply subject.
    pub reply: &'a [u8],
    /// The queue group of a subscription.
    pub queue: &'a [u8],
    /// The subscription id.
    pub sid: &'a [u8],
    /// The size of a message with its headers; the number of messages that an UNSUB waits for.
    pub size: Option<i64>,
    /// A message between servers may print its account first or not: the other reading.
    pub second: Option<Names<'a>>,
}

/// The names of a message between servers. One that is not printed is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Names<'a> {
    pub account: &'a [u8],
    pub subject: &'a [u8],
    pub reply: &'a [u8],
}

/// The words of a line; those of an operation of a client need no allocation.
pub type OperationWords<'a> = SmallVec<[&'a [u8]; 6]>;

/// Split the text between the brackets at spaces and tabs.
pub fn words(text: &[u8]) -> OperationWords<'_> {
    let mut found = OperationWords::new();
    let mut start = 0;
    for end in memchr2_iter(b' ', b'\t', text).chain([text.len()]) {
        if end > start {
            found.push(&text[start..end]);
        }
        start = end + 1;
    }
    found
}

/// Read the operation of a client's connection.
///
/// # Errors
///
/// The reason why the words are not an operation.
pub fn of_client<'a>(words: &[&'a [u8]]) -> Result<Operation<'a>, &'static str> {
    let Some(&op) = words.first() else {
        return Err(NOT_AN_OPERATION);
    };
    let Some((least, most)) = arity(op) else {
        // The subject that a mapping gives to the message before it: `MAPPING a -> b`.
        let subject = match *words {
            [b"MAPPING", _, b"->", to] => to,
            _ => b"",
        };
        return named(op).map(|found| Operation { subject, ..found });
    };
    if !(least..=most).contains(&words.len()) {
        return Err(WRONG_ARGUMENTS);
    }
    // The size of a message, the id of a subscription.
    let final_word = words[words.len() - 1];
    let complete = words.len() == most;
    let optional = |at: usize| if complete { words[at] } else { b"" };
    let found = Operation {
        op,
        ..Operation::default()
    };
    Ok(match op {
        b"PUB" | b"HPUB" => Operation {
            subject: words[1],
            reply: optional(2),
            size: Some(number(final_word).ok_or(BAD_SIZE)?),
            ..found
        },
        b"MSG" | b"HMSG" => Operation {
            subject: words[1],
            sid: words[2],
            reply: optional(3),
            size: Some(number(final_word).ok_or(BAD_SIZE)?),
            ..found
        },
        b"SUB" => Operation {
            subject: words[1],
            queue: optional(2),
            sid: final_word,
            ..found
        },
        _ => Operation {
            sid: words[1],
            // A positive number of messages defers the end of the subscription.
            size: words
                .get(2)
                .and_then(|&max| number(max))
                .filter(|&max| max > 0),
            ..found
        },
    })
}

/// Read the operation of a connection to another server, which may be a leaf node.
///
/// # Errors
///
/// The reason why the words are not an operation.
pub fn between_servers<'a>(
    words: &[&'a [u8]],
    local: bool,
    leaf: bool,
) -> Result<Operation<'a>, &'static str> {
    let Some(&op) = words.first() else {
        return Err(NOT_AN_OPERATION);
    };
    let found = named(op)?;
    if leaf && matches!(op, b"LS+" | b"LS-") && (2..=4).contains(&words.len()) {
        let queue = words.get(2).copied().unwrap_or_default();
        let subject = words[1];
        return Ok(Operation {
            subject,
            queue,
            ..found
        });
    }
    if local || !matches!(op, b"RMSG" | b"HMSG" | b"LMSG" | b"MSG") {
        return Ok(found);
    }
    let last = words[words.len() - 1];
    let size = number(last).filter(|_| words.len() >= 3);
    let size = Some(size.ok_or(WRONG_ARGUMENTS)?);
    let mut names = &words[1..words.len() - 1];
    if matches!(op, b"HMSG" | b"LMSG") && names.len() > 1 && is_number(names[names.len() - 1]) {
        names = &names[..names.len() - 1]; // the size of the headers
    }
    if op == b"LMSG" && !leaf && names.len() > 1 {
        names = &names[1..]; // the cluster of the leaf node that the message comes from
    }
    // `+ reply queue…` and `| queue…` follow the subject; without them the account may or may not
    // be printed.
    let name = |back: usize| {
        names
            .len()
            .checked_sub(back)
            .map_or(&b""[..], |at| names[at])
    };
    for (at, &sign) in names.iter().enumerate().skip(1) {
        let account = at.checked_sub(2).map_or(&b""[..], |at| names[at]);
        if sign == b"|" {
            return Ok(Operation {
                account,
                subject: names[at - 1],
                size,
                ..found
            });
        }
        if sign == b"+" && at + 1 < names.len() {
            let (subject, reply) = (names[at - 1], names[at + 1]);
            return Ok(Operation {
                account,
                subject,
                reply,
                size,
                ..found
            });
        }
    }
    let last = name(1);
    if leaf && names.len() == 2 {
        // A leaf node has one account, which is not printed.
        return Ok(Operation {
            subject: names[0],
            reply: last,
            size,
            ..found
        });
    }
    let alone = Operation {
        account: name(2),
        subject: last,
        size,
        ..found
    };
    if names.len() < 2 {
        return Ok(alone);
    }
    let before = name(2);
    let replied = Operation {
        account: name(3),
        subject: before,
        reply: last,
        size,
        ..found
    };
    Ok(if names.len() == 2 {
        Operation {
            second: Some(Names {
                subject: before,
                reply: last,
                ..Names::default()
            }),
            ..alone
        }
    } else {
        Operation {
            second: Some(Names {
                account: before,
                subject: last,
                reply: b"",
            }),
            ..replied
        }
    })
}

/// An operation of which only the name is read.
fn named(op: &[u8]) -> Result<Operation<'_>, &'static str> {
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'+' | b'-');
    if op.len() <= 12 && op.iter().all(letter) {
        Ok(Operation {
            op,
            ..Operation::default()
        })
    } else {
        Err(NOT_AN_OPERATION)
    }
}

fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn number(text: &[u8]) -> Option<i64> {
    if text.len() > SIZE_DIGITS || !is_number(text) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The kind of a violation; the names are values of the column `refused`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A publish.
    Publish,
    /// A publish that was refused for its reply subject.
    Reply,
    /// A publish that was larger than the server allows.
    Payload,
    /// A subscription.
    Subscribe,
}

impl Refusal {
    /// Return the name of the kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Publish => "publish",
            Self::Reply => "reply",
            Self::Payload => "payload",
            Self::Subscribe => "subscribe",
        }
    }
}

/// A violation that the server logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The kind of operation that was refused.
    pub kind: Refusal,
    /// The subject or pattern.
    pub subject: Vec<u8>,
    /// The queue group.
    pub queue: Option<Vec<u8>>,
    /// The subscription id.
    pub sid: Option<Vec<u8>>,
}

/// Read the permissions violation of a message, or `None` if it is another message.
#[must_use]
pub fn violation(message: &[u8]) -> Option<Violation> {
    let publish = message.strip_prefix(b"Publish Violation");
    let after = publish.or_else(|| message.strip_prefix(b"Subscription Violation"))?;
    let after = after.strip_prefix(b" Too Many Tokens").unwrap_or(after);
    let after = after.strip_prefix(b" - ")?;
    // Some versions name the user first.
    let (is_reply, subject, rest) = refused_name(after).or_else(|| {
        let letters = after
            .iter()
            .position(|byte| !(byte.is_ascii_alphabetic() || *byte == b' '))?;
        let (_, rest) = quoted(
            after[letters..]
                .strip_prefix(b"\"")
                .filter(|_| letters > 0)?,
        )?;
        refused_name(rest.strip_prefix(b", ")?)
    })?;
    let (queue, rest) = match rest.strip_prefix(b", Queue: \"") {
        Some(text) => {
            let (queue, rest) = quoted(text)?;
            (Some(unquote(queue).into_owned()), rest)
        }
        None => (None, rest),
    };
    let sid = match rest.strip_prefix(b", SID ") {
        Some(sid) => Some(sid.to_vec()),
        None if rest.is_empty() => None,
        None => return None,
    };
    let kind = match (is_reply, publish) {
        (true, _) => Refusal::Reply,
        (false, Some(_)) => Refusal::Publish,
        (false, None) => Refusal::Subscribe,
    };
    let subject = unquote(subject).into_owned();
    Some(Violation {
        kind,
        subject,
        queue,
        sid,
    })
}

fn refused_name(text: &[u8]) -> Option<(bool, &[u8], &[u8])> {
    let subject = text.strip_prefix(b"Subject \"");
    let (found, rest) = quoted(subject.or_else(|| text.strip_prefix(b"Reply \""))?)?;
    Some((subject.is_none(), found, rest))
}

/// Whether a message says that the connection closed, such as `Client connection closed: …`.
#[must_use]
pub fn is_closing(message: &[u8]) -> bool {
    let letters = message
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'_'));
    letters.is_some_and(|at| at > 0 && message[at..].starts_with(b" connection closed"))
}

/// Return whether a message says that a publish was larger than the server allows.
#[must_use]
pub fn is_too_large(message: &[u8]) -> bool {
    message.starts_with(b"maximum payload exceeded: ")
}

/// Return whether a message says that a connection reads more slowly than it is sent to.
#[must_use]
pub fn is_slow(message: &[u8]) -> bool {
    message.starts_with(b"Slow Consumer Detected: ")
}

/// Whether the text of an operation may begin or end a subscription.
#[must_use]
pub fn is_subscription(body: &[u8]) -> bool {
    let names: [&[u8]; 4] = [b"SUB", b"UNSUB", b"DELSUB", b"LS"];
    names.iter().any(|name| {
        body.get(1..)
            .is_some_and(|text| text.trim_ascii_start().starts_with(name))
    })
}
