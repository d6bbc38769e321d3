//! Queue groups: one group for each queue name over all matching patterns, served round robin.
// A18, A19, A39.

use std::sync::atomic::Ordering;

use super::Index;
use crate::error::{Error, ErrorKind};
use crate::grammar::Dialect;
use crate::trie::lookup::Scratch;
use crate::trie::storage::queue_names::QueueId;
use crate::trie::storage::subscriptions::SubscriptionRef;

/// The subscriptions that match a subject, by queue group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Groups {
    /// Subscriptions without a queue, in ascending id.
    pub plain: Vec<SubscriptionRef>,
    /// The members of each group in ascending id, the group with the oldest member first.
    pub queues: Vec<Vec<SubscriptionRef>>,
}

/// Validate the name of a queue group in an index of the dialect.
///
/// # Errors
///
/// `queue-empty`, `queue-whitespace` at the first blank, and in [`Dialect::Strict`] `queue-wildcard` at
/// the first wildcard token.
///
/// # Examples
///
/// ```
/// use subtrie::grammar::Dialect;
/// use subtrie::raw::check_queue;
///
/// assert!(check_queue("q.*", Dialect::Server).is_ok());
/// assert_eq!(check_queue("q.*", Dialect::Strict).unwrap_err().reason(), "queue-wildcard");
/// ```
// A39
pub fn check_queue(name: &str, dialect: Dialect) -> Result<(), Error> {
    let refused = |kind, position| Err(Error::at(kind, position).in_field("queue"));
    if name.is_empty() {
        return refused(ErrorKind::QueueEmpty, 0);
    }
    let mut start = 0;
    for token in name.split('.') {
        let is_blank = |letter| {
            matches!(letter, ' ' | '\t' | '\r' | '\n')
                || dialect == Dialect::Strict && matches!(letter, '\x0b' | '\x0c')
        };
        if let Some(blank) = token.find(is_blank) {
            return refused(ErrorKind::QueueWhitespace, start + blank);
        }
        if dialect == Dialect::Strict && matches!(token, "*" | ">") {
            return refused(ErrorKind::QueueWildcard, start);
        }
        start += token.len() + 1;
    }
    Ok(())
}

impl Index {
    /// The subscriptions that match, by queue group. Cost: a lookup and a sort of the members.
    ///
    /// # Errors
    ///
    /// As for [`Index::match_into`].
    pub fn groups(&self, subject: &str, scratch: &mut Scratch) -> Result<Groups, Error> {
        let mut groups = Groups::default();
        self.match_into(subject, scratch, &mut groups.plain)?;
        self.partition_members(&mut groups.plain, 0, &mut scratch.members);
        groups.queues = by_queue(&scratch.members)
            .map(|members| members.iter().map(|&(_, member)| member).collect())
            .collect();
        groups.queues.sort_unstable();
        Ok(groups)
    }

    /// Appends to `found`, in ascending id, the subscriptions that a broker would deliver to: all
    /// plain ones, and from each group the member whose turn it is.
    ///
    /// The oldest matching member of a group counts its turns; nothing else is written by a lookup.
    ///
    /// # Errors
    ///
    /// As for [`Index::match_into`].
    pub fn select_into(
        &self,
        subject: &str,
        scratch: &mut Scratch,
        found: &mut Vec<SubscriptionRef>,
    ) -> Result<(), Error> {
        let start = found.len();
        self.match_into(subject, scratch, found)?;
        self.partition_members(found, start, &mut scratch.members);
        for members in by_queue(&scratch.members) {
            found.push(self.next_member(members));
        }
        found[start..].sort_unstable();
        Ok(())
    }

    fn next_member(&self, members: &[(QueueId, SubscriptionRef)]) -> SubscriptionRef {
        let (_, oldest) = members[0];
        let turn = self
            .subscriptions
            .counter(oldest.slot)
            .map_or(0, |counter| counter.fetch_add(1, Ordering::Relaxed));
        let count = members.len() as u64;
        let place = usize::try_from(turn % count).unwrap_or(0);
        members[place].1
    }

    /// Moves the queue members among `found[start..]` to `members`, sorted by queue, then id.
    fn partition_members(
        &self,
        found: &mut Vec<SubscriptionRef>,
        start: usize,
        members: &mut Vec<(QueueId, SubscriptionRef)>,
    ) {
        members.clear();
        let mut plain = start;
        for place in start..found.len() {
            let subscription = found[place];
            let queue = self.subscriptions.queue(subscription.slot);
            if queue == QueueId::NONE {
                found[plain] = subscription;
                plain += 1;
            } else {
                members.push((queue, subscription));
            }
        }
        found.truncate(plain);
        members.sort_unstable();
    }
}

/// The groups among members sorted by queue; none is empty.
fn by_queue(
    members: &[(QueueId, SubscriptionRef)],
) -> impl Iterator<Item = &[(QueueId, SubscriptionRef)]> {
    members.chunk_by(|left, right| left.0 == right.0)
}
