//! Bindings of `permissions`: comparison of sets of rules, each a list of validated texts.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::args::Texts;
use super::errors::{ErrorClass, refusal};
use subtrie_nats::permissions::{self, RuleSet, TooMuchWork, Witness};

/// Subject and queue of a witness.
type WitnessParts = Option<(String, Option<String>)>;

fn witness_parts(witness: Option<Witness>) -> WitnessParts {
    witness.map(|witness| (witness.subject, witness.queue))
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The texts of two sets of rules.
struct TwoSets {
    texts: [Vec<String>; 4],
    max_tokens: usize,
}

impl TwoSets {
    fn new(texts: [Vec<String>; 4], max_tokens: Option<usize>) -> Self {
        Self {
            texts,
            max_tokens: max_tokens.unwrap_or(usize::MAX),
        }
    }

    /// Call `compare` with both sets, without the GIL.
    fn compare<T: Send>(
        &self,
        py: Python<'_>,
        compare: impl Fn(RuleSet<'_>, RuleSet<'_>, usize) -> Result<T, TooMuchWork> + Send + Sync,
    ) -> PyResult<T> {
        let result = py.detach(|| {
            let [allow, deny, other_allow, other_deny] = self.texts.each_ref().map(|t| borrowed(t));
            let left = RuleSet {
                allow: &allow,
                deny: &deny,
            };
            let right = RuleSet {
                allow: &other_allow,
                deny: &other_deny,
            };
            compare(left, right, self.max_tokens)
        });
        result.map_err(|TooMuchWork| {
            let rules = PyString::new(py, "the comparison").into_any();
            let code = TooMuchWork::KIND.code();
            refusal(&rules, ErrorClass::Permissions, code, None, None)
        })
    }
}

/// Define a function that compares two sets of rules.
macro_rules! of_two_sets {
    ($(#[$doc:meta])* $name:ident -> $result:ty, $compare:path, $parts:expr) => {
        $(#[$doc])*
        #[pyfunction]
        #[pyo3(signature = (allow, deny, other_allow, other_deny, max_tokens=None))]
        #[allow(clippy::type_complexity)] // the signature of the stub
        pub fn $name(
            py: Python<'_>,
            allow: Texts,
            deny: Texts,
            other_allow: Texts,
            other_deny: Texts,
            max_tokens: Option<usize>,
        ) -> PyResult<$result> {
            let sets = TwoSets::new([allow.0, deny.0, other_allow.0, other_deny.0], max_tokens);
            sets.compare(py, $compare).map($parts)
        }
    };
}

of_two_sets! {
    /// Return the shortest subject, with its queue, that is in the first set and not in the second.
    rules_witness -> WitnessParts, permissions::witness, witness_parts
}
of_two_sets! {
    /// Return the shortest subject, with its queue, that is in both sets.
    rules_overlap -> WitnessParts, permissions::overlap, witness_parts
}

/// The claims of a proof: of allow rules, and of deny rules.
type Claims = (
    Vec<(String, Vec<String>)>,
    Vec<(String, String, Vec<String>)>,
);

of_two_sets! {
    /// Prove that the first set lies inside the second; None if it does not.
    rules_proof -> Option<Claims>,
    permissions::proof,
    |proof| proof.map(|proof| (proof.allow_claims, proof.deny_claims))
}
of_two_sets! {
    /// Return what is in the first set and not in the second: rule, exceptions, subject, queue.
    rules_difference -> Vec<(String, Vec<String>, String, Option<String>)>,
    permissions::difference,
    |grants| (grants.into_iter())
        .map(|grant| (grant.rule, grant.unless, grant.witness.subject, grant.witness.queue))
        .collect()
}

/// Return the smallest equal set: allow and deny rules.
#[pyfunction]
#[pyo3(signature = (allow, deny, max_tokens=None))]
pub fn rules_minimised(
    py: Python<'_>,
    allow: Texts,
    deny: Texts,
    max_tokens: Option<usize>,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let sets = TwoSets::new([allow.0, deny.0, Vec::new(), Vec::new()], max_tokens);
    sets.compare(py, |set, _, max_tokens| {
        permissions::minimised(set, max_tokens)
    })
}

/// Return the shortest subject of a subscription, in a queue or without one, that is not in the set; None
/// if the set contains the whole subscription.
#[pyfunction]
#[pyo3(signature = (allow, deny, pattern, queue=None, max_tokens=None))]
#[allow(clippy::needless_pass_by_value)] // pyo3 extracts owned values
pub fn rules_admit(
    py: Python<'_>,
    allow: Texts,
    deny: Texts,
    pattern: String,
    queue: Option<String>,
    max_tokens: Option<usize>,
) -> PyResult<WitnessParts> {
    let sets = TwoSets::new([allow.0, deny.0, Vec::new(), Vec::new()], max_tokens);
    let witness = sets.compare(py, |set, _, max_tokens| {
        permissions::refused_witness(set, &pattern, queue.as_deref(), max_tokens)
    });
    witness.map(witness_parts)
}
