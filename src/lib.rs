//! The subject system of the Microbus service bus over NATS.
//!
//! - [`grammar`]: validation and matching of subjects and patterns, validation of names.
//! - [`trie`]: an index of subscriptions by pattern.
//! - [`microbus`]: encoding and decoding of Microbus addresses.
//! - [`permissions`]: exact comparison of sets of allow and deny rules.
//! - [`http`]: reading and writing of HTTP messages in payloads.
//! - [`wire`]: an incremental parser of the NATS protocols.
//! - `arrow` (feature `arrow`): decoding of columns of subjects.
//! - [`error`]: the error type of all but the parser, and the reasons of all errors.
//!
//! The feature `python` adds the bindings, the only part that uses an interpreter.
//!
//! # Examples
//!
//! ```
//! use subtrie::{Dialect, SubjectTrie};
//!
//! let mut trie = SubjectTrie::new(Dialect::Strict);
//! trie.insert("orders.>", "audit")?;
//! let worker = trie.insert_in_queue("orders.*.new", "workers", "worker")?;
//!
//! assert!(trie.matches("orders.eu.new")?.eq(&["audit", "worker"]));
//! trie.remove(worker);
//! assert!(trie.matches("orders.eu.new")?.eq(&["audit"]));
//! # Ok::<(), subtrie::Error>(())
//! ```

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod error;
pub mod grammar;
pub mod http;
pub mod microbus;
mod number;
mod parallel;
pub mod permissions;
pub mod trie;
pub mod wire;

#[cfg(feature = "python")]
mod python;

pub use error::{Error, ErrorKind};
pub use grammar::{Bounds, Dialect};
pub use trie::{Matches, SubjectTrie, Subscription};

/// The examples of the page about the crate, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct RustPage;
