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

from .._errors import WireError
from .._redaction import redacted

_DETAIL = "subscriptions_list_detail"
_PLAIN = "subscriptions_list"
#: What each endpoint lists.
_LISTS = {"connz": "connections", "subsz": _PLAIN, "routez": "routes"}


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
        entries = self.document.get(_LISTS[self.endpoint])
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
    paged = endpoint != "routez"
    try:
        if not isinstance(document.get(_LISTS[endpoint]), list | None):
            raise TypeError
        return Snapshot(
            endpoint,
            _text(document, "server_id"),
            _text(document, "now"),
            _number(document, "total") if paged else None,
            _number(document, "offset") or 0,
            _number(document, "limit") if paged else None,
            tuple(_READERS[endpoint](document)),
            document,
        )
    except (AttributeError, KeyError, TypeError):
        raise _error("monitor") from None


def _text(document: dict[str, Any], key: str) -> str | None:
    """A text or nothing. Raises ``TypeError`` for anything else under that name."""
    found = document.get(key)
    if not isinstance(found, str | None):
        raise TypeError
    return found


def _number(document: dict[str, Any], key: str) -> int | None:
    found = document.get(key)
    if not isinstance(found, int | None) or isinstance(found, bool):
        raise TypeError
    return found


def _error(reason: str) -> WireError:
    from .._reasons import REASONS

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
        base = (document.get("server_id"), "client", _number(connection, "cid"))
        user = (_text(connection, "name"), _text(connection, "authorized_user"))
        account = _text(connection, "account")
        for entry in connection.get(_DETAIL) or connection.get(_PLAIN) or ():
            yield _record((*base, *user), account, entry)


def _subsz(document: dict[str, Any]) -> Iterator[SubscriptionRecord]:
    for entry in document.get(_PLAIN) or ():
        sid = _text(entry, "sid") or ""
        # What came over a route has its key for a sid: "R ACCOUNT subject [queue]".
        kind = "route" if sid[:2] in ("R ", "L ") else "client"
        base = (document.get("server_id"), kind, _number(entry, "cid"), None, None)
        yield _record(base, _text(entry, "account"), entry)


def _routez(document: dict[str, Any]) -> Iterator[SubscriptionRecord]:
    for route in document["routes"] or ():
        base = (
            document.get("server_id"),
            "route",
            _number(route, "rid"),
            _text(route, "remote_name"),
            None,
        )
        for entry in route.get(_DETAIL) or route.get(_PLAIN) or ():
            yield _record(base, _text(route, "account"), entry)


_READERS = {"connz": _connz, "subsz": _subsz, "routez": _routez}


def _record(base: tuple[Any, ...], account: str | None, entry: Any) -> SubscriptionRecord:
    if isinstance(entry, str):
        entry = {"subject": entry}
    subject, sid = _text(entry, "subject"), _text(entry, "sid")
    if subject is None:
        raise KeyError("subject")
    if account is None:
        account = _text(entry, "account")
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
        subject,
        _text(entry, "qgroup"),
        sid,
        _number(entry, "msgs"),
        _number(entry, "max"),
    )
