//! The server processes that wrote a log: one after the other, or several at once.

/// The number of processes that are remembered: restarts of a server.
const REMEMBERED: usize = 1024;
/// A process whose lines are no more bytes than these, between those of another one, is taken for a
/// damaged line, once for each process id.
const STRAY: u64 = 1024;

/// Two processes whose lines alternate, and the position of the line that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternating {
    /// The process of the line.
    pub process: String,
    /// The process of the line before it.
    pub other: String,
    /// The position of the line.
    pub position: u64,
}

/// The processes of the lines so far.
///
/// A server that starts again has another process id, and the old one does not come back, except
/// with a line that says that it started, or after a stray line in between.
#[derive(Debug, Default)]
pub struct Processes {
    /// The digits of the latest one.
    pub latest: Vec<u8>,
    /// The position of its first line.
    pub since: u64,
    /// Those before it, which have ended.
    pub ended: Vec<Vec<u8>>,
    /// Those of stray lines.
    pub strays: Vec<Vec<u8>>,
    pub alternating: Option<Alternating>,
}

impl Processes {
    /// Note the process of a line; return whether it is another one than that of the line before.
    pub fn see(&mut self, process: &[u8], position: u64, starts: bool) -> bool {
        if process == self.latest {
            return false;
        }
        let ended = self.ended.iter().position(|each| each == process);
        let stray = !starts
            && ended.is_some()
            && position - self.since <= STRAY
            && self.strays.len() < REMEMBERED
            && !self.strays.contains(&self.latest);
        self.since = position;
        if let (true, Some(at)) = (stray, ended) {
            let latest = self.ended.remove(at);
            self.strays
                .push(std::mem::replace(&mut self.latest, latest));
            return true;
        }
        if let Some(at) = ended {
            if !starts && self.alternating.is_none() {
                let text = |digits: &[u8]| String::from_utf8_lossy(digits).into_owned();
                self.alternating = Some(Alternating {
                    process: text(process),
                    other: text(&self.latest),
                    position,
                });
            }
            self.ended.remove(at);
        }
        let before = std::mem::replace(&mut self.latest, process.to_vec());
        if !before.is_empty() {
            if self.ended.len() >= REMEMBERED {
                self.ended.remove(0);
            }
            self.ended.push(before);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alternate(processes: &str) -> bool {
        let mut found = Processes::default();
        for (line, process) in (0..).zip(processes.bytes()) {
            let starts = process.is_ascii_uppercase();
            found.see(&[process.to_ascii_lowercase()], line * 300, starts);
        }
        found.alternating.is_some()
    }

    #[test]
    fn a_restart_does_not_alternate() {
        for processes in ["", "aaaa", "aaabbbccc", "aabbAaaaab"] {
            let expected = processes.ends_with("Aaaaab");
            assert_eq!(alternate(processes), expected, "{processes}");
        }
        assert!(!alternate("aabbAaa"));
        assert!(alternate("abbbba"));
        assert!(alternate("abcccccb"));
    }

    #[test]
    fn a_damaged_line_is_no_other_process() {
        assert!(!alternate("aaabaaacaaa"));
        assert!(alternate("aaabaaabaaa"));
    }

    #[test]
    fn a_stray_process_has_at_most_a_kilobyte() {
        for (bytes, alternates) in [(STRAY, false), (STRAY + 1, true)] {
            let mut found = Processes::default();
            let back = 10 + bytes;
            for (process, position) in [(b"1", 0), (b"2", 10), (b"1", back), (b"2", back + 9_000)] {
                found.see(process, position, false);
            }
            let first = found.alternating.map_or(0, |each| {
                assert_eq!((each.process.len(), each.other.len()), (1, 1));
                assert_ne!(each.process, each.other);
                each.position
            });
            // A process that was stray once is another one when it comes again.
            assert_eq!(first, if alternates { back } else { 0 }, "{bytes}");
        }
    }

    #[test]
    fn each_process_is_stray_once_and_a_bounded_number_of_them() {
        let mut found = Processes::default();
        for (number, position) in (0..=REMEMBERED).zip((0..).step_by(100)) {
            found.see(b"m", position, false);
            found.see(number.to_string().as_bytes(), position + 1, false);
            found.see(b"m", position + 2, false);
            assert_eq!(found.alternating.is_some(), number == REMEMBERED);
        }
    }

    #[test]
    fn a_bounded_number_of_ended_processes_is_remembered() {
        for (restarts, alternates) in [(REMEMBERED, true), (REMEMBERED + 1, false)] {
            let mut found = Processes::default();
            for (number, position) in (0..=restarts).zip((0..).step_by(2_000)) {
                found.see(number.to_string().as_bytes(), position, false);
            }
            found.see(b"0", u64::MAX, false);
            assert_eq!(found.alternating.is_some(), alternates, "{restarts}");
        }
    }
}
