//! Subjects and patterns: errors have a position in the text, and matching agrees with a second
//! implementation that works from the end.

use subtrie::grammar::{Bounds, Dialect, Form, check, classify, covers, matches, overlaps, tokens};

const UNBOUNDED: Bounds = Bounds {
    max_tokens: usize::MAX,
    max_length: usize::MAX,
};

/// Validate and compare two texts, separated by the first LF.
pub fn subjects(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (left, right) = text.split_once('\n').unwrap_or((text, ""));
    for text in [left, right] {
        let _ = classify(text);
        for dialect in [Dialect::Strict, Dialect::Server] {
            check_one(text, dialect);
        }
    }
    for dialect in [Dialect::Strict, Dialect::Server] {
        check_pair(left, right, dialect);
        check_pair(right, left, dialect);
    }
}

fn is_valid(text: &str, form: Form, dialect: Dialect) -> bool {
    check(text, form, dialect, UNBOUNDED).is_ok()
}

fn check_one(text: &str, dialect: Dialect) {
    for form in [Form::Subject, Form::Pattern] {
        if let Err(error) = check(text, form, dialect, dialect.bounds()) {
            assert!(error.position.is_none_or(|place| place <= text.len()));
        }
    }
    assert!(!is_valid(text, Form::Subject, dialect) || is_valid(text, Form::Pattern, dialect));
    for form in [Form::Subject, Form::Pattern] {
        let strict = is_valid(text, form, Dialect::Strict);
        assert!(!strict || is_valid(text, form, Dialect::Server), "{text:?}");
    }
}

fn check_pair(pattern: &str, other: &str, dialect: Dialect) {
    if !is_valid(pattern, Form::Pattern, dialect) || !is_valid(other, Form::Pattern, dialect) {
        return;
    }
    assert!(covers(pattern, pattern));
    if is_valid(other, Form::Subject, dialect) {
        assert_eq!(matches(pattern, other), matches_from_end(pattern, other));
    }
    let met = overlaps(pattern, other);
    assert!(met.is_some() || !covers(pattern, other));
    if let Some(subject) = met {
        assert!(is_valid(&subject, Form::Subject, dialect), "{subject:?}");
        assert!(matches_from_end(pattern, &subject) && matches_from_end(other, &subject));
    }
}

/// Match from the end: a tail stands for one or more tokens.
// S1-043 to S1-047
fn matches_from_end(pattern: &str, subject: &str) -> bool {
    let (wanted, got): (Vec<_>, Vec<_>) = (tokens(pattern).collect(), tokens(subject).collect());
    let (fixed, fits) = match wanted.split_last() {
        Some((&">", fixed)) => (fixed, got.len() > fixed.len()),
        _ => (&wanted[..], got.len() == wanted.len()),
    };
    fits && fixed
        .iter()
        .zip(&got)
        .all(|(wanted, got)| *wanted == "*" || wanted == got)
}
