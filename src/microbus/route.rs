//! From a URL to the subject of a request, from a route to the pattern of an endpoint.
//!
//! A route is joined with the service's own host: `/p` and `p` are its port 443, `:N/p` its port
//! N, `//host:N/p` and `https://host/p` another host.

use super::encode::{RequestParts, SubscriptionParts, encode_request, encode_subscription};
use super::fields::{Port, check_method, check_plane, published_method_of, slot_of};
use super::fold::ascii_lower;
use super::hosts::{check_identity_host, check_route_host, cut_slot};
use super::paths::push_route_path;
use super::url::{Target, path_text, target_of, url_port, without_extras};
use crate::error::Error;

/// The subject of a request to a URL.
pub fn request_from_url(
    plane: &str,
    source: &str,
    method: &str,
    url: &str,
) -> Result<String, Error> {
    check_plane(plane).map_err(|error| error.in_field("plane"))?;
    check_identity_host(&ascii_lower(source)).map_err(|error| error.in_field("source"))?;
    published_method_of(method).map_err(|error| error.in_field("method"))?;
    let target = target_of(url).map_err(|error| error.in_field("url"))?;
    let (host, slot) =
        cut_slot(&target.host).map_err(|error| Error::new(error.reason).in_field("url"))?;
    if host.is_empty() {
        return Err(Error::new("host-empty").in_field("url"));
    }
    encode_request(&RequestParts {
        plane,
        port: Port::Number(target.port.into()),
        source,
        host,
        method,
        path: &target.path,
        slot: &slot,
    })
}

/// The pattern of an endpoint of the service `host`.
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
        .map_err(|error| Error::new(error.reason).in_field("route"))?;
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

/// The host, port and decoded path of a route; port 0 is any port.
pub fn resolve_route(host: &str, route: &str) -> Result<Target, Error> {
    let own = check_route_host(host).map_err(|error| error.in_field("host"))?;
    route_target(own, route).map_err(|error| error.in_field("route"))
}

/// A route, joined with the service's own host.
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

/// A route that names its host; what was put before it does not count in positions.
fn absolute(url: &str, added: usize) -> Result<Target, Error> {
    let mut target = target_of(url).map_err(|mut error| {
        error.position = error.position.map(|at| at.saturating_sub(added));
        error
    })?;
    target.host = check_route_host(&target.host).map_err(|error| Error::new(error.reason))?;
    Ok(target)
}
