//! Rules say who may: whole sets of allow and deny rules, compared exactly.
//!
//! A set holds every (subject, queue) that some allow rule matches and no deny rule does. Tokens are
//! unbounded, so a subject made of tokens that no rule names is matched only by `*` and `>`: a
//! pattern lies inside a union of patterns exactly when, *for each length of subject*, it lies
//! inside one member. Denies enter as `a ⊆ allow' ∪ deny` and `a ∩ deny' ⊆ deny`, and beyond the
//! longest rule all lengths look alike. So every question here is decided in polynomial time,
//! nothing is sampled, and a "no" names a subject of the fewest tokens. Rules: A67, A69.
//!
//! A rule is text that was checked before: `pattern`, or `pattern queue` (A69), where a rule without
//! a queue speaks of every queue and of none. Queue names are token sequences as subjects are.

mod column;
mod difference;
mod minimise;
mod proof;
mod rule;
mod set;

pub use difference::{Grant, difference};
pub use minimise::minimised;
pub use proof::{Proof, proof};
pub use set::{RuleSet, Witness, admits, overlap, witness};
