//! Trace logs: pieces of any size give the same events, and every line is counted once.

use subtrie_trace::{Event, Lines, Outcome, Reader, Sink};

/// The events as text, in order.
#[derive(Default, PartialEq, Debug)]
struct Events(Vec<String>);

impl Sink for Events {
    fn add(&mut self, event: &Event<'_>) {
        self.0.push(format!("{event:?}"));
    }

    fn open(&mut self, event: &Event<'_>, id: u64) {
        self.0.push(format!("{id} {event:?}"));
    }

    fn resolve(&mut self, id: u64, outcome: &Outcome) {
        self.0.push(format!("{id} {outcome:?}"));
    }
}

/// A byte for the size of the pieces, then a log. The rest is also taken as a saved state.
pub fn trace_events(data: &[u8]) {
    let ([size], log) = super::options::<1>(data);
    let whole = read(Reader::new(0..u64::MAX), log.len().max(1), log);
    assert_eq!(
        read(Reader::new(0..u64::MAX), usize::from(size) + 1, log),
        whole
    );
    if let Some(reader) = Reader::restore(0..u64::MAX, log) {
        read(reader, log.len().max(1), log);
    }
}

fn read(mut reader: Reader, size: usize, log: &[u8]) -> Events {
    let (mut events, mut lines, mut count) = (Events::default(), Lines::new(0), 0);
    let before = total(&reader);
    for piece in log.chunks(size) {
        lines.feed(piece, |position, line| {
            count += 1;
            reader.line(position, line, &mut events);
            true
        });
    }
    lines.finish(|position, line| {
        count += 1;
        reader.line(position, line, &mut events);
        true
    });
    reader.finish(lines.position(), &mut events);
    assert_eq!(total(&reader) - before, count);
    events
}

fn total(reader: &Reader) -> u64 {
    let counts = reader.counts();
    counts.operations + counts.payloads + counts.server + counts.unparseable
}
