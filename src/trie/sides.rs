//! Readers never wait for a writer: two copies, of which readers use one while the other changes.
//!
//! A change is made on the idle side, readers are sent there, and when the last has left the other
//! side the change is made there too. A reader takes a lock of the side in use, in a slot of its own
//! thread, and never finds it taken: the writer only locks the side that readers were sent away
//! from. Memory is what this costs; `docs/design-of-the-index.md` has the figures of other schemes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use crossbeam_utils::sync::ShardedLock;

/// Two equal copies of something that changes.
pub struct Sides<T> {
    both: [ShardedLock<T>; 2],
    /// The side that readers are sent to.
    used: AtomicUsize,
    writing: Mutex<()>,
}

impl<T> Sides<T> {
    /// The two copies must be equal, and every change must do the same to both.
    pub fn new(one: T, other: T) -> Self {
        Self {
            both: [ShardedLock::new(one), ShardedLock::new(other)],
            used: AtomicUsize::new(0),
            writing: Mutex::new(()),
        }
    }

    /// Reads. The state is the one after some change, whole; a change meanwhile does not disturb.
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        loop {
            let used = self.used.load(Ordering::Acquire) & 1;
            let state = match self.both[used].try_read() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(state)) => state.into_inner(),
                // Readers were sent to the other side just now.
                Err(TryLockError::WouldBlock) => {
                    std::hint::spin_loop();
                    continue;
                }
            };
            // Whoever came late to a side left behind may find the next change there already: seen
            // now, and not seen once more on the side in use.
            if self.used.load(Ordering::Acquire) & 1 == used {
                return read(&state);
            }
        }
    }

    /// Changes both sides, and hands out what each of the two changes gave, the first one first.
    ///
    /// Waits for other writers, and for readers that are still on the side left behind.
    pub fn write<R>(&self, mut change: impl FnMut(&mut T) -> R) -> [R; 2] {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let used = self.used.load(Ordering::Acquire) & 1;
        let mut on = |side: usize| {
            let mut state = self.both[side]
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            change(&mut state)
        };
        let first = on(1 - used);
        self.used.store(1 - used, Ordering::Release);
        [first, on(used)]
    }

    /// Reads while nothing changes, always the same side: for what a side prepares for itself.
    pub fn read_alone<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.both[0].read().unwrap_or_else(PoisonError::into_inner);
        read(&state)
    }

    /// Reads unless a writer is at work: for who must not wait, such as the garbage collector.
    pub fn read_if_idle<R>(&self, read: impl Fn(&T) -> R) -> Option<[R; 2]> {
        let _alone = match self.writing.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some([0, 1].map(|side| {
            let state = self.both[side]
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            read(&state)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Sides;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// A change that was seen once is seen ever after, by a reader who came late to a side too.
    #[test]
    fn readers_see_whole_states_in_order() {
        let sides = Sides::new((0u64, 0u64), (0, 0));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(Ordering::Relaxed) {
                        let (one, other) = sides.read(|state| *state);
                        assert!(one == other && one >= last);
                        last = one;
                    }
                });
            }
            for number in 1..20_000 {
                let given = sides.write(|state| {
                    state.0 = number;
                    state.1 = number;
                    number
                });
                assert_eq!(given, [number; 2]);
                assert_eq!(sides.read(|state| state.0), number);
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(sides.read_alone(|state| *state), (19_999, 19_999));
        assert_eq!(sides.read_if_idle(|state| state.0), Some([19_999; 2]));
    }
}
