//! Microbus addresses: a subject that decodes encodes to the same bytes.
// A5, A7

use subtrie::microbus::{
    Address, Port, ReplyParts, RequestParts, SubscriptionParts, classify, decode,
    decode_subscription, encode_reply, encode_request, encode_subscription, request_from_url,
    source_of, subscription_from_route,
};

/// Use any text as an address, a URL and a route.
pub fn microbus(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let _ = classify(text);
    let source = source_of(text);
    match decode(text) {
        Ok(address) => assert_eq!(encoded(&address).as_deref(), Some(text)),
        Err(error) => {
            assert!(error.position.is_none_or(|place| place <= text.len()));
            assert!(
                source.is_none(),
                "a malformed subject has no verified source"
            );
        }
    }
    if let Ok(address) = decode_subscription(text) {
        let again = encode_subscription(&SubscriptionParts {
            plane: address.plane,
            port: Port::Number(address.port.unwrap_or(0).into()),
            host: &address.host.text(),
            method: address.method.unwrap_or("ANY"),
            path: &address.path.text(),
            slot: address.slot,
        });
        assert_eq!(again.as_deref(), Ok(text));
    }
    if let Ok(subject) = request_from_url("p", "a.example", "GET", text) {
        assert!(decode(&subject).is_ok(), "{subject:?}");
    }
    if let Ok(pattern) = subscription_from_route("p", "a.example", "ANY", text, "") {
        assert!(decode_subscription(&pattern).is_ok(), "{pattern:?}");
    }
}

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
