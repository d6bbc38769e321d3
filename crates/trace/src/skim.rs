//! Partial parsing of a log: connections and subscriptions only, between the points where it is split.

use memchr::{memchr, memchr2_iter};

use super::clock::{Clock, SECOND, WITH_FRACTION};
use super::windows::WINDOW;

/// Times of the lines so far, and what is unknown since lines were skimmed.
#[derive(Debug, Default)]
pub struct Skim {
    first: Option<i64>,
    latest: i64,
    /// Whether a line had no time: its windows have no limit.
    timeless: bool,
    phase: SkimPhase,
    /// The second of the lines passed over last.
    second: [u8; SECOND],
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SkimPhase {
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
        self.phase == SkimPhase::On
    }

    /// Note the time of a line; return whether all windows that are not known have ended before it.
    pub fn see(&mut self, time: Option<i64>) -> bool {
        let Some(time) = time else {
            self.timeless = true;
            return false;
        };
        self.first.get_or_insert(time);
        self.latest = self.latest.max(time);
        let settled = matches!(self.phase, SkimPhase::Until(limit) if time > limit);
        if settled {
            self.phase = SkimPhase::Settled;
        }
        settled
    }

    /// Note a payload whose window is not known, at a time.
    pub fn extend(&mut self, time: i64) {
        if let SkimPhase::Until(limit) = &mut self.phase {
            *limit = (*limit).max(time.saturating_add(WINDOW));
        }
    }

    /// Return the microseconds from the first to the latest line; `None` if a line had no time.
    pub fn elapsed(&self) -> Option<u64> {
        let first = self.first.filter(|_| !self.timeless)?;
        u64::try_from(self.latest.saturating_sub(first)).ok()
    }

    /// Read only the lines of subscriptions in full from now on, with the limits of the open windows.
    pub fn begin(&mut self, limits: impl Iterator<Item = Option<i64>>) {
        self.phase = SkimPhase::On;
        // Windows of a saved state may be later than any line that this reader has seen.
        for limit in limits {
            match limit {
                Some(limit) => self.latest = self.latest.max(limit),
                None => self.timeless = true,
            }
        }
    }

    /// Read all lines from now on.
    pub fn end(&mut self) {
        if self.is_on() {
            self.phase = SkimPhase::Until(self.latest.saturating_add(WINDOW));
        }
    }

    /// Whether the windows are those of a reader that read all lines; the groups are if none is in
    /// doubt.
    pub fn is_settled(&self) -> bool {
        match self.phase {
            SkimPhase::Complete => true,
            SkimPhase::On | SkimPhase::Until(_) => false,
            SkimPhase::Settled => !self.timeless,
        }
    }

    /// Whether a line is a payload, or an operation whose first letter is not one of those that begin
    /// or end a subscription or a connection, after the server's own prefix with a process id.
    ///
    /// Its time is noted by its second: as if it were the last of that second.
    pub fn passes(&mut self, line: &[u8], pid: &[u8], clock: &mut Clock) -> bool {
        let (time, level) = (pid.len(), pid.len() + WITH_FRACTION);
        let own = line.starts_with(pid) && line.get(level..level + 7) == Some(b" [TRC] ");
        own && passes(&line[level + 7..]) && self.sees_second(&line[time..level], clock)
    }

    fn sees_second(&mut self, time: &[u8], clock: &mut Clock) -> bool {
        if time[..SECOND] == self.second {
            return true;
        }
        let time = time.first_chunk().and_then(|time| {
            self.second.copy_from_slice(&time[..SECOND]);
            clock.read_full(time)?
        });
        if let Some(time) = time {
            self.see(Some(time - time.rem_euclid(1_000_000) + 999_999));
        } else {
            self.second = [0; SECOND];
        }
        time.is_some()
    }
}

/// Whether the text of a line after its level is one that `Skim::passes` describes.
fn passes(text: &[u8]) -> bool {
    // The address of the peer may have brackets.
    let Some(blank) = memchr(b' ', text) else {
        return false;
    };
    let Some(bracket) = memchr(b'[', &text[blank..]) else {
        return false;
    };
    let (before, body) = text.split_at(blank + bracket);
    let before_arrow = before.strip_suffix(b"MSG_PAYLOAD: ").unwrap_or(before);
    let arrow = before_arrow
        .last_chunk()
        .is_some_and(|arrow: &[u8; 6]| matches!(arrow, b"- <<- " | b"- ->> " | b"- <-> "));
    // The bracket is not one in a name that the client chose: the quotes before it are in pairs.
    let mut outside = true;
    for at in memchr2_iter(b'"', b'\\', before) {
        if before[at] == b'\\' {
            return false;
        }
        outside = !outside;
    }
    let first = body.get(1).copied().unwrap_or_default();
    let states = matches!(first, b'S' | b'U' | b'D' | b'C')
        || first.is_ascii_whitespace()
        || body.starts_with(b"[LS");
    arrow && outside && (before_arrow.len() < before.len() || !states)
}
