//! Is one set inside another, do two sets meet? With the shortest subject that shows it.

use std::ops::ControlFlow;

use super::column::{Reach, Table, is_empty};
use super::rule::{Rule, Vocabulary};
use crate::error::Error;

/// Words of rules that one question may look at: some ten seconds.
const MOST_WORK: u64 = 1 << 34;

/// The refusal of a question beyond the work that is promised.
pub(super) const fn too_much_work() -> Error {
    Error::new("too-much-work")
}

/// Rules as their owner wrote them: what is allowed, what is denied of it, and for how many tokens.
#[derive(Clone, Copy)]
pub struct RuleSet<'a> {
    /// Checked patterns, each with a queue after a blank or without one.
    pub allow: &'a [&'a str],
    /// The same for what is denied; deny beats allow.
    pub deny: &'a [&'a str],
    /// Most tokens of a subject, `usize::MAX` for no bound.
    pub max_tokens: usize,
}

/// A subject that tells two sets apart, and the queue it needs, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// The subject: of the fewest tokens, then first by text.
    pub subject: String,
    /// A queue name, `None` for a plain subscription or a publish.
    pub queue: Option<String>,
}

/// One set, read.
pub(super) struct Side {
    pub(super) allow: Vec<Rule>,
    pub(super) deny: Vec<Rule>,
    pub(super) most: usize,
}

impl Side {
    pub(super) fn read<'a>(set: RuleSet<'a>, words: &mut Vocabulary<'a>) -> Self {
        let mut read = |texts: &'a [&'a str]| -> Vec<Rule> {
            texts.iter().map(|text| Rule::read(text, words)).collect()
        };
        Self {
            allow: read(set.allow),
            deny: read(set.deny),
            most: set.max_tokens,
        }
    }
}

/// Two sets over one vocabulary.
pub(super) struct Pair<'a> {
    pub(super) words: Vocabulary<'a>,
    pub(super) left: Side,
    pub(super) right: Side,
    pub(super) reach: Reach,
}

impl<'a> Pair<'a> {
    pub(super) fn read(left: RuleSet<'a>, right: RuleSet<'a>) -> Result<Self, Error> {
        let mut words = Vocabulary::default();
        let left = Side::read(left, &mut words);
        let right = Side::read(right, &mut words);
        Self::of(words, left, right)
    }

    /// Refuses what would take more work than is promised.
    fn of(words: Vocabulary<'a>, left: Side, right: Side) -> Result<Self, Error> {
        let rules =
            (left.allow.iter().chain(&left.deny)).chain(right.allow.iter().chain(&right.deny));
        let reach = Reach::of(rules);
        let count = |rules: &[Rule]| rules.len() as u64;
        let asked = count(&left.allow).saturating_mul(1 + count(&right.deny));
        let held = (count(&right.allow) + count(&left.deny)).div_ceil(64) + 1;
        let cells = (reach.subject as u64).saturating_mul(1 + reach.queue as u64);
        if asked.saturating_mul(held).saturating_mul(cells) > MOST_WORK {
            return Err(too_much_work());
        }
        Ok(Self {
            words,
            left,
            right,
            reach,
        })
    }

    /// The rules that may cover a left allow rule: right allow, then left deny.
    pub(super) fn covers(&self) -> Table {
        Table::new(self.right.allow.iter().chain(&self.left.deny))
    }

    /// The rules that may cover what the right side denies.
    pub(super) fn denies(&self) -> Table {
        Table::new(self.left.deny.iter())
    }

    /// Clears right allow rules where the right side holds no subject of this length any more.
    pub(super) fn within_right(&self, length: usize, bits: &[u64]) -> Vec<u64> {
        let allowed = self.right.allow.len();
        if length <= self.right.most {
            return bits.to_vec();
        }
        (bits.iter().enumerate())
            .map(|(index, &word)| match allowed.saturating_sub(index * 64) {
                0 => word,
                64.. => 0,
                low => word >> low << low,
            })
            .collect()
    }

    /// The shortest part of `asked` that no rule of the table covers, into `best` if it is shorter.
    pub(super) fn hole(&self, table: &Table, asked: &Rule, right: bool, best: &mut Best) {
        let most = self.left.most.min(best.length);
        let found = table.cells(asked, self.reach, most, |length, size, bits| {
            let held = if right && length > self.right.most {
                !is_empty(&self.within_right(length, bits))
            } else {
                !is_empty(bits)
            };
            if held {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break((length, size))
            }
        });
        if let ControlFlow::Break((length, size)) = found {
            best.take(asked, length, size, self);
        }
    }
}

/// The best witness so far: fewest tokens of the subject, then of the queue, then by text.
pub(super) struct Best {
    fresh: String,
    length: usize,
    size: usize,
    witness: Option<Witness>,
}

impl Best {
    pub(super) fn new(words: &Vocabulary<'_>) -> Self {
        Self {
            fresh: words.fresh(),
            length: usize::MAX,
            size: usize::MAX,
            witness: None,
        }
    }

    fn take(&mut self, asked: &Rule, length: usize, size: usize, pair: &Pair<'_>) {
        if (length, size) > (self.length, self.size) {
            return;
        }
        let subject = asked.subject.instance(length, &pair.words, &self.fresh);
        let queue = (size > 0).then(|| match &asked.queue {
            super::rule::Queue::Named(name) => name.instance(size, &pair.words, &self.fresh),
            _ => vec![self.fresh.as_str(); size].join("."),
        });
        let better = match &self.witness {
            Some(old) if (length, size) == (self.length, self.size) => {
                (&subject, &queue) < (&old.subject, &old.queue)
            }
            _ => true,
        };
        if better {
            (self.length, self.size) = (length, size);
            self.witness = Some(Witness { subject, queue });
        }
    }

    pub(super) fn found(self) -> Option<Witness> {
        self.witness
    }
}

/// A subject of `left` that `right` does not hold; `None` where `left` lies inside `right`.
///
/// The witness has the fewest tokens there are, and free tokens read `x` (or `x1`, … where a rule
/// names `x`). Cost: left allow rules times right deny rules, each a walk over bit sets of the rest.
pub fn witness(left: RuleSet<'_>, right: RuleSet<'_>) -> Result<Option<Witness>, Error> {
    let pair = Pair::read(left, right)?;
    let mut best = Best::new(&pair.words);
    let table = pair.covers();
    for asked in &pair.left.allow {
        pair.hole(&table, asked, true, &mut best);
    }
    if !pair.right.deny.is_empty() {
        let table = pair.denies();
        for asked in &pair.left.allow {
            for denied in &pair.right.deny {
                if let Some(both) = asked.meet(denied) {
                    pair.hole(&table, &both, false, &mut best);
                }
            }
        }
    }
    Ok(best.found())
}

/// A subject that both sets hold, of the fewest tokens; `None` where they share none.
///
/// Cost: left allow rules times right allow rules, each a walk over bit sets of all deny rules.
pub fn overlap(left: RuleSet<'_>, right: RuleSet<'_>) -> Result<Option<Witness>, Error> {
    // What is shared: each left allow rule within each right one, less both lists of denies.
    let denied: Vec<&str> = left.deny.iter().chain(right.deny).copied().collect();
    let most = left.max_tokens.min(right.max_tokens);
    let one = RuleSet {
        deny: &denied,
        max_tokens: most,
        ..left
    };
    let other = RuleSet {
        allow: &[],
        deny: right.allow,
        max_tokens: most,
    };
    let pair = Pair::read(one, other)?;
    let mut best = Best::new(&pair.words);
    let table = pair.denies();
    for asked in &pair.left.allow {
        for shared in &pair.right.deny {
            if let Some(both) = asked.meet(shared) {
                pair.hole(&table, &both, false, &mut best);
            }
        }
    }
    Ok(best.found())
}

/// A subject of `pattern`, asked for with `queue` or without one, that the set does not hold.
///
/// `None` where it holds them all. Cost: one walk over the bit sets, and one for each deny rule.
pub fn admits(
    set: RuleSet<'_>,
    pattern: &str,
    queue: Option<&str>,
) -> Result<Option<Witness>, Error> {
    let mut words = Vocabulary::default();
    let asked = Rule::asked(pattern, queue, &mut words);
    let right = Side::read(set, &mut words);
    let left = Side {
        allow: vec![asked],
        deny: Vec::new(),
        most: set.max_tokens,
    };
    let pair = Pair::of(words, left, right)?;
    let mut best = Best::new(&pair.words);
    let (table, none) = (pair.covers(), pair.denies());
    for asked in &pair.left.allow {
        pair.hole(&table, asked, true, &mut best);
        for denied in &pair.right.deny {
            if let Some(both) = asked.meet(denied) {
                pair.hole(&none, &both, false, &mut best);
            }
        }
    }
    Ok(best.found())
}
