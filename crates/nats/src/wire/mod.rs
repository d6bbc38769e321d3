//! Incremental parser of the NATS protocols: bytes in, operations out, no I/O.
//!
//! A [`Parser`] accepts a stream in pieces of any size and returns [`Op`]s that borrow from them. It
//! knows five kinds of connection ([`Conn`]): what a client sends, what a server sends to a client,
//! routes and leaf nodes as servers speak them today, and routes as they were before nats-server
//! 2.0. The `server` dialect accepts what nats-server accepts, `strict` what the documents say.
//!
//! # Examples
//!
//! ```
//! use subtrie_nats::wire::{Conn, Limits, Parser};
//!
//! let mut parser = Parser::new(Conn::Client, Limits::default());
//! let mut names = Vec::new();
//! parser.feed(b"SUB orders.> 1\r\nPI", |op, _| names.push(op.kind.name()))?;
//! assert_eq!(names, ["SUB"]);
//! assert!(!parser.is_complete());
//! # Ok::<(), subtrie_nats::wire::ParseError>(())
//! ```
// S1-001 to S1-012, S4-001 to S4-107, A33, A52 to A66, nats-server.

mod args;
mod conn;
mod error;
mod json;
mod limits;
mod numbers;
mod op;
mod parser;
mod state_machine;

pub use conn::{Conn, Kind};
pub use error::{ParseError, Stage};
pub use limits::Limits;
pub use op::{Fields, Op, Rsid, Span};
pub use parser::Parser;
