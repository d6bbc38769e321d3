//! The tests of the crate through its public interface, one program: each program more would be
//! linked on its own.

#[path = "../../../../tests/core/allocations.rs"]
mod allocations;
mod http;
mod permission_answers;
mod permission_laws;
mod permission_pairs;
mod permission_queues;
mod permission_universe;
mod permission_work;
mod wire_laws;
mod wire_memory;
mod wire_names;
