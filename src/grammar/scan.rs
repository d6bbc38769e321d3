//! Bytes to tokens: the one pass that says whether a text is a subject or a pattern.
//!
//! Tokens are judged from left to right; the first broken rule is the answer, so both engines
//! report the same reason at the same byte.

use crate::error::Error;

/// Whose grammar: the documents' or the broker's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Seed 001 with ADR-6: printable ASCII, wildcards only as whole tokens (A27, A34).
    Strict,
    /// nats-server: any UTF-8 without space, tab, CR or LF; `foo*` is text (A34, A36).
    Server,
}

/// The bounds that somebody asked for, tokens and bytes; `None` where the dialect's hold.
pub type BoundsOverride = (Option<u64>, Option<u64>);

impl Dialect {
    /// The bounds that hold when nobody sets others (A37).
    #[must_use]
    pub const fn bounds(self) -> Bounds {
        match self {
            Self::Strict => Bounds {
                max_tokens: 64,
                max_length: 1024,
            },
            // The broker's control line bounds the bytes, and so the tokens.
            Self::Server => Bounds {
                max_tokens: usize::MAX,
                max_length: 4096,
            },
        }
    }

    /// The dialect's own bounds, but for those that are given.
    #[must_use]
    pub fn bounds_with(self, (max_tokens, max_length): BoundsOverride) -> Bounds {
        let own = self.bounds();
        let size = |given: Option<u64>, own| {
            given.map_or(own, |given| usize::try_from(given).unwrap_or(usize::MAX))
        };
        Bounds {
            max_tokens: size(max_tokens, own.max_tokens),
            max_length: size(max_length, own.max_length),
        }
    }

    /// Parses the name users write: `strict` or `server`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "strict" => Some(Self::Strict),
            "server" => Some(Self::Server),
            _ => None,
        }
    }

    /// The name users write.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Server => "server",
        }
    }
}

/// How much of a text is looked at: bytes and tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most tokens allowed.
    pub max_tokens: usize,
    /// Most bytes allowed.
    pub max_length: usize,
}

/// What the text is meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Concrete: what is published and matched; no wildcard token (A17, A35).
    Subject,
    /// What is subscribed to: `*` anywhere, `>` last.
    Pattern,
}

/// Checks `text` against the grammar.
///
/// Cost: one pass over at most `bounds.max_length` bytes, no allocation.
pub fn check(text: &str, form: Form, dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
    let bytes = text.as_bytes();
    if bytes.is_empty() {
        return Err(Error::at("empty", 0));
    }
    if bytes.len() > bounds.max_length {
        return Err(Error::at("too-long", bounds.max_length));
    }
    let mut start = 0;
    for (index, token) in bytes.split(|&byte| byte == b'.').enumerate() {
        let end = start + token.len();
        if index >= bounds.max_tokens {
            return Err(Error::at("too-many-tokens", start));
        }
        match token {
            b"" => return Err(Error::at("empty-token", start)),
            b"*" | b">" if form == Form::Subject => return Err(Error::at("wildcard", start)),
            b"*" => {}
            b">" if end == bytes.len() => {}
            b">" => return Err(Error::at("tail-not-last", start)),
            _ => check_token(token, dialect)
                .map_err(|(reason, offset)| Error::at(reason, start + offset))?,
        }
        start = end + 1;
    }
    Ok(())
}

/// Judges the bytes of one token that is neither empty nor a wildcard.
fn check_token(token: &[u8], dialect: Dialect) -> Result<(), (&'static str, usize)> {
    for (offset, &byte) in token.iter().enumerate() {
        let reason = match (byte, dialect) {
            (b' ' | b'\t' | b'\r' | b'\n', _) | (0x0b | 0x0c, Dialect::Strict) => "whitespace",
            (_, Dialect::Server) => continue,
            (0x00..=0x1f | 0x7f, _) => "control",
            (0x80.., _) => "non-ascii",
            (b'*' | b'>', _) => "partial-wildcard",
            _ => continue,
        };
        return Err((reason, offset));
    }
    Ok(())
}

/// The tokens of a checked text.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split('.')
}
