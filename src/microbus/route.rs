//! Encoding from a URL to the subject of a request, and from a route to the pattern of an endpoint.
//!
//! A route is relative to the service's own host: `/p` and `p` are on its port 443, `:N/p` on its
//! port N; `//host:N/p` and `https://host/p` name another host.

use super::case_folding::ascii_lower;
use super::encode::{RequestParts, SubscriptionParts, encode_request, encode_subscription};
use super::fields::{Port, check_method, check_plane, published_method_of, slot_of};
use super::hosts::{check_identity_host, check_route_host, cut_slot};
use super::paths::push_route_path;
use super::url::{Target, path_text, target_of, url_port, without_extras};
use crate::error::{Error, ErrorKind};

/// Encode the subject of a request to a URL.
///
/// The port defaults to that of the scheme; a leading `id-…` or `loc-…` label of the host becomes the
/// slot.
///
/// # Errors
///
/// The first argument that is not valid, with its field: the reasons of
/// [`encode_request`](super::encode_request); for the URL `url-host`, `url-address`, `url-user`,
/// `url-escape`, `url-control`, `url-backtick`, `utf8`, `host-character`, `port`, `port-range`,
/// `slot`, `stacked`, `host-empty`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::request_from_url;
///
/// let subject = request_from_url("prod", "web.shop", "GET", "https://id-7f.orders.shop/order/1")?;
/// assert_eq!(subject, "prod.safe.443.web_shop.orders_shop.id-7f.GET.order.1");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn request_from_url(
    plane: &str,
    source: &str,
    method: &str,
    url: &str,
) -> Result<String, Error> {
    target_and_subject(plane, source, method, url).map(|(_, subject)| subject)
}

/// Parse a URL, and encode the subject of a request to it.
pub(super) fn target_and_subject(
    plane: &str,
    source: &str,
    method: &str,
    url: &str,
) -> Result<(Target, String), Error> {
    check_plane(plane).map_err(|error| error.in_field("plane"))?;
    check_identity_host(&ascii_lower(source)).map_err(|error| error.in_field("source"))?;
    published_method_of(method).map_err(|error| error.in_field("method"))?;
    let target = target_of(url).map_err(|error| error.in_field("url"))?;
    let (host, slot) =
        cut_slot(&target.host).map_err(|error| Error::new(error.kind).in_field("url"))?;
    if host.is_empty() {
        return Err(Error::new(ErrorKind::HostEmpty).in_field("url"));
    }
    let subject = encode_request(&RequestParts {
        plane,
        port: Port::Number(target.port.into()),
        source,
        host,
        method,
        path: &target.path,
        slot: &slot,
    })?;
    Ok((target, subject))
}

/// Encode the pattern that subscribes to the requests of a route of the service `host`.
///
/// # Errors
///
/// The first argument that is not valid, with its field: the reasons of
/// [`encode_subscription`](super::encode_subscription); for the route those of [`resolve_route`] and
/// of [`check_route_path`](super::check_route_path).
///
/// # Examples
///
/// ```
/// use subtrie::microbus::subscription_from_route;
///
/// let pattern = subscription_from_route("prod", "orders.shop", "GET", ":8080/order/{id}", "")?;
/// assert_eq!(pattern, "prod.safe.8080.*.orders_shop._.GET.order.*");
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn subscription_from_route(
    plane: &str,
    host: &str,
    method: &str,
    route: &str,
    slot: &str,
) -> Result<String, Error> {
    check_plane(plane).map_err(|error| error.in_field("plane"))?;
    let own = check_route_host(host).map_err(|error| error.in_field("host"))?;
    check_method(method).map_err(|error| error.in_field("method"))?;
    let target = route_target(own, route).map_err(|error| error.in_field("route"))?;
    push_route_path(&mut String::new(), &target.path)
        .map_err(|error| Error::new(error.kind).in_field("route"))?;
    slot_of(slot).map_err(|error| error.in_field("slot"))?;
    encode_subscription(&SubscriptionParts {
        plane,
        port: Port::Number(target.port.into()),
        host: &target.host,
        method,
        path: &target.path,
        slot,
    })
}

/// Return the host, port and decoded path of a route; port 0 stands for every port except 666.
///
/// # Errors
///
/// The first argument that is not valid, with its field: the reasons of
/// [`check_route_host`](super::check_route_host); for the route `url-host`, `url-address`, `url-user`,
/// `url-escape`, `url-control`, `url-backtick`, `utf8`, `port`, `port-range`.
///
/// # Examples
///
/// ```
/// use subtrie::microbus::resolve_route;
///
/// let target = resolve_route("orders.shop", "//all:888/ping")?;
/// assert_eq!((target.host.as_str(), target.port, target.path.as_str()), ("all", 888, "/ping"));
/// # Ok::<(), subtrie::error::Error>(())
/// ```
pub fn resolve_route(host: &str, route: &str) -> Result<Target, Error> {
    let own = check_route_host(host).map_err(|error| error.in_field("host"))?;
    route_target(own, route).map_err(|error| error.in_field("route"))
}

/// Resolve a route relative to the service's own host.
fn route_target(own: String, route: &str) -> Result<Target, Error> {
    if route.starts_with("//") {
        return absolute(&format!("https:{route}"), "https:".len());
    }
    if !route.starts_with([':', '/']) && route.contains("://") {
        return absolute(route, 0);
    }
    let raw = without_extras(route)?;
    let Some(rest) = raw.strip_prefix(':') else {
        let mut path = path_text(raw, 0)?;
        if !path.is_empty() && !path.starts_with('/') {
            path.insert(0, '/');
        }
        return Ok(Target {
            host: own,
            port: 443,
            path,
        });
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (digits, path) = rest.split_at(end);
    Ok(Target {
        host: own,
        port: url_port(digits, 1)?,
        path: path_text(path, 1 + end)?,
    })
}

/// Resolve a route that names its host. `added` bytes were put before it, and positions are counted
/// without them.
fn absolute(url: &str, added: usize) -> Result<Target, Error> {
    let mut target = target_of(url).map_err(|mut error| {
        error.position = error.position.map(|at| at.saturating_sub(added));
        error
    })?;
    target.host = check_route_host(&target.host).map_err(|error| Error::new(error.kind))?;
    Ok(target)
}
