//! The subject system of the Microbus service bus over NATS.
//!
//! - [`grammar`]: validation and matching of subjects and patterns, validation of names.
//! - [`trie`]: an index of subscriptions by pattern.
//! - [`microbus`]: encoding and decoding of Microbus addresses.
//! - [`raw`]: the index without values, for bindings; outside of semantic versioning.
//! - [`error`]: the error type, and the reasons of all errors.
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

pub mod error;
pub mod grammar;
pub mod microbus;
mod number;
mod parallel;
pub mod trie;

pub use error::{Error, ErrorKind};
pub use grammar::{Bounds, Dialect};
pub use trie::{Matches, SubjectTrie, Subscription, raw};

/// The examples of the page about the crate, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/rust.md")]
struct RustPage;
