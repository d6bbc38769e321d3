//! Which slot has the subscription with this id?
//!
//! Ids are given in order, so they are kept in runs of 64. A run that is empty is gone: neither a
//! long life nor a few survivors of many cost more than a run each.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::ticket::NONE;

const RUN: usize = 64;

#[derive(Clone)]
struct Run {
    slots: [u32; RUN],
    used: u32,
}

#[derive(Clone, Default)]
pub(super) struct Ids {
    runs: HashMap<u64, Box<Run>, RandomState>,
}

#[allow(clippy::cast_possible_truncation)] // below RUN
const fn split(id: u64) -> (u64, usize) {
    (id / RUN as u64, (id % RUN as u64) as usize)
}

impl Ids {
    pub fn get(&self, id: u64) -> Option<u32> {
        let (run, at) = split(id);
        let slot = self.runs.get(&run)?.slots[at];
        (slot != NONE).then_some(slot)
    }

    pub fn put(&mut self, id: u64, slot: u32) {
        let (run, at) = split(id);
        let run = self.runs.entry(run).or_insert_with(|| {
            Box::new(Run {
                slots: [NONE; RUN],
                used: 0,
            })
        });
        run.used += u32::from(run.slots[at] == NONE);
        run.slots[at] = slot;
    }

    pub fn take(&mut self, id: u64) {
        let (number, at) = split(id);
        let Some(run) = self.runs.get_mut(&number) else {
            return;
        };
        run.used -= u32::from(run.slots[at] != NONE);
        run.slots[at] = NONE;
        if run.used == 0 {
            self.runs.remove(&number);
            if self.runs.capacity() > 8 * self.runs.len() + 16 {
                self.runs.shrink_to(2 * self.runs.len());
            }
        }
    }

    pub fn memory(&self) -> usize {
        self.runs.len() * size_of::<Run>() + self.runs.capacity() * size_of::<(u64, Box<Run>, u8)>()
    }
}
