//! A count of the allocations of the thread that does the work: other tests run at the same time.
#![allow(unsafe_code)] // for a counting allocator
#![allow(dead_code)] // each program of tests uses its part

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system allocator, with counters for each thread.
struct CountingAllocator;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
    static PEAK_BYTES: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is the system allocator's, with the same arguments.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counters any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        let _ = BYTES.try_with(|bytes| {
            bytes.set(bytes.get() + layout.size().cast_signed());
            let _ = PEAK_BYTES.try_with(|peak| peak.set(peak.get().max(bytes.get())));
        });
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let _ = BYTES.try_with(|bytes| bytes.set(bytes.get() - layout.size().cast_signed()));
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The number of allocations of `work` on this thread.
pub(crate) fn count(work: impl FnOnce()) -> usize {
    let before = COUNT.get();
    work();
    COUNT.get() - before
}

/// The peak of the memory that `work` takes on this thread, in bytes.
pub(crate) fn peak_bytes(work: impl FnOnce()) -> isize {
    let before = BYTES.get();
    PEAK_BYTES.set(before);
    work();
    PEAK_BYTES.get() - before
}
