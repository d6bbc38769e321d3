//! Lines of a stream that arrives in pieces, with bounded memory.
//!
//! LF ends a line. A last line without LF is a line, and so is an empty one. Of a line longer than
//! `LONGEST` one byte more than that is kept.

use memchr::memchr;

/// The number of bytes of a line that are read.
pub const LONGEST: usize = 65_536;

/// The unfinished line of a stream.
#[derive(Debug, Default)]
pub struct Lines {
    /// The position of the first byte of the unfinished line.
    position: u64,
    /// The first bytes of the unfinished line.
    kept: Vec<u8>,
    /// The number of bytes of the unfinished line.
    length: u64,
}

impl Lines {
    /// Create a splitter for a stream that begins at `position`, where a line begins.
    #[must_use]
    pub fn new(position: u64) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// The position of the first byte that is in no finished line.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Call `line` with the position and the bytes of each line that `data` finishes.
    ///
    /// Stops when `line` returns false.
    pub fn feed(&mut self, data: &[u8], mut line: impl FnMut(u64, &[u8]) -> bool) {
        let mut rest = data;
        while let Some(end) = memchr(b'\n', rest) {
            let (head, tail) = (&rest[..end], &rest[end + 1..]);
            rest = tail;
            let position = self.position;
            self.position += self.length + head.len() as u64 + 1;
            let goes_on = if self.length == 0 {
                line(position, cut(head))
            } else {
                self.keep(head);
                line(position, &self.kept)
            };
            self.kept.clear();
            self.length = 0;
            if !goes_on {
                return;
            }
        }
        self.keep(rest);
        self.length += rest.len() as u64;
    }

    /// Call `line` with the last line, if it has no LF.
    pub fn finish(&mut self, line: impl FnOnce(u64, &[u8]) -> bool) {
        let position = self.position;
        self.position += self.length;
        if self.length > 0 {
            line(position, &self.kept);
        }
        self.kept.clear();
        self.length = 0;
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = (LONGEST + 1).saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn cut(line: &[u8]) -> &[u8] {
    &line[..line.len().min(LONGEST + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_any_size_give_the_same_lines() {
        let long = "x".repeat(LONGEST + 9);
        let data = format!("a\r\n\n{long}\nlast");
        for size in [1, 2, 7, 1_000, 100_000] {
            let (mut lines, mut found) = (Lines::new(0), Vec::new());
            for piece in data.as_bytes().chunks(size) {
                lines.feed(piece, |at, line| {
                    found.push((at, line.len()));
                    true
                });
            }
            lines.finish(|at, line| {
                found.push((at, line.len()));
                true
            });
            let end = (data.len() - 4) as u64;
            assert_eq!(found, [(0, 2), (3, 0), (4, LONGEST + 1), (end, 4)]);
        }
    }

    #[test]
    fn no_line_follows_the_last_one_that_is_asked_for() {
        let (mut lines, mut found) = (Lines::new(5), Vec::new());
        lines.feed(b"a\nb\nc", |at, line| {
            found.push((at, line.to_vec()));
            false
        });
        assert_eq!(found, [(5, b"a".to_vec())]);
        assert_eq!(lines.position(), 7);
    }

    #[test]
    fn a_stream_ends_behind_its_last_line() {
        for (data, last) in [(&b"a\nb"[..], Some(7)), (b"a\n", None), (b"", None)] {
            let (mut lines, mut found) = (Lines::new(5), None);
            lines.feed(data, |_, _| true);
            lines.finish(|at, _| {
                found = Some(at);
                true
            });
            assert_eq!(found, last);
            assert_eq!(lines.position(), 5 + data.len() as u64);
        }
    }
}
