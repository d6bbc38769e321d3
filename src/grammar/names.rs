//! Validation of names: streams, consumers, accounts, queues, keys, buckets and objects.
//!
//! The productions of ADR-6, and the two looser levels that its note describes: what the Go client
//! checks, and what the command-line tool checks. A name is validated from left to right, and the
//! first byte that the production does not allow is reported.
// S2-008 to S2-049. The message subject follows A32, not the printed production.

use std::fmt;

use super::name_kind::NameKind;
use crate::error::{Error, ErrorKind};

/// Maximum length of `filename-safe` in bytes; the class is ASCII, so also in characters.
const MAX_FILE_NAME: usize = 255; // A41

/// The program whose rules apply.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Level, NameKind, check_name};
///
/// assert!(check_name("a b", NameKind::Stream, Level::Adr6, false).is_err());
/// assert!(check_name("a b", NameKind::Stream, Level::GoClient, false).is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
/// use subtrie::grammar::{Level, NameKind, check_name};
///
/// let violation = check_name("a*", NameKind::Queue, Level::Adr6, false).unwrap_err();
/// assert_eq!((violation.rule, violation.position), ("term", 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleViolation {
    /// The production that failed, by its name in ADR-6.
    pub rule: &'static str,
    /// The reason, such as [`ErrorKind::NameCharacter`].
    pub kind: ErrorKind,
    /// Byte offset in the name.
    pub position: usize,
}

impl fmt::Display for RuleViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            position,
            rule,
        } = self;
        write!(f, "{kind}, at byte {position} (rule {rule})")
    }
}

impl std::error::Error for RuleViolation {}

impl From<RuleViolation> for Error {
    fn from(violation: RuleViolation) -> Self {
        Self::at(violation.kind, violation.position)
    }
}

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

/// The production of a kind and its syntax.
fn production(kind: NameKind, level: Level, windows: bool) -> (&'static str, Syntax) {
    let no_limit = usize::MAX;
    let safe: Class = if windows {
        class!(windows_file)
    } else {
        class!(file)
    };
    match kind {
        NameKind::Stream | NameKind::Durable | NameKind::Consumer => match level {
            Level::Adr6 => ("filename-safe", Syntax::Run(safe, MAX_FILE_NAME)),
            Level::GoClient => ("go-client", Syntax::Run(class!(no_dot), no_limit)),
            Level::Cli => ("cli", Syntax::Run(class!(no_path), no_limit)),
        },
        NameKind::Account | NameKind::FilenameSafe => {
            ("filename-safe", Syntax::Run(safe, MAX_FILE_NAME))
        }
        NameKind::Subject => (
            "message-subject",
            Syntax::Dotted(class!(term), "term", false),
        ),
        NameKind::Pattern => (
            "message-subject",
            Syntax::Dotted(class!(term), "term", true),
        ),
        NameKind::ReplyTo => ("reply-to", Syntax::Dotted(class!(term), "term", false)),
        NameKind::Queue | NameKind::Term => ("term", Syntax::Run(class!(term), no_limit)),
        NameKind::JsInternalPrefix => ("js-internal-prefix", Syntax::Prefix(true)),
        NameKind::JsUserPrefix => ("js-user-prefix", Syntax::Prefix(false)),
        NameKind::KvKey => (
            "kv-key-name",
            Syntax::Dotted(class!(limited), "limited-term", false),
        ),
        NameKind::KvBucket | NameKind::OsBucket | NameKind::RestrictedTerm => {
            ("restricted-term", Syntax::Run(class!(restricted), no_limit))
        }
        NameKind::OsObject => ("os-object-name", Syntax::Any),
        NameKind::LimitedTerm => ("limited-term", Syntax::Run(class!(limited), no_limit)),
        NameKind::LimitedTermWithSpace => (
            "limited-term-w-sp",
            Syntax::Run(class!(limited_or_space), no_limit),
        ),
        NameKind::Prefix => ("prefix", Syntax::Run(class!(prefix), no_limit)),
        NameKind::Printable => ("printable", Syntax::OneOf(class!(printable))),
        NameKind::Dot => ("dot", Syntax::Byte(b'.')),
        NameKind::Asterisk => ("asterisk", Syntax::Byte(b'*')),
        NameKind::Lt => ("lt", Syntax::Byte(b'<')),
        NameKind::Gt => ("gt", Syntax::Byte(b'>')),
        NameKind::Dollar => ("dollar", Syntax::Byte(b'$')),
        NameKind::Colon => ("colon", Syntax::Byte(b':')),
        NameKind::DoubleQuote => ("double-quote", Syntax::Byte(b'"')),
        NameKind::FwdSlash => ("fwd-slash", Syntax::Byte(b'/')),
        NameKind::Backslash => ("backslash", Syntax::Byte(b'\\')),
        NameKind::Pipe => ("pipe", Syntax::Byte(b'|')),
        NameKind::QuestionMark => ("question-mark", Syntax::Byte(b'?')),
        NameKind::Ampersand => ("ampersand", Syntax::Byte(b'&')),
        NameKind::Dash => ("dash", Syntax::Byte(b'-')),
        NameKind::Underscore => ("underscore", Syntax::Byte(b'_')),
        NameKind::Equals => ("equals", Syntax::Byte(b'=')),
    }
}

/// Validate a name.
///
/// `level` applies to streams, durables and consumers; every other kind is checked by ADR-6.
/// `windows` selects the narrower `filename-safe` of Windows. Cost: one pass, no allocation.
///
/// # Errors
///
/// The first rule that the name breaks.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Level, NameKind, check_name};
///
/// assert_eq!(check_name("orders", NameKind::Stream, Level::Adr6, false), Ok(()));
/// let violation = check_name("a.b", NameKind::Stream, Level::Adr6, false).unwrap_err();
/// assert_eq!((violation.kind.code(), violation.position), ("name-character", 1));
/// ```
pub fn check_name(
    text: &str,
    kind: NameKind,
    level: Level,
    windows: bool, // S2-044
) -> Result<(), RuleViolation> {
    let (rule, syntax) = production(kind, level, windows);
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Err(violation(rule, ErrorKind::NameEmpty, 0));
    }
    let broken = match syntax {
        Syntax::OneOf(class) if !class[usize::from(bytes[0])] => {
            Some(violation(rule, ErrorKind::NameCharacter, 0))
        }
        Syntax::Byte(byte) if byte != bytes[0] => {
            Some(violation(rule, ErrorKind::NameCharacter, 0))
        }
        Syntax::OneOf(_) | Syntax::Byte(_) if bytes.len() > 1 => {
            Some(violation(rule, ErrorKind::NameSingle, 1))
        }
        Syntax::OneOf(_) | Syntax::Byte(_) | Syntax::Any => None,
        Syntax::Run(class, max_length) => check_run(bytes, class, max_length, rule),
        Syntax::Dotted(class, class_name, wildcards) => {
            check_dotted(bytes, class, class_name, wildcards, rule)
        }
        Syntax::Prefix(internal) => check_prefix(bytes, internal, rule),
    };
    broken.map_or(Ok(()), Err)
}

const fn violation(rule: &'static str, kind: ErrorKind, position: usize) -> RuleViolation {
    RuleViolation {
        rule,
        kind,
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
        Some(position) => Some(violation(rule, ErrorKind::NameCharacter, position)),
        None if bytes.len() > max_length => {
            Some(violation(rule, ErrorKind::NameTooLong, max_length))
        }
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
            b"" => return Some(violation(rule, ErrorKind::NameEmptyToken, start)),
            b"*" | b">" if subject && !wildcards => {
                return Some(violation(rule, ErrorKind::NameWildcard, start));
            }
            b"*" if wildcards => {}
            b">" if wildcards && last => {}
            b">" if wildcards => return Some(violation(rule, ErrorKind::NameTailNotLast, start)),
            _ => {
                if let Some(offset) = token.iter().position(|&byte| !class[usize::from(byte)]) {
                    return Some(violation(
                        class_name,
                        ErrorKind::NameCharacter,
                        start + offset,
                    ));
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
        return Some(violation(rule, ErrorKind::NameNoDollar, 0));
    }
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        match rest.iter().position(|&byte| !class[usize::from(byte)]) {
            Some(0) if rest[0] == b'.' => {
                return Some(violation(rule, ErrorKind::NameEmptyToken, start));
            }
            Some(length) if rest[length] == b'.' => start += length + 1,
            Some(length) => {
                return Some(violation(
                    "prefix",
                    ErrorKind::NameCharacter,
                    start + length,
                ));
            }
            None if rest.is_empty() => {
                return Some(violation(rule, ErrorKind::NameEmptyToken, start));
            }
            None => return Some(violation(rule, ErrorKind::NameNoFinalDot, bytes.len())),
        }
        if start == bytes.len() {
            return None;
        }
    }
}
