//! The recorded answers of the Go framework: the same bytes, or a difference that is a decision.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use serde_json::{Value, json};
use subtrie::error::Error;
use subtrie::microbus::{
    Address, Port, ReplyParts, RequestParts, SubscriptionParts, cut_slot, decode,
    decode_subscription, encode_reply, encode_reply_subscription, encode_request,
    encode_subscription, escape_segment, flatten_host, locality_slots, request_from_url, source_of,
    subscription_from_route,
};

fn rows(name: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the vectors are in the tree");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a row is JSON"))
        .collect()
}

fn answer(op: &str, given: &Value) -> Result<Value, Error> {
    let text = |name: &str| given[name].as_str().unwrap_or_default();
    Ok(match op {
        "encode_request" => json!(encode_request(&RequestParts {
            plane: text("plane"),
            port: Port::Text(text("port")),
            source: text("source"),
            host: text("host"),
            method: text("method"),
            path: text("path"),
            slot: text("slot"),
        })?),
        "encode_subscription" => json!(encode_subscription(&SubscriptionParts {
            plane: text("plane"),
            port: Port::Text(text("port")),
            host: text("host"),
            method: text("method"),
            path: text("path"),
            slot: text("slot"),
        })?),
        "encode_reply" => json!(encode_reply(&ReplyParts {
            plane: text("plane"),
            source: text("source"),
            host: text("host"),
            id: text("id"),
        })?),
        "encode_reply_subscription" => json!(encode_reply_subscription(
            text("plane"),
            text("host"),
            text("id")
        )?),
        "request_from_url" => json!(request_from_url(
            text("plane"),
            text("source"),
            text("method"),
            text("url")
        )?),
        "subscription_from_route" => json!(subscription_from_route(
            text("plane"),
            text("host"),
            text("method"),
            text("route"),
            text("slot")
        )?),
        "flatten_host" => json!(flatten_host(text("host"))),
        "escape_segment" => json!(escape_segment(text("segment"))),
        "cut_slot" => json!(cut_slot(text("host"))?),
        "locality_slots" => json!(locality_slots(text("locality"))?),
        _ => panic!("no such function: {op}"),
    })
}

fn expects_error(row: &Value) -> bool {
    row["error"] == json!(true) || (row.get("differs").is_some() && row.get("ours").is_none())
}

#[test]
fn every_row_encodes_to_the_same_bytes_as_in_go() {
    for row in rows("go_subjects.jsonl")
        .into_iter()
        .chain(rows("go_more.jsonl"))
    {
        let given = answer(row["op"].as_str().unwrap_or_default(), &row["in"]);
        if expects_error(&row) {
            assert!(given.is_err(), "{row}: {given:?}");
        } else {
            let expected = row.get("ours").unwrap_or(&row["out"]);
            assert_eq!(given.as_ref(), Ok(expected), "{row}");
        }
    }
}

#[test]
fn every_row_decodes_with_its_source() {
    for row in rows("go_subjects.jsonl") {
        let text = row["out"].as_str().unwrap_or_default();
        match row["op"].as_str() {
            _ if expects_error(&row) => {}
            Some("encode_request") => {
                assert!(matches!(decode(text), Ok(Address::Request(_))), "{row}");
                let source = row["in"]["source"].as_str().unwrap_or_default();
                let source = source.to_ascii_lowercase();
                assert_eq!(source_of(text).as_deref(), Some(source.as_str()));
            }
            Some("encode_reply") => {
                assert!(matches!(decode(text), Ok(Address::Reply(_))), "{row}");
            }
            Some("encode_subscription") => assert!(decode_subscription(text).is_ok(), "{row}"),
            _ => {}
        }
    }
}
