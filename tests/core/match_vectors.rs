//! The recorded answers of the broker about one or two texts, compared with the core's.
//!
//! `docs/conformance.md` explains the kinds. All rows use the `server` dialect without bounds. Kinds
//! that need the index or the encoders are tested elsewhere.

#![allow(clippy::panic)] // a test fails by panicking

use std::collections::BTreeMap;

use serde_json::Value;
use subtrie::error::Error;
use subtrie::grammar::{Bounds, Dialect, Form, check, covers, matches, overlaps};
use subtrie::raw::check_queue;

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

/// Whether any token of any text, also one with empty tokens, is a wildcard.
fn has_wildcard(text: &str) -> Result<bool, Error> {
    let mut found = false;
    for token in text.split('.').filter(|token| !token.is_empty()) {
        match subject(token) {
            Err(error) if error.reason() == "wildcard" => found = true,
            other => other?,
        }
    }
    Ok(found)
}

/// The core's answer to a row, `None` if the kind is tested elsewhere.
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

/// Whether two patterns overlap; both must match the witness.
fn collide(a: &str, b: &str) -> bool {
    overlaps(a, b).is_some_and(|witness| {
        assert_eq!(subject(&witness), Ok(()), "{a} {b}");
        assert!(matches(a, &witness) && matches(b, &witness), "{a} {b}");
        true
    })
}

#[test]
fn texts_are_validated_and_compared_as_by_the_broker() {
    let rows = include_str!("../vectors/nats_match.jsonl").lines();
    let mut counts = BTreeMap::new();
    for line in rows {
        let row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}"));
        let Some(got) = answer(&row) else { continue };
        let wanted = if row.get("differs").is_some() {
            None // an error
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
        *counts.entry(row["kind"].to_string()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 10, "{counts:?}");
    assert_eq!(counts.values().sum::<u32>(), 465, "{counts:?}");
}

// requirement: S1-038, S1-039, S1-040, S1-047, S1-048
#[test]
fn the_documented_examples_of_matching() {
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

// requirement: A39
#[test]
fn the_server_dialect_takes_the_queue_names_that_the_broker_takes() {
    for line in include_str!("../vectors/nats_queues.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}"));
        let name = row["queue"].as_str().unwrap_or_else(|| panic!("{line}"));
        let accepted = check_queue(name, Dialect::Server).is_ok();
        assert_eq!(Some(accepted), row["expect"].as_bool(), "{line}");
    }
}
