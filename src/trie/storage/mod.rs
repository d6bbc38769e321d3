//! Storage of the index: a hash table of nodes, leaf buckets, slabs, and subscriptions.

pub(crate) mod hash_table;
mod huge_words;
pub(crate) mod leaf;
mod paged_vec;
pub(crate) mod pattern_table;
pub(crate) mod probe_table;
pub(crate) mod queue_names;
pub(crate) mod round_robin;
pub(crate) mod slab;
pub(crate) mod subscriptions;

pub(crate) use crate::number::to_u32;
