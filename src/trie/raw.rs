//! The index without values: numbers and slots instead of values and handles, memory that the caller
//! keeps, images, and batches.
//!
//! **Outside of semantic versioning**: a name here may change in any release. It is what the extension
//! for Python, the columns and the benchmarks are made of. They keep Python objects by slot, look up with
//! the GIL in place of a lock, and map images; for a program in Rust
//! [`SubjectTrie`](super::SubjectTrie) does all of the rest.
//!
//! # Examples
//!
//! ```
//! use subtrie::Dialect;
//! use subtrie::raw::{BatchMatches, Image, Index, LookupTarget, Scratch, as_words};
//!
//! let mut index = Index::new(Dialect::Strict, Dialect::Strict.bounds());
//! let orders = index.insert("orders.>", None)?;
//!
//! let (mut scratch, mut batch) = (Scratch::default(), BatchMatches::default());
//! let subjects = ["orders.eu", "carts", "a..b"].map(|text| Some(text.as_bytes()));
//! LookupTarget::Index(&index).match_batch(subjects.into_iter(), &mut scratch, &mut batch);
//! assert_eq!((batch.ids, batch.ends, batch.valid), (vec![0], vec![1, 1, 1], vec![true, true, false]));
//!
//! let bytes = index.to_image((None, None));
//! let words = as_words(&bytes);
//! let image = Image::open(&words, bytes.len(), true)?;
//! let mut found = Vec::new();
//! LookupTarget::Image(&image).match_into("orders.eu", &mut scratch, &mut found)?;
//! assert_eq!(found[0].id, orders.id);
//! # Ok::<(), subtrie::Error>(())
//! ```

pub use super::address::Slot;
pub use super::display::Stats;
pub use super::image::{Image, ImageHeader, ImageSubscription, as_words};
pub use super::index::Index;
pub use super::index::queue_groups::{Groups, check_queue};
pub use super::lookup::Scratch;
pub use super::lookup::batch::BatchMatches;
pub use super::lookup_target::{Explainer, LookupTarget};
pub use super::prefix::explain::Explanation;
pub use super::storage::subscriptions::SubscriptionRef;
