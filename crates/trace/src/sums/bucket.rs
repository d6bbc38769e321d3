//! The sums of the subjects of one bucket.
//!
//! A table for each bucket is small, and what is taken of it stands in the order in which it is
//! written: few accesses miss the cache of the processor.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::entries::{Delivered, DeliveryKey, Entries, Message, extend};
use super::rates::Rate;
use super::{COUNTS, DAY, RATES, SPANS};
use subtrie_columns::{NULL, Texts};

/// Messages and deliveries of some subjects.
#[derive(Default)]
pub struct Bucket {
    pub subjects: Texts,
    pub messages: Messages,
    pub deliveries: Entries<DeliveryKey, Delivered>,
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
    /// The first day of each row, as `on_day` writes it; the column ends before the rows without.
    days: Vec<i64>,
    /// The other days of the few rows that have several.
    further_days: HashMap<u32, Vec<i64>, RandomState>,
    /// For each row the position at which subscriptions last changed before its first accepted
    /// message, and the number of its messages before the next change.
    changes: Vec<(i64, i64)>,
    /// The same of the other changes between messages of a row, ascending.
    further_changes: HashMap<u32, Vec<(i64, i64)>, RandomState>,
    /// The rates of the rows that have one.
    rates: [HashMap<u32, Rate, RandomState>; RATES.len()],
}

/// No change of subscriptions.
const NO_CHANGE: (i64, i64) = (i64::MIN, 0);
/// No day.
const NO_DAY: i64 = i64::MIN;
/// The marks that `on_day` adds: a client received a message of the day, and one was accepted.
const TAKEN: i64 = 1;
const ACCEPTED: i64 = 2;

/// Return what a message says about its day: four times its time, and what became of it.
///
/// Of several messages of a day the time of the first accepted one is kept, else that of the first.
fn on_day(time: i64, accepted: bool, taken: bool) -> i64 {
    let marks = if accepted { ACCEPTED } else { 0 } + if taken { TAKEN } else { 0 };
    time.saturating_mul(4).saturating_add(marks)
}

/// Return the number of the day, from 1970 on.
fn day_of(entry: i64) -> i64 {
    (entry >> 2).div_euclid(DAY)
}

/// Return what two entries say about the same day.
fn both(one: i64, other: i64) -> i64 {
    let marks = (one | other) & (TAKEN | ACCEPTED);
    let time = match (one & ACCEPTED == 0, other & ACCEPTED == 0) {
        (true, false) => other >> 2,
        (false, true) => one >> 2,
        _ => (one >> 2).min(other >> 2),
    };
    (time << 2) | marks
}

/// The span of no time.
pub const NO_SPAN: (i64, i64) = (i64::MAX, i64::MIN);

impl Bucket {
    /// Return the number of keys and subjects.
    pub fn len(&self) -> usize {
        self.messages.subjects.len() + self.deliveries.rows.len() + self.subjects.count()
    }

    /// Return the largest number of rows or subjects that are numbered.
    pub fn most(&self) -> usize {
        let (sent, received) = (self.messages.subjects.len(), self.deliveries.rows.len());
        self.subjects.count().max(sent).max(received)
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

    /// Add a message, and its day if these are asked for; return whether it is the first that was
    /// accepted.
    pub fn publish(&mut self, row: usize, message: &Message, days: bool) -> bool {
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
            message.deliveries.filter(|_| accepted).unwrap_or(0),
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
        if let Some(time) = message.time {
            for (which, counted) in [accepted, lost].into_iter().enumerate() {
                if counted {
                    self.messages.add_time(which, row, time);
                }
            }
        }
        if days && let Some(time) = message.time {
            self.messages.add_day(row, on_day(time, accepted, taken));
        }
        if let (true, Some(changed)) = (accepted, message.changed) {
            self.messages.add_change(row, (changed, 1));
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

    /// Add what is known about a day to those of a row.
    pub fn add_day(&mut self, row: usize, entry: i64) {
        if row >= self.days.len() {
            self.days.resize(row + 1, NO_DAY);
        }
        let first = &mut self.days[row];
        if *first == NO_DAY {
            *first = entry;
            return;
        }
        if day_of(*first) == day_of(entry) {
            *first = both(*first, entry);
            return;
        }
        let Ok(row) = u32::try_from(row) else {
            return; // batches without room for their rows are refused
        };
        let others = self.further_days.entry(row).or_default();
        match others
            .iter_mut()
            .find(|each| day_of(**each) == day_of(entry))
        {
            Some(known) => *known = both(*known, entry),
            None => others.push(entry),
        }
    }

    /// Add the number of messages that a row has after a change of the subscriptions.
    pub fn add_change(&mut self, row: usize, added: (i64, i64)) {
        if row >= self.changes.len() {
            self.changes.resize(row + 1, NO_CHANGE);
        }
        let first = &mut self.changes[row];
        if *first == NO_CHANGE {
            *first = added;
            return;
        }
        if first.0 == added.0 {
            first.1 = first.1.saturating_add(added.1);
            return;
        }
        let Ok(row) = u32::try_from(row) else {
            return; // batches without room for their rows are refused
        };
        let others = self.further_changes.entry(row).or_default();
        let at = match others.last() {
            Some(last) if last.0 == added.0 => others.len() - 1,
            Some(last) if last.0 > added.0 => others.partition_point(|each| each.0 < added.0),
            _ => others.len(),
        };
        match others.get_mut(at) {
            Some(known) if known.0 == added.0 => known.1 = known.1.saturating_add(added.1),
            _ => others.insert(at, added),
        }
    }

    /// Return the changes of subscriptions before messages of a row, with their messages.
    pub fn changes(&self, row: usize) -> impl Iterator<Item = (i64, i64)> {
        let first = self.changes.get(row).copied();
        let others = u32::try_from(row)
            .ok()
            .and_then(|row| self.further_changes.get(&row));
        first
            .filter(|&change| change != NO_CHANGE)
            .into_iter()
            .chain(others.into_iter().flatten().copied())
    }

    /// Whether a row has a change of subscriptions.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Return the days of a row.
    pub fn days(&self, row: usize) -> impl Iterator<Item = i64> {
        let first = self.days.get(row).copied().filter(|&day| day != NO_DAY);
        let others = u32::try_from(row)
            .ok()
            .and_then(|row| self.further_days.get(&row));
        first
            .into_iter()
            .chain(others.into_iter().flatten().copied())
    }

    /// Whether a row has a day.
    pub fn has_days(&self) -> bool {
        !self.days.is_empty()
    }

    /// Add a time to a rate of a row.
    fn add_time(&mut self, which: usize, row: usize, time: i64) {
        let Ok(row) = u32::try_from(row) else {
            return; // batches without room for their rows are refused
        };
        match self.rates[which].get_mut(&row) {
            Some(known) => known.add_time(time),
            None => _ = self.rates[which].insert(row, Rate::at(time)),
        }
    }

    /// Add to a rate of a row.
    pub fn add_rate(&mut self, which: usize, row: usize, rate: &Rate) {
        let Ok(row) = u32::try_from(row) else {
            return; // batches without room for their rows are refused
        };
        match self.rates[which].get_mut(&row) {
            Some(known) => known.add(rate),
            None => _ = self.rates[which].insert(row, rate.clone()),
        }
    }

    /// Return a rate of a row.
    pub fn rate(&self, which: usize, row: usize) -> Option<&Rate> {
        self.rates[which].get(&u32::try_from(row).ok()?)
    }

    /// Whether a row has a rate.
    pub fn has_rate(&self, which: usize) -> bool {
        !self.rates[which].is_empty()
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
