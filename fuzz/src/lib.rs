//! What holds for any bytes: one function for each parser, which panics where a law does not hold.
//!
//! `cargo fuzz` calls them through `targets/`; its test calls them on every vector, on a
//! stable toolchain, so that neither they nor the laws rot.

mod addresses;
mod image;
mod names;
#[cfg(test)]
mod replay;
mod rules;
mod stream;
mod subjects;

pub use addresses::microbus;
pub use image::image;
pub use names::names;
pub use rules::permissions;
pub use stream::{client, leaf, route, route_legacy, server_to_client};
pub use subjects::subjects;

/// A target: takes any bytes, returns, and panics only where a law is broken.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Target); 10] = [
    ("client", client),
    ("server_to_client", server_to_client),
    ("route", route),
    ("leaf", leaf),
    ("route_legacy", route_legacy),
    ("names", names),
    ("subjects", subjects),
    ("microbus", microbus),
    ("permissions", permissions),
    ("image", image),
];

/// Bytes that choose among options, in front of the input; zeros where it is too short.
fn options<const N: usize>(data: &[u8]) -> ([u8; N], &[u8]) {
    data.split_first_chunk()
        .map_or(([0; N], data), |(chosen, rest)| (*chosen, rest))
}
