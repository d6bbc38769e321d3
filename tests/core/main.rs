//! The tests of the core through its public interface, one program: each program more would be
//! linked on its own.

mod allocations;
#[cfg(feature = "arrow")]
mod columns;
mod grammar_laws;
mod http;
mod match_vectors;
mod microbus_laws;
mod microbus_refusals;
mod microbus_vectors;
mod permission_answers;
mod permission_laws;
mod permission_pairs;
mod permission_queues;
mod permission_universe;
mod permission_work;
mod trie_hostile;
mod trie_images;
mod trie_laws;
mod trie_prefix_work;
mod trie_work;
mod wire_laws;
mod wire_memory;
