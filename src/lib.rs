//! The subject system of the Microbus service bus over NATS.
//!
//! Bytes become subjects ([`grammar`]), subjects find subscribers ([`trie`]), addresses become
//! subjects and back ([`microbus`]). The crate is plain Rust; only `src/python/`, behind the feature
//! `python`, knows that an interpreter exists.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod error;
pub mod grammar;
pub mod microbus;
pub mod trie;

#[cfg(feature = "python")]
mod python;
