//! Left-right (Ramalhete and Correia 2015): two copies, of which readers use one while a writer
//! changes the other.
//!
//! A change is made on the copy that is not in use. Then readers are directed to it, and when the
//! last reader has left the other copy the change is repeated there. A reader takes a read lock of
//! the copy in use, in a shard of its own thread. The writer locks only the copy that readers were
//! directed away from, so a reader never blocks on it: at most it tries again, if the copies were
//! exchanged while it entered. So reads are lock-free; the original algorithm, with counters in
//! place of locks, is wait-free. The cost is memory for two copies, and every change is made twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use crossbeam_utils::sync::ShardedLock;

/// Two equal copies of a value that changes.
pub struct LeftRight<T> {
    copies: [ShardedLock<T>; 2],
    /// The copy that readers use.
    active: AtomicUsize,
    /// Held by the writer.
    writer: Mutex<()>,
}

impl<T> LeftRight<T> {
    /// The two copies must be equal, and every change must do the same to both.
    pub fn new(left: T, right: T) -> Self {
        Self {
            copies: [ShardedLock::new(left), ShardedLock::new(right)],
            active: AtomicUsize::new(0),
            writer: Mutex::new(()),
        }
    }

    /// Reads a state between two changes. Changes made meanwhile do not show.
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        loop {
            let active = self.active.load(Ordering::Acquire) & 1;
            let state = match self.copies[active].try_read() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(state)) => state.into_inner(),
                // The copies were exchanged just now.
                Err(TryLockError::WouldBlock) => {
                    std::hint::spin_loop();
                    continue;
                }
            };
            // A reader that comes late to the copy just left may find the next change there: it
            // would see the change now, and not see it in its next read of the copy in use.
            if self.active.load(Ordering::Acquire) & 1 == active {
                return read(&state);
            }
        }
    }

    /// Changes both copies, and returns what each of the two changes returned, the first one first.
    ///
    /// Blocks on other writers, and on readers of either copy.
    pub fn write<R>(&self, mut change: impl FnMut(&mut T) -> R) -> [R; 2] {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let active = self.active.load(Ordering::Acquire) & 1;
        let mut change_copy = |number: usize| {
            let mut state = self.copies[number]
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            change(&mut state)
        };
        let first = change_copy(1 - active);
        self.active.store(1 - active, Ordering::Release);
        [first, change_copy(active)]
    }

    /// Reads while no writer is at work, always the same copy: for what a copy caches on first use.
    ///
    /// Blocks on writers, and blocks them.
    pub fn read_excluding_writers<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let _writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.copies[0]
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        read(&state)
    }

    /// Reads both copies, unless a writer is at work: for callers that must not block, such as the
    /// garbage collector.
    pub fn try_read_both<R>(&self, read: impl Fn(&T) -> R) -> Option<[R; 2]> {
        let _writer = match self.writer.try_lock() {
            Ok(writer) => writer,
            Err(TryLockError::Poisoned(writer)) => writer.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some([0, 1].map(|number| {
            let state = self.copies[number]
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            read(&state)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::LeftRight;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// A change that was seen once is seen from then on, also by a reader that came late to a copy.
    #[test]
    fn readers_see_whole_states_in_order() {
        let copies = LeftRight::new((0u64, 0u64), (0, 0));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let (one, other) = copies.read(|state| *state);
                        assert!(one == other && one >= last);
                        last = one;
                    }
                });
            }
            for number in 1..20_000 {
                let given = copies.write(|state| {
                    state.0 = number;
                    state.1 = number;
                    number
                });
                assert_eq!(given, [number; 2]);
                assert_eq!(copies.read(|state| state.0), number);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(
            copies.read_excluding_writers(|state| *state),
            (19_999, 19_999)
        );
        assert_eq!(copies.try_read_both(|state| state.0), Some([19_999; 2]));
    }
}
