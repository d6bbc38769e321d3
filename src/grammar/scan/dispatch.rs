//! The choice of the kernel.

use super::kernel::Task;

/// The kernel that every processor of the target has.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use super::words::Words as Baseline;
#[cfg(target_arch = "x86_64")]
pub(crate) use super::x86::Sse2 as Baseline;

/// Does work with the best kernel that the processor has.
#[inline]
pub(crate) fn with_best_kernel<T: Task>(task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(avx2) = super::x86::Avx2::detect() {
        return avx2.run(task);
    }
    task.run(Baseline)
}
