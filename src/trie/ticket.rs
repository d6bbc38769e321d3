//! What the index says of a subscription: two numbers. And the number that stands for none.

/// No node, no queue.
pub(super) const NONE: u32 = u32::MAX;

/// A subscription in the index: its id, and the slot that its record stands in.
///
/// Tickets order by id. A slot is good until the subscription is removed or the index compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    /// Given in order of insertion, never again.
    pub id: u64,
    /// Where values kept beside the index stand.
    pub slot: u32,
}
