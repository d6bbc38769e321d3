//! Conversion between Microbus addresses and NATS subjects.
//!
//! [`encode_request`], [`encode_subscription`], [`encode_reply`] and
//! [`encode_reply_subscription`] validate the parts of an address and join them to a subject or
//! pattern. [`decode`] and [`decode_subscription`] accept only text that the encoders produce, so
//! that each address has one canonical form and a sender cannot appear under two spellings.
//!
//! # Examples
//!
//! ```
//! use subtrie::microbus::{Address, decode, request_from_url};
//!
//! let subject = request_from_url("prod", "web.shop", "GET", "https://orders.shop/order/1")?;
//! assert_eq!(subject, "prod.safe.443.web_shop.orders_shop._.GET.order.1");
//! let Address::Request(request) = decode(&subject)? else { unreachable!() };
//! assert_eq!(request.source.text(), "web.shop");
//! # Ok::<(), subtrie::error::Error>(())
//! ```
// S0-003 to S0-098, A1 to A17, A73, A74.

mod absolute_url;
mod case_folding;
mod decode;
mod encode;
mod escape;
mod fields;
mod hosts;
mod locality;
mod params;
mod paths;
mod request_targets;
mod route;
mod url;

pub use absolute_url::{AbsoluteUrl, RequestTarget, absolute_url, request_target};
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
pub use params::with_params;
pub use paths::{PathTokens, RoutePath, check_route_path};
pub use request_targets::RequestTargets;
pub use route::{request_from_url, resolve_route, subscription_from_route};
pub use url::Target;

use crate::error::Error;

/// Shift the position of an error found in a part of a text by where the part begins.
fn shift_position(mut error: Error, by: usize) -> Error {
    error.position = error.position.map(|position| position + by);
    error
}
