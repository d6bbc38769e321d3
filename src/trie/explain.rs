//! Why does nobody hear this subject? The patterns that come nearest, and where they differ.
//!
//! Nearest are those with the most leading tokens equal (a wildcard that takes the token counts as
//! equal), then the oldest. A pattern leaves the subject at the last prefix of it that agrees; so
//! the candidates at a depth are what stands below the prefixes that agree so far, apart from the
//! branches that go on agreeing. The deepest level that has any is looked at first.

use super::order::{Order, joined};
use super::{Index, Scratch, Ticket};
use crate::error::Error;

/// Who hears a subject, or which patterns come nearest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explanation {
    /// The subscriptions that match, in ascending id.
    pub matches: Vec<Ticket>,
    /// If none does: the oldest subscription of each of the nearest patterns, with the index of the
    /// first token that differs.
    pub nearest: Vec<(Ticket, usize)>,
}

impl Index {
    /// Explains a subject with up to `limit` nearest patterns.
    ///
    /// Cost: a match; where nothing matches, also the patterns below the deepest prefixes that
    /// agree. [`Scratch::work`] counts both.
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
        let order = self.order();
        let tokens: Vec<&str> = subject.split('.').collect();
        // The prefixes that agree, by depth.
        let mut levels = vec![vec![String::new()]];
        for token in &tokens {
            let level = levels.last().map(Vec::as_slice).unwrap_or_default();
            let next: Vec<String> = level
                .iter()
                .flat_map(|prefix| [joined(prefix, token), joined(prefix, "*")])
                .filter(|prefix| order.leads_on(prefix))
                .collect();
            scratch.work += level.len();
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
                scratch.work += beside(order, &prefix, token, &mut oldest);
            }
            oldest.sort_unstable();
            oldest.truncate(limit - nearest.len());
            nearest.extend(
                self.found(&oldest)
                    .into_iter()
                    .map(|ticket| (ticket, depth)),
            );
            if nearest.len() >= limit {
                break;
            }
        }
        Ok(explanation)
    }
}

/// The oldest id of each pattern that leaves the subject after `prefix`, and how many were looked
/// at: branches that go on agreeing are stepped over.
fn beside(order: &Order, prefix: &str, token: Option<&str>, oldest: &mut Vec<u64>) -> usize {
    let agreeing = [token, token.map(|_| "*")];
    let agreeing = agreeing.map(|token| token.map(|token| joined(prefix, token)));
    let is_below = |pattern: &str, branch: &str| {
        pattern
            .strip_prefix(branch)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut looked_at = 0;
    let mut next = order.below(prefix).next();
    while let Some((pattern, mut ids)) = next {
        looked_at += 1;
        let over = agreeing
            .iter()
            .flatten()
            .find(|branch| is_below(pattern, branch));
        next = if let Some(branch) = over {
            order.next_after(branch, prefix)
        } else {
            oldest.extend(ids.next());
            order.after(pattern, prefix)
        };
    }
    looked_at
}
