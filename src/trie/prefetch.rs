//! Prefetch: a hint to the processor, the only unsafe code of a lookup, also used when many nodes are
//! stored or checked.

/// Prefetches a cache line that will be read soon.
#[inline]
#[allow(unsafe_code)]
pub(crate) fn prefetch<T>(word: Option<&T>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(word) = word {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint does not access memory, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}

/// Prefetches the first two cache lines of a packed pattern.
#[inline(always)]
#[allow(clippy::inline_always)] // part of a lookup, which is one function
pub(crate) fn prefetch_pattern(block: &[u64]) {
    prefetch(block.first());
    prefetch(block.get(8));
}
