//! Changes of the nodes that panic: the index is then as it was before.
//!
//! The nodes follow from the stored patterns. So a change stores before the nodes are changed, or
//! takes away after; if changing the nodes panics, what was stored is taken back and the nodes are
//! built again.

use crate::trie::index::Index;

impl Index {
    /// Changes the nodes; if that panics, calls `undo` and builds the nodes again.
    pub(super) fn change_nodes<R>(
        &mut self,
        change: impl FnOnce(&mut Self) -> R,
        undo: impl FnOnce(&mut Self),
    ) -> R {
        struct Guard<'a, U: FnOnce(&mut Index)> {
            index: &'a mut Index,
            undo: Option<U>,
        }

        impl<U: FnOnce(&mut Index)> Drop for Guard<'_, U> {
            fn drop(&mut self) {
                if let Some(undo) = self.undo.take() {
                    undo(self.index);
                    self.index.selected_root = None;
                    self.index.rebuild(self.index.hasher.strong);
                }
            }
        }

        let mut guard = Guard {
            index: self,
            undo: Some(undo),
        };
        let result = change(guard.index);
        guard.undo = None;
        result
    }
}

/// A place at which tests let a change panic.
#[cfg(not(test))]
pub(super) const fn fault_point() {}

#[cfg(test)]
pub(super) use tests::{fault_point, panics_after};

#[cfg(test)]
#[allow(clippy::panic)] // on purpose
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::grammar::Dialect;
    use crate::trie::{Index, Scratch};

    thread_local! {
        /// Fault points to be passed before one panics.
        static PASSED: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    pub(in crate::trie::update) fn fault_point() {
        PASSED.with(|passed| {
            let left = passed.get();
            passed.set(left.wrapping_sub(1));
            assert!(left != 0, "injected");
        });
    }

    /// Makes `change` panic after `faults` fault points; whether it did.
    pub(in crate::trie::update) fn panics_after(faults: usize, change: impl FnOnce()) -> bool {
        PASSED.set(faults);
        let result = catch_unwind(AssertUnwindSafe(change));
        PASSED.set(usize::MAX);
        result.is_err()
    }

    fn rows(index: &Index) -> Vec<(u64, usize, Option<String>, Option<String>)> {
        let row = |found: crate::trie::SubscriptionRef| {
            let queue = index.queue(found).map(str::to_owned);
            (found.id, found.slot.index(), index.pattern(found), queue)
        };
        index.subscriptions().into_iter().map(row).collect()
    }

    fn answers(index: &Index) -> Vec<Vec<u64>> {
        let mut scratch = Scratch::default();
        (0..90)
            .map(|n| {
                let mut found = Vec::new();
                let subject = format!("p.{}.{}.{}", n % 9, n % 7, n);
                index
                    .match_into(&subject, &mut scratch, &mut found)
                    .unwrap();
                found.iter().map(|found| found.id).collect()
            })
            .collect()
    }

    fn pattern(n: usize) -> String {
        match n % 5 {
            0 => format!("p.{}.*.{}", n % 9, n % 90),
            1 => format!("p.*.{}.>", n % 7),
            _ => format!("p.{}.{}.{n}", n % 9, n % 7),
        }
    }

    /// An index of `count` patterns.
    fn filled(count: usize) -> Index {
        let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
        let mut n = 0;
        while index.pattern_count < count {
            let queue = (n % 3 == 0).then_some("q");
            index.insert(&pattern(n), queue).unwrap();
            n += 1;
        }
        index
    }

    /// Lets `change` panic at every place at which it can, and compares the index with `before`.
    fn check(count: usize, change: impl Fn(&mut Index)) -> usize {
        let before = filled(count);
        let expected = (rows(&before), answers(&before), before.to_string());
        for faults in 0.. {
            let mut index = before.clone();
            if faults % 2 == 0 {
                assert_eq!(index.stats().patterns, count); // with sorted patterns
            }
            if !panics_after(faults, || change(&mut index)) {
                return faults;
            }
            assert_eq!(rows(&index), expected.0, "{faults}");
            assert_eq!(answers(&index), expected.1, "{faults}");
            assert_eq!(index.to_string(), expected.2, "{faults}");
            // It goes on working, to the end.
            change(&mut index);
            for (id, ..) in rows(&index) {
                assert!(index.remove(id).is_some(), "{faults} {id}");
            }
            assert!(index.is_empty() && answers(&index).iter().all(Vec::is_empty));
        }
        0
    }

    #[test]
    fn an_insert_that_panics_changes_nothing() {
        // At the fifth pattern the only leaf is split, at the 128th the root is selected again.
        for (count, n, fewest) in [(4, 502, 5), (127, 502, 1), (127, 503, 1), (127, 0, 0)] {
            let places = check(count, |index| {
                let _ = index.insert(&pattern(n), Some("other"));
            });
            assert!(places >= fewest, "{count} {n} {places}");
        }
    }

    #[test]
    fn a_removal_that_panics_changes_nothing() {
        let places: usize = (0..127)
            .step_by(9)
            .map(|id| check(127, |index| assert!(index.remove(id).is_some())))
            .sum();
        assert!(places > 10, "{places}");
    }

    #[test]
    fn a_bulk_load_that_panics_while_it_is_prepared_changes_nothing() {
        let patterns: Vec<String> = (0..4000).map(|n| format!("{n}.x.p.{}", n % 3)).collect();
        let prepare =
            |index: &mut Index| index.prepare_bulk_load(patterns.iter().map(String::as_str));
        assert!(check(127, prepare) > 100);
    }
}
