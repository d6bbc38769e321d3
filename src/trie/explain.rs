//! Why does nobody hear this subject? The patterns that come nearest, and where they differ.
//!
//! Nearest are those with the most leading tokens equal (a wildcard that takes the token counts as
//! equal), then the oldest. A pattern's agreement ends where the walk leaves it, so the candidates
//! at a depth are what hangs below the nodes that agree so far, apart from the children that go on
//! agreeing. The deepest level that has any is looked at first.

use super::node::{Node, ROOT};
use super::ticket::NONE;
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
    /// Cost: a match; where nothing matches, also the nodes below the deepest ones that agree.
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
        let tokens = &scratch.tokens;
        // The nodes that agree, by depth, each with its children that agree as well.
        let mut levels = Vec::new();
        let mut level = vec![ROOT];
        for depth in 0..=tokens.len() {
            let agreeing: Vec<(u32, [u32; 2])> = level
                .iter()
                .map(|&at| match tokens.get(depth) {
                    Some(token) => (at, [self.step(subject, at, token), self.nodes.get(at).star]),
                    None => (at, [NONE, NONE]),
                })
                .collect();
            level = agreeing
                .iter()
                .flat_map(|&(_, children)| children)
                .filter(|&child| child != NONE)
                .collect();
            levels.push(agreeing);
        }
        let nearest = &mut explanation.nearest;
        while let Some(agreeing) = levels.pop() {
            let mut oldest = self.oldest_beside(&agreeing);
            oldest.sort_unstable();
            oldest.truncate(limit - nearest.len());
            nearest.extend(oldest.into_iter().map(|ticket| (ticket, levels.len())));
            if nearest.len() >= limit {
                break;
            }
        }
        Ok(explanation)
    }

    /// The oldest subscription of each pattern that leaves the subject at one of these nodes.
    fn oldest_beside(&self, agreeing: &[(u32, [u32; 2])]) -> Vec<Ticket> {
        let mut oldest = Vec::new();
        let mut take = |node: &Node| {
            oldest.extend(node.exact.first());
            oldest.extend(node.tail.first());
        };
        for &(at, going_on) in agreeing {
            take(self.nodes.get(at));
            for child in self.nodes.children(at) {
                if !going_on.contains(&child) {
                    take(self.nodes.get(child));
                    self.nodes.below(child, &mut take);
                }
            }
        }
        oldest
    }
}
