//! Where a stream cannot be read any further, and why.

/// What was being read when a fault was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The name of an operation.
    Name,
    /// Its arguments.
    Arguments,
    /// Its payload, or the line end behind it.
    Payload,
}

impl Stage {
    /// The name users see.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Arguments => "arguments",
            Self::Payload => "payload",
        }
    }
}

/// Why a stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The rule that is broken: `unknown op`, `arg count`, `bad size`, ….
    pub reason: &'static str,
    /// Offset in the stream of the byte or argument that is wrong.
    pub position: u64,
    /// Offset of the first byte that no operation accounts for.
    pub resume: u64,
    /// What was being read.
    pub stage: Stage,
}
