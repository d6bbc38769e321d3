//! How two checked texts relate: matches, covers, overlaps with a witness.
//!
//! Only a whole token is a wildcard, so `foo*` of the `server` dialect compares as text (A34).
//! The relations speak of all subjects of any length: bounds are a matter of [`super::check`].

use super::scan::tokens;

/// Stands in a witness wherever both sides leave the token free.
const FREE: &str = "x";

/// Does `pattern` match the concrete `subject`? (S1-029, S1-030, S1-036 to S1-040)
///
/// Cost: one pass over both.
#[must_use]
pub fn matches(pattern: &str, subject: &str) -> bool {
    covers(pattern, subject)
}

/// Does `pattern` match every subject that `other` matches? Reflexive.
///
/// Cost: one pass over both.
#[must_use]
pub fn covers(pattern: &str, other: &str) -> bool {
    let mut others = tokens(other);
    for token in tokens(pattern) {
        let Some(other) = others.next() else {
            return false;
        };
        match (token, other) {
            (">", _) => return true,
            (_, ">") => return false,
            ("*", _) => {}
            (literal, other) if literal == other => {}
            _ => return false,
        }
    }
    others.next().is_none()
}

/// A subject that both patterns match, or `None` where there is none.
///
/// Free tokens of the witness read `x`. Cost: one pass over both, one string.
#[must_use]
pub fn overlaps(left: &str, right: &str) -> Option<String> {
    let (mut lefts, mut rights) = (tokens(left), tokens(right));
    let mut witness: Vec<&str> = Vec::new();
    loop {
        let token = match (lefts.next(), rights.next()) {
            (None, None) => return Some(witness.join(".")),
            (Some(">"), Some(token)) => {
                witness.extend(std::iter::once(token).chain(rights).map(concrete));
                return Some(witness.join("."));
            }
            (Some(token), Some(">")) => {
                witness.extend(std::iter::once(token).chain(lefts).map(concrete));
                return Some(witness.join("."));
            }
            (Some("*"), Some(token)) | (Some(token), Some("*")) => concrete(token),
            (Some(token), Some(other)) if token == other => token,
            _ => return None,
        };
        witness.push(token);
    }
}

fn concrete(token: &str) -> &str {
    if matches!(token, "*" | ">") {
        FREE
    } else {
        token
    }
}
