//! Proof that one set of rules lies inside another: for each rule, the rules that cover it.
//!
//! Two lists of claims. `allow_claims`: each left allow rule, at each number of tokens, lies within one
//! of the named right allow or left deny rules. `deny_claims`: what a right deny rule takes from a left
//! allow rule lies, at each number of tokens, within one of the named left deny rules. No named rule
//! can be omitted.

use std::ops::ControlFlow;

use super::TooMuchWork;
use super::coverage::{CoverageTable, contains, is_empty, rules_in};
use super::inclusion::{Comparison, RuleSet};
use super::rule::Rule;

/// The claims, in the order of the rules they are about.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, proof};
///
/// let set = RuleSet { allow: &["a.b", "a.*"], deny: &[] };
/// assert_eq!(proof(set, set, usize::MAX)?.unwrap().allow_claims.len(), 2);
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// A left allow rule, and the rules that cover it.
    pub allow_claims: Vec<(String, Vec<String>)>,
    /// A left allow rule, a right deny rule that intersects it, and the left deny rules that cover the
    /// intersection.
    pub deny_claims: Vec<(String, String, Vec<String>)>,
}

/// Prove that `left` lies inside `right`; `None` if it does not.
///
/// Cost: that of [`super::witness`], and a bit vector for each number of tokens of each claim.
///
/// # Errors
///
/// `too-much-work` if the sets are too large to compare.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, proof};
///
/// let left = RuleSet { allow: &["a.b"], deny: &[] };
/// let right = RuleSet { allow: &["a.*", "c"], deny: &[] };
/// let proof = proof(left, right, usize::MAX)?.unwrap();
/// assert_eq!(proof.allow_claims, [("a.b".to_owned(), vec!["a.*".to_owned()])]);
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
pub fn proof(
    left: RuleSet<'_>,
    right: RuleSet<'_>,
    max_tokens: usize,
) -> Result<Option<Proof>, TooMuchWork> {
    let sets = Comparison::parse(left, right, max_tokens)?;
    let mut proof = Proof {
        allow_claims: Vec::new(),
        deny_claims: Vec::new(),
    };
    let table = sets.right_allow_and_left_deny();
    let texts: Vec<&str> = right.allow.iter().chain(left.deny).copied().collect();
    for (rule, &text) in sets.left.allow.iter().zip(left.allow) {
        let Some(cover) = find_cover(&sets, &table, rule, &texts) else {
            return Ok(None);
        };
        proof.allow_claims.push((text.to_owned(), cover));
    }
    let table = sets.left_deny();
    for (rule, &text) in sets.left.allow.iter().zip(left.allow) {
        for (denied, &denial) in sets.right.deny.iter().zip(right.deny) {
            let Some(both) = rule.intersection(denied) else {
                continue;
            };
            let Some(cover) = find_cover(&sets, &table, &both, left.deny) else {
                return Ok(None);
            };
            let claim = (text.to_owned(), denial.to_owned(), cover);
            proof.deny_claims.push(claim);
        }
    }
    Ok(Some(proof))
}

/// Find rules that together cover `rule` at every number of tokens, none of which can be omitted.
///
/// One rule if one is enough; else greedily from the longest subjects down, and then without those
/// that the others make redundant. The result is minimal, not always the smallest possible.
fn find_cover(
    sets: &Comparison<'_>,
    table: &CoverageTable,
    rule: &Rule,
    texts: &[&str],
) -> Option<Vec<String>> {
    let mut by_length: Vec<Vec<u64>> = Vec::new();
    let found = table.for_each_length(rule, sets.max_lengths, sets.max_tokens, |_, _, bits| {
        if is_empty(bits) {
            return ControlFlow::Break(());
        }
        by_length.push(bits.to_vec());
        ControlFlow::Continue(())
    });
    if found.is_break() {
        return None;
    }
    let covers = |index: usize, bits: &Vec<u64>| contains(bits, index);
    let everywhere = by_length.iter().skip(1).fold(
        by_length.first().cloned().unwrap_or_default(),
        |all, bits| {
            all.iter()
                .zip(bits)
                .map(|(one, other)| one & other)
                .collect()
        },
    );
    let mut chosen: Vec<usize> = Vec::new();
    if let Some(index) = rules_in(&everywhere).next() {
        chosen.push(index);
    } else {
        for bits in by_length.iter().rev() {
            if !chosen.iter().any(|&index| covers(index, bits)) {
                chosen.extend(rules_in(bits).next());
            }
        }
        let mut position = 0;
        while let Some(&tried) = chosen.get(position) {
            let redundant = by_length
                .iter()
                .all(|bits| (chosen.iter()).any(|&index| index != tried && covers(index, bits)));
            if redundant {
                chosen.remove(position);
            } else {
                position += 1;
            }
        }
    }
    let texts = chosen.iter().filter_map(|&index| texts.get(index));
    Some(texts.map(|&text| text.to_owned()).collect())
}
