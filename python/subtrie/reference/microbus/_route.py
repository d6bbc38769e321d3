"""From a URL to the subject of a request, from a route to the pattern of an endpoint.

A route is joined with the service's own host: ``/p`` and ``p`` are its port 443, ``:N/p`` its port
N, ``//host:N/p`` and ``https://host/p`` another host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..._address import Target
from ..._subject import Pattern, Subject
from ._arguments import Broken, of, text
from ._encode import pattern_of, subject_of
from ._escape import flatten_host
from ._fields import method_of, plane_of, published_method_of, slot_of, trust_of
from ._hosts import any_host_of, route_host_of, slot_cut_of, source_of_encoder
from ._paths import path_tokens, route_tokens
from ._url import path_text, target_of, url_port, without_extras

_T = TypeVar("_T")


def request_from_url(*, plane: str, source: str, method: str, url: str) -> Subject:
    """The subject of a request to a URL."""
    for value, name in ((plane, "plane"), (source, "source"), (method, "method"), (url, "url")):
        text(value, name)
    with of("plane", plane):
        plane_of(plane)
    with of("source", source):
        source_token = flatten_host(source_of_encoder(source))
    with of("method", method):
        method_token = published_method_of(method)
    with of("url", url):
        target = target_of(url)
        host, slot = _placeless(slot_cut_of, target.host)
        _placeless(any_host_of, host)
    return subject_of(
        [
            plane,
            trust_of(target.port),
            str(target.port),
            source_token,
            flatten_host(host),
            slot or "_",
            method_token,
            *path_tokens(target.path),
        ],
        url,
    )


def subscription_from_route(
    *, plane: str, host: str, method: str, route: str, slot: str = ""
) -> Pattern:
    """The pattern of an endpoint of the service ``host``."""
    for value, name in (
        (plane, "plane"),
        (host, "host"),
        (method, "method"),
        (route, "route"),
        (slot, "slot"),
    ):
        text(value, name)
    with of("plane", plane):
        plane_of(plane)
    with of("host", host):
        own = route_host_of(host)
    with of("method", method):
        method_token = method_of(method)
    with of("route", route):
        target = route_target_of(own, route)
        tokens = _placeless(route_tokens, target.path)
    with of("slot", slot):
        slot_token = slot_of(slot) or "_"
    return pattern_of(
        [
            plane,
            trust_of(target.port),
            "*" if target.port == 0 else str(target.port),
            "*",
            flatten_host(target.host),
            slot_token,
            "*" if method_token == "ANY" else method_token,
            *tokens,
        ],
        route,
    )


def resolve_route(*, host: str, route: str) -> Target:
    """The host, port and decoded path of a route; port 0 is any port."""
    text(host, "host")
    text(route, "route")
    with of("host", host):
        own = route_host_of(host)
    with of("route", route):
        return route_target_of(own, route)


def route_target_of(own: str, route: str) -> Target:
    """A route, joined with the service's own host."""
    if route.startswith("//"):
        return _absolute("https:" + route, len("https:"))
    if not route.startswith((":", "/")) and "://" in route:
        return _absolute(route, 0)
    raw, _ = without_extras(route.encode())
    if not raw.startswith(b":"):
        path = path_text(raw, 0)
        return Target(own, 443, path if path.startswith("/") or not path else "/" + path)
    digits, slash, path_raw = raw[1:].partition(b"/")
    port = url_port(digits, 1)
    return Target(own, port, path_text(slash + path_raw, 1 + len(digits)))


def _absolute(url: str, added: int) -> Target:
    """A route that names its host; what was put before it does not count in positions."""
    try:
        target = target_of(url)
    except Broken as broken:
        at = None if broken.position is None else max(0, broken.position - added)
        raise Broken(broken.reason, at) from None
    return target._replace(host=_placeless(route_host_of, target.host))


def _placeless(rule: Callable[[str], _T], value: str) -> _T:
    """A rule on decoded text, whose positions are not those of what was written."""
    try:
        return rule(value)
    except Broken as broken:
        raise Broken(broken.reason) from None
