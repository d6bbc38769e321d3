//! Heads of HTTP/1.1 messages, as they travel in the payload of a message on the bus.
//!
//! [`read_request`] and [`read_response`] accept only messages that are plain: those that every strict
//! parser reads in the same way. Any other message is neither accepted nor refused here: the caller
//! gives it to a complete parser. [`write_request`] and [`write_response`] write the lines in the
//! order of Go's `net/http`.
//!
//! # Examples
//!
//! ```
//! use subtrie_nats::http::read_request;
//!
//! let data = b"GET /hello HTTP/1.1\r\nHost: orders.shop\r\n\r\n";
//! let request = read_request(data).unwrap();
//! assert_eq!((request.method, request.target), ("GET", "/hello"));
//! assert_eq!(request.body, b"");
//! assert_eq!(read_request(b"GET /hello HTTP/1.1\nHost: orders.shop\n\n"), None);
//! ```

mod acknowledge;
mod read;
mod write;

pub use acknowledge::{Acknowledgements, WrittenAck};
pub use read::{Header, RequestMessage, ResponseMessage, read_request, read_response};
pub use write::{HeaderLine, canonical_name, write_request, write_response};
