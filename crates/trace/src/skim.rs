//! Partial parsing of a log: subscriptions only, between the points where it is split.

use super::matching::Groups;
use super::reader::Reader;
use super::windows::WINDOW;

/// Times of the lines so far, and what is unknown since lines were skimmed.
#[derive(Debug, Default)]
pub struct Skim {
    first: Option<i64>,
    latest: i64,
    /// Whether a line had no time: its windows have no limit.
    timeless: bool,
    phase: Phase,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// All lines were read.
    #[default]
    Complete,
    /// Lines are skimmed.
    On,
    /// All lines are read again; windows that are not known end at this time at the latest.
    Until(i64),
    /// No unknown window is open; groups that were in use may be incomplete.
    Settled,
}

impl Skim {
    /// Whether only the lines of subscriptions are read in full.
    pub fn is_on(&self) -> bool {
        self.phase == Phase::On
    }

    /// Note the time of a line; return whether all windows that are not known have ended before it.
    pub fn see(&mut self, time: Option<i64>) -> bool {
        let Some(time) = time else {
            self.timeless = true;
            return false;
        };
        self.first.get_or_insert(time);
        self.latest = self.latest.max(time);
        let settled = matches!(self.phase, Phase::Until(limit) if time > limit);
        if settled {
            self.phase = Phase::Settled;
        }
        settled
    }

    /// Note a payload whose window is not known, at a time.
    pub fn extend(&mut self, time: i64) {
        if let Phase::Until(limit) = &mut self.phase {
            *limit = (*limit).max(time.saturating_add(WINDOW));
        }
    }
}

impl Reader {
    /// Return the microseconds from the first to the latest line; `None` if a line had no time.
    pub(super) fn elapsed(&self) -> Option<u64> {
        let first = self.skim.first.filter(|_| !self.skim.timeless)?;
        u64::try_from(self.skim.latest.saturating_sub(first)).ok()
    }

    /// Read only the lines of subscriptions in full, and forget the windows.
    pub(super) fn skim(&mut self) {
        self.skim.phase = Phase::On;
        // Windows of a saved state may be later than any line that this reader has seen.
        for window in self.windows.values() {
            match window.limit {
                Some(limit) => self.skim.latest = self.skim.latest.max(limit),
                None => self.skim.timeless = true,
            }
        }
        self.windows.clear();
        self.open_by_conn.clear();
        self.limits.clear();
        self.groups = Groups::default();
        self.unfinished = 0;
    }

    /// Read all lines again.
    pub(super) fn read_all(&mut self) {
        if self.skim.is_on() {
            self.skim.phase = Phase::Until(self.skim.latest.saturating_add(WINDOW));
        }
    }

    /// Whether the state is that of a reader that read all lines.
    pub(super) fn is_exact(&self) -> bool {
        match self.skim.phase {
            Phase::Complete => true,
            Phase::On | Phase::Until(_) => false,
            Phase::Settled => self.groups.doubtful == 0 && !self.skim.timeless,
        }
    }
}
