//! The subject system of the Microbus service bus over NATS.
//!
//! Bytes become subjects ([`grammar`]), subjects find subscribers ([`trie`]), addresses become
//! subjects and back ([`microbus`]), rules say who may ([`permissions`]), and what travels to and from
//! a broker becomes operations ([`wire`]). The crate is plain Rust; only `src/python/`, behind the
//! feature `python`, knows that an interpreter exists.
//!
//! ```
//! use subtrie::grammar::Dialect;
//! use subtrie::trie::SubjectTrie;
//!
//! let mut trie = SubjectTrie::new(Dialect::Strict);
//! trie.insert("orders.>", "audit")?;
//! trie.insert_in_queue("orders.*.new", "workers", "worker")?;
//!
//! assert_eq!(trie.matches("orders.eu.new")?, [&"audit", &"worker"]);
//! # Ok::<(), subtrie::error::Error>(())
//! ```

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod error;
pub mod grammar;
pub mod microbus;
pub mod permissions;
pub mod trie;
pub mod wire;

#[cfg(feature = "python")]
mod python;
