//! Exact comparison of sets of allow and deny rules.
//!
//! A set contains every (subject, queue) that an allow rule matches and no deny rule does. Every
//! question is answered in polynomial time and without sampling, and a negative answer names a
//! subject with the fewest tokens (a *witness*).
//!
//! Tokens are unbounded, so a subject of tokens that no rule names is matched only by `*` and `>`.
//! Therefore a pattern lies inside a union of patterns exactly if, *for each number of tokens*, it
//! lies inside one of them. Deny rules enter as `a ⊆ allow' ∪ deny` and `a ∩ deny' ⊆ deny`. All
//! numbers of tokens beyond the longest rule give the same answer.
//!
//! A rule is validated text: `pattern`, or `pattern queue`; a rule without a queue applies to every
//! queue and to no queue. A queue name is a sequence of tokens, as a subject is.
//!
//! Every question takes the maximum number of tokens of a subject, `usize::MAX` for no bound.
//!
//! # Examples
//!
//! ```
//! use subtrie_nats::permissions::{RuleSet, witness};
//!
//! let set = |allow, deny| RuleSet { allow, deny };
//! let (wide, narrow) = (set(&["orders.>"], &[]), set(&["orders.>"], &["orders.eu.>"]));
//! assert_eq!(witness(narrow, wide, usize::MAX)?, None);
//! assert_eq!(witness(wide, narrow, usize::MAX)?.unwrap().subject, "orders.eu.x");
//! # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
//! ```
// A67, A69

use std::fmt;

use crate::ErrorKind;

mod coverage;
mod difference;
mod inclusion;
mod minimise;
mod proof;
mod rule;

pub use difference::{Grant, difference};
pub use inclusion::{RuleSet, Witness, overlap, refused_witness, witness};
pub use minimise::minimised;
pub use proof::{Proof, proof};

/// The comparison would take too many steps: [`ErrorKind::TooMuchWork`].
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::TooMuchWork;
///
/// assert_eq!(TooMuchWork.to_string(), "the comparison would take too many steps");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMuchWork;

impl TooMuchWork {
    /// The reason.
    pub const KIND: ErrorKind = ErrorKind::TooMuchWork;
}

impl fmt::Display for TooMuchWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::KIND.sentence())
    }
}

impl std::error::Error for TooMuchWork {}
