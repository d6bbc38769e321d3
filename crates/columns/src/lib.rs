//! Decoding and matching of Arrow columns of subjects, without an interpreter.
//!
//! # Examples
//!
//! ```
//! use arrow_array::{Array, StringArray};
//! use subtrie_columns::{Column, decode_columns, decoded_fields};
//!
//! let subjects = StringArray::from(vec!["p.reply._.orders_shop.web_shop.id-1", "a..b"]);
//! let rows = decode_columns(&[Column::new(subjects.into_data())?], &decoded_fields())?;
//! assert_eq!((rows.len(), rows.column_names()[0]), (2, "kind"));
//! # Ok::<(), arrow_schema::ArrowError>(())
//! ```

mod column;
mod decode;
mod matches;
mod nearest;
mod texts;

pub use column::{Column, Text};
pub use decode::{decode_columns, decoded_fields};
pub use matches::{BatchError, ColumnMatches, LookupSource, Offsets, match_columns};
pub use nearest::{NearestPatterns, nearest_columns};
pub use texts::{Last, NULL, Texts, valid};
