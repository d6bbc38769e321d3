"""Kinds about permissions: decisions of nats-server, and the rules of services."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .. import gencreds
from ..acl import Deployment, Permissions
from ..acl._access import AccessReview
from ._kind import Kind, Refusal, Row

_PLANE = "plane"


def _perm(engine: Any, row: Row) -> Any:
    """Return whether a publish or subscription is allowed and, if asked, what is delivered.

    None stands for "not determined".

    The lists are as in nats-server: an empty publish list allows nothing, an empty subscribe list
    counts as absent.
    """
    rules = Permissions._using(engine)(
        publish_allow=row.get("pub_allow"),
        publish_deny=row.get("pub_deny", ()),
        subscribe_allow=row.get("sub_allow") or None,
        subscribe_deny=row.get("sub_deny", ()),
    )
    subject, queue = row["subject"], row.get("queue") or None
    if row["op"] == "pub":
        return bool(rules.can_publish(subject, reply=row.get("reply"), model="broker"))
    decision = rules.can_subscribe(subject, queue=queue, model="broker")
    allowed = bool(decision) if decision.determined else None
    if not isinstance(row["expect"], dict):
        return allowed
    asked = {"subscription": subject, "queue": queue, "model": "broker"}
    answers = {each: rules.can_receive(each, **asked) for each in row["deliver"]}
    delivered = {each: bool(one) if one.determined else None for each, one in answers.items()}
    return {"allowed": allowed, "delivered": delivered}


def _who(engine: Any, row: Row) -> dict[str, bool | None]:
    """Return for each user of a deployment whether it may; None stands for "not determined"."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nats.conf"
        path.write_text(row["config"], encoding="utf-8")
        review = AccessReview(Deployment.load(path), "broker")
    answers: dict[str, bool | None] = dict.fromkeys(row["expect"], False)
    for each in review.who(row["account"], row["subject"], row["verb"]):
        if each.user in answers and answers[each.user] is not None:
            answers[each.user] = True if each.determined else None
    return answers


def _use(engine: Any, host: str, given: dict[str, Any]) -> gencreds.EndpointUse:
    """Return the endpoint that a row names; ``*`` stands for a part that is not known."""
    method, route = given["method"], given["route"]
    if route == "*":
        other = None if given.get("host", host) == "*" else given.get("host", host)
        return gencreds.EndpointUse(other, None, method, None)
    if given.get("host") == "*":
        use = gencreds.EndpointUse.of_route("host", method, route, engine=engine)
        return gencreds.EndpointUse(None, use.port, method, use.path)
    return gencreds.EndpointUse.of_route(given.get("host", host), method, route, engine=engine)


def _rule(engine: Any, row: Row) -> str:
    given = row["in"]
    use = _use(engine, given["self"], given)
    verb = "publish" if given["verb"] == "PUB" else "subscribe"
    source = given["self"] if verb == "publish" else None
    text = gencreds.rule(
        verb, plane=_PLANE, host=use.host, source=source, port=use.port,
        method=use.method, path=use.path, engine=engine,
    )  # fmt: skip
    return _shown(text)


def _service(engine: Any, row: Row) -> dict[str, list[str]]:
    given = row["in"]
    host = given["self"]
    uses = {
        name: tuple(_use(engine, host, each) for each in given.get(key) or [])
        for name, key in (
            ("endpoints", "own_routes"), ("calls", "calls"),
            ("events", "outbound_events"), ("hooks", "inbound_events"),
        )
    }  # fmt: skip
    service = gencreds.Service(
        host, uses["endpoints"], uses["calls"], uses["events"], uses["hooks"]
    )
    found = gencreds.rules(service, _PLANE, engine=engine)
    lists = {"pub": found.publish_allow, "sub": found.subscribe_allow}
    return {verb: sorted(_shown(rule) for rule in rules or ()) for verb, rules in lists.items()}


def _shown(rule: str) -> str:
    return "{{plane}}" + rule.removeprefix(_PLANE)


class _Perm(Kind):
    """A kind for which the answers False and "not determined" also count as a refusal."""

    __slots__ = ()

    def judge(self, wanted: Any, got: Any) -> bool:
        """Return whether the answer is the expected one."""
        return (isinstance(wanted, Refusal) and got in (False, None)) or super().judge(wanted, got)


#: Kinds by the value of ``kind``.
KINDS: dict[str, Kind] = {
    "perm": _Perm(_perm, "expect", refused=False),
    "who": Kind(_who, "expect"),
}

#: Kinds by the value of ``op``.
OPS: dict[str, Kind] = {
    "acl_rule": Kind(_rule, "out"),
    "acl_service": Kind(_service, "out"),
}
