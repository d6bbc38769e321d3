//! Prefetch: a hint to the processor, the only unsafe code of a lookup.

/// Prefetches a word that will be read soon.
#[inline]
#[allow(unsafe_code)]
pub(super) fn prefetch(word: Option<&u64>) {
    #[cfg(target_arch = "x86_64")]
    if let Some(word) = word {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint does not access memory, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}
