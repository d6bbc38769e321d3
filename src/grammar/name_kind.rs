//! The kinds of names that ADR-6 defines.

macro_rules! name_kinds {
    ($($kind:ident = $($name:literal)|+: $about:literal,)*) => {
        /// A kind of name.
        ///
        /// # Examples
        ///
        /// ```
        /// use subtrie::grammar::NameKind;
        ///
        /// assert_eq!(NameKind::from_name("kv-bucket"), Some(NameKind::KvBucket));
        /// assert_eq!(NameKind::from_name("topic"), None);
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum NameKind {
            $(#[doc = concat!($about, ".")] $kind,)*
        }

        impl NameKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Return the kind of a name that ADR-6 or its users give it, such as `kv-bucket`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                // As bytes: a match of texts compares them one after another.
                Some(match name.as_bytes() {
                    $($(name if name == $name.as_bytes() => Self::$kind,)+)*
                    _ => return None,
                })
            }
        }
    };
}

name_kinds! {
    Stream = "stream" | "stream-name": "A stream",
    Durable = "durable" | "durable-name": "A durable consumer",
    Consumer = "consumer" | "consumer-name": "A consumer",
    Account = "account" | "account-name": "An account",
    FilenameSafe = "filename-safe": "Text that may be the name of a file",
    Subject = "subject": "A subject without wildcards",
    Pattern = "pattern" | "message-subject": "A subject, perhaps with wildcards",
    ReplyTo = "reply-to": "A reply subject",
    Queue = "queue" | "queue-name": "A queue group",
    Term = "term": "One token of a subject",
    JsInternalPrefix = "js-internal-prefix": "The prefix of subjects of JetStream itself",
    JsUserPrefix = "js-user-prefix": "The prefix of subjects of a user's JetStream domain",
    KvKey = "kv-key" | "kv-key-name": "A key of a key-value bucket",
    KvBucket = "kv-bucket" | "kv-bucket-name": "A key-value bucket",
    OsBucket = "os-bucket" | "os-bucket-name": "A bucket of objects",
    RestrictedTerm = "restricted-term": "Letters, digits, `-` and `_`",
    OsObject = "os-object" | "os-object-name": "An object",
    LimitedTerm = "limited-term": "Letters, digits, `-`, `_`, `/` and `=`",
    LimitedTermWithSpace = "limited-term-w-sp": "The same and blanks",
    Prefix = "prefix": "One token of a prefix",
    Printable = "printable": "One printable character",
    Dot = "dot": "The character `.`",
    Asterisk = "asterisk": "The character `*`",
    Lt = "lt": "The character `<`",
    Gt = "gt": "The character `>`",
    Dollar = "dollar": "The character `$`",
    Colon = "colon": "The character `:`",
    DoubleQuote = "double-quote": "A double quote",
    FwdSlash = "fwd-slash": "The character `/`",
    Backslash = "backslash": "A backslash",
    Pipe = "pipe": "The character `|`",
    QuestionMark = "question-mark": "The character `?`",
    Ampersand = "ampersand": "The character `&`",
    Dash = "dash": "The character `-`",
    Underscore = "underscore": "The character `_`",
    Equals = "equals": "The character `=`",
}
