//! Reads the lines of a log as what a container runtime wrapped.

use super::container::unwrapped;
use super::event::Sink;
use super::reader::Reader;

impl Reader {
    /// Read one line, without its LF; one of a container's log as what it wraps.
    pub fn line(&mut self, position: u64, line: &[u8], sink: &mut impl Sink) {
        let Some(wrapped) = unwrapped(line) else {
            self.end_parts(sink);
            return self.whole_line(position, line, sink);
        };
        if wrapped.ends && self.parts.kept.is_empty() {
            return self.whole_line(position, &wrapped.text, sink);
        }
        self.parts.add(position, &wrapped.text);
        if wrapped.ends {
            self.end_parts(sink);
        }
    }

    /// Read the line whose parts were read so far.
    pub(super) fn end_parts(&mut self, sink: &mut impl Sink) {
        if let Some((position, line)) = self.parts.take() {
            self.whole_line(position, &line, sink);
        }
    }
}
