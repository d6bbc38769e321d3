//! The reasons of errors: code and sentence of each, the one source of both engines.
//!
//! `make sentences` copies the sentences into the table of the Python package, which adds the hint
//! and the HTTP status; `tests/test_core_sentences.py` holds them equal.

use std::fmt;

/// Defines the enum, and the code and the sentence of each of its variants.
macro_rules! kinds {
    ($($kind:ident = $code:literal: $sentence:literal,)*) => {
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
        /// assert_eq!(error.kind(), Some(ErrorKind::EmptyToken));
        /// assert_eq!(ErrorKind::EmptyToken.code(), "empty-token");
        /// assert_eq!(ErrorKind::EmptyToken.to_string(), "a token is empty");
        /// ```
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
        }
    };
}

kinds! {
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
    Trust = "trust": "the trust zone is 'danger' for port 666 and 'safe' for every other port",
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
    // The NATS protocols
    UnknownOp = "unknown op": "this connection has no operation of this name",
    NoDelimiter = "no delimiter":
        "a space must separate the name of an operation from its arguments",
    ArgCount = "arg count": "the line has too few or too many arguments",
    BadSize = "bad size": "a size is written in one to nine digits",
    BadHeaderSize = "bad header size": "a header size is written in one to nine digits",
    BadSid = "bad sid": "the subscription id must be a number of 64 bits here",
    HeaderLargerThanTotal = "header larger than total":
        "the header size is larger than the total size",
    BadReplyIndicator = "bad reply indicator":
        "the queue names of a routed message must follow '+' or '|'",
    PayloadTerminator = "payload terminator": "CR LF does not follow the payload",
    BadJson = "bad json": "the options are not one JSON object with unique names",
    MaxControlLine = "max control line": "the line is longer than max_control_line",
    MaxPayload = "max payload": "the payload is larger than max_payload",
    LineEnd = "line end": "a line must end with CR LF, and neither may appear alone",
    BadSubject = "bad subject": "not a valid subject in the strict dialect",
    // Sets of permissions
    TooMuchWork = "too-much-work": "the comparison would take too many steps",
}

impl ErrorKind {
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

    /// Return the kind of a code, `None` if the core has no such code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        let place = Self::TABLE.iter().position(|(known, _)| *known == code)?;
        Self::ALL.get(place).copied()
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sentence())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorKind;

    #[test]
    fn codes_and_kinds_name_each_other() {
        for &kind in ErrorKind::ALL {
            assert_eq!(ErrorKind::from_code(kind.code()), Some(kind));
            assert!(!kind.sentence().ends_with('.'));
        }
        assert_eq!(ErrorKind::from_code("no-such-code"), None);
    }
}
