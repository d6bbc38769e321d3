//! A model of readers, batches, writers and a fork on the shared state of the index.
//!
//! `shared_state.rs` is the file of the extension. What it uses of `PyO3` and of the standard library is
//! here, built on loom, which runs each test once for every order of its steps that the memory model
//! allows, and fails on a data race, on a deadlock and on a failed assertion. A mutex stands for the
//! GIL.
#![cfg(test)]

// The names that the file of the extension expects: `pyo3::...` is this crate.
extern crate self as pyo3;

mod gil;
mod primitives;
#[allow(dead_code, reason = "a model uses a part of it")]
#[path = "../../crates/python/src/trie/shared_state.rs"]
mod shared_state;
mod tests;

mod prelude {
    pub use crate::gil::Python;
}

mod gc {
    pub use crate::gil::PyVisit;
}

mod sync {
    pub use crate::gil::RwLockExt;
}

mod fork {
    pub use crate::gil::{block_fork, delay_fork};
}
