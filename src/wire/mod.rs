//! Bytes of a NATS connection become operations: sans-I/O, resumable at every byte.
//!
//! [`Parser`] is fed what was read, in pieces of any size, and hands out [`Op`]s that borrow from
//! it. Five kinds of connection ([`Conn`]): what a client sends, what a server answers, routes and
//! leaf nodes as spoken today, and routes as seed 004 prints them. Two tolerances: `server` takes
//! what nats-server takes, `strict` what seed 001 says. Rules: S1-001 to S1-012, S4-001 to S4-107,
//! decisions A33, A52 to A66, nats-server.

mod args;
mod conn;
mod fault;
mod json;
mod limits;
mod machine;
mod op;
mod parser;
mod payload;
mod sizes;

pub use conn::{Conn, Kind};
pub use fault::{Fault, Stage};
pub use limits::Limits;
pub use op::{Fields, Op, Rsid, Span};
pub use parser::Parser;
