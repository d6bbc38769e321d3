//! Bindings of `wire`: the parser, the reader of deliveries, and operations whose parts are decoded on demand.

pub mod op;
pub mod parser;
pub mod reader;
