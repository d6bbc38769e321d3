//! A path as tokens, and back: one token for each part (S0-013, S0-014, S0-059).
//!
//! One leading slash is dropped; an empty part is `_`, and so is an empty path (S0-060, S0-061,
//! A13). Arguments are wildcards in subscriptions only (S0-062, S0-063, S0-073).

use super::escape::{check_segment, push_segment, push_unescaped_segment};
use super::moved;
use crate::error::Error;

/// Appends the tokens of a path that is published: wildcards and braces are text (S0-070, S0-071).
pub(super) fn push_path(out: &mut String, path: &str) {
    for part in path.strip_prefix('/').unwrap_or(path).split('/') {
        out.push('.');
        push_part(out, part);
    }
}

fn push_part(out: &mut String, part: &str) {
    if part.is_empty() {
        out.push('_');
    } else {
        push_segment(out, part);
    }
}

/// Appends the tokens of a path that is subscribed to: `*` for an argument, `>` for a greedy one.
pub(super) fn push_route_path(out: &mut String, path: &str) -> Result<(), Error> {
    let mut at = usize::from(path.starts_with('/'));
    let parts = path.strip_prefix('/').unwrap_or(path);
    for part in parts.split('/') {
        let last = at + part.len() == path.len();
        out.push('.');
        match wildcard(part, last).map_err(|error| moved(error, at))? {
            Some(token) => out.push(token),
            None => push_part(out, part),
        }
        at += part.len() + 1;
    }
    Ok(())
}

/// The path with one leading slash, if its arguments are well formed.
pub fn check_route_path(path: &str) -> Result<String, Error> {
    push_route_path(&mut String::new(), path)?;
    Ok(if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    })
}

/// The wildcard that a part stands for, if it is an argument or a bare star (S0-072).
fn wildcard(part: &str, last: bool) -> Result<Option<char>, Error> {
    if !part.contains(['{', '}']) {
        return Ok((part == "*").then_some('*'));
    }
    let name = part
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .filter(|name| !name.contains(['{', '}']))
        .ok_or_else(|| Error::at("argument", 0))?; // A15
    let (name, greedy) = match name.strip_suffix("...") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let lower = name.is_empty() || name.starts_with(|char: char| char.is_ascii_lowercase());
    if !lower || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(Error::at("argument-name", 1));
    }
    if greedy && !last {
        return Err(Error::at("greedy", 0)); // S0-063, S0-086
    }
    Ok(Some(if greedy { '>' } else { '*' }))
}

/// The canonical path tokens of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathTokens<'a>(&'a str);

impl<'a> PathTokens<'a> {
    /// Checks each token. Cost: one pass.
    pub(super) fn check(tokens: &'a str) -> Result<Self, Error> {
        let mut at = 0;
        for token in tokens.split('.') {
            check_segment(token).map_err(|error| moved(error, at))?;
            at += token.len() + 1;
        }
        Ok(Self(tokens))
    }

    /// The tokens as they stand in the subject, joined by dots.
    #[must_use]
    pub const fn tokens(self) -> &'a str {
        self.0
    }

    /// Appends the path, with a leading slash; a sole `_` is `/` (A13).
    pub fn push_to(self, out: &mut String) {
        for token in self.0.split('.') {
            out.push('/');
            push_unescaped_segment(out, token);
        }
    }

    /// The path.
    #[must_use]
    pub fn text(self) -> String {
        let mut path = String::with_capacity(self.0.len() + 1);
        self.push_to(&mut path);
        path
    }
}

/// The canonical path tokens of a pattern; arguments have lost their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutePath<'a>(&'a str);

impl<'a> RoutePath<'a> {
    /// Checks each token. Cost: one pass.
    pub(super) fn check(tokens: &'a str) -> Result<Self, Error> {
        let mut at = 0;
        for token in tokens.split('.') {
            if !matches!(token, "*" | ">") {
                check_segment(token).map_err(|error| moved(error, at))?;
                // It would be subscribed to as a wildcard, or refused.
                if token == "%2a" || token.contains("%7b") || token.contains("%7d") {
                    return Err(Error::at("not-canonical", at));
                }
            }
            at += token.len() + 1;
        }
        Ok(Self(tokens))
    }

    /// Appends the path, with `{}` for one part and `{...}` for the rest.
    pub fn push_to(self, out: &mut String) {
        for token in self.0.split('.') {
            out.push('/');
            match token {
                "*" => out.push_str("{}"),
                ">" => out.push_str("{...}"),
                _ => push_unescaped_segment(out, token),
            }
        }
    }

    /// The path.
    #[must_use]
    pub fn text(self) -> String {
        let mut path = String::with_capacity(self.0.len() + 1);
        self.push_to(&mut path);
        path
    }
}
