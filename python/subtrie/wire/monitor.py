"""What a running server says of itself over HTTP: ``/connz``, ``/subsz`` and ``/routez``.

The three lists say the same thing in three shapes; here they become one record, the subscription.
Lists are paged: ``Snapshot.complete`` tells whether this page is all of it. Keys that nobody asked
for stay in ``Snapshot.document``, secrets replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import WireError
from .secrets import redacted

_DETAIL = "subscriptions_list_detail"
_PLAIN = "subscriptions_list"


@dataclass(frozen=True, slots=True)
class SubscriptionRecord:
    """One subscription that a server holds. What its endpoint does not tell is None.

    ``kind`` is ``client`` or ``route``; ``id`` the number of that connection; ``name`` and ``user``
    are what a client gave; ``delivered`` counts messages; ``max`` is when it ends by itself.
    """

    server: str | None
    kind: str
    id: int | None
    name: str | None
    user: str | None
    account: str | None
    subject: str
    queue: str | None
    sid: str | None
    delivered: int | None
    max: int | None

    @property
    def operation(self) -> dict[str, Any]:
        """The operation that made it, in the form of ``Op.as_dict()``."""
        if self.kind == "route":
            weight = None if self.queue is None else 1
            return {
                "op": "RS+",
                "account": self.account,
                "subject": self.subject,
                "queue": self.queue,
                "weight": weight,
            }
        return {"op": "SUB", "subject": self.subject, "queue": self.queue, "sid": self.sid}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One page of one endpoint: ``connz``, ``subsz`` or ``routez``."""

    endpoint: str
    server: str | None
    now: str | None
    total: int | None
    offset: int
    limit: int | None
    subscriptions: tuple[SubscriptionRecord, ...]
    document: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Is everything on this page? (``/routez`` has one page.)"""
        if self.total is None:
            return True
        entries = self.document.get("connections", self.document.get(_PLAIN, ()))
        return self.offset == 0 and len(entries or ()) >= self.total


def read(path: str | os.PathLike[str], *, reveal: bool = False) -> Snapshot:
    """Reads a saved answer. Raises ``OSError``, or ``WireError`` as ``loads`` does."""
    return loads(Path(path).read_bytes(), reveal=reveal)


def loads(text: str | bytes, *, reveal: bool = False) -> Snapshot:
    """Reads an answer; which endpoint gave it is seen from its keys.

    Secrets (JWTs, nkeys) are replaced unless ``reveal``. Raises ``WireError``: ``bad json`` for
    what is no JSON object, ``monitor`` for one that is none of the three. Cost: one pass.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _error("bad json")
    if not reveal:
        document = redacted(document)
    endpoint = _endpoint_of(document)
    try:
        found = tuple(_READERS[endpoint](document))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _error("monitor") from None
    paged = endpoint != "routez"
    return Snapshot(
        endpoint,
        document.get("server_id"),
        document.get("now"),
        document.get("total") if paged else None,
        int(document.get("offset") or 0),
        document.get("limit") if paged else None,
        found,
        document,
    )


def _error(reason: str) -> WireError:
    from ..reasons import REASONS

    rule = REASONS[reason]
    return WireError(f"not an answer of a server: {rule.sentence}; {rule.hint}",
                     reason=reason, hint=rule.hint, status=rule.status)  # fmt: skip


def _endpoint_of(document: dict[str, Any]) -> str:
    if "connections" in document:
        return "connz"
    if "routes" in document:
        return "routez"
    if "num_subscriptions" in document or _PLAIN in document:
        return "subsz"
    raise _error("monitor")


def _connz(document: dict[str, Any]) -> Iterator[SubscriptionRecord]:
    for connection in document["connections"] or ():
        base = (document.get("server_id"), "client", connection.get("cid"), connection.get("name"))
        user = connection.get("authorized_user")
        account = connection.get("account")
        for entry in connection.get(_DETAIL) or connection.get(_PLAIN) or ():
            yield _record((*base, user), account, entry)


def _subsz(document: dict[str, Any]) -> Iterator[SubscriptionRecord]:
    for entry in document.get(_PLAIN) or ():
        sid = entry.get("sid", "") if isinstance(entry, dict) else ""
        # What came over a route has its key for a sid: "R ACCOUNT subject [queue]".
        kind = "route" if sid[:2] in ("R ", "L ") else "client"
        base = (document.get("server_id"), kind, entry.get("cid"), None, None)
        yield _record(base, entry.get("account"), entry)


def _routez(document: dict[str, Any]) -> Iterator[SubscriptionRecord]:
    for route in document["routes"] or ():
        base = (
            document.get("server_id"),
            "route",
            route.get("rid"),
            route.get("remote_name"),
            None,
        )
        for entry in route.get(_DETAIL) or route.get(_PLAIN) or ():
            yield _record(base, route.get("account"), entry)


_READERS = {"connz": _connz, "subsz": _subsz, "routez": _routez}


def _record(base: tuple[Any, ...], account: str | None, entry: Any) -> SubscriptionRecord:
    if isinstance(entry, str):
        entry = {"subject": entry}
    sid = entry.get("sid")
    if account is None:
        account = entry.get("account")
    if account is None and base[1] == "route" and sid:
        words = sid.split(" ")
        account = words[1] if words[0] in ("R", "L") and len(words) > 2 else None
    server, kind, number, name, user = base
    return SubscriptionRecord(
        server,
        kind,
        number,
        name,
        user,
        account,
        str(entry["subject"]),
        entry.get("qgroup"),
        sid,
        entry.get("msgs"),
        entry.get("max"),
    )
