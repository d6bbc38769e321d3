//! Which token positions tell most? The choice that makes the index adapt to what is in it.
//!
//! A fork at some positions sends every pattern that is literal there to the child of its tokens,
//! all others to the rest. A subject like those patterns then meets its own group and the rest: the
//! fewer the better. Positions are added one by one while that gets clearly better.

use super::entry::{Fork, MOST_POSITIONS, NEAR, Position};
use super::hash::Hashing;
use super::parsed::Parsed;

/// More patterns than this tell nothing new.
const SAMPLE: usize = 512;

/// What one position says of each pattern of the sample.
struct Column {
    position: Position,
    tells: Vec<Option<u64>>,
}

/// A fork for these patterns, if any divides them. Cost: the sample times its tokens.
///
/// Each of them stands for `share` patterns that are, or are to be expected.
pub(super) fn choose(patterns: &mut [Parsed], share: usize, hashing: &Hashing) -> Option<Fork> {
    let step = patterns.len().div_ceil(SAMPLE).max(1);
    let share = share * step;
    let mut sample: Vec<&mut Parsed> = patterns.iter_mut().step_by(step).collect();
    let deepest = sample.iter().map(|pattern| pattern.count()).max()?;
    let mut columns: Vec<Column> = (0..deepest.min(NEAR))
        .map(Position::Token)
        .chain([Position::Length])
        .map(|position| column(&mut sample, position, hashing))
        .collect();
    columns.retain(Column::divides);
    if columns.is_empty() {
        // Only far down do they differ.
        let far = (NEAR..deepest).map(|at| column(&mut sample, Position::Token(at), hashing));
        return far
            .filter(Column::divides)
            .min_by_key(|column| column.burden(&vec![Some(0); column.tells.len()]).0)
            .map(|column| Fork::at(&[column.position]));
    }
    let mut chosen = Vec::new();
    let mut sums: Vec<Option<u64>> = vec![Some(0); sample.len()];
    let all = sample.len();
    let candidates = |pairs: usize| pairs * share / all;
    let mut best = all * all;
    while chosen.len() < MOST_POSITIONS {
        let next = columns
            .iter()
            .map(|column| (column.burden(&sums), column))
            .min_by_key(|(burden, _)| *burden);
        let Some(((pairs, _), column)) = next else {
            break;
        };
        // One candidate less, and a fifth less, is worth another hash. The first position is
        // taken in any case, if only because it keeps some subjects away.
        let worth = candidates(best) > candidates(pairs) && pairs * 5 <= best * 4;
        if !chosen.is_empty() && !worth {
            break;
        }
        for (sum, told) in sums.iter_mut().zip(&column.tells) {
            *sum = sum.zip(*told).map(|(sum, told)| sum.wrapping_add(told));
        }
        best = pairs;
        chosen.push(column.position);
        let taken = column.position;
        columns.retain(|column| column.position != taken);
    }
    Some(Fork::at(&chosen))
}

fn column(sample: &mut [&mut Parsed], position: Position, hashing: &Hashing) -> Column {
    Column {
        position,
        tells: sample
            .iter_mut()
            .map(|pattern| pattern.telling(hashing, position))
            .collect(),
    }
}

impl Column {
    /// Does a fork here send the patterns to more than one place?
    fn divides(&self) -> bool {
        self.tells.iter().any(|told| *told != self.tells[0])
    }

    /// With this position added to others: how many pairs of patterns a fork leaves together, each
    /// counted from both sides; then the size of the largest group, to tell choices apart that
    /// help no pattern's subject.
    fn burden(&self, sums: &[Option<u64>]) -> (usize, usize) {
        let mut keys: Vec<u64> = sums
            .iter()
            .zip(&self.tells)
            .filter_map(|(sum, told)| Some(sum.as_ref()?.wrapping_add((*told)?)))
            .collect();
        keys.sort_unstable();
        let groups = keys.chunk_by(|one, other| one == other).map(<[u64]>::len);
        let rest = sums.len() - keys.len();
        let (pairs, largest) = groups.fold((0, rest), |(pairs, largest), group| {
            (pairs + group * (group - 1), largest.max(group))
        });
        (pairs + rest * (sums.len() - 1), largest)
    }
}

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::trie::entry::{Fork, Position};
    use crate::trie::hash::Hashing;
    use crate::trie::parsed::Parsed;

    fn chosen(patterns: &[String]) -> Option<Vec<Position>> {
        let mut parsed: Vec<Parsed> = patterns.iter().map(|p| Parsed::of(p.as_bytes())).collect();
        let fork: Option<Fork> = choose(&mut parsed, 1, &Hashing::fresh(false));
        fork.map(|fork| fork.positions().collect())
    }

    #[test]
    fn it_takes_the_positions_that_tell_most() {
        let patterns: Vec<String> = (0..400)
            .map(|n| format!("microbus.safe.443.*.host{}.slot{}.GET.v1.*", n / 8, n % 8))
            .collect();
        let found = chosen(&patterns).unwrap();
        assert_eq!(found, [Position::Token(4), Position::Token(5)]);
    }

    #[test]
    fn what_differs_only_in_wildcards_or_length_is_divided_too() {
        let words = |all: &[&str]| -> Vec<String> { all.iter().map(|&p| p.to_owned()).collect() };
        assert_eq!(
            chosen(&words(&["*.a.a", "a.*.a", "a.a.*"])).unwrap().len(),
            1
        );
        assert_eq!(
            chosen(&words(&["*", "*.*", "*.*.*"])).unwrap(),
            [Position::Length]
        );
        assert_eq!(chosen(&words(&["a.*"])), None);
        let deep = "x.".repeat(80);
        let far = words(&[&format!("{deep}a"), &format!("{deep}b")]);
        assert_eq!(chosen(&far).unwrap(), [Position::Token(80)]);
    }
}
