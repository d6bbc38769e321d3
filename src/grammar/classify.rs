//! The family of a subject, by its prefix: `JetStream`, key-value, inbox, system, ….
//!
//! Microbus subjects are recognised by their layout, not by a prefix: see `microbus::classify`.
//! Subjects that servers exchange among themselves belong to the family they serve: `$JSC` and `$NRG`
//! replicate `JetStream`, `$LDS` detects loops of leaf nodes, `_R_` receives the responses of
//! imported services.
// S1-002 and nats-server; the legacy system prefix is A62; NATS Streaming has its own documentation.

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

/// Return the family of a subject that is not a Microbus subject, `other` if no prefix matches.
///
/// Cost: at most sixteen prefix comparisons.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::classify;
///
/// assert_eq!(classify("_INBOX.a1b2"), "inbox");
/// assert_eq!(classify("$JS.API.INFO"), "jetstream");
/// assert_eq!(classify("orders.new"), "other");
/// ```
#[must_use]
pub fn classify(subject: &str) -> &'static str {
    FAMILIES
        .iter()
        .find(|(prefix, _)| subject.starts_with(prefix))
        .map_or("other", |(_, family)| family)
}
