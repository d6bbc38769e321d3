//! The subject system of the Microbus service bus over NATS.
//!
//! Bytes become subjects ([`grammar`]), subjects find subscribers ([`trie`]), addresses become
//! subjects and back ([`microbus`]), rules say who may ([`permissions`]), and what travels to and from
//! a broker becomes operations ([`wire`]). The crate is plain Rust; only `src/python/`, behind the
//! feature `python`, knows that an interpreter exists.
//!
//! ```
//! use subtrie::grammar::Dialect;
//! use subtrie::trie::{Index, Scratch};
//!
//! let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
//! let all = index.insert("orders.>", None)?;
//! let new = index.insert("orders.*.new", Some("workers"))?;
//!
//! let mut found = Vec::new();
//! index.match_into("orders.eu.new", &mut Scratch::default(), &mut found)?;
//! assert_eq!(found, [all, new]);
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
