//! The NATS side of subjects, without I/O: the protocols, permissions, and HTTP in payloads.
//!
//! - [`wire`]: an incremental parser of the NATS protocols.
//! - [`permissions`]: exact comparison of sets of allow and deny rules.
//! - [`http`]: reading and writing of HTTP messages in payloads.

mod error;
pub mod http;
pub mod permissions;
pub mod wire;

pub use error::ErrorKind;
