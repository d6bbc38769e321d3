//! Memory for lookups, one for each thread, so that lookups through `&self` need none of the caller.

use std::cell::Cell;

use super::{MAX_KEPT, Scratch};
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
    if buffers.found.capacity() <= MAX_KEPT && !buffers.lookup.is_large() {
        let _ = BUFFERS.try_with(|place| place.set(Some(buffers)));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::with_buffers;
    use crate::SubjectTrie;
    use crate::trie::lookup::MAX_KEPT;

    /// Neither what was found nor what was visited is kept after a lookup of very much.
    #[test]
    fn a_thread_keeps_no_memory_of_a_large_lookup() {
        let many = (0..3 * MAX_KEPT).map(|_| ("a.*", ()));
        let mut trie: SubjectTrie<()> = many.collect();
        // Patterns that no position divides, so that all are candidates.
        trie.extend(
            (0..2 * MAX_KEPT).map(|n| (format!("{}b", ["*.", "b."][n % 2].repeat(n % 60)), ())),
        );
        let kept =
            || with_buffers(|buffers| buffers.lookup.walk.capacity() + buffers.found.capacity());
        for subject in ["a.b".to_owned(), "b.".repeat(59) + "b"] {
            assert!(trie.count(&subject).unwrap() > 60);
            assert_eq!(
                trie.matches(&subject).unwrap().len(),
                trie.count(&subject).unwrap()
            );
            assert!(kept() <= 2 * MAX_KEPT, "{}", kept());
        }
    }
}
