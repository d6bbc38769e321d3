//! Queries by pattern: sorted patterns, overlap and cover, and the nearest patterns of a subject.

pub(super) mod explain;
mod oldest;
pub(super) mod prefixes;
pub(super) mod query;
pub(super) mod sorted_patterns;
