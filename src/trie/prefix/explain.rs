//! Explanations: the patterns nearest to a subject that none matches, and where they differ.
//!
//! Nearest are the patterns with the most leading tokens that agree (a wildcard that takes the token
//! agrees), then the oldest. A pattern stops agreeing after one of its prefixes, so the candidates
//! of a depth are the patterns below the prefixes that agree up to there, without the branches that
//! agree further. The deepest level that has candidates is searched first.

use super::sorted_patterns::{SortedPatterns, join};
use crate::error::Error;
use crate::trie::index::Index;
use crate::trie::lookup::Scratch;
use crate::trie::storage::subscriptions::SubscriptionRef;

/// The subscriptions that match a subject, or the nearest patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The subscriptions that match, in ascending id.
    pub matches: Vec<SubscriptionRef>,
    /// If none matches: the oldest subscription of each of the nearest patterns, with the index of
    /// the first token that differs.
    pub nearest: Vec<(SubscriptionRef, usize)>,
}

impl Index {
    /// Explains a subject with up to `limit` nearest patterns.
    ///
    /// Cost: a lookup; if nothing matches, also the patterns below the deepest prefixes that agree.
    /// [`Scratch::work`] counts both.
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
        let mut explanation = Explanation::default();
        self.match_into(subject, scratch, &mut explanation.matches)?;
        if !explanation.matches.is_empty() || limit == 0 {
            return Ok(explanation);
        }
        let sorted = self.sorted_patterns();
        let tokens: Vec<&str> = subject.split('.').collect();
        // The prefixes that agree, by depth.
        let mut levels = vec![vec![String::new()]];
        for token in &tokens {
            let level = levels.last().map(Vec::as_slice).unwrap_or_default();
            let next: Vec<String> = level
                .iter()
                .flat_map(|prefix| [join(prefix, token), join(prefix, "*")])
                .filter(|prefix| sorted.has_prefix(prefix))
                .collect();
            scratch.add_work(level.len());
            if next.is_empty() {
                break;
            }
            levels.push(next);
        }
        let nearest = &mut explanation.nearest;
        while let Some(prefixes) = levels.pop() {
            let depth = levels.len();
            let mut oldest = Vec::new();
            for prefix in prefixes {
                let token = tokens.get(depth).copied();
                scratch.add_work(disagreeing(sorted, &prefix, token, &mut oldest));
            }
            oldest.sort_unstable();
            oldest.truncate(limit - nearest.len());
            nearest.extend(
                self.references(&oldest)
                    .into_iter()
                    .map(|subscription| (subscription, depth)),
            );
            if nearest.len() >= limit {
                break;
            }
        }
        Ok(explanation)
    }
}

/// Appends the oldest id of each pattern that stops agreeing with the subject right after `prefix`,
/// and returns how many patterns were visited. Branches that agree further are skipped.
fn disagreeing(
    sorted: &SortedPatterns,
    prefix: &str,
    token: Option<&str>,
    oldest: &mut Vec<u64>,
) -> usize {
    let agreeing = [token, token.map(|_| "*")];
    let agreeing = agreeing.map(|token| token.map(|token| join(prefix, token)));
    let is_below = |pattern: &str, branch: &str| {
        pattern
            .strip_prefix(branch)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut visited = 0;
    let mut next = sorted.with_prefix(prefix).next();
    while let Some((pattern, mut ids)) = next {
        visited += 1;
        let skipped = agreeing
            .iter()
            .flatten()
            .find(|branch| is_below(pattern, branch));
        next = if let Some(branch) = skipped {
            sorted.next_after_prefix(branch, prefix)
        } else {
            oldest.extend(ids.next());
            sorted.next_after(pattern, prefix)
        };
    }
    visited
}
