//! Work on the parts of a slice, side by side.

use std::num::NonZero;
use std::thread;

/// Maximum number of parts: most of this work waits for memory, which more cores read no faster.
const MAX_PARTS: usize = 4;

/// The results of `work` on consecutive parts of `items`: one a core, or a single one if there are
/// fewer than `enough` items. The part of a thread that does not start is done by this one.
pub(crate) fn map_parts<T: Sync, R: Send>(
    items: &[T],
    enough: usize,
    work: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    if items.len() < enough.max(1) {
        return vec![work(items)];
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut parts = items.chunks(items.len().div_ceil(cores.min(MAX_PARTS)));
    let first = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = parts
            .map(|part| {
                let thread = thread::Builder::new().spawn_scoped(scope, move || work(part));
                (part, thread.ok())
            })
            .collect();
        let mut results = vec![work(first)];
        results.extend(others.into_iter().map(|(part, thread)| {
            let result = thread.and_then(|thread| thread.join().ok());
            result.unwrap_or_else(|| work(part))
        }));
        results
    })
}

#[cfg(test)]
mod tests {
    use super::map_parts;

    #[test]
    fn the_parts_are_the_whole_in_order() {
        for count in [0, 1, 9, 10, 11, 1000] {
            let items: Vec<usize> = (0..count).collect();
            let parts = map_parts(&items, 10, <[usize]>::to_vec);
            assert_eq!(parts.concat(), items);
            assert!(count >= 10 || parts.len() == 1);
        }
    }
}
