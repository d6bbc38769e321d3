//! Subjects and patterns: validation, matching, names and families.
//!
//! [`check`] validates a text as a subject or a pattern of a [`Dialect`] and reports the first rule
//! it breaks. [`matches()`], [`covers`] and [`overlaps`] compare validated texts token by token.
//! [`check_name`] validates names of streams, queues, keys and buckets; [`classify`] names the
//! family of a subject.
//!
//! # Examples
//!
//! ```
//! use subtrie::grammar::{Dialect, Form, check, matches};
//!
//! let dialect = Dialect::Strict;
//! check("orders.*.new", Form::Pattern, dialect, dialect.bounds())?;
//! assert!(matches("orders.*.new", "orders.eu.new"));
//! # Ok::<(), subtrie::error::Error>(())
//! ```
// The NATS documentation (S1-013 to S1-048), ADR-6 (S2-023, S2-024, S2-030), A27, A28, A34 to A37.

mod check;
mod classify;
mod dialect;
mod name_kind;
mod names;
mod relation;
pub(crate) mod scan;
pub(crate) mod token_ends;
mod tokens;

pub use check::check;
pub use classify::classify;
pub use dialect::{Bounds, BoundsOverride, Dialect, Form};
pub use name_kind::NameKind;
pub use names::{Level, RuleViolation, check_name};
pub use relation::{covers, matches, overlaps};
pub use tokens::tokens;
