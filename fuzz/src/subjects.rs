//! Subjects and patterns: what is taken keeps to the grammar, and matching agrees with its meaning
//! written down the other way round.

use subtrie::grammar::{Bounds, Dialect, Form, check, classify, covers, matches, overlaps, tokens};

const FREE: Bounds = Bounds {
    max_tokens: usize::MAX,
    max_length: usize::MAX,
};

/// Two texts, cut at the first LF.
pub fn subjects(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (left, right) = text.split_once('\n').unwrap_or((text, ""));
    for text in [left, right] {
        let _ = classify(text);
        for dialect in [Dialect::Strict, Dialect::Server] {
            checked(text, dialect);
        }
    }
    for dialect in [Dialect::Strict, Dialect::Server] {
        pair(left, right, dialect);
        pair(right, left, dialect);
    }
}

fn fine(text: &str, form: Form, dialect: Dialect) -> bool {
    check(text, form, dialect, FREE).is_ok()
}

fn checked(text: &str, dialect: Dialect) {
    for form in [Form::Subject, Form::Pattern] {
        if let Err(error) = check(text, form, dialect, dialect.bounds()) {
            assert!(error.position.is_none_or(|place| place <= text.len()));
        }
    }
    assert!(!fine(text, Form::Subject, dialect) || fine(text, Form::Pattern, dialect));
    for form in [Form::Subject, Form::Pattern] {
        let strict = fine(text, form, Dialect::Strict);
        assert!(!strict || fine(text, form, Dialect::Server), "{text:?}");
    }
}

fn pair(pattern: &str, other: &str, dialect: Dialect) {
    if !fine(pattern, Form::Pattern, dialect) || !fine(other, Form::Pattern, dialect) {
        return;
    }
    assert!(covers(pattern, pattern));
    if fine(other, Form::Subject, dialect) {
        assert_eq!(matches(pattern, other), meant(pattern, other));
    }
    let met = overlaps(pattern, other);
    assert!(met.is_some() || !covers(pattern, other));
    if let Some(subject) = met {
        assert!(fine(&subject, Form::Subject, dialect), "{subject:?}");
        assert!(meant(pattern, &subject) && meant(other, &subject));
    }
}

/// S1-043 to S1-047, from the end: a tail stands for one token or more.
fn meant(pattern: &str, subject: &str) -> bool {
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
