//! Which names may streams, consumers, accounts, queues, keys and buckets have?
//!
//! The productions of ADR-6 (S2-008 to S2-049) and the two looser levels its note describes. A name
//! is judged from left to right; the first byte that no production allows is the answer. The
//! message subject is read as it is meant, not as it is printed (A32).

/// Longest `filename-safe`, in bytes: the class is ASCII, so also in characters (A41).
const FILE_LENGTH: usize = 255;

/// Who checks (A45a).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The productions of ADR-6.
    Adr6,
    /// What the Go client looks at before it asks the server: stream, durable, consumer.
    GoClient,
    /// What the command line tool adds to that.
    Cli,
}

impl Level {
    /// Parses the name users write.
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

/// A broken production.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// The production that failed, by its name in ADR-6.
    pub rule: &'static str,
    /// A stable code such as `name-character`.
    pub reason: &'static str,
    /// Byte offset in the name.
    pub position: usize,
}

/// A set of bytes.
type Class = &'static [bool; 256];

/// The set that a rule describes.
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

/// What a kind of name is made of.
#[derive(Clone, Copy)]
enum Shape {
    /// Exactly one byte of the class.
    One(Class),
    /// Exactly this byte.
    Byte(u8),
    /// One or more bytes of the class, at most so many.
    Run(Class, usize),
    /// Runs joined by dots; `true`: a run may be `*`, the last one `>`.
    Dotted(Class, &'static str, bool),
    /// Runs that each end in a dot; `true`: after a dollar sign.
    Prefix(bool),
    /// One or more of anything.
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

/// The production of a kind, and what it is made of.
fn shape(kind: &str, level: Level, windows: bool) -> Option<(&'static str, Shape)> {
    let no_limit = usize::MAX;
    let safe: Class = if windows {
        class!(windows_file)
    } else {
        class!(file)
    };
    Some(match kind.as_bytes() {
        b"stream" | b"stream-name" | b"durable" | b"durable-name" | b"consumer"
        | b"consumer-name" => match level {
            Level::Adr6 => ("filename-safe", Shape::Run(safe, FILE_LENGTH)),
            Level::GoClient => ("go-client", Shape::Run(class!(no_dot), no_limit)),
            Level::Cli => ("cli", Shape::Run(class!(no_path), no_limit)),
        },
        b"account" | b"account-name" | b"filename-safe" => {
            ("filename-safe", Shape::Run(safe, FILE_LENGTH))
        }
        b"subject" => (
            "message-subject",
            Shape::Dotted(class!(term), "term", false),
        ),
        b"pattern" | b"message-subject" => {
            ("message-subject", Shape::Dotted(class!(term), "term", true))
        }
        b"reply-to" => ("reply-to", Shape::Dotted(class!(term), "term", false)),
        b"queue" | b"queue-name" | b"term" => ("term", Shape::Run(class!(term), no_limit)),
        b"js-internal-prefix" => ("js-internal-prefix", Shape::Prefix(true)),
        b"js-user-prefix" => ("js-user-prefix", Shape::Prefix(false)),
        b"kv-key" | b"kv-key-name" => (
            "kv-key-name",
            Shape::Dotted(class!(limited), "limited-term", false),
        ),
        b"kv-bucket" | b"kv-bucket-name" | b"os-bucket" | b"os-bucket-name"
        | b"restricted-term" => ("restricted-term", Shape::Run(class!(restricted), no_limit)),
        b"os-object" | b"os-object-name" => ("os-object-name", Shape::Any),
        b"limited-term" => ("limited-term", Shape::Run(class!(limited), no_limit)),
        b"limited-term-w-sp" => (
            "limited-term-w-sp",
            Shape::Run(class!(limited_or_space), no_limit),
        ),
        b"prefix" => ("prefix", Shape::Run(class!(prefix), no_limit)),
        b"printable" => ("printable", Shape::One(class!(printable))),
        b"dot" => ("dot", Shape::Byte(b'.')),
        b"asterisk" => ("asterisk", Shape::Byte(b'*')),
        b"lt" => ("lt", Shape::Byte(b'<')),
        b"gt" => ("gt", Shape::Byte(b'>')),
        b"dollar" => ("dollar", Shape::Byte(b'$')),
        b"colon" => ("colon", Shape::Byte(b':')),
        b"double-quote" => ("double-quote", Shape::Byte(b'"')),
        b"fwd-slash" => ("fwd-slash", Shape::Byte(b'/')),
        b"backslash" => ("backslash", Shape::Byte(b'\\')),
        b"pipe" => ("pipe", Shape::Byte(b'|')),
        b"question-mark" => ("question-mark", Shape::Byte(b'?')),
        b"ampersand" => ("ampersand", Shape::Byte(b'&')),
        b"dash" => ("dash", Shape::Byte(b'-')),
        b"underscore" => ("underscore", Shape::Byte(b'_')),
        b"equals" => ("equals", Shape::Byte(b'=')),
        _ => return None,
    })
}

/// Is there a kind of this name?
#[must_use]
pub fn is_kind(kind: &str) -> bool {
    shape(kind, Level::Adr6, false).is_some()
}

/// Checks a name: `Ok(None)` when fine, `Err(())` for a kind nobody knows.
///
/// `level` speaks of streams, durables and consumers; every other kind is judged by ADR-6.
/// `windows` narrows `filename-safe` (S2-044). Cost: one pass, no allocation.
#[allow(clippy::result_unit_err)]
pub fn check_name(
    text: &str,
    kind: &str,
    level: Level,
    windows: bool,
) -> Result<Option<Broken>, ()> {
    let (rule, shape) = shape(kind, level, windows).ok_or(())?;
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Ok(Some(broken(rule, "name-empty", 0)));
    }
    Ok(match shape {
        Shape::One(class) if !class[usize::from(bytes[0])] => {
            Some(broken(rule, "name-character", 0))
        }
        Shape::Byte(byte) if byte != bytes[0] => Some(broken(rule, "name-character", 0)),
        Shape::One(_) | Shape::Byte(_) if bytes.len() > 1 => Some(broken(rule, "name-single", 1)),
        Shape::One(_) | Shape::Byte(_) | Shape::Any => None,
        Shape::Run(class, most) => run(bytes, class, most, rule),
        Shape::Dotted(class, part, wildcards) => dotted(bytes, class, part, wildcards, rule),
        Shape::Prefix(internal) => prefixes(bytes, internal, rule),
    })
}

const fn broken(rule: &'static str, reason: &'static str, position: usize) -> Broken {
    Broken {
        rule,
        reason,
        position,
    }
}

fn run(bytes: &[u8], class: Class, most: usize, rule: &'static str) -> Option<Broken> {
    let wrong = bytes
        .iter()
        .take(most)
        .position(|&byte| !class[usize::from(byte)]);
    match wrong {
        Some(position) => Some(broken(rule, "name-character", position)),
        None if bytes.len() > most => Some(broken(rule, "name-too-long", most)),
        None => None,
    }
}

fn dotted(
    bytes: &[u8],
    class: Class,
    part: &'static str,
    wildcards: bool,
    rule: &'static str,
) -> Option<Broken> {
    let mut start = 0;
    for token in bytes.split(|&byte| byte == b'.') {
        let end = start + token.len();
        let last = end == bytes.len();
        let subject = rule != "kv-key-name";
        match token {
            b"" => return Some(broken(rule, "name-empty-token", start)),
            b"*" | b">" if subject && !wildcards => {
                return Some(broken(rule, "name-wildcard", start));
            }
            b"*" if wildcards => {}
            b">" if wildcards && last => {}
            b">" if wildcards => return Some(broken(rule, "name-tail-not-last", start)),
            _ => {
                if let Some(offset) = token.iter().position(|&byte| !class[usize::from(byte)]) {
                    return Some(broken(part, "name-character", start + offset));
                }
            }
        }
        start = end + 1;
    }
    None
}

fn prefixes(bytes: &[u8], internal: bool, rule: &'static str) -> Option<Broken> {
    let class: Class = class!(prefix);
    let mut start = usize::from(internal);
    if internal && bytes[0] != b'$' {
        return Some(broken(rule, "name-no-dollar", 0));
    }
    loop {
        let rest = bytes.get(start..).unwrap_or_default();
        match rest.iter().position(|&byte| !class[usize::from(byte)]) {
            Some(0) if rest[0] == b'.' => return Some(broken(rule, "name-empty-token", start)),
            Some(length) if rest[length] == b'.' => start += length + 1,
            Some(length) => return Some(broken("prefix", "name-character", start + length)),
            None if rest.is_empty() => return Some(broken(rule, "name-empty-token", start)),
            None => return Some(broken(rule, "name-no-final-dot", bytes.len())),
        }
        if start == bytes.len() {
            return None;
        }
    }
}
