//! Greedy selection of discriminating positions: what makes the trie adapt to the patterns in it.
//!
//! A branch sends every pattern that is literal at its positions to the child of its tokens, and
//! all others to the rest child. A subject like those patterns then meets its own group and the
//! rest: the smaller both are, the better. Positions are added one by one, the one first that
//! leaves the fewest pairs of patterns together, while that reduces the pairs clearly.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::random_sample::random_sample;
use crate::trie::hash::TokenHasher;
use crate::trie::node::{Branch, FIRST_FAR_POSITION, MAX_POSITIONS, Position};
use crate::trie::pattern::parsed_pattern::ParsedPattern;

/// Patterns that a selection looks at, at most. Fewer tell two good choices apart by chance only,
/// so that the order of the rows decides how much a lookup examines (`tests/core/trie_work.rs`); more
/// make a selection slower than its few milliseconds. No record compares sizes.
pub(super) const SAMPLE_SIZE: usize = 2048;

/// Another position has to leave at most four fifths of the pairs together. Lower adds fewer
/// positions, and so compares more patterns; higher adds positions that cost every lookup a hash
/// and help few. No record compares values.
const WORTHWHILE: (usize, usize) = (4, 5);

/// The class of a pattern that has no literal token at a position.
const REST: u32 = u32::MAX;

/// A position, and the class of each pattern of the sample there: patterns with equal hashes have one,
/// numbered from 0, and those that go to the rest child [`REST`].
struct PositionChoice {
    position: Position,
    classes: Vec<u32>,
    count: usize,
}

/// A branch for these patterns, if any position discriminates. Cost: the tokens of the sample.
///
/// Each pattern stands for `weight` patterns that exist or are expected.
pub(super) fn select_positions(
    patterns: &[ParsedPattern],
    weight: usize,
    hasher: &TokenHasher,
) -> Option<Branch> {
    let weight = weight * patterns.len().div_ceil(SAMPLE_SIZE).max(1);
    let sample = sample_of(patterns);
    let max_count = sample.iter().map(|pattern| pattern.count()).max()?;
    let all = sample.len();
    let mut numbers = ClassNumbers::default();
    let mut candidates: Vec<PositionChoice> = (0..max_count.min(FIRST_FAR_POSITION))
        .map(Position::Token)
        .chain([Position::Length])
        .filter_map(|position| numbers.candidate(&sample, position, hasher))
        .collect();
    if candidates.is_empty() {
        let far = (FIRST_FAR_POSITION..max_count)
            .filter_map(|at| numbers.candidate(&sample, Position::Token(at), hasher));
        return far
            .min_by_key(|far| PatternGroups::one(all).cost(far).0)
            .map(|far| Branch::on(&[far.position]));
    }
    let mut selected = Vec::new();
    let mut groups = PatternGroups::one(all);
    // How many other patterns a lookup meets, on average.
    let met = |pairs: usize| pairs * weight / all;
    let mut best = all * all;
    while selected.len() < MAX_POSITIONS {
        let next = candidates
            .iter()
            .map(|candidate| (groups.cost(candidate), candidate))
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
        groups.divide(candidate);
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
    patterns: &[ParsedPattern],
    weight: usize,
    hasher: &TokenHasher,
) -> usize {
    let weight = weight * patterns.len().div_ceil(SAMPLE_SIZE).max(1);
    let sample = sample_of(patterns);
    let all = sample.len();
    let mut groups = PatternGroups::one(all);
    let mut numbers = ClassNumbers::default();
    let mut pairs = all * all;
    for position in branch.positions() {
        let candidate = numbers.number(&sample, position, hasher);
        pairs = groups.cost(&candidate).0;
        groups.divide(&candidate);
    }
    pairs * weight / all.max(1)
}

/// Whether a branch at this position cannot tell two patterns apart.
fn are_alike(one: &ParsedPattern, other: &ParsedPattern, position: Position) -> bool {
    match position {
        Position::Token(at) => one.literal(at) == other.literal(at),
        Position::Length => (one.count(), one.has_tail()) == (other.count(), other.has_tail()),
    }
}

fn sample_of(patterns: &[ParsedPattern]) -> Vec<&ParsedPattern> {
    let count = patterns.len();
    random_sample(patterns.iter(), count, SAMPLE_SIZE).collect()
}

/// Numbers hashes; its memory is reused from position to position.
#[derive(Default)]
struct ClassNumbers {
    hashes: Vec<Option<u64>>,
    numbers: HashMap<u64, u32, RandomState>,
}

impl ClassNumbers {
    /// A candidate, if a branch there sends the patterns to more than one child.
    fn candidate(
        &mut self,
        sample: &[&ParsedPattern],
        position: Position,
        hasher: &TokenHasher,
    ) -> Option<PositionChoice> {
        let (first, others) = sample.split_first()?;
        // Fast path: all patterns are equal at most positions, and comparing is faster than hashing.
        if others.iter().all(|other| are_alike(first, other, position)) {
            return None;
        }
        self.hash(sample, position, hasher);
        let first = self.hashes.first()?;
        let discriminates = self.hashes.iter().any(|hash| hash != first);
        discriminates.then(|| self.numbered(position))
    }

    /// A candidate, also if it does not discriminate.
    fn number(
        &mut self,
        sample: &[&ParsedPattern],
        position: Position,
        hasher: &TokenHasher,
    ) -> PositionChoice {
        self.hash(sample, position, hasher);
        self.numbered(position)
    }

    fn hash(&mut self, sample: &[&ParsedPattern], position: Position, hasher: &TokenHasher) {
        let of_sample = sample.iter();
        self.hashes.clear();
        self.hashes
            .extend(of_sample.map(|one| one.hash_at(hasher, position)));
    }

    #[allow(clippy::cast_possible_truncation)] // no more classes than rows of the sample
    fn numbered(&mut self, position: Position) -> PositionChoice {
        let Self { hashes, numbers } = self;
        numbers.clear();
        let mut class = |hash: u64| {
            let next = numbers.len() as u32;
            *numbers.entry(hash).or_insert(next)
        };
        let classes = hashes.iter().map(|hash| hash.map_or(REST, &mut class));
        PositionChoice {
            position,
            classes: classes.collect(),
            count: numbers.len(),
        }
    }
}

/// The patterns of a sample that no position selected so far sends to the rest child, divided by
/// these positions.
struct PatternGroups {
    /// Patterns, those of a group side by side.
    order: Vec<u32>,
    /// The end of each group in `order`.
    ends: Vec<usize>,
    /// By class, all 0 between two calls.
    counts: Vec<u32>,
    /// The number of patterns in the sample.
    all: usize,
}

impl PatternGroups {
    /// All patterns in one group.
    fn one(all: usize) -> Self {
        Self {
            order: (0u32..).take(all).collect(),
            ends: vec![all],
            counts: Vec::new(),
            all,
        }
    }

    /// The cost of a branch with this position added to those selected: how many pairs of patterns
    /// stay together, each counted from both sides; then the size of the largest group, which
    /// decides between positions that help no subject like a pattern.
    fn cost(&mut self, candidate: &PositionChoice) -> (usize, usize) {
        let Self {
            order,
            ends,
            counts,
            all,
        } = self;
        if counts.len() < candidate.count {
            counts.resize(candidate.count, 0);
        }
        let class = |at: u32| candidate.classes[at as usize] as usize;
        let (mut pairs, mut largest, mut kept) = (0, 0, 0);
        let mut start = 0;
        for &end in &*ends {
            for &at in &order[start..end] {
                // The rest has no count.
                if let Some(count) = counts.get_mut(class(at)) {
                    pairs += 2 * *count as usize;
                    *count += 1;
                    largest = largest.max(*count as usize);
                    kept += 1;
                }
            }
            for &at in &order[start..end] {
                if let Some(count) = counts.get_mut(class(at)) {
                    *count = 0;
                }
            }
            start = end;
        }
        let rest = *all - kept;
        (pairs + rest * all.saturating_sub(1), largest.max(rest))
    }

    /// Divides the groups by another position.
    fn divide(&mut self, candidate: &PositionChoice) {
        let class = |at: &u32| candidate.classes[*at as usize];
        let mut divided = Vec::with_capacity(self.order.len());
        let mut ends = Vec::new();
        let mut start = 0;
        for &end in &self.ends {
            let group = &mut self.order[start..end];
            group.sort_unstable_by_key(class);
            for part in group.chunk_by(|one, other| class(one) == class(other)) {
                if class(&part[0]) != REST {
                    divided.extend_from_slice(part);
                    ends.push(divided.len());
                }
            }
            start = end;
        }
        (self.order, self.ends) = (divided, ends);
    }
}

#[cfg(test)]
mod tests {
    use super::select_positions;
    use crate::trie::hash::TokenHasher;
    use crate::trie::node::{Branch, Position};
    use crate::trie::pattern::parsed_pattern::ParsedPattern;

    fn selected(patterns: &[String]) -> Option<Vec<Position>> {
        let parsed: Vec<ParsedPattern> = patterns
            .iter()
            .map(|p| ParsedPattern::new(p.as_bytes()))
            .collect();
        let branch: Option<Branch> = select_positions(&parsed, 1, &TokenHasher::random(false));
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
