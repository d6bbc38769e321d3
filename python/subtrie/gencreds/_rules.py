"""Rules: from the traffic of a service to the permissions that just suffice.

Every service has five rules, and a sixth if it serves the trust root; one for each call, event,
hook and endpoint on another host. Rules that another one covers are dropped.
"""

# S0-099 to S0-118

from __future__ import annotations

from pathlib import Path

from .._core import engine as _engine
from .._core.errors import refusal
from .._core.file_errors import file_error
from .._core.ports import CONTROL, DANGER
from .._core.rule_engine import RuleEngine
from .._findings.finding import Place
from ..acl import Permissions
from ..acl._rule_entry import widest
from ._service import EndpointUse, RawSubject, Service

#: A placeholder for the host while a pattern is built; a wildcard replaces it.
_SOME_HOST = "host"


def rule(
    verb: str,
    *,
    plane: str,
    host: str | None,
    source: str | None = None,
    port: int | None,
    method: str | None,
    path: str | None,
    engine: RuleEngine = _engine,
) -> str:
    """Return one rule as a pattern.

    Args:
        verb: ``publish`` (also ``PUB``) to call an endpoint as ``source``, or ``subscribe`` (also
            ``SUB``) to serve it for every source. The slot is always ``*``.
        plane: the plane.
        host: the host of the endpoint; None for any.
        source: the host that calls; only with ``publish``.
        port: the port; 0 and None are any but 666.
        method: the method; ``ANY`` and None are any.
        path: the path, which may hold ``{name}`` and ``{name...}``; None for any.
        engine: the engine that encodes.

    Raises:
        AddressError: a part is not valid.
        ValueError: another verb, or ``source`` with ``subscribe``.
    """
    verb = {"PUB": "publish", "SUB": "subscribe"}.get(verb, verb)
    if verb not in ("publish", "subscribe"):
        raise ValueError(f"verb must be 'publish' or 'subscribe', not {verb!r}")
    if (verb == "publish") != (source is not None):
        raise ValueError("source goes with 'publish', and only there")
    pattern = engine.encode_subscription(
        plane=engine.check_plane(plane),
        port=port or 0,  # A16
        host=_SOME_HOST if host is None else host,
        method=method or "ANY",
        path="/{...}" if path is None else path,
    )
    tokens = pattern.split(".")
    if source is not None:
        tokens[3] = _identity(source, engine)
    if host is None:
        tokens[4] = "*"
    tokens[5] = "*"  # A22
    return ".".join(tokens)


def _identity(host: str, engine: RuleEngine) -> str:
    return engine.flatten_host(engine.check_identity_host(host))


def rules(
    service: Service,
    plane: str,
    *,
    allow_dynamic: bool = False,
    pin_ids: bool = False,
    engine: RuleEngine = _engine,
) -> Permissions:
    """Return the least permissions with which a service works on a plane.

    ``.sources`` of the result gives the place in the source of each rule that is not implicit.

    Args:
        service: the service.
        plane: the plane.
        allow_dynamic: grant wildcards for the calls in ``service.dynamic``.
        pin_ids: allow replies to the ids of the service's replicas only.
        engine: the engine that encodes.

    Raises:
        AddressError: a host, a route or the plane is not valid.
        PermissionsError: the service triggers an event of another host, its source names another
            plane, a call cannot be determined, or an id is not known; with ``.file`` and ``.line``.
    """
    me, own = service.host, _identity(service.host, engine)
    start = engine.check_plane(plane)
    for note in service.planes:
        if note.message != plane:
            shown = f"{note.message}, not {plane},"
            raise file_error("other-plane", shown, Path(note.file), note.line)
    if service.dynamic and not allow_dynamic:
        first = service.dynamic[0]
        raise file_error("dynamic", first.message, Path(first.file), first.line)
    control, replies = f"{start}.safe.{CONTROL}.{own}.>", f"{start}.reply._.{own}.>"
    publish: dict[str, EndpointUse | RawSubject | None] = {control: None, replies: None}
    if pin_ids and not service.ids:
        raise refusal("PermissionsError", "unstable-ids", me)
    reply_patterns = [
        engine.encode_reply_subscription(plane=plane, host=me, id=each) for each in service.ids
    ]
    subscribe: dict[str, EndpointUse | RawSubject | None] = {
        f"{start}.safe.*.*.{own}.>": None,
        f"{start}.safe.{CONTROL}.*.all.>": None,
    }
    for entry in reply_patterns if pin_ids else [f"{start}.reply._.*.{own}.*"]:
        subscribe[str(entry)] = None
    uses = {
        kind: [
            *getattr(service, kind),
            *(each.use for each in service.dynamic if each.kind == kind and each.use is not None),
        ]
        for kind in ("endpoints", "hooks", "events", "calls")
    }
    for use in uses["endpoints"]:
        if _is_own(use, own, engine) and use.port == DANGER:
            subscribe.setdefault(f"{start}.danger.{DANGER}.*.{own}.>", use)
        else:
            subscribe.setdefault(_rule("subscribe", use, plane, None, engine), use)
    for use in uses["hooks"]:
        subscribe.setdefault(_rule("subscribe", use, plane, None, engine), use)
    for use in uses["events"]:
        if not _is_own(use, own, engine):
            file = None if use.file is None else Path(use.file)
            raise file_error("event-host", str(use.host), file, use.line)
        publish.setdefault(_rule("publish", use, plane, me, engine), use)
    for use in uses["calls"]:
        publish.setdefault(_rule("publish", use, plane, me, engine), use)
    for raw in service.raw:
        (publish if raw.verb == "publish" else subscribe).setdefault(raw.pattern, raw)
    lists = {"publish_allow": publish, "subscribe_allow": subscribe}
    found = Permissions._using(engine)(
        publish_allow=widest(publish, engine), subscribe_allow=widest(subscribe, engine)
    )
    for name, origins in lists.items():
        for entry in getattr(found, name):
            origin = origins[entry]
            if origin is not None and origin.file is not None:
                found.sources[name, entry] = Place(origin.file, origin.line or 1)
    return found


def _is_own(use: EndpointUse, own: str, engine: RuleEngine) -> bool:
    """True if the endpoint is on the host of the service."""
    return use.host is not None and engine.flatten_host(use.host) == own


def _rule(verb: str, use: EndpointUse, plane: str, source: str | None, engine: RuleEngine) -> str:
    return rule(
        verb,
        plane=plane,
        host=use.host,
        source=source,
        port=use.port,
        method=use.method,
        path=use.path,
        engine=engine,
    )
