"""Kinds about Microbus addresses: encoding, decoding and validation.

Rows of two origins have different names for some fields; ``_FIELDS`` maps them to arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._kind import Kind, Row

_FIELDS = {"src": "source", "dest": "host", "id_or_locality": "slot"}


def _arguments(row: Row) -> dict[str, Any]:
    return {_FIELDS.get(name, name): value for name, value in row["in"].items()}


def _encoder(name: str) -> Kind:
    """Return a kind whose fields are the arguments of a function."""

    def ask(engine: Any, row: Row) -> str:
        return str(getattr(engine, name)(**_arguments(row)))

    return Kind(ask, "out")


def _unary(name: str, field: str) -> Kind:
    """Return a kind with one field, the argument of a function."""

    def ask(engine: Any, row: Row) -> str:
        return str(getattr(engine, name)(row["in"][field]))

    return Kind(ask, "out")


def _allowed(name: str, field: str) -> Kind:
    """Return a kind that asks whether a function accepts the field."""

    def ask(engine: Any, row: Row) -> bool:
        getattr(engine, name)(row["in"][field])
        return True

    return Kind(ask, "out", refused=False)


def _listed(ask: Callable[[Any, str], tuple[str, ...]], field: str) -> Kind:
    return Kind(lambda engine, row: list(ask(engine, row["in"][field])), "out")


def _cut_slot(engine: Any, row: Row) -> dict[str, str]:
    host, slot = engine.cut_slot(row["in"]["host"])
    return {"host": host, "slot": slot}


def _locality_slot(engine: Any, row: Row) -> str:
    """Return the narrowest slot of a locality, or empty text for an empty locality."""
    locality = row["in"]["locality"].lower()
    return str(engine.locality_slots(locality)[-1]) if locality else ""


def _split_subject(engine: Any, row: Row) -> dict[str, str]:
    """Return the six leading tokens of an address, those of a reply in the same positions."""
    address = engine.decode(row["in"]["subject"])
    reply = not hasattr(address, "method")
    return {
        "plane": address.plane,
        "trust": "reply" if reply else address.trust,
        "port": "_" if reply else str(address.port),
        "src": address.source,
        "dest": address.host,
        "id_or_locality": address.id if reply else address.slot or "_",
    }


def _route_host(engine: Any, row: Row) -> dict[str, Any]:
    return {"ok": True, "canonical": str(engine.check_route_host(row["in"]["host"]))}


def _resolve_route(engine: Any, row: Row) -> str:
    question = row["in"]
    return str(
        engine.subscription_from_route(
            plane="p", host=question["default_host"], method="ANY", route=question["route"]
        )
    )


class _Resolved(Kind):
    """A route is resolved correctly if its pattern is that of the host, port and path."""

    __slots__ = ()

    def answer(self, engine: Any, row: Row) -> Any:
        got = super().answer(engine, row)
        wanted = super().wanted(row)
        if not isinstance(got, str) or not isinstance(wanted, dict):
            return got
        same = str(engine.encode_subscription(plane="p", method="ANY", **wanted))
        return wanted if got == same else {"subscribes to": got, "instead of": same}


def _wire_method(engine: Any, row: Row) -> bool:
    """Return whether the method is valid in the subject of a request, which must decode."""
    method = row["in"]["method"]
    address = engine.decode(f"p.safe.443.a.b._.{method}.x")
    return bool(address.method == method)


def _length(engine: Any, row: Row) -> dict[str, int]:
    arguments = _arguments(row)
    arguments["path"] = "/" + "a" * arguments.pop("path_len_a")
    return {"ok": len(engine.encode_request(**arguments))}


def _standard_rules(engine: Any, row: Row) -> dict[str, list[str]]:
    """Return the rules that every service has: prefixes of subjects that the codec encodes."""
    plane, host = "plane", row["in"]["self"]
    anything: dict[str, Any] = {"method": "ANY", "path": "/{...}"}
    control = engine.encode_request(
        plane=plane, port=888, source=host, host="all", method="GET", path="/ping"
    )
    reply = engine.encode_reply(plane=plane, source=host, host=host, id="id-1")
    own = engine.encode_subscription(plane=plane, port=0, host=host, **anything)
    replies = engine.encode_reply_subscription(plane=plane, host=host, id="id-1")
    broadcast = engine.encode_subscription(plane=plane, port=888, host="all", **anything)
    rules = {
        "pub": [_cut(control, 4, ">"), _cut(reply, 4, ">")],
        "sub": [_cut(own, 5, ">"), _cut(replies, 5, "*"), _cut(broadcast, 5, ">")],
    }
    if row["in"]["has_666"]:
        danger = engine.encode_subscription(plane=plane, port=666, host=host, **anything)
        rules["sub"].append(_cut(danger, 5, ">"))
    for rule in (*rules["pub"], *rules["sub"]):
        engine.check_pattern(rule)
    return rules


def _cut(subject: str, tokens: int, tail: str) -> str:
    """The first tokens, the plane as a placeholder, and a wildcard for the rest."""
    return ".".join(["{{plane}}", *str(subject).split(".")[1:tokens], tail])


#: Kinds by the value of ``op``.
OPS: dict[str, Kind] = {
    "encode_request": _encoder("encode_request"),
    "encode_subscription": _encoder("encode_subscription"),
    "encode_reply": _encoder("encode_reply"),
    "encode_reply_subscription": _encoder("encode_reply_subscription"),
    "request_from_url": _encoder("request_from_url"),
    "url_to_request": _encoder("request_from_url"),
    "subscription_from_route": _encoder("subscription_from_route"),
    "resolve_route": _Resolved(_resolve_route, "out"),
    "encode_request_length_check": Kind(_length, "out"),
    "escape_segment": _unary("escape_segment", "segment"),
    "escape_path_segment": _unary("escape_segment", "segment"),
    "flatten_host": _unary("flatten_host", "host"),
    "escape_hostname": _unary("flatten_host", "host"),
    "unescape_hostname": _unary("unflatten_host", "segment"),
    "split_subject": Kind(_split_subject, "out"),
    "cut_slot": _listed(lambda engine, host: engine.cut_slot(host), "host"),
    "cut_id_or_locality": Kind(_cut_slot, "out"),
    "locality_slots": _listed(lambda engine, text: engine.locality_slots(text), "locality"),
    "locality_slot": Kind(_locality_slot, "out"),
    "validate_hostname": _allowed("check_identity_host", "host"),
    "validate_route_hostname": Kind(_route_host, "out", refused={"ok": False, "canonical": None}),
    "validate_route_path": _allowed("check_route_path", "path"),
    "validate_plane": _allowed("check_plane", "plane"),
    "acl_standard_rules": Kind(_standard_rules, "out"),
    "valid_wire_method": Kind(_wire_method, "out", refused=False),
    "normalize_subscription_method": _unary("check_method", "method"),
}
