//! Properties of subjects and patterns on random tokens: the relations are consistent, and validated
//! texts have the promised form.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use subtrie::grammar::{Dialect, Form, check, covers, matches, overlaps};

fn pattern() -> impl Strategy<Value = String> {
    let token = prop_oneof![Just("a"), Just("b"), Just("*")];
    (prop::collection::vec(token, 1..5), any::<bool>()).prop_map(|(tokens, tail)| {
        let text = tokens.join(".");
        if tail { format!("{text}.>") } else { text }
    })
}

fn subject() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![Just("a"), Just("b"), Just("x")], 1..6)
        .prop_map(|tokens| tokens.join("."))
}

fn is(text: &str, form: Form, dialect: Dialect) -> bool {
    check(text, form, dialect, dialect.bounds()).is_ok()
}

proptest! {
    // S1-036 to S1-040
    #[test]
    fn a_pattern_matches_what_a_covered_pattern_matches(p in pattern(), q in pattern(), s in subject()) {
        if covers(&p, &q) && matches(&q, &s) {
            prop_assert!(matches(&p, &s));
        }
    }

    #[test]
    fn covering_is_a_partial_order(p in pattern(), q in pattern(), r in pattern()) {
        prop_assert!(covers(&p, &p));
        if covers(&p, &q) && covers(&q, &r) {
            prop_assert!(covers(&p, &r));
        }
        if covers(&p, &q) && covers(&q, &p) {
            prop_assert_eq!(p, q);
        }
    }

    /// Both patterns match the witness; without one, no subject is matched by both.
    #[test]
    fn patterns_overlap_exactly_if_there_is_a_witness(p in pattern(), q in pattern(), s in subject()) {
        match overlaps(&p, &q) {
            Some(witness) => {
                prop_assert!(is(&witness, Form::Subject, Dialect::Strict));
                prop_assert!(matches(&p, &witness) && matches(&q, &witness));
            }
            None => prop_assert!(!(matches(&p, &s) && matches(&q, &s))),
        }
        prop_assert_eq!(overlaps(&p, &q).is_some(), overlaps(&q, &p).is_some());
    }

    #[test]
    fn a_covered_pattern_overlaps(p in pattern(), q in pattern()) {
        if covers(&p, &q) {
            prop_assert!(overlaps(&p, &q).is_some());
        }
    }

    /// Valid texts have no empty token, blank or misplaced wildcard; errors have a position in the text.
    // S1-014, S1-015, A17, A34
    #[test]
    fn any_text_is_valid_or_has_an_error_inside(text in "[a-c.*> \t\u{e9}\u{7f}]{0,12}") {
        for dialect in [Dialect::Strict, Dialect::Server] {
            for form in [Form::Subject, Form::Pattern] {
                match check(&text, form, dialect, dialect.bounds()) {
                    Ok(()) => {
                        prop_assert!(text.split('.').all(|token| !token.is_empty()));
                        prop_assert!(!text.contains([' ', '\t']));
                        if form == Form::Subject {
                            prop_assert!(text.split('.').all(|t| t != "*" && t != ">"));
                        }
                    }
                    Err(error) => prop_assert!(error.position.unwrap() <= text.len()),
                }
            }
            // A subject is a pattern, and what is valid in strict is valid in server.
            if is(&text, Form::Subject, dialect) {
                prop_assert!(is(&text, Form::Pattern, dialect));
            }
        }
        if is(&text, Form::Pattern, Dialect::Strict) {
            prop_assert!(is(&text, Form::Pattern, Dialect::Server));
        }
    }
}
