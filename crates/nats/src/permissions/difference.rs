//! Difference of two sets of rules: patterns, each with the patterns that are taken out of it.

use std::collections::HashSet;

use super::TooMuchWork;
use super::inclusion::{Comparison, RuleSet, ShortestWitness, Witness};
use super::rule::{Rule, TokenInterner};

/// Maximum number of grants of a difference, before those that others cover are dropped. A larger
/// difference is of no use to a reader, and sorting it out takes the square of its size.
const MAX_GRANTS: usize = 4096;

/// Maximum work: grants times the square of the rules that may take something out of each.
const MAX_EXCEPTION_WORK: usize = 1 << 32;

/// One part of a difference: a pattern without the patterns in `unless`.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, difference};
///
/// let left = RuleSet { allow: &["a"], deny: &[] };
/// let right = RuleSet { allow: &[], deny: &[] };
/// let grant = &difference(left, right, usize::MAX)?[0];
/// assert_eq!((grant.rule.as_str(), grant.witness.subject.as_str()), ("a", "a"));
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `pattern` or `pattern queue`.
    pub rule: String,
    /// The patterns that are taken out: each inside `rule`, none inside another.
    pub unless: Vec<String>,
    /// The shortest subject of the part.
    pub witness: Witness,
}

/// Return everything in `left` that is not in `right`, as grants whose union is exactly that.
///
/// First what no rule of the right set allows, by the left rule that allows it; then what the right
/// set allows and denies. Cost: that of [`super::witness`], and for each grant the square of the rules
/// that take something out of it.
///
/// # Errors
///
/// `too-much-work` if there are more than 4,096 grants, or the sets are too large to compare.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, difference};
///
/// let left = RuleSet { allow: &["a.*"], deny: &[] };
/// let right = RuleSet { allow: &["a.b"], deny: &[] };
/// let grants = difference(left, right, usize::MAX)?;
/// assert_eq!((grants[0].rule.as_str(), &grants[0].unless[..]), ("a.*", &["a.b".to_owned()][..]));
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
pub fn difference(
    left: RuleSet<'_>,
    right: RuleSet<'_>,
    max_tokens: usize,
) -> Result<Vec<Grant>, TooMuchWork> {
    let sets = Comparison::parse(left, right, max_tokens)?;
    let mut not_allowed: Vec<(Rule, Witness)> = Vec::new();
    let table = sets.right_allow_and_left_deny();
    for rule in &sets.left.allow {
        let mut shortest = ShortestWitness::new();
        sets.find_uncovered(&table, rule, &mut shortest);
        if let Some(witness) = shortest.into_witness() {
            not_allowed.push((rule.clone(), witness));
        }
    }
    let mut not_denied: Vec<(Rule, Witness)> = Vec::new();
    let mut seen: HashSet<Rule> = HashSet::new();
    let table = sets.left_deny();
    for rule in &sets.left.allow {
        for denied in &sets.right.deny {
            let Some(both) = rule.intersection(denied) else {
                continue;
            };
            // If the right set allows nothing of it, it is part of the grants above.
            if !(sets.right.allow.iter()).any(|allowed| both.intersection(allowed).is_some())
                || !seen.insert(both.clone())
            {
                continue;
            }
            let mut shortest = ShortestWitness::new();
            sets.find_uncovered(&table, &both, &mut shortest);
            if let Some(witness) = shortest.into_witness() {
                not_denied.push((both, witness));
            }
        }
    }
    let (grants, rules) = (
        not_allowed.len() + not_denied.len(),
        sets.right.allow.len() + sets.left.deny.len(),
    );
    if grants > MAX_GRANTS || (grants * rules).saturating_mul(rules) > MAX_EXCEPTION_WORK {
        return Err(TooMuchWork);
    }
    let excluded: Vec<&Rule> = (sets.right.allow.iter()).chain(&sets.left.deny).collect();
    let mut grants = to_grants(&drop_covered(not_allowed), &excluded, &sets.interner);
    let excluded: Vec<&Rule> = sets.left.deny.iter().collect();
    grants.extend(to_grants(
        &drop_covered(not_denied),
        &excluded,
        &sets.interner,
    ));
    Ok(grants)
}

/// Drop the rules that another one covers; of equal ones keep the first.
fn drop_covered(rules: Vec<(Rule, Witness)>) -> Vec<(Rule, Witness)> {
    let mut kept: Vec<(Rule, Witness)> = Vec::new();
    for (rule, witness) in rules {
        if kept.iter().any(|(other, _)| other.covers(&rule)) {
            continue;
        }
        kept.retain(|(other, _)| !rule.covers(other));
        kept.push((rule, witness));
    }
    kept
}

/// Convert the parts of a difference to text, each with its intersections with the rules `excluded`.
fn to_grants(
    parts: &[(Rule, Witness)],
    excluded: &[&Rule],
    interner: &TokenInterner<'_>,
) -> Vec<Grant> {
    let mut grants: Vec<Grant> = (parts.iter())
        .map(|(rule, witness)| {
            let mut exceptions: Vec<Rule> = Vec::new();
            for exception in excluded.iter().filter_map(|other| rule.intersection(other)) {
                if !exceptions.iter().any(|other| other.covers(&exception)) {
                    exceptions.retain(|other| !exception.covers(other));
                    exceptions.push(exception);
                }
            }
            let mut unless: Vec<String> = exceptions
                .iter()
                .map(|rule| rule.to_text(interner))
                .collect();
            unless.sort_unstable();
            Grant {
                rule: rule.to_text(interner),
                unless,
                witness: witness.clone(),
            }
        })
        .collect();
    grants.sort_unstable_by(|one, other| one.rule.cmp(&other.rule));
    grants
}
