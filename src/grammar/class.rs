//! Whose subject is this? A name for the family a subject belongs to, by its prefix.
//!
//! Families: `JetStream`, key-value, object store, services, system (seed 001 S1-002, nats-server),
//! the legacy system prefix (A62), gateways, NATS Streaming (seed 003), MQTT, inboxes. Microbus
//! subjects are recognised by their layout, not by a prefix: see `microbus::classify`.

/// Prefixes in the order they are tried, each with the family it names.
const FAMILIES: [(&str, &str); 11] = [
    ("_INBOX.", "inbox"),
    ("$JS.", "jetstream"),
    ("$KV.", "kv"),
    ("$O.", "object"),
    ("$SRV.", "service"),
    ("$SYS.", "system"),
    ("_SYS.", "legacy-system"),
    ("_GR_.", "gateway"),
    ("$GNR.", "gateway"),
    ("_STAN.", "streaming"),
    ("$MQTT.", "mqtt"),
];

/// The family of a subject that is not Microbus's, `other` where no prefix tells.
///
/// Cost: a handful of prefix comparisons.
#[must_use]
pub fn classify(subject: &str) -> &'static str {
    FAMILIES
        .iter()
        .find(|(prefix, _)| subject.starts_with(prefix))
        .map_or("other", |(_, family)| family)
}
