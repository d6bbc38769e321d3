//! Inclusion and overlap of two sets of rules, with the shortest witness.

use std::ops::ControlFlow;

use super::TooMuchWork;
use super::coverage::{CoverageTable, MaxLengths, is_empty};
use super::rule::{Queue, Rule, TokenInterner};

/// Maximum work of one question, in words of bit vectors: about ten seconds on one core. A larger value
/// answers for larger sets; a smaller one bounds the time an input can take.
const MAX_WORK: u64 = 1 << 34;

/// A set of rules as text.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::RuleSet;
///
/// let set = RuleSet { allow: &["orders.>"], deny: &["orders.eu.>"] };
/// assert_eq!(set.allow.len(), 1);
/// ```
#[derive(Clone, Copy)]
pub struct RuleSet<'a> {
    /// Validated patterns, each alone or followed by a blank and a queue.
    pub allow: &'a [&'a str],
    /// The same for what is denied; deny takes precedence.
    pub deny: &'a [&'a str],
}

/// A subject that proves an answer, with a queue if one is needed.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, refused_witness};
///
/// let set = RuleSet { allow: &["orders.> workers"], deny: &[] };
/// let witness = refused_witness(set, "orders.new", None, usize::MAX)?.unwrap();
/// assert_eq!((witness.subject.as_str(), witness.queue), ("orders.new", None));
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The subject: with the fewest tokens, then the first one in the order of text.
    pub subject: String,
    /// A queue name, `None` for a publish or a subscription without a queue.
    pub queue: Option<String>,
}

/// A parsed set of rules.
pub(super) struct ParsedSet {
    pub(super) allow: Vec<Rule>,
    pub(super) deny: Vec<Rule>,
}

impl ParsedSet {
    pub(super) fn parse<'a>(set: RuleSet<'a>, interner: &mut TokenInterner<'a>) -> Self {
        let mut parse = |texts: &'a [&'a str]| -> Vec<Rule> {
            texts
                .iter()
                .map(|text| Rule::parse(text, interner))
                .collect()
        };
        Self {
            allow: parse(set.allow),
            deny: parse(set.deny),
        }
    }
}

/// Two parsed sets that share an interner.
pub(super) struct Comparison<'a> {
    pub(super) interner: TokenInterner<'a>,
    pub(super) left: ParsedSet,
    pub(super) right: ParsedSet,
    pub(super) max_lengths: MaxLengths,
    /// Maximum number of tokens of a subject.
    pub(super) max_tokens: usize,
}

impl<'a> Comparison<'a> {
    pub(super) fn parse(
        left: RuleSet<'a>,
        right: RuleSet<'a>,
        max_tokens: usize,
    ) -> Result<Self, TooMuchWork> {
        let mut interner = TokenInterner::default();
        let left = ParsedSet::parse(left, &mut interner);
        let right = ParsedSet::parse(right, &mut interner);
        Self::new(interner, left, right, max_tokens)
    }

    /// Reject sets whose comparison exceeds the maximum work.
    fn new(
        interner: TokenInterner<'a>,
        left: ParsedSet,
        right: ParsedSet,
        max_tokens: usize,
    ) -> Result<Self, TooMuchWork> {
        let rules =
            (left.allow.iter().chain(&left.deny)).chain(right.allow.iter().chain(&right.deny));
        let max_lengths = MaxLengths::of(rules);
        let count = |rules: &[Rule]| rules.len() as u64;
        let questions = count(&left.allow).saturating_mul(1 + count(&right.deny));
        let words = (count(&right.allow) + count(&left.deny)).div_ceil(64) + 1;
        let lengths = (max_lengths.subject as u64).saturating_mul(1 + max_lengths.queue as u64);
        if questions.saturating_mul(words).saturating_mul(lengths) > MAX_WORK {
            return Err(TooMuchWork);
        }
        Ok(Self {
            interner,
            left,
            right,
            max_lengths,
            max_tokens,
        })
    }

    /// The rules that can cover a left allow rule: right allow, then left deny.
    pub(super) fn right_allow_and_left_deny(&self) -> CoverageTable {
        CoverageTable::new(self.right.allow.iter().chain(&self.left.deny))
    }

    /// The rules that can cover what the right set denies.
    pub(super) fn left_deny(&self) -> CoverageTable {
        CoverageTable::new(self.left.deny.iter())
    }

    /// Find the shortest part of `rule` that no rule of the table covers, and keep it in `shortest` if
    /// it is shorter.
    pub(super) fn find_uncovered(
        &self,
        table: &CoverageTable,
        rule: &Rule,
        shortest: &mut ShortestWitness,
    ) {
        let max_tokens = self.max_tokens.min(shortest.length);
        let found = table.for_each_length(
            rule,
            self.max_lengths,
            max_tokens,
            |length, queue_length, bits| {
                if is_empty(bits) {
                    ControlFlow::Break((length, queue_length))
                } else {
                    ControlFlow::Continue(())
                }
            },
        );
        if let ControlFlow::Break((length, queue_length)) = found {
            shortest.offer(rule, length, queue_length, self);
        }
    }
}

/// The shortest witness so far: fewest tokens of the subject, then of the queue, then by text.
pub(super) struct ShortestWitness {
    /// Made for the first witness: most questions have none.
    unused_token: Option<String>,
    length: usize,
    queue_length: usize,
    witness: Option<Witness>,
}

impl ShortestWitness {
    pub(super) const fn new() -> Self {
        Self {
            unused_token: None,
            length: usize::MAX,
            queue_length: usize::MAX,
            witness: None,
        }
    }

    fn offer(
        &mut self,
        rule: &Rule,
        length: usize,
        queue_length: usize,
        comparison: &Comparison<'_>,
    ) {
        if (length, queue_length) > (self.length, self.queue_length) {
            return;
        }
        let interner = &comparison.interner;
        let unused: &str = (self.unused_token).get_or_insert_with(|| interner.unused_token());
        let subject = rule.subject.example(length, interner, unused);
        let queue = (queue_length > 0).then(|| match &rule.queue {
            Queue::Named(name) => name.example(queue_length, interner, unused),
            _ => vec![unused; queue_length].join("."),
        });
        let better = match &self.witness {
            Some(old) if (length, queue_length) == (self.length, self.queue_length) => {
                (&subject, &queue) < (&old.subject, &old.queue)
            }
            _ => true,
        };
        if better {
            (self.length, self.queue_length) = (length, queue_length);
            self.witness = Some(Witness { subject, queue });
        }
    }

    pub(super) fn into_witness(self) -> Option<Witness> {
        self.witness
    }
}

/// Return a subject of `left` that is not in `right`, `None` if `left` lies inside `right`.
///
/// The witness has the fewest tokens possible; tokens that the rules leave open read `x` (or `x1`, …
/// if a rule names `x`). Cost: left allow rules times right deny rules, each a pass over bit vectors
/// of the other rules.
///
/// # Errors
///
/// `too-much-work` if the sets are too large to compare.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, witness};
///
/// let left = RuleSet { allow: &["a.*", "b"], deny: &[] };
/// let right = RuleSet { allow: &["a.>"], deny: &[] };
/// assert_eq!(witness(left, right, usize::MAX)?.unwrap().subject, "b");
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
pub fn witness(
    left: RuleSet<'_>,
    right: RuleSet<'_>,
    max_tokens: usize,
) -> Result<Option<Witness>, TooMuchWork> {
    let sets = Comparison::parse(left, right, max_tokens)?;
    let mut shortest = ShortestWitness::new();
    let table = sets.right_allow_and_left_deny();
    for rule in &sets.left.allow {
        sets.find_uncovered(&table, rule, &mut shortest);
    }
    if !sets.right.deny.is_empty() {
        let table = sets.left_deny();
        for rule in &sets.left.allow {
            for denied in &sets.right.deny {
                if let Some(both) = rule.intersection(denied) {
                    sets.find_uncovered(&table, &both, &mut shortest);
                }
            }
        }
    }
    Ok(shortest.into_witness())
}

/// Return a subject that is in both sets, with the fewest tokens possible, `None` if there is none.
///
/// Cost: left allow rules times right allow rules, each a pass over bit vectors of all deny rules.
///
/// # Errors
///
/// `too-much-work` if the sets are too large to compare.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, overlap};
///
/// let left = RuleSet { allow: &["a.*.c"], deny: &[] };
/// let right = RuleSet { allow: &["a.b.*"], deny: &[] };
/// assert_eq!(overlap(left, right, usize::MAX)?.unwrap().subject, "a.b.c");
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
pub fn overlap(
    left: RuleSet<'_>,
    right: RuleSet<'_>,
    max_tokens: usize,
) -> Result<Option<Witness>, TooMuchWork> {
    // The intersection: each left allow rule within each right one, without both sets of denies.
    let denied: Vec<&str> = left.deny.iter().chain(right.deny).copied().collect();
    let one = RuleSet {
        allow: left.allow,
        deny: &denied,
    };
    let other = RuleSet {
        allow: &[],
        deny: right.allow,
    };
    let sets = Comparison::parse(one, other, max_tokens)?;
    let mut shortest = ShortestWitness::new();
    let table = sets.left_deny();
    for rule in &sets.left.allow {
        for shared in &sets.right.deny {
            if let Some(both) = rule.intersection(shared) {
                sets.find_uncovered(&table, &both, &mut shortest);
            }
        }
    }
    Ok(shortest.into_witness())
}

/// Return a subject of a subscription to `pattern`, in a queue group or without one, that is not in the
/// set; `None` if the set contains the whole subscription.
///
/// Cost: one pass over the bit vectors, and one for each deny rule.
///
/// # Errors
///
/// `too-much-work` if the set is too large.
///
/// # Examples
///
/// ```
/// use subtrie_nats::permissions::{RuleSet, refused_witness};
///
/// let set = RuleSet { allow: &["orders.>"], deny: &["orders.eu"] };
/// assert_eq!(refused_witness(set, "orders.*.new", None, usize::MAX)?, None);
/// assert_eq!(refused_witness(set, "orders.*", None, usize::MAX)?.unwrap().subject, "orders.eu");
/// # Ok::<(), subtrie_nats::permissions::TooMuchWork>(())
/// ```
pub fn refused_witness(
    set: RuleSet<'_>,
    pattern: &str,
    queue: Option<&str>,
    max_tokens: usize,
) -> Result<Option<Witness>, TooMuchWork> {
    let mut interner = TokenInterner::default();
    let question = Rule::question(pattern, queue, &mut interner);
    let right = ParsedSet::parse(set, &mut interner);
    let left = ParsedSet {
        allow: vec![question],
        deny: Vec::new(),
    };
    let sets = Comparison::new(interner, left, right, max_tokens)?;
    let mut shortest = ShortestWitness::new();
    let (table, no_rules) = (sets.right_allow_and_left_deny(), sets.left_deny());
    for rule in &sets.left.allow {
        sets.find_uncovered(&table, rule, &mut shortest);
        for denied in &sets.right.deny {
            if let Some(both) = rule.intersection(denied) {
                sets.find_uncovered(&no_rules, &both, &mut shortest);
            }
        }
    }
    Ok(shortest.into_witness())
}
