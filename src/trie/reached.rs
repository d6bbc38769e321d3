//! What many subjects reach, one's ids after another's.

use super::Ticket;
use super::walk::{Scratch, Store, match_into};

/// What subjects reach: ids, one subject's after another's.
#[derive(Debug, Default)]
pub struct Reached {
    /// The ids of all subjects; each one's in ascending order.
    pub ids: Vec<u64>,
    /// Where the ids of each subject end.
    pub ends: Vec<usize>,
    /// Which rows are subjects.
    pub valid: Vec<bool>,
}

/// Room for one lookup.
#[derive(Default)]
pub(super) struct Room {
    scratch: Scratch,
    found: Vec<Ticket>,
}

impl Reached {
    /// One lookup, as everywhere else.
    pub(super) fn look_up<S: Store>(&mut self, store: &S, text: Option<&[u8]>, room: &mut Room) {
        let Room { scratch, found } = room;
        found.clear();
        let valid = text.is_some_and(|text| match_into(store, text, scratch, found).is_ok());
        self.push(valid, found);
    }

    /// Appends what the next subject reaches: nothing, where it is no valid one.
    pub(super) fn push(&mut self, valid: bool, found: &[Ticket]) {
        if valid {
            self.ids.extend(found.iter().map(|ticket| ticket.id));
        }
        self.ends.push(self.ids.len());
        self.valid.push(valid);
    }
}
