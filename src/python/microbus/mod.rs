//! `microbus` for Python: arguments in, `Subject`, `Pattern` and addresses out.

mod args;
pub mod decode;
pub mod encode;
pub mod parts;
