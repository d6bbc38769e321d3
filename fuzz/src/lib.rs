//! Fuzz targets: one function for each parser, which panics if a property does not hold.
//!
//! `cargo fuzz` calls them through `targets/`; the test of this crate calls them with every vector, on
//! a stable toolchain.

mod addresses;
mod http;
mod image;
mod index_program;
mod names;
#[cfg(test)]
mod replay;
mod rules;
mod stream;
mod subjects;
mod trace_log;

pub use addresses::microbus;
pub use http::http;
pub use image::image;
pub use index_program::index;
pub use names::names;
pub use rules::permissions;
pub use stream::{client, leaf, route, route_legacy, server_to_client};
pub use subjects::subjects;
pub use trace_log::trace_events;

/// A fuzz target: accepts any bytes, and panics only if a property does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Target); 13] = [
    ("client", client),
    ("server_to_client", server_to_client),
    ("route", route),
    ("leaf", leaf),
    ("route_legacy", route_legacy),
    ("names", names),
    ("subjects", subjects),
    ("microbus", microbus),
    ("http", http),
    ("permissions", permissions),
    ("image", image),
    ("index", index),
    ("trace_events", trace_events),
];

/// Split off the bytes that select options; zeros if the input is too short.
fn options<const N: usize>(data: &[u8]) -> ([u8; N], &[u8]) {
    data.split_first_chunk()
        .map_or(([0; N], data), |(chosen, rest)| (*chosen, rest))
}
