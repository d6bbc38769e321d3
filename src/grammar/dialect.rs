//! Dialects of the grammar, their bounds, and the forms of a text.

/// A grammar: that of the NATS documents, or that of the broker.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Dialect, Form, check};
///
/// let valid = |text, dialect: Dialect| check(text, Form::Subject, dialect, dialect.bounds());
/// assert!(valid("foo*", Dialect::Strict).is_err());
/// assert!(valid("foo*", Dialect::Server).is_ok());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Printable ASCII; a wildcard is a whole token.
    Strict, // S1-013 to S1-048, ADR-6, A27, A34
    /// The grammar of nats-server: any UTF-8 without space, tab, CR or LF; `foo*` is text.
    Server, // A34, A36
}

/// Bounds that replace those of the dialect: tokens and bytes, `None` to keep the dialect's.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{BoundsOverride, Dialect};
///
/// let overrides: BoundsOverride = (None, Some(256));
/// assert_eq!(Dialect::Strict.bounds_with(overrides).max_length, 256);
/// ```
pub type BoundsOverride = (Option<u64>, Option<u64>);

impl Dialect {
    /// Return the bounds of the dialect.
    ///
    /// `Strict`: 64 tokens and 1,024 bytes. `Server`: 4,096 bytes, the broker's control line, and
    /// any number of tokens.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::grammar::Dialect;
    ///
    /// assert_eq!(Dialect::Strict.bounds().max_tokens, 64);
    /// ```
    #[must_use]
    pub const fn bounds(self) -> Bounds {
        // A37
        match self {
            Self::Strict => Bounds {
                max_tokens: 64,
                max_length: 1024,
            },
            Self::Server => Bounds {
                max_tokens: usize::MAX,
                max_length: 4096,
            },
        }
    }

    /// Return the bounds of the dialect, except those that are overridden.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::grammar::Dialect;
    ///
    /// let bounds = Dialect::Strict.bounds_with((Some(16), None));
    /// assert_eq!((bounds.max_tokens, bounds.max_length), (16, 1024));
    /// ```
    #[must_use]
    pub fn bounds_with(self, (max_tokens, max_length): BoundsOverride) -> Bounds {
        let default = self.bounds();
        let size = |bound: Option<u64>, default| {
            bound.map_or(default, |bound| {
                usize::try_from(bound).unwrap_or(usize::MAX)
            })
        };
        Bounds {
            max_tokens: size(max_tokens, default.max_tokens),
            max_length: size(max_length, default.max_length),
        }
    }

    /// Return the dialect of this name, `strict` or `server`.
    ///
    /// # Examples
    ///
    /// ```
    /// use subtrie::grammar::Dialect;
    ///
    /// assert_eq!(Dialect::from_name("server"), Some(Dialect::Server));
    /// assert_eq!(Dialect::from_name("Server"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "strict" => Some(Self::Strict),
            "server" => Some(Self::Server),
            _ => None,
        }
    }

    /// Return the name of the dialect.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(subtrie::grammar::Dialect::Strict.name(), "strict");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Server => "server",
        }
    }
}

/// The largest text that is accepted, in tokens and bytes.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Bounds, Dialect, Form, check};
///
/// let bounds = Bounds { max_tokens: 2, max_length: 16 };
/// let error = check("a.b.c", Form::Subject, Dialect::Strict, bounds).unwrap_err();
/// assert_eq!((error.reason(), error.position), ("too-many-tokens", Some(4)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of tokens.
    pub max_tokens: usize,
    /// Maximum number of bytes.
    pub max_length: usize,
}

impl Bounds {
    /// The longest text within the bounds: places in a text have 32 bits, whatever was given.
    pub(crate) const fn longest_text(self) -> usize {
        const LONGEST: usize = u32::MAX as usize - 1;
        if self.max_length < LONGEST {
            self.max_length
        } else {
            LONGEST
        }
    }
}

/// The form that a text is validated as.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::{Dialect, Form, check};
///
/// let bounds = Dialect::Strict.bounds();
/// assert!(check("a.*", Form::Pattern, Dialect::Strict, bounds).is_ok());
/// assert!(check("a.*", Form::Subject, Dialect::Strict, bounds).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A concrete subject, as it is published and matched: no wildcard token.
    Subject, // A17, A35
    /// A pattern, as it is subscribed to: `*` at any position, `>` at the last one.
    Pattern,
}
