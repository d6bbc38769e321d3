//! Patterns asked by pattern: which overlap a query, which does it cover?
//!
//! Both walks go level by level along the query; a final `>` of the query takes whole branches.

use super::node::ROOT;
use super::ticket::NONE;
use super::{Index, Ticket};
use crate::error::Error;
use crate::grammar::tokens;

impl Index {
    /// The subscriptions whose pattern has a subject in common with `query`, in ascending id.
    ///
    /// Cost: the nodes that agree with the query.
    pub fn matching(&self, query: &str) -> Result<Vec<Ticket>, Error> {
        self.ask(query, true)
    }

    /// The subscriptions whose pattern matches nothing but what `query` matches, in ascending id.
    ///
    /// Cost: the nodes that agree with the query.
    pub fn covered_by(&self, query: &str) -> Result<Vec<Ticket>, Error> {
        self.ask(query, false)
    }

    fn ask(&self, query: &str, overlap: bool) -> Result<Vec<Ticket>, Error> {
        self.check_pattern(query)?;
        let mut found = Vec::new();
        let mut level = vec![ROOT];
        for token in tokens(query) {
            if overlap || token == ">" {
                // '>' of a pattern takes this token of the query and all that follow.
                for &at in &level {
                    found.extend_from_slice(&self.nodes.get(at).tail);
                }
            }
            if token == ">" {
                for at in level.drain(..) {
                    self.nodes.below(at, |node| {
                        found.extend_from_slice(&node.exact);
                        found.extend_from_slice(&node.tail);
                    });
                }
            } else {
                level = self.next_level(&level, token, overlap);
            }
        }
        for &at in &level {
            found.extend_from_slice(&self.nodes.get(at).exact);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// The children that agree with a token of the query that is not `>`.
    fn next_level(&self, level: &[u32], token: &str, overlap: bool) -> Vec<u32> {
        if token == "*" {
            return level
                .iter()
                .flat_map(|&at| self.nodes.children(at))
                .collect();
        }
        let hash = self.nodes.hash(token.as_bytes());
        let mut next = Vec::new();
        for &at in level {
            next.push(self.nodes.literal(at, hash, token.as_bytes()));
            if overlap {
                next.push(self.nodes.get(at).star);
            }
        }
        next.retain(|&at| at != NONE);
        next
    }
}
