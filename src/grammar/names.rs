//! Validation of names: streams, consumers, accounts, queues, keys, buckets and objects.
//!
//! The productions of ADR-6, and the two looser levels that its note describes: what the Go client
//! checks, and what the command-line tool checks. A name is validated from left to right, and the
//! first byte that the production does not allow is reported.
// S2-008 to S2-049. The message subject follows A32, not the printed production.

use std::fmt;

use crate::error::{Error, sentence};

/// Maximum length of `filename-safe` in bytes; the class is ASCII, so also in characters.
const MAX_FILE_NAME: usize = 255; // A41

/// The program whose rules apply.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Level, check_name};
///
/// assert!(check_name("a b", "stream", Level::Adr6, false)?.is_some());
/// assert!(check_name("a b", "stream", Level::GoClient, false)?.is_none());
/// # Ok::<(), subtrie::grammar::UnknownKind>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The productions of ADR-6.
    Adr6, // A45a
    /// The checks of the Go client before a request: stream, durable, consumer.
    GoClient,
    /// The additional checks of the command-line tool.
    Cli,
}

impl Level {
    /// Return the level of this name: `adr6`, `go-client` or `cli`.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::grammar::Level;
    ///
    /// assert_eq!(Level::from_name("cli"), Some(Level::Cli));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "adr6" => Some(Self::Adr6),
            "go-client" => Some(Self::GoClient),
            "cli" => Some(Self::Cli),
            _ => None,
        }
    }
}

/// The rule that a name breaks, and where.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Level, check_name};
///
/// let violation = check_name("a*", "queue", Level::Adr6, false)?.unwrap();
/// assert_eq!((violation.rule, violation.position), ("term", 1));
/// # Ok::<(), subtrie::grammar::UnknownKind>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleViolation {
    /// The production that failed, by its name in ADR-6.
    pub rule: &'static str,
    /// A stable code such as `name-character`.
    pub reason: &'static str,
    /// Byte offset in the name.
    pub position: usize,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = sentence(self.reason);
        write!(
            f,
            "{sentence}, at byte {} (rule {})",
            self.position, self.rule
        )
    }
}

impl std::error::Error for RuleViolation {}

impl From<RuleViolation> for Error {
    fn from(violation: RuleViolation) -> Self {
        Self::at(violation.reason, violation.position)
    }
}

/// The kind of name does not exist (see [`is_kind`]).
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Level, UnknownKind, check_name};
///
/// assert_eq!(check_name("orders", "topic", Level::Adr6, false), Err(UnknownKind));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown kind of name")
    }
}

impl std::error::Error for UnknownKind {}

/// A set of bytes.
type Class = &'static [bool; 256];

/// Build the set of the bytes for which a function returns true.
macro_rules! class {
    ($rule:expr) => {{
        #[allow(clippy::cast_possible_truncation)] // below 256
        static CLASS: [bool; 256] = {
            let mut class = [false; 256];
            let mut byte = 0;
            while byte < 256 {
                class[byte] = $rule(byte as u8);
                byte += 1;
            }
            class
        };
        &CLASS
    }};
}

/// The syntax of a kind of name.
#[derive(Clone, Copy)]
enum Syntax {
    /// Exactly one byte of the class.
    OneOf(Class),
    /// Exactly this byte.
    Byte(u8),
    /// One or more bytes of the class, up to a maximum length.
    Run(Class, usize),
    /// Runs joined by dots, with the name of their class; `true` if a run may be `*`, and the last
    /// one `>`.
    Dotted(Class, &'static str, bool),
    /// Runs that each end in a dot; `true` if they follow a dollar sign.
    Prefix(bool),
    /// One or more bytes of any value.
    Any,
}

const fn printable(byte: u8) -> bool {
    matches!(byte, 33..=126)
}

const fn term(byte: u8) -> bool {
    printable(byte) && !matches!(byte, b'.' | b'*' | b'>')
}

const fn prefix(byte: u8) -> bool {
    term(byte) && byte != b'$'
}

const fn restricted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

const fn limited(byte: u8) -> bool {
    restricted(byte) || matches!(byte, b'/' | b'=')
}

const fn limited_or_space(byte: u8) -> bool {
    limited(byte) || byte == b' '
}

const fn file(byte: u8) -> bool {
    term(byte) && !matches!(byte, b'/' | b'\\')
}

const fn windows_file(byte: u8) -> bool {
    file(byte) && !matches!(byte, b'<' | b':' | b'"' | b'|' | b'?')
}

const fn no_dot(byte: u8) -> bool {
    byte != b'.'
}

const fn no_path(byte: u8) -> bool {
    !matches!(byte, b'.' | b'*' | b'>' | b'/' | b'\\')
}

/// The production of a kind and its syntax, `None` if the kind is not known.
fn production(kind: &str, level: Level, windows: bool) -> Option<(&'static str, Syntax)> {
    let no_limit = usize::MAX;
    let safe: Class = if windows {
        class!(windows_file)
    } else {
        class!(file)
    };
    Some(match kind.as_bytes() {
        b"stream" | b"stream-name" | b"durable" | b"durable-name" | b"consumer"
        | b"consumer-name" => match level {
            Level::Adr6 => ("filename-safe", Syntax::Run(safe, MAX_FILE_NAME)),
            Level::GoClient => ("go-client", Syntax::Run(class!(no_dot), no_limit)),
            Level::Cli => ("cli", Syntax::Run(class!(no_path), no_limit)),
        },
        b"account" | b"account-name" | b"filename-safe" => {
            ("filename-safe", Syntax::Run(safe, MAX_FILE_NAME))
        }
        b"subject" => (
            "message-subject",
            Syntax::Dotted(class!(term), "term", false),
        ),
        b"pattern" | b"message-subject" => (
            "message-subject",
            Syntax::Dotted(class!(term), "term", true),
        ),
        b"reply-to" => ("reply-to", Syntax::Dotted(class!(term), "term", false)),
        b"queue" | b"queue-name" | b"term" => ("term", Syntax::Run(class!(term), no_limit)),
        b"js-internal-prefix" => ("js-internal-prefix", Syntax::Prefix(true)),
        b"js-user-prefix" => ("js-user-prefix", Syntax::Prefix(false)),
        b"kv-key" | b"kv-key-name" => (
            "kv-key-name",
            Syntax::Dotted(class!(limited), "limited-term", false),
        ),
        b"kv-bucket" | b"kv-bucket-name" | b"os-bucket" | b"os-bucket-name"
        | b"restricted-term" => ("restricted-term", Syntax::Run(class!(restricted), no_limit)),
        b"os-object" | b"os-object-name" => ("os-object-name", Syntax::Any),
        b"limited-term" => ("limited-term", Syntax::Run(class!(limited), no_limit)),
        b"limited-term-w-sp" => (
            "limited-term-w-sp",
            Syntax::Run(class!(limited_or_space), no_limit),
        ),
        b"prefix" => ("prefix", Syntax::Run(class!(prefix), no_limit)),
        b"printable" => ("printable", Syntax::OneOf(class!(printable))),
        b"dot" => ("dot", Syntax::Byte(b'.')),
        b"asterisk" => ("asterisk", Syntax::Byte(b'*')),
        b"lt" => ("lt", Syntax::Byte(b'<')),
        b"gt" => ("gt", Syntax::Byte(b'>')),
        b"dollar" => ("dollar", Syntax::Byte(b'$')),
        b"colon" => ("colon", Syntax::Byte(b':')),
        b"double-quote" => ("double-quote", Syntax::Byte(b'"')),
        b"fwd-slash" => ("fwd-slash", Syntax::Byte(b'/')),
        b"backslash" => ("backslash", Syntax::Byte(b'\\')),
        b"pipe" => ("pipe", Syntax::Byte(b'|')),
        b"question-mark" => ("question-mark", Syntax::Byte(b'?')),
        b"ampersand" => ("ampersand", Syntax::Byte(b'&')),
        b"dash" => ("dash", Syntax::Byte(b'-')),
        b"underscore" => ("underscore", Syntax::Byte(b'_')),
        b"equals" => ("equals", Syntax::Byte(b'=')),
        _ => return None,
    })
}

/// Return whether there is a kind of this name.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::is_kind;
///
/// assert!(is_kind("queue") && !is_kind("topic"));
/// ```
#[must_use]
pub fn is_kind(kind: &str) -> bool {
    production(kind, Level::Adr6, false).is_some()
}

/// Return the first rule that a name breaks, `None` if it is valid.
///
/// `level` applies to streams, durables and consumers; every other kind is checked by ADR-6.
/// `windows` selects the narrower `filename-safe` of Windows. Cost: one pass, no allocation.
///
/// # Errors
///
/// [`UnknownKind`] if there is no kind of this name.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Level, check_name};
///
/// assert_eq!(check_name("orders", "stream", Level::Adr6, false)?, None);
/// let violation = check_name("a.b", "stream", Level::Adr6, false)?.unwrap();
/// assert_eq!((violation.reason, violation.position), ("name-character", 1));
/// # Ok::<(), subtrie::grammar::UnknownKind>(())
/// ```
pub fn check_name(
    text: &str,
    kind: &str,
    level: Level,
    windows: bool, // S2-044
) -> Result<Option<RuleViolation>, UnknownKind> {
    let (rule, syntax) = production(kind, level, windows).ok_or(UnknownKind)?;
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Ok(Some(violation(rule, "name-empty", 0)));
    }
    Ok(match syntax {
        Syntax::OneOf(class) if !class[usize::from(bytes[0])] => {
            Some(violation(rule, "name-character", 0))
        }
        Syntax::Byte(byte) if byte != bytes[0] => Some(violation(rule, "name-character", 0)),
        Syntax::OneOf(_) | Syntax::Byte(_) if bytes.len() > 1 => {
            Some(violation(rule, "name-single", 1))
        }
        Syntax::OneOf(_) | Syntax::Byte(_) | Syntax::Any => None,
        Syntax::Run(class, max_length) => check_run(bytes, class, max_length, rule),
        Syntax::Dotted(class, class_name, wildcards) => {
            check_dotted(bytes, class, class_name, wildcards, rule)
        }
        Syntax::Prefix(internal) => check_prefix(bytes, internal, rule),
    })
}

const fn violation(rule: &'static str, reason: &'static str, position: usize) -> RuleViolation {
    RuleViolation {
        rule,
        reason,
        position,
    }
}

fn check_run(
    bytes: &[u8],
    class: Class,
    max_length: usize,
    rule: &'static str,
) -> Option<RuleViolation> {
    let invalid = bytes
        .iter()
        .take(max_length)
        .position(|&byte| !class[usize::from(byte)]);
    match invalid {
        Some(position) => Some(violation(rule, "name-character", position)),
        None if bytes.len() > max_length => Some(violation(rule, "name-too-long", max_length)),
        None => None,
    }
}

fn check_dotted(
    bytes: &[u8],
    class: Class,
    class_name: &'static str,
    wildcards: bool,
    rule: &'static str,
) -> Option<RuleViolation> {
    let mut start = 0;
    for token in bytes.split(|&byte| byte == b'.') {
        let end = start + token.len();
        let last = end == bytes.len();
        let subject = rule != "kv-key-name";
        match token {
            b"" => return Some(violation(rule, "name-empty-token", start)),
            b"*" | b">" if subject && !wildcards => {
                return Some(violation(rule, "name-wildcard", start));
            }
            b"*" if wildcards => {}
            b">" if wildcards && last => {}
            b">" if wildcards => return Some(violation(rule, "name-tail-not-last", start)),
            _ => {
                if let Some(offset) = token.iter().position(|&byte| !class[usize::from(byte)]) {
                    return Some(violation(class_name, "name-character", start + offset));
                }
            }
        }
        start = end + 1;
    }
    None
}

fn check_prefix(bytes: &[u8], internal: bool, rule: &'static str) -> Option<RuleViolation> {
    let class: Class = class!(prefix);
    let mut start = usize::from(internal);
    if internal && bytes[0] != b'$' {
        return Some(violation(rule, "name-no-dollar", 0));
    }
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        match rest.iter().position(|&byte| !class[usize::from(byte)]) {
            Some(0) if rest[0] == b'.' => return Some(violation(rule, "name-empty-token", start)),
            Some(length) if rest[length] == b'.' => start += length + 1,
            Some(length) => return Some(violation("prefix", "name-character", start + length)),
            None if rest.is_empty() => return Some(violation(rule, "name-empty-token", start)),
            None => return Some(violation(rule, "name-no-final-dot", bytes.len())),
        }
        if start == bytes.len() {
            return None;
        }
    }
}
