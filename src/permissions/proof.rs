//! Why one set lies inside another: for each rule, the rules it lies within.
//!
//! Two lists of claims. `inside`: each left allow rule, at each length, lies within one of the named
//! right allow or left deny rules. `outside`: what a right deny rule takes from a left allow rule
//! lies, at each length, within one of the named left deny rules. No named rule can be left out, so
//! a shortened proof proves nothing.

use std::ops::ControlFlow;

use super::column::{Table, numbers};
use super::rule::Rule;
use super::set::{Pair, RuleSet};
use crate::error::Error;

/// The claims, in the order of the rules they are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// A left allow rule, and the rules it lies within.
    pub inside: Vec<(String, Vec<String>)>,
    /// A left allow rule, a right deny rule that meets it, and the left denies that part lies within.
    pub outside: Vec<(String, String, Vec<String>)>,
}

/// The proof that `left` lies inside `right`; `None` where it does not.
///
/// Cost: that of [`super::witness`], and a few words for each length of each claim.
pub fn proof(left: RuleSet<'_>, right: RuleSet<'_>) -> Result<Option<Proof>, Error> {
    let pair = Pair::read(left, right)?;
    let mut proof = Proof {
        inside: Vec::new(),
        outside: Vec::new(),
    };
    let table = pair.covers();
    let texts: Vec<&str> = right.allow.iter().chain(left.deny).copied().collect();
    for (asked, &text) in pair.left.allow.iter().zip(left.allow) {
        let Some(within) = claim(&pair, &table, asked, true, &texts) else {
            return Ok(None);
        };
        proof.inside.push((text.to_owned(), within));
    }
    let table = pair.denies();
    for (asked, &text) in pair.left.allow.iter().zip(left.allow) {
        for (denied, &denial) in pair.right.deny.iter().zip(right.deny) {
            let Some(both) = asked.meet(denied) else {
                continue;
            };
            let Some(within) = claim(&pair, &table, &both, false, left.deny) else {
                return Ok(None);
            };
            let part = (text.to_owned(), denial.to_owned(), within);
            proof.outside.push(part);
        }
    }
    Ok(Some(proof))
}

/// The fewest rules this way finds that together cover `asked` at every length: one if one does,
/// else from the longest length down, and then those let go that the others make needless.
fn claim(
    pair: &Pair<'_>,
    table: &Table,
    asked: &Rule,
    right: bool,
    texts: &[&str],
) -> Option<Vec<String>> {
    let mut cells: Vec<Vec<u64>> = Vec::new();
    let found = table.cells(asked, pair.reach, pair.left.most, |length, _, bits| {
        let bits = if right {
            pair.within_right(length, bits)
        } else {
            bits.to_vec()
        };
        if bits.iter().all(|&word| word == 0) {
            return ControlFlow::Break(());
        }
        cells.push(bits);
        ControlFlow::Continue(())
    });
    if found.is_break() {
        return None;
    }
    let held = |number: usize, cell: &Vec<u64>| super::column::has(cell, number);
    let everywhere =
        cells
            .iter()
            .skip(1)
            .fold(cells.first().cloned().unwrap_or_default(), |all, cell| {
                all.iter()
                    .zip(cell)
                    .map(|(one, other)| one & other)
                    .collect()
            });
    let mut chosen: Vec<usize> = Vec::new();
    if let Some(number) = numbers(&everywhere).next() {
        chosen.push(number);
    } else {
        for cell in cells.iter().rev() {
            if !chosen.iter().any(|&number| held(number, cell)) {
                chosen.extend(numbers(cell).next());
            }
        }
        let mut index = 0;
        while let Some(&tried) = chosen.get(index) {
            let needless = cells
                .iter()
                .all(|cell| (chosen.iter()).any(|&number| number != tried && held(number, cell)));
            if needless {
                chosen.remove(index);
            } else {
                index += 1;
            }
        }
    }
    let texts = chosen.iter().filter_map(|&number| texts.get(number));
    Some(texts.map(|&text| text.to_owned()).collect())
}
