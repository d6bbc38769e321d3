//! Bindings of `microbus`: encoding and decoding of `Subject`, `Pattern` and addresses.

mod args;
pub mod decode;
pub mod encode;
pub mod parts;
pub mod targets;
