//! Who hears a subject? One way down the tree, and a list of forks not yet followed.

use super::node::ROOT;
use super::scan::Token;
use super::ticket::NONE;
use super::{Index, Scratch, Ticket};
use crate::error::Error;

impl Index {
    /// Appends the subscriptions that match, in ascending id, to `found`.
    ///
    /// The subject is checked in the same pass. Cost: the tokens, and the nodes that agree with
    /// them; nothing is allocated once `scratch` and `found` have grown.
    pub fn match_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<Ticket>,
    ) -> Result<(), Error> {
        let before = found.len();
        self.walk(subject, scratch, |list| {
            found.extend_from_slice(list);
            true
        })?;
        found[before..].sort_unstable();
        Ok(())
    }

    /// The same for whoever needs the ids alone: batches.
    pub fn match_ids(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        ids: &mut Vec<u64>,
    ) -> Result<(), Error> {
        let before = ids.len();
        self.walk(subject, scratch, |list| {
            ids.extend(list.iter().map(|ticket| ticket.id));
            true
        })?;
        ids[before..].sort_unstable();
        Ok(())
    }

    /// How many subscriptions match.
    pub fn count(&self, subject: &str, scratch: &mut Scratch) -> Result<usize, Error> {
        let mut count = 0;
        self.walk(subject, scratch, |list| {
            count += list.len();
            true
        })?;
        Ok(count)
    }

    /// Does any subscription match? Stops at the first.
    pub fn has_interest(&self, subject: &str, scratch: &mut Scratch) -> Result<bool, Error> {
        let mut any = false;
        self.walk(subject, scratch, |_| {
            any = true;
            false
        })?;
        Ok(any)
    }

    /// Visits the lists of subscriptions that match, none empty, until `visit` says false.
    fn walk(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        mut visit: impl FnMut(&[Ticket]) -> bool,
    ) -> Result<(), Error> {
        let Scratch { tokens, forks, .. } = scratch;
        self.scan(subject, tokens)?;
        forks.clear();
        let (mut at, mut depth) = (ROOT, 0);
        loop {
            let node = self.nodes.get(at);
            let mut below = NONE;
            if let Some(token) = tokens.get(depth) {
                if !node.tail.is_empty() && !visit(&node.tail) {
                    return Ok(());
                }
                if node.first != NONE {
                    below = self.step(subject, at, token);
                }
                if below == NONE {
                    below = node.star;
                } else if node.star != NONE {
                    forks.push((node.star, depth + 1));
                }
            } else if !node.exact.is_empty() && !visit(&node.exact) {
                return Ok(());
            }
            (at, depth) = if below == NONE {
                match forks.pop() {
                    Some(fork) => fork,
                    None => return Ok(()),
                }
            } else {
                (below, depth + 1)
            };
        }
    }

    /// The literal child for a token of the subject.
    pub(super) fn step(&self, subject: &str, at: u32, token: &Token) -> u32 {
        let text = &subject.as_bytes()[token.start..token.end];
        self.nodes.literal(at, token.hash, text)
    }
}
