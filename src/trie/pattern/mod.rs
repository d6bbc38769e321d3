//! Patterns and subjects as the index reads them: tokenised, parsed, and packed into words.

pub(crate) mod packed_pattern;
pub(crate) mod parsed_pattern;
