//! Reader of the trace log of nats-server (`-DV`): bytes in, events out, no I/O.
//!
//! A [`Reader`] gets the lines of a log in order, as [`Lines`] finds them, and tells a [`Sink`] what
//! they are. Of payloads only the answers of `JetStream` are read. The column names and the
//! rule that decides which publish a delivery belongs to are those of the audit.

mod clock;
mod columns;
mod connections;
mod container;
mod divider;
mod event;
mod free_lines;
mod jetstream;
mod json_texts;
mod lines;
mod login;
mod matching;
#[cfg(test)]
mod matching_laws;
mod messages;
mod operation;
mod prefix;
mod processes;
mod reader;
#[cfg(test)]
mod reader_bounds;
mod redact;
mod skim;
mod state;
mod subscriptions;
mod sums;
#[cfg(test)]
mod tables;
mod text;
mod windows;
mod wrapped_lines;

pub use columns::EventColumns;
pub use divider::Divider;
pub use event::{Counts, Direction, Event, Outcome, Prefix, Sink, Who};
pub use lines::Lines;
pub use matching::Served;
pub use operation::Refusal;
pub use reader::Reader;
pub use redact::{is_plain, redact};
pub use sums::{ByAddress, Numbered as NumberedSums, Taken as TakenSums, TrafficSums, added_rates};
pub use text::escape;
