//! How much a stream may ask for.

use crate::grammar::Dialect;

/// How much a stream may ask for, and how it is read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// What line ends, subjects and numbers must look like.
    pub dialect: Dialect,
    /// Most bytes of arguments, blanks before them and the line end not counted. Sixteen times as
    /// many anywhere but from a client, as nats-server counts.
    pub max_control_line: usize,
    /// Most bytes of payload, headers included.
    pub max_payload: usize,
    /// The route serves one account, which its lines leave out.
    pub pinned: bool,
    /// The other side announced `lnocu`: `LS-` names the origin too.
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
