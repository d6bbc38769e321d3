//! The tables of the reader, entry by entry: operations, names in columns, messages of the server.

use super::messages::{is_denial, state_of};
use super::operation::{self, Refusal};
use super::sums::{COUNTS, RATES, SPANS};
use super::{Direction, sums};

#[test]
fn the_number_of_words_of_each_operation() {
    for (op, least, most) in [
        ("PUB", 3, 4),
        ("SUB", 3, 4),
        ("HPUB", 4, 5),
        ("MSG", 4, 5),
        ("HMSG", 5, 6),
        ("UNSUB", 2, 3),
        ("DELSUB", 2, 2),
    ] {
        let words = [op.as_bytes(), b"1", b"2", b"3", b"4", b"5", b"6", b"7"];
        for count in 1..=words.len() {
            let found = operation::of_client(&words[..count]);
            let taken = (least..=most).contains(&count);
            assert_eq!(found.is_ok(), taken, "{op} {count}");
            assert!(taken || found == Err("wrong number of arguments"));
        }
    }
}

#[test]
fn other_operations_have_a_name_of_at_most_twelve_letters() {
    for (op, taken) in [
        ("PING", true),
        ("+OK", true),
        ("RS-", true),
        ("ABCDEFGHIJKL", true),
        ("ABCDEFGHIJKLM", false),
        ("A.B", false),
        ("A1", false),
    ] {
        let found = operation::of_client(&[op.as_bytes()]);
        let wanted = if taken {
            Ok(op.as_bytes())
        } else {
            Err("not an operation")
        };
        assert_eq!(found.map(|found| found.op), wanted);
    }
}

#[test]
fn a_size_has_at_most_seventeen_digits() {
    for (digits, wanted) in [
        (17, Ok(Some(99_999_999_999_999_999))),
        (18, Err("size is not a number")),
    ] {
        let size = "9".repeat(digits);
        let found = operation::of_client(&[b"PUB", b"a", size.as_bytes()]);
        assert_eq!(found.map(|found| found.size), wanted);
    }
}

#[test]
fn names_in_columns() {
    for (kind, name) in [
        (Refusal::Publish, "publish"),
        (Refusal::Reply, "reply"),
        (Refusal::Payload, "payload"),
        (Refusal::Subscribe, "subscribe"),
    ] {
        assert_eq!(kind.name(), name);
    }
    for (direction, name) in [
        (Direction::In, "in"),
        (Direction::Out, "out"),
        (Direction::Local, "local"),
    ] {
        assert_eq!(direction.name(), name);
    }
}

#[test]
fn which_operations_may_begin_or_end_a_subscription() {
    for (body, is_one) in [
        ("[SUB a 1]", true),
        ("[ UNSUB 1]", true),
        ("[DELSUB 1]", true),
        ("[LS+ a]", true),
        ("[LS- a]", true),
        ("[PUB a 1]", false),
        ("[RS+ a]", false),
        ("SUB a 1", false),
        ("", false),
    ] {
        assert_eq!(
            operation::is_subscription(body.as_bytes()),
            is_one,
            "{body}"
        );
    }
}

#[test]
fn what_messages_of_the_server_say() {
    for (text, state) in [
        ("Server is ready", Some("ready")),
        ("Reloaded server configuration", Some("reload")),
        (
            "Entering lame duck mode, stop accepting new clients",
            Some("lame duck"),
        ),
        ("Initiating Shutdown...", Some("stop")),
        ("Server Exiting..", None),
        ("server is ready", None),
    ] {
        assert_eq!(
            state_of(text.as_bytes()),
            state.map(str::as_bytes),
            "{text}"
        );
    }
    for (text, is_one) in [
        ("authentication error - User \"a\"", true),
        ("Authentication Timeout", true),
        ("Authorization Timeout", true),
        ("maximum connections exceeded", true),
        ("authorization", false),
        ("maximum connections", false),
        ("maximum payload exceeded: 1 vs 2", false),
    ] {
        assert_eq!(is_denial(text.as_bytes()), is_one, "{text}");
    }
    for (text, closes, slow, large) in [
        (
            "Client connection closed: Client Closed",
            true,
            false,
            false,
        ),
        (
            "Slow Consumer Detected: WriteDeadline of 10s exceeded",
            false,
            true,
            false,
        ),
        ("maximum payload exceeded: 9 vs 8", false, false, true),
        (" connection closed", false, false, false),
        ("Client connection created", false, false, false),
    ] {
        let text = text.as_bytes();
        let found = (
            operation::is_closing(text),
            operation::is_slow(text),
            operation::is_too_large(text),
        );
        assert_eq!(found, (closes, slow, large));
    }
}

#[test]
fn sums_are_in_the_order_of_their_columns() {
    assert_eq!(
        COUNTS.join(" "),
        "published refused taken undelivered forwarded ambiguous bytes lines"
    );
    let spans = "first last first_accepted last_accepted first_undelivered last_undelivered";
    assert_eq!(SPANS.concat().join(" "), spans);
    assert_eq!(RATES.join(" "), "rate_accepted rate_undelivered");
    let flags = [
        sums::UNDELIVERED,
        sums::FORWARDED,
        sums::ARRIVED,
        sums::SUBSCRIPTION,
        sums::VIOLATION,
        sums::REFUSED_REPLY,
        sums::DAMAGED,
        sums::ABOUT_CONNECTION,
        sums::REQUEST,
        sums::ABOUT_STREAM,
        sums::ABOUT_SERVER,
        sums::CROSSED,
        sums::MQTT,
    ];
    for (place, flag) in flags.into_iter().enumerate() {
        assert_eq!(flag, 1 << place);
    }
}
