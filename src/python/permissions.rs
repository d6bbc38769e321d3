//! `permissions` for Python: whole sets of rules, each a list of checked texts.

use pyo3::prelude::*;
use pyo3::types::PyAny;

use super::errors::{ErrorClass, exception_about};
use crate::error::Error;
use crate::permissions::{self, RuleSet, Witness};

type Found = Option<(String, Option<String>)>;

fn found(witness: Option<Witness>) -> Found {
    witness.map(|witness| (witness.subject, witness.queue))
}

fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// The refusal of a question that would take more work than is promised.
fn refused(rules: &Bound<'_, PyAny>, error: &Error) -> PyErr {
    exception_about(rules, ErrorClass::Permissions, error)
}

/// Two sets as Python hands them over.
struct Sides {
    texts: [Vec<String>; 4],
    max_tokens: usize,
}

impl Sides {
    fn of(texts: [Vec<String>; 4], max_tokens: Option<usize>) -> Self {
        Self {
            texts,
            max_tokens: max_tokens.unwrap_or(usize::MAX),
        }
    }

    /// Asks with the borrowed forms, without the interpreter.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        question: impl Fn(RuleSet<'_>, RuleSet<'_>) -> Result<T, Error> + Send + Sync,
    ) -> PyResult<T> {
        let answer = py.detach(|| {
            let [allow, deny, other_allow, other_deny] = self.texts.each_ref().map(|t| borrowed(t));
            let left = RuleSet {
                allow: &allow,
                deny: &deny,
                max_tokens: self.max_tokens,
            };
            let right = RuleSet {
                allow: &other_allow,
                deny: &other_deny,
                max_tokens: self.max_tokens,
            };
            question(left, right)
        });
        answer.map_err(|error| {
            let rules = pyo3::types::PyString::new(py, "the comparison").into_any();
            refused(&rules, &error)
        })
    }
}

/// The shortest subject, with its queue, that the first set holds and the second does not.
#[pyfunction]
#[pyo3(signature = (allow, deny, other_allow, other_deny, max_tokens=None))]
pub fn rules_witness(
    py: Python<'_>,
    allow: Vec<String>,
    deny: Vec<String>,
    other_allow: Vec<String>,
    other_deny: Vec<String>,
    max_tokens: Option<usize>,
) -> PyResult<Found> {
    let sides = Sides::of([allow, deny, other_allow, other_deny], max_tokens);
    sides.ask(py, permissions::witness).map(found)
}

/// The shortest subject, with its queue, that both sets hold.
#[pyfunction]
#[pyo3(signature = (allow, deny, other_allow, other_deny, max_tokens=None))]
pub fn rules_overlap(
    py: Python<'_>,
    allow: Vec<String>,
    deny: Vec<String>,
    other_allow: Vec<String>,
    other_deny: Vec<String>,
    max_tokens: Option<usize>,
) -> PyResult<Found> {
    let sides = Sides::of([allow, deny, other_allow, other_deny], max_tokens);
    sides.ask(py, permissions::overlap).map(found)
}

type Claims = (
    Vec<(String, Vec<String>)>,
    Vec<(String, String, Vec<String>)>,
);

/// Why the first set lies inside the second, or None where it does not.
#[pyfunction]
#[pyo3(signature = (allow, deny, other_allow, other_deny, max_tokens=None))]
pub fn rules_proof(
    py: Python<'_>,
    allow: Vec<String>,
    deny: Vec<String>,
    other_allow: Vec<String>,
    other_deny: Vec<String>,
    max_tokens: Option<usize>,
) -> PyResult<Option<Claims>> {
    let sides = Sides::of([allow, deny, other_allow, other_deny], max_tokens);
    let proof = sides.ask(py, permissions::proof)?;
    Ok(proof.map(|proof| (proof.allow_claims, proof.deny_claims)))
}

/// What the first set holds and the second does not: rule, what is taken out, subject, queue.
#[pyfunction]
#[pyo3(signature = (allow, deny, other_allow, other_deny, max_tokens=None))]
#[allow(clippy::type_complexity)] // the signature of the stub
pub fn rules_difference(
    py: Python<'_>,
    allow: Vec<String>,
    deny: Vec<String>,
    other_allow: Vec<String>,
    other_deny: Vec<String>,
    max_tokens: Option<usize>,
) -> PyResult<Vec<(String, Vec<String>, String, Option<String>)>> {
    let sides = Sides::of([allow, deny, other_allow, other_deny], max_tokens);
    let grants = sides.ask(py, permissions::difference)?;
    Ok((grants.into_iter())
        .map(|grant| {
            let Witness { subject, queue } = grant.witness;
            (grant.rule, grant.unless, subject, queue)
        })
        .collect())
}

/// The fewest allow rules, and the denies they need, that hold the same.
#[pyfunction]
#[pyo3(signature = (allow, deny, max_tokens=None))]
pub fn rules_minimised(
    py: Python<'_>,
    allow: Vec<String>,
    deny: Vec<String>,
    max_tokens: Option<usize>,
) -> PyResult<(Vec<String>, Vec<String>)> {
    let sides = Sides::of([allow, deny, Vec::new(), Vec::new()], max_tokens);
    sides.ask(py, |set, _| permissions::minimised(set))
}

/// The shortest subject of the pattern, asked for with the queue or without one, that the set does
/// not hold; None where it holds them all.
#[pyfunction]
#[pyo3(signature = (allow, deny, pattern, queue=None, max_tokens=None))]
#[allow(clippy::needless_pass_by_value)] // what Python hands over is ours
pub fn rules_admit(
    py: Python<'_>,
    allow: Vec<String>,
    deny: Vec<String>,
    pattern: String,
    queue: Option<String>,
    max_tokens: Option<usize>,
) -> PyResult<Found> {
    let sides = Sides::of([allow, deny, Vec::new(), Vec::new()], max_tokens);
    let answer = sides.ask(py, |set, _| {
        permissions::refused_witness(set, &pattern, queue.as_deref())
    });
    answer.map(found)
}
