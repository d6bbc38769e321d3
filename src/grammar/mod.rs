//! What is a subject, what is a pattern, and how do two of them relate?
//!
//! [`check`] decides whether a text is a subject or a pattern of a [`Dialect`], and names the first
//! rule it breaks. [`matches`], [`covers`] and [`overlaps`] then work on checked texts, token by
//! token. Rules: seed 001 (S1-013 to S1-048), ADR-6 (S2-023, S2-024, S2-030), decisions A27, A28,
//! A34 to A37.

mod class;
mod names;
mod relation;
mod scan;

pub use class::classify;
pub use names::{Broken, Level, check_name, is_kind};
pub use relation::{covers, matches, overlaps};
pub use scan::{Bounds, BoundsOverride, Dialect, Form, check, tokens};
