//! The limits and options of a parser.

use subtrie::grammar::Dialect;

/// The limits and options of a parser.
///
/// # Examples
///
/// ```
/// use subtrie_nats::wire::Limits;
///
/// let limits = Limits { max_payload: 8 << 20, ..Limits::default() };
/// assert_eq!(limits.max_control_line, 4096);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The dialect of line ends, subjects and numbers.
    pub dialect: Dialect,
    /// Maximum number of bytes of arguments, without the blanks before them and the line end.
    /// Sixteen times as many on every connection but that of a client, as in nats-server.
    pub max_control_line: usize,
    /// Maximum number of bytes of a payload, including its headers.
    pub max_payload: usize,
    /// Whether the route serves one account, which its lines then leave out.
    pub pinned: bool,
    /// Whether the peer announced `lnocu`: `LS-` then also names the origin.
    pub lnocu: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            dialect: Dialect::Server,
            max_control_line: 4096,
            max_payload: 1_048_576,
            pinned: false,
            lnocu: false,
        }
    }
}
