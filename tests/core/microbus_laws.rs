//! Properties of the encoders and decoders on arbitrary text: no panic, and one canonical form.

use proptest::prelude::*;
use subtrie::microbus::{
    self, Address, Port, ReplyParts, RequestParts, SubscriptionParts, decode, decode_subscription,
    encode_reply, encode_request, encode_subscription,
};

/// Encode a decoded subject again.
fn encoded(address: &Address<'_>) -> Option<String> {
    match address {
        Address::Request(request) => encode_request(&RequestParts {
            plane: request.plane,
            port: Port::Number(request.port.into()),
            source: &request.source.text(),
            host: &request.host.text(),
            method: request.method,
            path: &request.path.text(),
            slot: request.slot,
        })
        .ok(),
        Address::Reply(reply) => encode_reply(&ReplyParts {
            plane: reply.plane,
            source: &reply.source.text(),
            host: &reply.host.text(),
            id: reply.id,
        })
        .ok(),
    }
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9_-]{1,8}",
        "(%[0-9a-f]{2}|[a-z_]){1,6}",
        Just("_".to_owned()),
        Just("*".to_owned()),
        Just("id-1".to_owned()),
        Just("loc-us-west".to_owned()),
        "\\PC{0,6}",
    ]
}

/// A text that is nearly a Microbus subject.
fn near() -> impl Strategy<Value = String> {
    let trust = prop_oneof![Just("safe"), Just("danger"), Just("reply")];
    let port = prop_oneof![Just("443"), Just("666"), Just("_"), Just("*"), Just("0")];
    let method = prop_oneof![Just("GET"), Just("*"), Just("ANY")];
    (
        trust,
        port,
        prop::collection::vec(token(), 3),
        method,
        prop::collection::vec(token(), 0..4),
    )
        .prop_map(|(trust, port, middle, method, path)| {
            let middle = middle.join(".");
            if trust == "reply" {
                return format!("p.{trust}.{port}.{middle}");
            }
            format!("p.{trust}.{port}.{middle}.{method}.{}", path.join("."))
        })
}

proptest! {
    #[test]
    fn what_decodes_encodes_to_the_same_bytes(text in near()) {
        if let Ok(address) = decode(&text) {
            prop_assert_eq!(encoded(&address), Some(text.clone()));
        }
        if let Ok(address) = decode_subscription(&text) {
            let pattern = encode_subscription(&SubscriptionParts {
                plane: address.plane,
                port: Port::Number(address.port.unwrap_or(0).into()),
                host: &address.host.text(),
                method: address.method.unwrap_or("ANY"),
                path: &address.path.text(),
                slot: address.slot,
            });
            prop_assert_eq!(pattern, Ok(text));
        }
    }

    #[test]
    fn what_encodes_decodes(
        source in "[a-z0-9-]{1,6}(\\.[a-z0-9]{1,6}){0,2}",
        host in "\\PC{1,12}",
        path in "(?s).{0,12}",
        port in 0_u16..,
    ) {
        let parts = RequestParts {
            plane: "p",
            port: Port::Number(port.into()),
            source: &source,
            host: &host,
            method: "GET",
            path: &path,
            slot: "",
        };
        if let Ok(subject) = encode_request(&parts) {
            prop_assert!(subject.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert!(subject.split('.').all(|token| !matches!(token, "" | "*" | ">")));
            let address = decode(&subject);
            prop_assert!(matches!(address, Ok(Address::Request(_))), "{subject}: {address:?}");
            let Ok(Address::Request(request)) = address else { return Ok(()) };
            prop_assert_eq!(request.source.text(), source.as_str());
            let rooted = if path.starts_with('/') { path } else { format!("/{path}") };
            prop_assert_eq!(request.path.text(), rooted);
        }
    }

    #[test]
    fn no_text_causes_a_panic(text in "(?s).{0,40}") {
        let _ = decode(&text);
        let _ = decode_subscription(&text);
        let _ = microbus::classify(&text);
        let _ = microbus::cut_slot(&text);
        let _ = microbus::locality_slots(&text);
        let _ = microbus::check_route_host(&text);
        let _ = microbus::check_route_path(&text);
        let _ = microbus::unescape_segment(&text);
        let _ = microbus::unflatten_host(&text);
        let _ = microbus::request_from_url("p", "a", "GET", &format!("https://{text}"));
        let _ = microbus::subscription_from_route("p", "h", "GET", &text, "");
    }

    #[test]
    fn hosts_and_segments_round_trip(text in "(?s).{0,20}") {
        let part = text.replace('/', ""); // a slash separates segments (A14)
        let segment = microbus::escape_segment(&part);
        let read = microbus::unescape_segment(&segment);
        prop_assert_eq!(read.as_deref(), Ok(part.as_str()));
        let token = microbus::flatten_host(&text);
        if let Ok(host) = microbus::unflatten_host(&token) {
            prop_assert_eq!(microbus::flatten_host(&host), token);
        } else {
            prop_assert_eq!(token, "_");
        }
    }
}
