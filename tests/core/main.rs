//! The tests of the core through its public interface, one program: each program more would be
//! linked on its own.

mod allocations;
mod grammar_laws;
mod match_vectors;
mod microbus_laws;
mod microbus_refusals;
mod microbus_vectors;
mod trie_hostile;
mod trie_images;
mod trie_laws;
mod trie_prefix_work;
mod trie_work;
