//! Greedy selection of discriminating positions: what makes the trie adapt to the patterns in it.
//!
//! A branch sends every pattern that is literal at its positions to the child of its tokens, and
//! all others to the rest child. A subject like those patterns then meets its own group and the
//! rest: the smaller both are, the better. Positions are added one by one, the one first that
//! leaves the fewest pairs of patterns together, while that reduces the pairs clearly.

use super::random_sample::random_sample;
use crate::trie::hash::TokenHasher;
use crate::trie::node::{Branch, FIRST_FAR_POSITION, MAX_POSITIONS, Position};
use crate::trie::pattern::parsed_pattern::ParsedPattern;

/// Patterns that a selection looks at, at most. Fewer tell two good choices apart by chance only,
/// so that the order of the rows decides how much a lookup examines (`tests/trie_work.rs`); more
/// make a selection slower than its few milliseconds. No record compares sizes.
pub(super) const SAMPLE_SIZE: usize = 2048;

/// Another position has to leave at most four fifths of the pairs together. Lower adds fewer
/// positions, and so compares more patterns; higher adds positions that cost every lookup a hash
/// and help few. No record compares values.
const WORTHWHILE: (usize, usize) = (4, 5);

/// A position, and the hash that each pattern of the sample has there; `None` sends it to the rest.
struct Candidate {
    position: Position,
    hashes: Vec<Option<u64>>,
}

/// A branch for these patterns, if any position discriminates. Cost: the tokens of the sample.
///
/// Each pattern stands for `weight` patterns that exist or are expected.
pub(super) fn select_positions(
    patterns: &mut [ParsedPattern],
    weight: usize,
    hasher: &TokenHasher,
) -> Option<Branch> {
    let weight = weight * patterns.len().div_ceil(SAMPLE_SIZE).max(1);
    let mut sample = sample_of(patterns);
    let max_count = sample.iter().map(|pattern| pattern.count()).max()?;
    let mut candidates: Vec<Candidate> = (0..max_count.min(FIRST_FAR_POSITION))
        .map(Position::Token)
        .chain([Position::Length])
        .map(|position| candidate(&mut sample, position, hasher))
        .collect();
    candidates.retain(Candidate::discriminates);
    if candidates.is_empty() {
        let far = (FIRST_FAR_POSITION..max_count)
            .map(|at| candidate(&mut sample, Position::Token(at), hasher));
        return far
            .filter(Candidate::discriminates)
            .min_by_key(|far| far.cost(&vec![Some(0); far.hashes.len()]).0)
            .map(|far| Branch::on(&[far.position]));
    }
    let mut selected = Vec::new();
    let mut sums: Vec<Option<u64>> = vec![Some(0); sample.len()];
    let all = sample.len();
    // How many other patterns a lookup meets, on average.
    let met = |pairs: usize| pairs * weight / all;
    let mut best = all * all;
    while selected.len() < MAX_POSITIONS {
        let next = candidates
            .iter()
            .map(|candidate| (candidate.cost(&sums), candidate))
            .min_by_key(|(cost, _)| *cost);
        let Some(((pairs, _), candidate)) = next else {
            break;
        };
        // The first position is taken in any case, if only because it keeps some subjects away.
        let (most, of) = WORTHWHILE;
        let worthwhile = met(best) > met(pairs) && pairs * of <= best * most;
        if !selected.is_empty() && !worthwhile {
            break;
        }
        candidate.add_to(&mut sums);
        best = pairs;
        let position = candidate.position;
        selected.push(position);
        candidates.retain(|candidate| candidate.position != position);
    }
    Some(Branch::on(&selected))
}

/// The average number of other patterns that a lookup meets below a branch, of those that the sample
/// stands for.
pub(super) fn patterns_met(
    branch: Branch,
    patterns: &mut [ParsedPattern],
    weight: usize,
    hasher: &TokenHasher,
) -> usize {
    let weight = weight * patterns.len().div_ceil(SAMPLE_SIZE).max(1);
    let mut sample = sample_of(patterns);
    let all = sample.len();
    let mut sums: Vec<Option<u64>> = vec![Some(0); all];
    let mut pairs = all * all;
    for position in branch.positions() {
        let candidate = candidate(&mut sample, position, hasher);
        pairs = candidate.cost(&sums).0;
        candidate.add_to(&mut sums);
    }
    pairs * weight / all.max(1)
}

fn sample_of(patterns: &mut [ParsedPattern]) -> Vec<&mut ParsedPattern> {
    let count = patterns.len();
    random_sample(patterns.iter_mut(), count, SAMPLE_SIZE).collect()
}

fn candidate(
    sample: &mut [&mut ParsedPattern],
    position: Position,
    hasher: &TokenHasher,
) -> Candidate {
    Candidate {
        position,
        hashes: sample
            .iter_mut()
            .map(|pattern| pattern.hash_at(hasher, position))
            .collect(),
    }
}

impl Candidate {
    /// Whether a branch here sends the patterns to more than one child.
    fn discriminates(&self) -> bool {
        self.hashes.iter().any(|hash| *hash != self.hashes[0])
    }

    /// Adds this position to the sums of those selected before.
    fn add_to(&self, sums: &mut [Option<u64>]) {
        for (sum, hash) in sums.iter_mut().zip(&self.hashes) {
            *sum = sum.zip(*hash).map(|(sum, hash)| sum.wrapping_add(hash));
        }
    }

    /// The cost of a branch with this position added to those in `sums`: how many pairs of patterns
    /// stay together, each counted from both sides; then the size of the largest group, which
    /// decides between positions that help no subject like a pattern.
    fn cost(&self, sums: &[Option<u64>]) -> (usize, usize) {
        let mut keys: Vec<u64> = sums
            .iter()
            .zip(&self.hashes)
            .filter_map(|(sum, hash)| Some(sum.as_ref()?.wrapping_add((*hash)?)))
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
    use super::select_positions;
    use crate::trie::hash::TokenHasher;
    use crate::trie::node::{Branch, Position};
    use crate::trie::pattern::parsed_pattern::ParsedPattern;

    fn selected(patterns: &[String]) -> Option<Vec<Position>> {
        let mut parsed: Vec<ParsedPattern> = patterns
            .iter()
            .map(|p| ParsedPattern::new(p.as_bytes()))
            .collect();
        let branch: Option<Branch> = select_positions(&mut parsed, 1, &TokenHasher::random(false));
        branch.map(|branch| branch.positions().collect())
    }

    #[test]
    fn it_selects_the_positions_that_discriminate_best() {
        let patterns: Vec<String> = (0..400)
            .map(|n| format!("microbus.safe.443.*.host{}.slot{}.GET.v1.*", n / 8, n % 8))
            .collect();
        let found = selected(&patterns).unwrap();
        assert_eq!(found, [Position::Token(4), Position::Token(5)]);
    }

    #[test]
    fn patterns_that_differ_only_in_wildcards_or_length_are_told_apart() {
        let words = |all: &[&str]| -> Vec<String> { all.iter().map(|&p| p.to_owned()).collect() };
        assert_eq!(
            selected(&words(&["*.a.a", "a.*.a", "a.a.*"]))
                .unwrap()
                .len(),
            1
        );
        assert_eq!(
            selected(&words(&["*", "*.*", "*.*.*"])).unwrap(),
            [Position::Length]
        );
        assert_eq!(selected(&words(&["a.*"])), None);
        let deep = "x.".repeat(80);
        let far = words(&[&format!("{deep}a"), &format!("{deep}b")]);
        assert_eq!(selected(&far).unwrap(), [Position::Token(80)]);
    }
}
