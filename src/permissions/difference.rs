//! What one set grants and another does not, as patterns with what is taken out of each.

use super::rule::{Rule, Vocabulary};
use super::set::{Best, Pair, RuleSet, Witness};
use crate::error::Error;

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
/// side allows and denies. Cost: that of [`super::witness`], and a pass over the rules for each grant.
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
    let table = pair.denies();
    for asked in &pair.left.allow {
        for denied in &pair.right.deny {
            let Some(both) = asked.meet(denied) else {
                continue;
            };
            let mut best = Best::new(&pair.words);
            pair.hole(&table, &both, false, &mut best);
            // Where the right side allows nothing of it, the grant above says it already.
            if let Some(witness) = best.found()
                && (pair.right.allow.iter())
                    .filter_map(|allowed| both.meet(allowed))
                    .any(|part| {
                        let mut best = Best::new(&pair.words);
                        pair.hole(&table, &part, false, &mut best);
                        best.found().is_some()
                    })
            {
                undenied.push((both, witness));
            }
        }
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
