//! Relations of validated subjects and patterns: matches, covers, and overlaps with a witness.
//!
//! Only a whole token is a wildcard, so `foo*` of the `server` dialect compares as text. The
//! relations hold for subjects of any length; bounds are checked by [`super::check`] alone.
// S1-029, S1-030, S1-036 to S1-040, S1-043 to S1-047; A34.

use super::tokens::tokens;

/// The token of a witness at positions that both patterns leave open.
const OPEN_TOKEN: &str = "x";

/// Return whether `pattern` matches the concrete `subject`. Both must have been validated.
///
/// Cost: one pass over both.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::matches;
///
/// assert!(matches("orders.>", "orders.eu.new"));
/// assert!(!matches("orders.>", "orders"));
/// ```
#[must_use]
pub fn matches(pattern: &str, subject: &str) -> bool {
    covers(pattern, subject)
}

/// Return whether `pattern` matches every subject that `other` matches. Both must have been
/// validated.
///
/// The relation is reflexive. Cost: one pass over both.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::covers;
///
/// assert!(covers("orders.>", "orders.*.new"));
/// assert!(!covers("orders.*.new", "orders.>"));
/// ```
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

/// Return a subject that both patterns match, `None` if there is none. Both must have been
/// validated.
///
/// Tokens of the witness that both patterns leave open read `x`. Cost: one pass over both, and one
/// string.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::overlaps;
///
/// assert_eq!(overlaps("a.*.c", "a.b.*").as_deref(), Some("a.b.c"));
/// assert_eq!(overlaps("a.*", "b.*"), None);
/// ```
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
        OPEN_TOKEN
    } else {
        token
    }
}
