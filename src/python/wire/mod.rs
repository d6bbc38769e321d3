//! Bindings of `wire`: the parser, and operations whose parts are decoded on demand.

pub mod op;
pub mod parser;
