//! `wire` for Python: the parser, and operations that read their parts when asked.

pub mod op;
pub mod parser;
