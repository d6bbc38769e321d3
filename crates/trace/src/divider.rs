//! Divides a log at lines near given positions, with the state of a reader at each.
//!
//! Far from a position only connections and subscriptions matter: the windows of messages that are
//! open there begin shortly before it. So a divider skims: it reads in full only the lines that
//! begin or end a subscription. Before a position it reads everything again. From that line on the
//! windows it does not know are those that were open before; all have ended once a line is later
//! than every limit they can have. From that line on the match groups it does not know are those in
//! use then; once all have ended, the state is that of a reader of the whole log. A log without
//! times has no limits, and groups of a busy log may not end: then a divider fails, and another one
//! reads all lines.

use super::event::{Event, Outcome, Sink};
use super::reader::Reader;

/// The log time before a position in which every line is read; windows last about a second.
const LEAD: u64 = 3_000_000;

/// The state of one pass over a log that divides it.
pub struct Divider {
    /// The reader, whose range is empty: it has no rows of its own.
    pub reader: Reader,
    /// The positions that are not yet reached, the next one last.
    targets: Vec<u64>,
    /// The number of bytes for which it is worth to skim; `None` to read every line in full.
    skims: Option<u64>,
    start: u64,
    /// The position at which it decides next whether to skim.
    plan_at: u64,
    /// The position from which all lines are read again.
    resume_at: u64,
    /// The position at which it fails.
    fail_at: u64,
    failed: bool,
}

/// Takes no rows: a divider needs only the state.
struct Discard;

impl Sink for Discard {
    fn add(&mut self, _: &Event<'_>) {}
    fn open(&mut self, _: &Event<'_>, _: u64) {}
    fn resolve(&mut self, _: u64, _: &Outcome) {}
}

impl Divider {
    /// Create a divider of a log that begins at `start`, or goes on there.
    #[must_use]
    pub fn new(reader: Reader, mut targets: Vec<u64>, start: u64, skims: Option<u64>) -> Self {
        targets.sort_unstable_by(|a, b| b.cmp(a));
        targets.dedup();
        Self {
            reader,
            targets,
            skims,
            start,
            plan_at: skims.map_or(u64::MAX, |bytes| start + bytes),
            resume_at: u64::MAX,
            fail_at: u64::MAX,
            failed: false,
        }
    }

    /// Whether the next position cannot be reached by skimming.
    #[must_use]
    pub const fn failed(&self) -> bool {
        self.failed
    }

    /// Whether nothing is left to do.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.failed || self.targets.is_empty()
    }

    /// Return whether the log is divided before the line at a position, which is read next; the
    /// state before it is `reader.save()` then.
    #[must_use]
    pub fn divides(&mut self, position: u64) -> bool {
        let reached = self.targets.last().is_some_and(|&next| next <= position);
        if reached && self.is_exact() {
            self.targets.retain(|&target| target > position);
            self.plan_at = self.skims.map_or(u64::MAX, |_| position);
            self.fail_at = u64::MAX;
            return true;
        }
        if position >= self.fail_at {
            self.failed = true;
        } else if position >= self.resume_at {
            self.resume_at = u64::MAX;
            self.reader.skim.end();
        }
        false
    }

    /// Read one line, without its LF.
    pub fn line(&mut self, position: u64, line: &[u8]) {
        if position >= self.plan_at {
            self.plan(position);
        }
        if !self.reader.passes(line) {
            self.reader.line(position, line, &mut Discard);
        }
    }

    /// End the log here.
    pub fn finish(&mut self, position: u64) {
        self.reader.finish(position, &mut Discard);
    }

    /// Decide whether to skim up to the next position.
    fn plan(&mut self, position: u64) {
        self.plan_at = u64::MAX;
        let (Some(&next), Some(least)) = (self.targets.last(), self.skims) else {
            return;
        };
        let (Some(micros), read) = (self.reader.skim.elapsed(), position - self.start) else {
            return;
        };
        let bytes = u128::from(read) * u128::from(LEAD) / u128::from(micros.max(1));
        let lead = u64::try_from(bytes).unwrap_or(u64::MAX).max(least);
        if next.saturating_sub(position) > lead.saturating_mul(2) {
            self.resume_at = next - lead;
            self.fail_at = next.saturating_add(lead);
            self.reader.skim();
        } else {
            // Lines may have become rarer by then.
            self.plan_at = position.saturating_add(read.max(least));
        }
    }

    /// Whether the state is that of a reader that read all lines.
    fn is_exact(&self) -> bool {
        let Reader { skim, windows, .. } = &self.reader;
        skim.is_settled() && windows.groups.doubtful == 0
    }
}
