//! Whole columns of subjects: Arrow arrays in, Arrow arrays out, no interpreter involved.

mod column;

pub use column::{Column, Text};
