"""URLs as subjects of requests, and routes as patterns of endpoints.

A route is relative to the host of the service: ``/p`` and ``p`` are its port 443, ``:N/p`` its port
N, ``//host:N/p`` and ``https://host/p`` another host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..._core.address import Target
from ..._core.subject import Pattern, Subject
from ..._nats.absolute_url import url_parts
from ._arguments import RuleViolation, argument, text
from ._encode import pattern_of, subject_of
from ._escape import flatten_host
from ._fields import method_of, plane_of, published_method_of, slot_of, trust_of
from ._hosts import any_host_of, route_host_of, slot_cut_of, source_of_encoder
from ._params import url_with_params
from ._paths import path_tokens, route_tokens
from ._url import path_text, target_of, url_port, without_extras

_T = TypeVar("_T")


def request_from_url(*, plane: str, source: str, method: str, url: str) -> Subject:
    """Return the subject of a request to a URL."""
    for value, name in ((plane, "plane"), (source, "source"), (method, "method"), (url, "url")):
        text(value, name)
    with argument("plane", plane):
        plane_of(plane)
    with argument("source", source):
        source_token = flatten_host(source_of_encoder(source))
    with argument("method", method):
        method_token = published_method_of(method)
    with argument("url", url):
        target = target_of(url)
        host, slot = _without_position(slot_cut_of, target.host)
        _without_position(any_host_of, host)
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
        (plane, source, method, url),
    )


def absolute_url(url: str) -> tuple[str, str, str, str, str, str]:
    """Return a URL with its port, and its scheme, host, port, path and query."""
    text(url, "url")
    return url_parts(url)


def request_target(
    *, plane: str, source: str, method: str, url: str
) -> tuple[str, str, str, str, str, str, str, Subject]:
    """Return the parts of a URL, its decoded path, and the subject of a request to it."""
    for value, name in ((url, "url"), (plane, "plane"), (source, "source"), (method, "method")):
        text(value, name)
    parts = url_parts(url)
    subject = request_from_url(plane=plane, source=source, method=method, url=parts[0])
    return *parts, target_of(parts[0]).path, subject


class RequestTargets:
    """The targets of the requests of one sender.

    Args:
        plane: The plane.
        source: The sender.
    """

    def __init__(self, *, plane: str, source: str) -> None:
        request_from_url(plane=plane, source=source, method="GET", url="https://h")
        self._plane, self._source = plane, source

    def __call__(
        self,
        method: str,
        url: str,
        params: Mapping[str, object] | Sequence[tuple[str, object]] | None = None,
        /,
    ) -> tuple[str, str, str, str, str, str, str, str]:
        """Return what ``request_target`` does; the subject may be plain text."""
        text(method, "method")
        text(url, "url")
        url = url_with_params(url, params)
        return request_target(plane=self._plane, source=self._source, method=method, url=url)


def subscription_from_route(
    *, plane: str, host: str, method: str, route: str, slot: str = ""
) -> Pattern:
    """Return the pattern of an endpoint that the service ``host`` registers under a route."""
    for value, name in (
        (plane, "plane"),
        (host, "host"),
        (method, "method"),
        (route, "route"),
        (slot, "slot"),
    ):
        text(value, name)
    with argument("plane", plane):
        plane_of(plane)
    with argument("host", host):
        own = route_host_of(host)
    with argument("method", method):
        method_token = method_of(method)
    with argument("route", route):
        target = route_target_of(own, route)
        tokens = _without_position(route_tokens, target.path)
    with argument("slot", slot):
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
        (plane, host, method, route, slot),
    )


def resolve_route(*, host: str, route: str) -> Target:
    """Return the host, the port and the decoded path of a route; port 0 is any port."""
    text(host, "host")
    text(route, "route")
    with argument("host", host):
        own = route_host_of(host)
    with argument("route", route):
        return route_target_of(own, route)


def route_target_of(own: str, route: str) -> Target:
    """Return the target of a route relative to the host of the service."""
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
    """Return the target of a route with a host; an added prefix does not count in positions."""
    try:
        target = target_of(url)
    except RuleViolation as violation:
        at = None if violation.position is None else max(0, violation.position - added)
        raise RuleViolation(violation.reason, at) from None
    return target._replace(host=_without_position(route_host_of, target.host))


def _without_position(rule: Callable[[str], _T], value: str) -> _T:
    """Apply a rule to decoded text, whose positions are not those of the argument."""
    try:
        return rule(value)
    except RuleViolation as violation:
        raise RuleViolation(violation.reason) from None
