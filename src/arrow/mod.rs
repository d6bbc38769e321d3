//! Whole columns of subjects: Arrow arrays in, plain vectors or Arrow arrays out, no interpreter.

mod column;
mod decode;
mod matches;

pub use column::{Column, Text};
pub use decode::{decode_columns, decoded_fields};
pub use matches::{Found, IdTooLarge, Offsets, Source, match_columns};
