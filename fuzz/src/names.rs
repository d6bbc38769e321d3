//! Names of ADR-6: every kind and level gives a report, and errors have a position in the name.

use subtrie::grammar::{Level, check_name};

/// Every kind of name.
const KINDS: [&str; 46] = [
    "stream",
    "stream-name",
    "durable",
    "durable-name",
    "consumer",
    "consumer-name",
    "account",
    "account-name",
    "filename-safe",
    "subject",
    "pattern",
    "message-subject",
    "reply-to",
    "queue",
    "queue-name",
    "term",
    "js-internal-prefix",
    "js-user-prefix",
    "kv-key",
    "kv-key-name",
    "kv-bucket",
    "kv-bucket-name",
    "os-bucket",
    "os-bucket-name",
    "restricted-term",
    "os-object",
    "os-object-name",
    "limited-term",
    "limited-term-w-sp",
    "prefix",
    "printable",
    "dot",
    "asterisk",
    "lt",
    "gt",
    "dollar",
    "colon",
    "double-quote",
    "fwd-slash",
    "backslash",
    "pipe",
    "question-mark",
    "ampersand",
    "dash",
    "underscore",
    "equals",
];

/// The levels of validation.
const LEVELS: [Level; 3] = [Level::GoClient, Level::Cli, Level::Adr6];

/// Validate any text as a name of every kind.
pub fn names(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    for kind in KINDS {
        for level in LEVELS {
            for windows in [false, true] {
                let Ok(found) = check_name(text, kind, level, windows) else {
                    panic!("{kind} is a kind");
                };
                if let Some(broken) = found {
                    assert!(broken.position <= text.len(), "{kind} {broken:?}");
                    assert!(text.is_char_boundary(broken.position), "{kind} {broken:?}");
                }
            }
        }
        let fine = |level, windows| matches!(check_name(text, kind, level, windows), Ok(None));
        assert!(
            !fine(Level::Adr6, true) || fine(Level::Adr6, false),
            "{kind}: a name that is valid on Windows is valid elsewhere"
        );
    }
}
