//! Validation of subjects and patterns.
//!
//! One scan accepts a valid text. Of any other, tokens are validated from left to right, and the
//! first rule that is broken is reported, so that both engines report the same reason at the same
//! byte.

use super::dialect::{Bounds, Dialect, Form};
use super::scan::scan;
use crate::error::{Error, ErrorKind};

/// Validate `text` as a subject or a pattern of a dialect.
///
/// Cost: one pass, 32 bytes at a time where the processor has AVX2, and a second one that finds the
/// rule that is broken; no allocation.
///
/// # Errors
///
/// The first rule that is broken, at its byte: `empty`, `too-long`, `too-many-tokens`,
/// `empty-token`, `wildcard` (in a subject), `tail-not-last`, `whitespace`; in [`Dialect::Strict`]
/// also `control`, `non-ascii` and `partial-wildcard`.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Dialect, Form, check};
///
/// let dialect = Dialect::Strict;
/// check("orders.>", Form::Pattern, dialect, dialect.bounds())?;
/// let error = check("orders.>", Form::Subject, dialect, dialect.bounds()).unwrap_err();
/// assert_eq!((error.reason(), error.position), ("wildcard", Some(7)));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn check(text: &str, form: Form, dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
    let found = scan(text.as_bytes(), form, dialect, &mut ());
    if found.valid && found.count <= bounds.max_tokens && text.len() <= bounds.longest_text() {
        return Ok(());
    }
    check_tokens(text.as_bytes(), form, dialect, bounds)
}

/// Validate a text token by token, to find the first rule that is broken.
#[cold]
fn check_tokens(bytes: &[u8], form: Form, dialect: Dialect, bounds: Bounds) -> Result<(), Error> {
    if bytes.is_empty() {
        return Err(Error::at(ErrorKind::Empty, 0));
    }
    if bytes.len() > bounds.longest_text() {
        return Err(Error::at(ErrorKind::TooLong, bounds.longest_text()));
    }
    let mut start = 0;
    for (index, token) in bytes.split(|&byte| byte == b'.').enumerate() {
        let end = start + token.len();
        if index >= bounds.max_tokens {
            return Err(Error::at(ErrorKind::TooManyTokens, start));
        }
        match token {
            b"" => return Err(Error::at(ErrorKind::EmptyToken, start)),
            b"*" | b">" if form == Form::Subject => {
                return Err(Error::at(ErrorKind::Wildcard, start));
            }
            b"*" => {}
            b">" if end == bytes.len() => {}
            b">" => return Err(Error::at(ErrorKind::TailNotLast, start)),
            _ => check_token(token, dialect)
                .map_err(|(reason, offset)| Error::at(reason, start + offset))?,
        }
        start = end + 1;
    }
    Ok(())
}

/// Validate the bytes of one token that is neither empty nor a wildcard.
fn check_token(token: &[u8], dialect: Dialect) -> Result<(), (ErrorKind, usize)> {
    for (offset, &byte) in token.iter().enumerate() {
        let kind = match (byte, dialect) {
            (b' ' | b'\t' | b'\r' | b'\n', _) | (0x0b | 0x0c, Dialect::Strict) => {
                ErrorKind::Whitespace
            }
            (_, Dialect::Server) => continue,
            (0x00..=0x1f | 0x7f, _) => ErrorKind::Control,
            (0x80.., _) => ErrorKind::NonAscii,
            (b'*' | b'>', _) => ErrorKind::PartialWildcard,
            _ => continue,
        };
        return Err((kind, offset));
    }
    Ok(())
}
