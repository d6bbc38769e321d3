//! The broker's answers about one text or two, put to the core without an interpreter.
//!
//! `docs/conformance.md` explains the kinds. All are asked in the `server` dialect with its bounds
//! lifted. Kinds that need the index or the codec stand beside those.

#![allow(clippy::panic)] // that is how a test says no

use std::collections::BTreeMap;

use serde_json::Value;
use subtrie::error::Error;
use subtrie::grammar::{Bounds, Dialect, Form, check, covers, matches, overlaps};

const UNBOUNDED: Bounds = Bounds {
    max_tokens: usize::MAX,
    max_length: usize::MAX,
};

fn subject(text: &str) -> Result<(), Error> {
    check(text, Form::Subject, Dialect::Server, UNBOUNDED)
}

fn pattern(text: &str) -> Result<(), Error> {
    check(text, Form::Pattern, Dialect::Server, UNBOUNDED)
}

/// Is any token a wildcard? Asked of any text, also of one with empty tokens.
fn has_wildcard(text: &str) -> Result<bool, Error> {
    let mut found = false;
    for token in text.split('.').filter(|token| !token.is_empty()) {
        match subject(token) {
            Err(error) if error.reason == "wildcard" => found = true,
            other => other?,
        }
    }
    Ok(found)
}

/// The core's answer to a row, or `None` where the kind belongs elsewhere.
fn answer(row: &Value) -> Option<Result<bool, Error>> {
    let field = |name: &str| {
        row[name]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: {row}"))
    };
    let text = || field("subject");
    let no_form_feed = || !text().contains('\u{c}');
    Some(match field("kind") {
        "insert" => pattern(field("pattern")).map(|()| true),
        "valid" => pattern(text()).map(|()| no_form_feed()),
        "valid_runes" => {
            pattern(text()).map(|()| no_form_feed() && !text().contains(['\0', '\u{fffd}']))
        }
        "valid_literal" => subject(text()).map(|()| true),
        "valid_publish" => subject(text()).map(|()| no_form_feed()),
        "is_literal" => has_wildcard(text()).map(|found| !found),
        "has_wildcard" => has_wildcard(text()),
        "match_literal" => subject(field("literal"))
            .and_then(|()| pattern(field("filter")))
            .map(|()| matches(field("filter"), field("literal"))),
        "subset" => pattern(text())
            .and_then(|()| pattern(field("filter")))
            .map(|()| covers(field("filter"), text())),
        "collide" => pattern(field("a"))
            .and_then(|()| pattern(field("b")))
            .map(|()| collide(field("a"), field("b"))),
        _ => return None,
    })
}

/// Do two patterns overlap? A witness that one side does not match is no witness.
fn collide(a: &str, b: &str) -> bool {
    overlaps(a, b).is_some_and(|witness| {
        assert_eq!(subject(&witness), Ok(()), "{a} {b}");
        assert!(matches(a, &witness) && matches(b, &witness), "{a} {b}");
        true
    })
}

#[test]
fn the_broker_s_answers_about_texts() {
    let rows = include_str!("vectors/nats_match.jsonl").lines();
    let mut asked = BTreeMap::new();
    for line in rows {
        let row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}"));
        let Some(got) = answer(&row) else { continue };
        let wanted = if row.get("differs").is_some() {
            None // a refusal
        } else if row.get("quirk").is_some() {
            row["strict"].as_bool()
        } else {
            row["expect"].as_bool()
        };
        match (wanted, &got) {
            (None | Some(false), Err(_)) => {}
            (Some(wanted), Ok(got)) if wanted == *got => {}
            _ => panic!("{got:?} for {line}"),
        }
        *asked.entry(row["kind"].to_string()).or_insert(0) += 1;
    }
    assert_eq!(asked.len(), 10, "{asked:?}");
    assert_eq!(asked.values().sum::<u32>(), 465, "{asked:?}");
}

#[test]
fn s1_038_s1_039_s1_040_s1_047_s1_048_the_examples_of_seed_001() {
    for (left, right, wanted) in [
        ("foo.>", "foo.bar", true),
        ("foo.>", "foo.bar.baz.1", true),
        ("foo.>", "foo", false),
        ("foo.*.quux", "foo.bar.quux", true),
        ("foo.>", "foo.bar.quux", true),
        ("foo.*.quux", "foo.bar.baz", false),
        ("foo.>", "foo.bar.baz", true),
    ] {
        assert_eq!(matches(left, right), wanted, "{left} {right}");
    }
}
