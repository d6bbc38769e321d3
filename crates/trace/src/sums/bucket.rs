//! The sums of the subjects of one bucket.
//!
//! A table for each bucket is small, and what is taken of it stands in the order in which it is
//! written: few accesses miss the cache of the processor.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::entries::{DeliveryKey, Entries, Message, extend};
use super::{COUNTS, SPANS};
use subtrie_columns::{NULL, Texts};

/// Messages and deliveries of some subjects.
#[derive(Default)]
pub struct Bucket {
    pub subjects: Texts,
    pub messages: Messages,
    pub deliveries: Entries<DeliveryKey, i64>,
    /// For each subject the row of the messages of its first sender.
    first: Vec<u32>,
    /// The rows of other senders, by subject and sender.
    further: HashMap<(u32, u32), u32, RandomState>,
}

/// Messages by subject and sender: a column for each number that is summed.
#[derive(Default)]
pub struct Messages {
    pub subjects: Vec<u32>,
    pub senders: Vec<u32>,
    /// A column ends before the rows in which it has only zeros.
    pub counts: [Vec<i64>; COUNTS.len()],
    /// A column ends before the rows that have no time.
    pub spans: [Vec<(i64, i64)>; SPANS.len()],
}

/// The span of no time.
pub const NO_SPAN: (i64, i64) = (i64::MAX, i64::MIN);

impl Bucket {
    /// Return the number of keys and subjects.
    pub fn len(&self) -> usize {
        self.messages.subjects.len() + self.deliveries.rows.len() + self.subjects.count()
    }

    /// Return the row of the messages of a subject by a sender.
    pub fn row(&mut self, subject: u32, sender: u32) -> usize {
        let next = self.messages.subjects.len();
        let new = u32::try_from(next).unwrap_or(NULL - 1);
        if subject != NULL {
            let at = subject as usize;
            if at >= self.first.len() {
                self.first.resize(at + 1, NULL);
            }
            let row = self.first[at];
            if row == NULL {
                self.first[at] = new;
                self.messages.push(subject, sender);
                return next;
            }
            if self.messages.senders[row as usize] == sender {
                return row as usize;
            }
        }
        let row = *self.further.entry((subject, sender)).or_insert(new);
        if row == new {
            self.messages.push(subject, sender);
        }
        row as usize
    }

    /// Add a message; return whether it is the first that was accepted.
    pub fn publish(&mut self, row: usize, message: &Message) -> bool {
        let accepted = !message.refused;
        let taken = accepted && message.deliveries.is_some_and(|count| count > 0);
        let forwarded = message.forwarded.is_some_and(|count| count > 0);
        let left = accepted && !taken;
        // A table of messages does not say how many of them were delivered.
        let lost = left && message.deliveries.is_some() && !forwarded;
        let size = message.size.filter(|_| accepted).unwrap_or(0);
        let added = [
            i64::from(accepted),
            i64::from(message.refused),
            i64::from(taken),
            i64::from(lost),
            i64::from(left && forwarded),
            i64::from(message.ambiguous),
            size,
        ];
        for (which, added) in added.into_iter().enumerate() {
            self.messages.count(which, row, added);
        }
        if message.time.is_some() {
            for (which, counted) in [true, accepted, lost].into_iter().enumerate() {
                let time = message.time.filter(|_| counted);
                self.messages.extend_span(which, row, time);
            }
        }
        accepted && self.messages.counts[0].get(row) == Some(&1)
    }
}

impl Messages {
    fn push(&mut self, subject: u32, sender: u32) {
        self.subjects.push(subject);
        self.senders.push(sender);
    }

    /// Add to a number of a row.
    pub fn count(&mut self, which: usize, row: usize, added: i64) {
        if added == 0 {
            return;
        }
        let column = &mut self.counts[which];
        if row >= column.len() {
            column.resize(row + 1, 0);
        }
        column[row] = column[row].saturating_add(added);
    }

    /// Make a span of a row include a time.
    pub fn extend_span(&mut self, which: usize, row: usize, time: Option<i64>) {
        if time.is_none() {
            return;
        }
        let column = &mut self.spans[which];
        if row >= column.len() {
            column.resize(row + 1, NO_SPAN);
        }
        extend(&mut column[row], time);
    }
}
