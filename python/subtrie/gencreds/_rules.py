"""From what a service does to the rules that just suffice (S0-099 to S0-118).

Five rules every service has, a sixth where it serves the trust root (A2), one for each call, event,
hook and endpoint on another host; then those that another one covers are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .. import _engine
from .._errors import refusal
from .._file_errors import failure
from .._rule_engine import RuleEngine
from ..acl import Permissions
from ._service import Raw, Service, Use

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
    engine: RuleEngine = _engine,
) -> str:
    """One rule: ``publish`` to an endpoint as ``source``, or ``subscribe`` to it from anyone.

    ``PUB`` and ``SUB`` are other words for the two; ``engine`` is the module that answers.
    None leaves a part open, and so do port 0 and method ``ANY``; an open port is never 666 (A16).
    The slot is always ``*`` (A22). Raises ``AddressError`` where a part is wrong, ``ValueError``
    for another verb, or one that does not go with ``source``.
    """
    verb = {"PUB": "publish", "SUB": "subscribe"}.get(verb, verb)
    if verb not in ("publish", "subscribe"):
        raise ValueError(f"verb must be 'publish' or 'subscribe', not {verb!r}")
    if (verb == "publish") != (source is not None):
        raise ValueError("source goes with 'publish', and only there")
    pattern = engine.encode_subscription(
        plane=engine.check_plane(plane),
        port=port or 0,
        host=_SOME_HOST if host is None else host,
        method=method or "ANY",
        path="/{...}" if path is None else path,
    )
    tokens = pattern.split(".")
    if source is not None:
        tokens[3] = _identity(source, engine)
    if host is None:
        tokens[4] = "*"
    tokens[5] = "*"
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
    """The least permissions with which the service works on this plane.

    ``.sources`` of the result says where in the source each rule that is not implicit comes from.
    ``allow_dynamic`` grants the wildcards of ``service.dynamic`` (A29); ``pin_ids`` lets it hear
    replies to the ids of its replicas alone (A23). Raises ``AddressError`` where a host, a route or
    the plane is none, ``PermissionsError`` (``.file``, ``.line``) for an event of another host,
    which its own service triggers, for a source that names another plane, for what is dynamic and
    not allowed, and for ids that the source does not tell.
    """
    me, own = service.host, _identity(service.host, engine)
    start = engine.check_plane(plane)
    for note in service.planes:
        if note.message != plane:
            shown = f"{note.message}, not {plane},"
            raise failure("other-plane", shown, Path(note.file), note.line)
    if service.dynamic and not allow_dynamic:
        first = service.dynamic[0]
        raise failure("dynamic", first.message, Path(first.file), first.line)
    control, replies = f"{start}.safe.888.{own}.>", f"{start}.reply._.{own}.>"
    publish: dict[str, Use | Raw | None] = {control: None, replies: None}
    if pin_ids and not service.ids:
        raise refusal("PermissionsError", "unstable-ids", me)
    heard = [
        engine.encode_reply_subscription(plane=plane, host=me, id=each) for each in service.ids
    ]
    subscribe: dict[str, Use | Raw | None] = {
        f"{start}.safe.*.*.{own}.>": None,
        f"{start}.safe.888.*.all.>": None,
    }
    for entry in heard if pin_ids else [f"{start}.reply._.*.{own}.*"]:
        subscribe[str(entry)] = None
    told = {
        kind: [
            *getattr(service, kind),
            *(each.use for each in service.dynamic if each.kind == kind and each.use is not None),
        ]
        for kind in ("endpoints", "hooks", "events", "calls")
    }
    for use in told["endpoints"]:
        if _is_own(use, own, engine) and use.port == DANGER_PORT:
            subscribe.setdefault(f"{start}.danger.666.*.{own}.>", use)
        else:
            subscribe.setdefault(_rule("subscribe", use, plane, None, engine), use)
    for use in told["hooks"]:
        subscribe.setdefault(_rule("subscribe", use, plane, None, engine), use)
    for use in told["events"]:
        if not _is_own(use, own, engine):
            file = None if use.file is None else Path(use.file)
            raise failure("event-host", str(use.host), file, use.line)
        publish.setdefault(_rule("publish", use, plane, me, engine), use)
    for use in told["calls"]:
        publish.setdefault(_rule("publish", use, plane, me, engine), use)
    for raw in service.raw:
        (publish if raw.verb == "publish" else subscribe).setdefault(raw.pattern, raw)
    lists = {"publish_allow": publish, "subscribe_allow": subscribe}
    found = Permissions._using(engine)(
        publish_allow=_widest(publish, engine), subscribe_allow=_widest(subscribe, engine)
    )
    for name, origins in lists.items():
        for entry in getattr(found, name):
            origin = origins[entry]
            if origin is not None and origin.file is not None:
                found.sources[name, entry] = (origin.file, origin.line or 1)
    return found


def _is_own(use: Use, own: str, engine: RuleEngine) -> bool:
    return use.host is not None and engine.flatten_host(use.host) == own


def _rule(verb: str, use: Use, plane: str, source: str | None, engine: RuleEngine) -> str:
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


def _widest(patterns: Iterable[str], engine: RuleEngine) -> list[str]:
    """Sorted, without those that another one covers."""
    distinct = sorted(set(patterns))
    plain = [each for each in distinct if " " not in each]  # a queue-qualified one covers no other
    return [
        pattern
        for pattern in distinct
        if " " in pattern
        or not any(other != pattern and engine.covers(other, pattern) for other in plain)
    ]
