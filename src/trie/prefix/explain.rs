//! Explanations: the patterns nearest to a subject that none matches, and where they differ.
//!
//! Nearest are the patterns with the most leading tokens that agree (a wildcard that takes the token
//! agrees), then the oldest. A pattern stops agreeing after one of its prefixes, so the candidates
//! of a depth are the patterns below the prefixes that agree up to there, without the branches that
//! agree further: a few ranges of the sorted patterns. The deepest level that has candidates is
//! searched first.

use std::ops::Range;

use super::oldest::{self, OldestTree};
use super::prefixes::{Prefix, Prefixes};
use crate::error::Error;
use crate::trie::index::Index;
use crate::trie::lookup::{Scratch, match_into};
use crate::trie::storage::subscriptions::SubscriptionRef;
use crate::trie::view::View;

/// The subscriptions that match a subject, or the nearest patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Explanation {
    /// The subscriptions that match, in ascending id.
    pub matches: Vec<SubscriptionRef>,
    /// If none matches: the oldest subscription of each of the nearest patterns, with the index of
    /// the first token that differs.
    pub nearest: Vec<(SubscriptionRef, usize)>,
}

/// The patterns of an index or an image, prepared for many explanations.
pub(in crate::trie) struct Prepared<'a, V> {
    prefixes: Prefixes<'a, V>,
    tree: OldestTree,
}

impl<'a, V: View> Prepared<'a, V> {
    /// Cost: all patterns.
    pub fn new(view: &'a V) -> Self {
        let prefixes = Prefixes::new(view);
        let tree = OldestTree::new(&prefixes);
        Self { prefixes, tree }
    }

    /// As [`Index::explain`].
    pub fn explain(
        &self,
        subject: &str,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<Explanation, Error> {
        explain(self.prefixes.view, subject, limit, scratch, |scratch| {
            let before = self.prefixes.work();
            let nearest = nearest(&self.prefixes, subject, limit, |ranges, limit, found| {
                self.tree.select(&self.prefixes, ranges, limit, found);
            });
            scratch.add_work(self.prefixes.work() - before);
            nearest
        })
    }
}

impl Index {
    /// Explains a subject with up to `limit` nearest patterns.
    ///
    /// Cost: a lookup; if nothing matches, also the patterns below the deepest prefixes that agree.
    /// [`Scratch::work`] counts both. The first query by pattern sorts all patterns.
    ///
    /// # Errors
    ///
    /// The subject is not valid: a reason of [`crate::grammar::check`].
    pub fn explain(
        &self,
        subject: &str,
        limit: usize,
        scratch: &mut Scratch,
    ) -> Result<Explanation, Error> {
        explain(self, subject, limit, scratch, |scratch| {
            let prefixes = Prefixes::new(self);
            let nearest = nearest(&prefixes, subject, limit, |ranges, limit, found| {
                oldest::scan(&prefixes, ranges, limit, found);
            });
            scratch.add_work(prefixes.work());
            nearest
        })
    }
}

/// The subscriptions that match, or what `nearest` finds if none does.
fn explain<V: View>(
    view: &V,
    subject: &str,
    limit: usize,
    scratch: &mut Scratch,
    nearest: impl FnOnce(&mut Scratch) -> Vec<(SubscriptionRef, usize)>,
) -> Result<Explanation, Error> {
    let mut explanation = Explanation::default();
    match_into(view, subject.as_bytes(), scratch, &mut explanation.matches)?;
    if explanation.matches.is_empty() && limit > 0 {
        explanation.nearest = nearest(scratch);
    }
    Ok(explanation)
}

/// The oldest subscription of each of the nearest patterns, with the index of the first token that
/// differs; `oldest` appends the oldest subscriptions of the patterns in some ranges.
fn nearest<V: View>(
    prefixes: &Prefixes<'_, V>,
    subject: &str,
    limit: usize,
    oldest: impl Fn(&[Range<usize>], usize, &mut Vec<SubscriptionRef>),
) -> Vec<(SubscriptionRef, usize)> {
    // The prefixes that agree, by depth, each level in the order of the patterns.
    let mut levels = vec![vec![prefixes.root()]];
    for token in subject.split('.') {
        let level = levels.last().map(Vec::as_slice).unwrap_or_default();
        let next: Vec<Prefix> = level
            .iter()
            .flat_map(|&prefix| [token, "*"].map(|token| (prefix, token)))
            .filter_map(|(prefix, token)| prefixes.child(prefix, token.as_bytes()))
            .collect();
        if next.is_empty() {
            break;
        }
        levels.push(next);
    }
    let mut nearest = Vec::new();
    let (mut found, mut ranges) = (Vec::new(), Vec::new());
    let mut agreeing: Vec<Prefix> = Vec::new();
    while let Some(level) = levels.pop() {
        without(&level, &agreeing, &mut ranges);
        found.clear();
        oldest(&ranges, limit - nearest.len(), &mut found);
        let token = levels.len();
        nearest.extend(found.iter().map(|&first| (first, token)));
        if nearest.len() >= limit {
            break;
        }
        agreeing = level;
    }
    nearest
}

/// The ranges of `level` without those of `agreeing`, which are parts of them; all in order.
fn without(level: &[Prefix], agreeing: &[Prefix], ranges: &mut Vec<Range<usize>>) {
    ranges.clear();
    let mut agreeing = agreeing.iter().peekable();
    for prefix in level {
        let mut start = prefix.start;
        while let Some(part) = agreeing.next_if(|part| part.start < prefix.end) {
            ranges.push(start..part.start);
            start = part.end;
        }
        ranges.push(start..prefix.end);
    }
    ranges.retain(|range| !range.is_empty());
}
