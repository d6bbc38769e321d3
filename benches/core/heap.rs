//! The growth of the heap while a value is built: an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

static COUNTING: AtomicBool = AtomicBool::new(false);
static HELD: AtomicI64 = AtomicI64::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(size: usize, sign: i64) {
    if COUNTING.load(Ordering::Relaxed) {
        HELD.fetch_add(sign * i64::try_from(size).unwrap_or(0), Ordering::Relaxed);
    }
}

// An allocator cannot be written without `unsafe`; this one only counts, and the system's does the
// work under the same contract.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 1);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(layout.size(), -1);
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 1);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(layout.size(), -1);
        note(size, 1);
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The result of `make`, and the bytes that it allocated and did not free.
pub fn growth<T>(make: impl FnOnce() -> T) -> (T, i64) {
    HELD.store(0, Ordering::Relaxed);
    COUNTING.store(true, Ordering::Relaxed);
    let outcome = make();
    COUNTING.store(false, Ordering::Relaxed);
    (outcome, HELD.load(Ordering::Relaxed))
}
