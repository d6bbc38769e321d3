//! Decoding and matching of Arrow columns of subjects, without an interpreter.
//!
//! # Examples
//!
//! ```
//! use arrow_array::{Array, StringArray};
//! use subtrie::arrow::{Column, decode_columns, decoded_fields};
//!
//! let subjects = StringArray::from(vec!["p.reply._.orders_shop.web_shop.id-1", "a..b"]);
//! let rows = decode_columns(&[Column::new(subjects.into_data())?], &decoded_fields())?;
//! assert_eq!((rows.len(), rows.column_names()[0]), (2, "kind"));
//! # Ok::<(), arrow_schema::ArrowError>(())
//! ```

mod addresses;
mod builders;
mod column;
mod decode;
mod events;
mod matches;
mod nearest;
mod sums;
mod texts;

pub use column::{Column, Text};
pub use decode::{decode_columns, decoded_fields};
// For the bindings, the tests and the benches of this repository; not part of the public interface.
#[doc(hidden)]
pub use events::EventColumns;
#[doc(hidden)]
pub use matches::{ColumnMatches, IdTooLarge, LookupSource, Offsets, match_columns};
#[doc(hidden)]
pub use nearest::{NearestPatterns, nearest_columns};
#[doc(hidden)]
pub use sums::{Taken as TakenSums, TrafficSums};
