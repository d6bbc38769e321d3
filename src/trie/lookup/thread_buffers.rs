//! Memory for lookups, one for each thread, so that lookups through `&self` need none of the caller.

use std::cell::Cell;

use super::Scratch;
use crate::trie::storage::subscriptions::SubscriptionRef;

/// Memory that the lookups of a thread reuse.
#[derive(Default)]
pub(in crate::trie) struct ThreadBuffers {
    pub lookup: Scratch,
    pub found: Vec<SubscriptionRef>,
}

thread_local! {
    static BUFFERS: Cell<Option<Box<ThreadBuffers>>> = const { Cell::new(None) };
}

/// Calls `look_up` with the memory of this thread.
pub(in crate::trie) fn with_buffers<R>(look_up: impl FnOnce(&mut ThreadBuffers) -> R) -> R {
    // A thread that is ending has no buffers any more.
    let mut buffers = BUFFERS
        .try_with(Cell::take)
        .ok()
        .flatten()
        .unwrap_or_default();
    let result = look_up(&mut buffers);
    let _ = BUFFERS.try_with(|place| place.set(Some(buffers)));
    result
}
