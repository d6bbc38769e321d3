//! Microbus addresses to subjects and back: canonical text or nothing.
//!
//! [`encode_request`] and its kin check the parts of an address and join them; [`decode`] reads
//! only what they could have written, so that one sender has one spelling (A7). Rules: seed 000
//! (S0-003 to S0-098), decisions A1 to A17, A73, A74.

mod decode;
mod encode;
mod escape;
mod fields;
mod fold;
mod hosts;
mod locality;
mod paths;
mod route;
mod url;

pub use decode::{
    Address, Reply, Request, Subscription, classify, decode, decode_subscription, source_of,
};
pub use encode::{
    ReplyParts, RequestParts, SubscriptionParts, encode_reply, encode_reply_subscription,
    encode_request, encode_subscription,
};
pub use escape::{HostToken, escape_segment, flatten_host, unescape_segment, unflatten_host};
pub use fields::{METHODS, Port, Trust, check_method, check_plane};
pub use hosts::{check_identity_host, check_route_host, cut_slot};
pub use locality::{check_locality, common_locality, locality_slot, locality_slots};
pub use paths::{PathTokens, RoutePath, check_route_path};
pub use route::{request_from_url, resolve_route, subscription_from_route};
pub use url::Target;

use crate::error::Error;

/// The same fault, counted from further left.
fn moved(mut error: Error, by: usize) -> Error {
    error.position = error.position.map(|position| position + by);
    error
}
