//! Zeroed words that begin at a cache line, in huge pages where Linux gives them.
//!
//! An index far larger than the cache reads an address that the processor has not translated lately
//! with almost every step of a lookup; a huge page makes one translation of 512.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A cache line of every processor that matters here; a shorter one divides it.
const LINE: usize = 64;

/// A huge page of x86-64 and of most Arm systems. From this size on, words are mapped for
/// themselves; smaller ones would waste most of the page.
const HUGE_PAGE: usize = 2 << 20;

/// Words in memory of their own, all 0 at first.
pub(crate) struct HugeWords {
    start: NonNull<u64>,
    words: usize,
    /// Mapped, not allocated.
    mapped: bool,
}

// SAFETY: the memory belongs to this value alone, as that of a boxed slice does, and is reached only
// through references to the value.
unsafe impl Send for HugeWords {}
// SAFETY: as above; a shared reference gives shared access to plain words.
unsafe impl Sync for HugeWords {}

impl Default for HugeWords {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

impl HugeWords {
    /// So many words, all 0.
    pub fn zeroed(words: usize) -> Self {
        let bytes = layout(words).size();
        let mapped = if bytes < HUGE_PAGE { None } else { map(bytes) };
        let start = match (words, mapped) {
            (0, _) => NonNull::dangling(),
            (_, Some(start)) => start,
            _ => allocate(words),
        };
        Self {
            start,
            words,
            mapped: mapped.is_some(),
        }
    }
}

/// The layout of so many words.
///
/// Panics for more than can be addressed, as a `Vec` does: there is no layout that has room for them.
fn layout(words: usize) -> Layout {
    let layout = Layout::array::<u64>(words).and_then(|layout| layout.align_to(LINE));
    assert!(layout.is_ok(), "capacity overflow");
    layout.unwrap_or(Layout::new::<u64>())
}

fn allocate(words: usize) -> NonNull<u64> {
    let layout = layout(words);
    // SAFETY: the layout is not empty, as `words` is not 0.
    let start = unsafe { alloc_zeroed(layout) };
    NonNull::new(start.cast()).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Maps `bytes` bytes, aligned to a huge page; `None` if that is not possible.
#[cfg(target_os = "linux")]
fn map(bytes: usize) -> Option<NonNull<u64>> {
    let length = bytes.checked_next_multiple_of(HUGE_PAGE)?;
    let (access, kind) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new private mapping at an address that the kernel chooses; no memory in use changes.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length + HUGE_PAGE,
            access,
            kind,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return None;
    }
    let before = start.align_offset(HUGE_PAGE);
    let aligned = start.wrapping_byte_add(before);
    // SAFETY: both parts are within the mapping above, before and behind the part that is kept. Of
    // the three calls only the advice may fail, which then has no effect.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        if before < HUGE_PAGE {
            libc::munmap(aligned.wrapping_byte_add(length), HUGE_PAGE - before);
        }
        libc::madvise(aligned, length, libc::MADV_HUGEPAGE);
    }
    NonNull::new(aligned.cast())
}

#[cfg(not(target_os = "linux"))]
const fn map(_bytes: usize) -> Option<NonNull<u64>> {
    None
}

impl Drop for HugeWords {
    fn drop(&mut self) {
        if self.words == 0 {
            return;
        }
        #[cfg(target_os = "linux")]
        if self.mapped {
            let length = (self.words * 8).next_multiple_of(HUGE_PAGE);
            // SAFETY: exactly what `map` kept of its mapping, and no reference to it is left.
            unsafe { libc::munmap(self.start.as_ptr().cast(), length) };
            return;
        }
        // SAFETY: allocated by `allocate` with the same layout, and no reference to it is left.
        unsafe { dealloc(self.start.as_ptr().cast(), layout(self.words)) };
    }
}

impl Deref for HugeWords {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        // SAFETY: `start` has room for `words` initialised words until the value is dropped, and it
        // is aligned and not null even for none.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl DerefMut for HugeWords {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as for `deref`, and the reference is unique.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.words) }
    }
}

impl Clone for HugeWords {
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.words);
        copy.copy_from_slice(self);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::{HUGE_PAGE, HugeWords};
    use std::panic::catch_unwind;

    #[test]
    fn more_words_than_can_be_addressed_are_refused() {
        for words in [
            usize::MAX,
            usize::MAX / 8 + 2,
            isize::MAX.unsigned_abs() / 8 + 1,
        ] {
            assert!(catch_unwind(|| HugeWords::zeroed(words).len()).is_err());
        }
    }

    /// Under an address sanitizer or valgrind this also shows reads and writes beyond the memory,
    /// and memory that is freed twice or not at all; without, a wrong length of a mapping ends in a
    /// fault.
    #[test]
    fn words_are_zeroed_aligned_and_independent() {
        let huge = HUGE_PAGE / 8;
        for words in [0, 1, 7, 8, 4096, huge - 1, huge, huge + 1, 3 * huge + 5] {
            for _ in 0..3 {
                let mut held = HugeWords::zeroed(words);
                assert_eq!(held.len(), words);
                assert!(held.iter().all(|&word| word == 0));
                if words > 0 {
                    assert_eq!(held.as_ptr().align_offset(64), 0);
                }
                for (at, word) in held.iter_mut().enumerate() {
                    *word = at as u64 + 1;
                }
                let copy = held.clone();
                held.fill(0);
                let mut neighbour = HugeWords::zeroed(words);
                neighbour.fill(u64::MAX);
                drop(neighbour);
                assert!(copy.iter().zip(1..).all(|(&word, at)| word == at));
                assert!(held.iter().all(|&word| word == 0));
            }
        }
    }
}
