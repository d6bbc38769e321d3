//! The reasons of errors: the code and the sentence of each, the one source of both engines.
//!
//! `make sentences` copies the sentences into the table of the Python package, which adds the hint
//! and the HTTP status; `tests/both_engines/test_core_sentences.py` holds them equal.

/// Defines an enum of reasons: the name, the code and the sentence of each.
///
/// For the crates of this repository, each of which has its own reasons. Hidden, because an exported macro
/// is in the root of a crate and not in [`raw`](crate::raw), where what is outside of semantic versioning is.
#[doc(hidden)]
#[macro_export]
macro_rules! error_kinds {
    ($(#[$about:meta])* $($kind:ident = $code:literal: $sentence:literal,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = concat!("`", $code, "`: ", $sentence, ".")] $kind,)*
        }

        impl ErrorKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The code and the sentence of each kind, in the order of `ALL`.
            const TABLE: &[(&str, &str)] = &[$(($code, $sentence),)*];

            /// Return the stable code, such as `empty-token`.
            #[must_use]
            pub const fn code(self) -> &'static str {
                Self::TABLE[self as usize].0
            }

            /// Return the sentence that says what is wrong.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                Self::TABLE[self as usize].1
            }
        }

        impl std::fmt::Display for ErrorKind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.sentence())
            }
        }
    };
}

error_kinds! {
    /// The reason of an error.
    ///
    /// Codes are stable; sentences may be worded anew.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::{Dialect, ErrorKind, SubjectTrie};
    ///
    /// let mut trie = SubjectTrie::new(Dialect::Strict);
    /// let error = trie.insert("a..b", 1).unwrap_err();
    /// assert_eq!(error.kind, ErrorKind::EmptyToken);
    /// assert_eq!(ErrorKind::EmptyToken.code(), "empty-token");
    /// assert_eq!(ErrorKind::EmptyToken.to_string(), "a token is empty");
    /// ```
    // Subjects and patterns
    Empty = "empty": "it is empty",
    EmptyToken = "empty-token": "a token is empty",
    Whitespace = "whitespace": "it contains whitespace",
    Control = "control": "it contains a control character",
    NonAscii = "non-ascii": "it contains a character outside ASCII",
    Surrogate = "surrogate": "it contains a lone surrogate, which UTF-8 cannot encode",
    PartialWildcard = "partial-wildcard": "a wildcard is part of a longer token",
    Wildcard = "wildcard": "it contains a wildcard token, which a subject must not",
    TailNotLast = "tail-not-last": "'>' is not the last token",
    TooLong = "too-long": "it is too long",
    TooManyTokens = "too-many-tokens": "it has too many tokens",
    // Names
    NameEmpty = "name-empty": "it is empty",
    NameCharacter = "name-character":
        "it contains a character that this kind of name does not allow",
    NameSingle = "name-single": "it has more than one character",
    NameTooLong = "name-too-long": "it is too long",
    NameEmptyToken = "name-empty-token": "a part between dots is empty",
    NameWildcard = "name-wildcard": "it contains a wildcard token",
    NameTailNotLast = "name-tail-not-last": "'>' is not the last token",
    NameNoDollar = "name-no-dollar": "an internal prefix must begin with a dollar sign",
    NameNoFinalDot = "name-no-final-dot": "a prefix must end with a dot",
    // The index
    QueueEmpty = "queue-empty": "the queue name is empty",
    QueueWhitespace = "queue-whitespace": "the queue name contains whitespace",
    QueueWildcard = "queue-wildcard": "the queue name contains a wildcard token",
    IndexFull = "index-full": "the index is full",
    // Images of an index
    ImageMagic = "image-magic": "not a subtrie index image (bad magic)",
    ImageVersion = "image-version": "the image has a different format version",
    ImageLength = "image-length": "the image is truncated or has trailing data",
    ImageHeader = "image-header": "the image header is corrupt",
    ImageChecksum = "image-checksum": "the checksum does not match",
    ImageDamaged = "image-damaged": "the content is inconsistent",
    // Microbus addresses
    Plane = "plane": "a plane consists of one or more ASCII letters and digits",
    Trust = "trust": "the second token of an address is 'danger' for port 666 and 'safe' for every other port",
    Port = "port": "a port is written in digits, without a sign or a leading zero",
    PortRange = "port-range": "the port is out of range",
    HostEmpty = "host-empty": "the host is empty",
    HostLength = "host-length": "the host is too long",
    HostCharacter = "host-character":
        "the host contains a character that is not allowed in the host of a URL",
    Identity = "identity":
        "it contains a character that is not allowed in the identity of a service",
    EmptyLabel = "empty-label": "a label of the host is empty",
    Reserved = "reserved":
        "the host is reserved: a service cannot be named 'id-…', 'loc-…', 'all' or '….all'",
    Stacked = "stacked": "a second 'id-' or 'loc-' label follows the first",
    Slot = "slot":
        "a slot is 'id-' with letters and digits, or 'loc-' with parts joined by '-'",
    Method = "method": "the method is unknown",
    MethodAny = "method-any": "ANY is only valid in a subscription",
    Argument = "argument": "a path argument does not fill its whole path segment",
    ArgumentName = "argument-name": "the name of a path argument is not a valid identifier",
    Greedy = "greedy": "a greedy path argument is not the last path segment",
    Locality = "locality": "a locality consists of lower-case letters and digits joined by '-'",
    UrlHost = "url-host": "the URL has no host",
    UrlControl = "url-control": "the URL contains a control character",
    UrlBacktick = "url-backtick": "the URL contains a backtick",
    UrlEscape = "url-escape": "a percent sign does not begin a valid escape",
    UrlUser = "url-user": "the user part of the URL contains a character that is not allowed",
    UrlAddress = "url-address":
        "square brackets must enclose an IPv6 address at the start of the host",
    TooFewTokens = "too-few-tokens": "it has too few tokens",
    ReplyTokens = "reply-tokens": "a reply must have exactly six tokens",
    ReplyPort = "reply-port": "the port token of a reply must be '_'",
    ReplySubscription = "reply-subscription":
        "it is the pattern of a reply, which has no port and no path",
    SubscriptionSource = "subscription-source":
        "the source token of a subscription must be '*'",
    Escape = "escape": "'%' is not followed by two lower-case hexadecimal digits",
    NotCanonical = "not-canonical": "not in canonical form",
    Placeholder = "placeholder": "'_' alone is not a host",
    Utf8 = "utf8": "it is not valid UTF-8",
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::ErrorKind;

    #[test]
    fn every_kind_has_a_code_of_its_own() {
        let codes: HashSet<_> = ErrorKind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
        assert!(
            ErrorKind::ALL
                .iter()
                .all(|kind| !kind.sentence().ends_with('.'))
        );
    }
}
