//! Whose subject is this? A name for the family a subject belongs to, by its prefix.
//!
//! Families: `JetStream`, key-value, object store, services, system (seed 001 S1-002, nats-server),
//! the legacy system prefix (A62), gateways, NATS Streaming (seed 003), MQTT, inboxes. What servers
//! say to each other is told by whom it serves: `$JSC` and `$NRG` replicate `JetStream`, `$LDS` finds
//! loops of leaf nodes, `_R_` is where the answer of an imported service arrives. Microbus subjects
//! are recognised by their layout, not by a prefix: see `microbus::classify`.

/// Prefixes in the order they are tried, each with the family it names.
const FAMILIES: [(&str, &str); 16] = [
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
    ("$JSC.", "jetstream"),
    ("$NRG.", "jetstream"),
    ("$GR.", "gateway"),
    ("$LDS.", "system"),
    ("_R_.", "inbox"),
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
