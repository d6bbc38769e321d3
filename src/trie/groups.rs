//! Queue groups: one group per *name*, merged over all matching patterns (A18), served in turn (A19).

use std::sync::atomic::Ordering;

use super::ticket::NONE;
use super::{Index, Scratch, Ticket};
use crate::error::Error;

/// Who would hear a subject: all plain subscriptions, one of each group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Groups {
    /// Subscriptions without a queue, in ascending id.
    pub plain: Vec<Ticket>,
    /// The members of each group in ascending id, the group with the oldest member first.
    pub queues: Vec<Vec<Ticket>>,
}

/// Refuses what cannot be the name of a queue: nothing, a blank, a wildcard token (A39).
pub fn check_queue(name: &str) -> Result<(), Error> {
    let refused = |reason, position| Err(Error::at(reason, position).in_field("queue"));
    if name.is_empty() {
        return refused("queue-empty", 0);
    }
    let mut start = 0;
    for token in name.split('.') {
        if let Some(blank) = token.find([' ', '\t', '\r', '\n', '\x0b', '\x0c']) {
            return refused("queue-whitespace", start + blank);
        }
        if matches!(token, "*" | ">") {
            return refused("queue-wildcard", start);
        }
        start += token.len() + 1;
    }
    Ok(())
}

impl Index {
    /// The subscriptions that match, sorted into groups. Cost: a match and a sort of the members.
    pub fn groups(&self, subject: &str, scratch: &mut Scratch) -> Result<Groups, Error> {
        let mut groups = Groups::default();
        self.match_into(subject, scratch, &mut groups.plain)?;
        self.part(&mut groups.plain, 0, &mut scratch.members);
        groups.queues = group(&scratch.members)
            .map(|members| members.iter().map(|&(_, ticket)| ticket).collect())
            .collect();
        groups.queues.sort_unstable();
        Ok(groups)
    }

    /// Appends to `found`, in ascending id, whom a broker would deliver to: all plain ones, and of
    /// each group the member whose turn it is.
    ///
    /// The group's oldest matching subscription counts its turns: the only thing a lookup writes.
    pub fn select_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<Ticket>,
    ) -> Result<(), Error> {
        let before = found.len();
        self.match_into(subject, scratch, found)?;
        self.part(found, before, &mut scratch.members);
        for members in group(&scratch.members) {
            found.push(self.next_of(members));
        }
        found[before..].sort_unstable();
        Ok(())
    }

    fn next_of(&self, members: &[(u32, Ticket)]) -> Ticket {
        let (_, oldest) = members[0];
        let turn = self
            .rows
            .counter(oldest.slot)
            .map_or(0, |turn| turn.fetch_add(1, Ordering::Relaxed));
        let count = members.len() as u64;
        let place = usize::try_from(turn % count).unwrap_or(0);
        members[place].1
    }

    /// Moves the queue members of `found[from..]` to `members`, sorted by queue, then id.
    fn part(&self, found: &mut Vec<Ticket>, from: usize, members: &mut Vec<(u32, Ticket)>) {
        members.clear();
        let mut kept = from;
        for place in from..found.len() {
            let ticket = found[place];
            let queue = self.rows.queue(ticket.slot);
            if queue == NONE {
                found[kept] = ticket;
                kept += 1;
            } else {
                members.push((queue, ticket));
            }
        }
        found.truncate(kept);
        members.sort_unstable();
    }
}

/// The groups among members sorted by queue; none is empty.
fn group(members: &[(u32, Ticket)]) -> impl Iterator<Item = &[(u32, Ticket)]> {
    members.chunk_by(|left, right| left.0 == right.0)
}
