//! The choice of the kernel.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::avx512::Avx512;
use super::kernel::Task;
#[cfg(target_arch = "x86_64")]
use super::x86::Avx2;

/// The kernel that every processor of the target has.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use super::words::Words as Baseline;
#[cfg(target_arch = "x86_64")]
pub(crate) use super::x86::Sse2 as Baseline;

/// The best kernel of this processor.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
enum Best {
    Avx512(Avx512),
    Avx2(Avx2),
    Baseline,
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Best {
    match (Avx512::detect(), Avx2::detect()) {
        (Some(avx512), _) => Best::Avx512(avx512),
        (None, Some(avx2)) => Best::Avx2(avx2),
        (None, None) => Best::Baseline,
    }
}

/// Does work with the best kernel that the processor has.
#[inline]
pub(crate) fn with_best_kernel<T: Task>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    {
        // Seven flags of the processor are asked for once, not for each lookup.
        static BEST: OnceLock<Best> = OnceLock::new();
        match BEST.get_or_init(detect) {
            Best::Avx512(avx512) => avx512.run(task),
            Best::Avx2(avx2) => avx2.run(task),
            Best::Baseline => task.run(Baseline),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    task.run(Baseline)
}
