"""From what a service does to the rules that just suffice (S0-099 to S0-118).

Five rules every service has, a sixth where it serves the trust root (A2), one for each call, event,
hook and endpoint on another host; then those that another one covers are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable

from .. import _engine, microbus
from ..acl import Permissions
from ..errors import refusal
from .service import Service, Use

#: Stands for a host while a pattern is made in which a wildcard will stand there.
_SOME_HOST = "host"

#: The port of the trust root.
DANGER_PORT = 666


def rule(
    verb: str,
    *,
    plane: str,
    host: str | None,
    source: str | None = None,
    port: int | None,
    method: str | None,
    path: str | None,
) -> str:
    """One rule: ``publish`` to an endpoint as ``source``, or ``subscribe`` to it from anyone.

    ``PUB`` and ``SUB`` are other words for the two.
    None leaves a part open, and so do port 0 and method ``ANY``; an open port is never 666 (A16).
    The slot is always ``*`` (A22). Raises ``AddressError`` where a part is wrong, ``ValueError``
    for another verb, or one that does not go with ``source``.
    """
    verb = {"PUB": "publish", "SUB": "subscribe"}.get(verb, verb)
    if verb not in ("publish", "subscribe"):
        raise ValueError(f"verb must be 'publish' or 'subscribe', not {verb!r}")
    if (verb == "publish") != (source is not None):
        raise ValueError("source goes with 'publish', and only there")
    pattern = microbus.encode_subscription(
        plane=microbus.check_plane(plane),
        port=port or 0,
        host=_SOME_HOST if host is None else host,
        method=method or "ANY",
        path="/{...}" if path is None else path,
    )
    tokens = pattern.split(".")
    if source is not None:
        tokens[3] = _identity(source)
    if host is None:
        tokens[4] = "*"
    tokens[5] = "*"
    return ".".join(tokens)


def _identity(host: str) -> str:
    return microbus.flatten_host(microbus.check_identity_host(host))


def rules(service: Service, plane: str) -> Permissions:
    """The least permissions with which the service works on this plane.

    Raises ``AddressError`` where a host, a route or the plane is none, ``PermissionsError`` for an
    event of another host: its own service triggers it.
    """
    me, own = service.host, _identity(service.host)
    start = microbus.check_plane(plane)
    publish = [f"{start}.safe.888.{own}.>", f"{start}.reply._.{own}.>"]
    subscribe = [
        f"{start}.safe.*.*.{own}.>",
        f"{start}.reply._.*.{own}.*",
        f"{start}.safe.888.*.all.>",
    ]
    for use in service.endpoints:
        if _is_own(use, own) and use.port == DANGER_PORT:
            subscribe.append(f"{start}.danger.666.*.{own}.>")
        else:
            subscribe.append(_rule("subscribe", use, plane))
    for use in service.hooks:
        subscribe.append(_rule("subscribe", use, plane))
    for use in service.events:
        if not _is_own(use, own):
            raise refusal("PermissionsError", "event-host", str(use.host))
        publish.append(_rule("publish", use, plane, me))
    for use in service.calls:
        publish.append(_rule("publish", use, plane, me))
    return Permissions(publish_allow=_widest(publish), subscribe_allow=_widest(subscribe))


def _is_own(use: Use, own: str) -> bool:
    return use.host is not None and microbus.flatten_host(use.host) == own


def _rule(verb: str, use: Use, plane: str, source: str | None = None) -> str:
    return rule(
        verb,
        plane=plane,
        host=use.host,
        source=source,
        port=use.port,
        method=use.method,
        path=use.path,
    )


def _widest(patterns: Iterable[str]) -> list[str]:
    """Sorted, without those that another one covers."""
    distinct = sorted(set(patterns))
    return [
        pattern
        for pattern in distinct
        if not any(other != pattern and _engine.active.covers(other, pattern) for other in distinct)
    ]
