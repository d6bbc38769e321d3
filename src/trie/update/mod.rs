//! Updates: subscriptions are inserted and removed, full leaves become branches.

mod bulk_load;
pub(super) mod insert;
mod leaf_entries;
pub(super) mod leaf_split;
mod load_plan;
mod random_sample;
pub(super) mod remove;
pub(super) mod select_positions;

use super::hash::NodeKey;
use super::node::Node;

/// A place in the trie: a key, and the node there.
pub(super) struct Cursor {
    key: NodeKey,
    node: Node,
}
