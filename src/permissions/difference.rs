//! What one set grants and another does not, as patterns with what is taken out of each.

use std::collections::HashSet;

use super::rule::{Rule, Vocabulary};
use super::set::{Best, Pair, RuleSet, Witness, too_much_work};
use crate::error::Error;

/// Most grants of a difference, before those that others cover are dropped.
const MOST_GRANTS: usize = 4096;

/// Grants times the square of the rules that may take something out of each.
const MOST_HOLES: usize = 1 << 32;

/// One part of a difference: a pattern, less the patterns in `unless`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// `pattern` or `pattern queue`.
    pub rule: String,
    /// What is not part of the grant: patterns inside `rule`, none of them inside another.
    pub unless: Vec<String>,
    /// The shortest subject of the grant.
    pub witness: Witness,
}

/// Everything in `left` that `right` does not hold: the union of the grants is exactly that.
///
/// First what no rule of the right side allows, by the left rule that allows it; then what the right
/// side allows and denies. Refused (`too-much-work`) where there are more than 4,096 grants. Cost: that
/// of [`super::witness`], and for each grant the square of the rules that take something out of it.
pub fn difference(left: RuleSet<'_>, right: RuleSet<'_>) -> Result<Vec<Grant>, Error> {
    let pair = Pair::read(left, right)?;
    let mut wider: Vec<(Rule, Witness)> = Vec::new();
    let table = pair.covers();
    for asked in &pair.left.allow {
        let mut best = Best::new(&pair.words);
        pair.hole(&table, asked, true, &mut best);
        if let Some(witness) = best.found() {
            wider.push((asked.clone(), witness));
        }
    }
    let mut undenied: Vec<(Rule, Witness)> = Vec::new();
    let mut seen: HashSet<Rule> = HashSet::new();
    let table = pair.denies();
    for asked in &pair.left.allow {
        for denied in &pair.right.deny {
            let Some(both) = asked.meet(denied) else {
                continue;
            };
            // Where the right side allows nothing of it, the grants above say it already.
            if !(pair.right.allow.iter()).any(|allowed| both.meet(allowed).is_some())
                || !seen.insert(both.clone())
            {
                continue;
            }
            let mut best = Best::new(&pair.words);
            pair.hole(&table, &both, false, &mut best);
            if let Some(witness) = best.found() {
                undenied.push((both, witness));
            }
        }
    }
    // More is no difference that anybody reads, and sorting it out would take the square of it.
    let (grants, rules) = (
        wider.len() + undenied.len(),
        pair.right.allow.len() + pair.left.deny.len(),
    );
    if grants > MOST_GRANTS || (grants * rules).saturating_mul(rules) > MOST_HOLES {
        return Err(too_much_work());
    }
    // Beyond the right side's tokens its allow rules take nothing out.
    let held: &[Rule] = if pair.left.most > pair.right.most {
        &[]
    } else {
        &pair.right.allow
    };
    let taken: Vec<&Rule> = held.iter().chain(&pair.left.deny).collect();
    let mut grants = written(&widest(wider), &taken, &pair.words);
    let taken: Vec<&Rule> = pair.left.deny.iter().collect();
    grants.extend(written(&widest(undenied), &taken, &pair.words));
    Ok(grants)
}

/// Without the rules that another one covers; of equal ones the first.
fn widest(rules: Vec<(Rule, Witness)>) -> Vec<(Rule, Witness)> {
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

fn written(parts: &[(Rule, Witness)], taken: &[&Rule], words: &Vocabulary<'_>) -> Vec<Grant> {
    let mut grants: Vec<Grant> = (parts.iter())
        .map(|(rule, witness)| {
            let mut holes: Vec<Rule> = Vec::new();
            for hole in taken.iter().filter_map(|other| rule.meet(other)) {
                if !holes.iter().any(|other| other.covers(&hole)) {
                    holes.retain(|other| !hole.covers(other));
                    holes.push(hole);
                }
            }
            let mut unless: Vec<String> = holes.iter().map(|hole| hole.write(words)).collect();
            unless.sort_unstable();
            Grant {
                rule: rule.write(words),
                unless,
                witness: witness.clone(),
            }
        })
        .collect();
    grants.sort_unstable_by(|one, other| one.rule.cmp(&other.rule));
    grants
}
