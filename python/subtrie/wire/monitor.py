"""Read the monitoring endpoints of a server: ``/connz``, ``/subsz`` and ``/routez``.

The three endpoints list subscriptions in three forms, which are read into one record. Lists are
paged: ``Snapshot.complete`` says whether the page has all entries. All other keys are available in
``Snapshot.document``, with secrets redacted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core.errors import WireError
from .._core.redaction import redacted

__all__ = ["Snapshot", "SubscriptionRecord", "loads", "read"]

_DETAIL = "subscriptions_list_detail"
_PLAIN = "subscriptions_list"
#: The key of the list of each endpoint.
_LISTS = {"connz": "connections", "subsz": _PLAIN, "routez": "routes"}


@dataclass(frozen=True, slots=True)
class SubscriptionRecord:
    """One subscription of a server. Values that the endpoint does not report are None.

    Attributes:
        server: The id of the server.
        kind: ``client`` or ``route``.
        id: The number of the connection.
        name: The client's name, or the name of the remote server of a route.
        user: The user that the client authenticated as.
        account: The account.
        subject: The pattern.
        queue: The queue name.
        sid: The subscription id.
        delivered: The number of messages delivered.
        max: The number of messages after which the subscription ends.
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
        """The operation that creates the subscription, in the form of ``Op.as_dict()``."""
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
    """One page of an endpoint.

    Attributes:
        endpoint: ``connz``, ``subsz`` or ``routez``.
        server: The id of the server.
        now: The time of the server, as it wrote it.
        total: The number of entries on all pages.
        offset: The number of the first entry of this page.
        limit: The most entries on a page.
        subscriptions: The subscriptions of this page.
        document: The whole response, with secrets redacted.
    """

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
        """Whether this page has all entries; always so for ``/routez``."""
        if self.total is None:
            return True
        entries = self.document.get(_LISTS[self.endpoint])
        return self.offset == 0 and len(entries or ()) >= self.total


def read(path: str | os.PathLike[str], *, reveal: bool = False) -> Snapshot:
    """Read a saved response.

    Args:
        path: The file.
        reveal: Whether secrets are kept.

    Raises:
        OSError: The file cannot be read.
        WireError: As for ``loads``.
    """
    return loads(Path(path).read_bytes(), reveal=reveal)


def loads(text: str | bytes, *, reveal: bool = False) -> Snapshot:
    """Parse a response; its keys determine the endpoint.

    Cost: one pass.

    Args:
        text: The response, a JSON object.
        reveal: Whether secrets (JWTs, nkeys) are kept; by default they are redacted.

    Raises:
        WireError: The text is not a JSON object (reason ``bad json``), or not a response of one of
            the three endpoints (reason ``monitor``).
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise _error("bad json")
    if not reveal:
        try:
            document = redacted(document)
        except RecursionError:  # deeper than this function, though not than the JSON reader
            raise _error("bad json") from None
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
    """Return a text or None. Raises ``TypeError`` for a value of another type."""
    found = document.get(key)
    if not isinstance(found, str | None):
        raise TypeError
    return found


def _number(document: dict[str, Any], key: str) -> int | None:
    """Return an integer or None. Raises ``TypeError`` for a value of another type."""
    found = document.get(key)
    if not isinstance(found, int | None) or isinstance(found, bool):
        raise TypeError
    return found


def _error(reason: str, page: str | None = None) -> WireError:
    """Return the error of a document that is not a response, or one of another page."""
    from .._core.reasons import REASONS

    rule = REASONS[reason]
    told = f"not a monitoring response: {rule.sentence}; {rule.hint}"
    if page is not None:
        told = other_page_advice(page)
    return WireError(told, reason=reason, hint=rule.hint, status=rule.status)


#: The pages of a server without subscriptions, and keys that only they have, all of them.
_OTHER_PAGES = {
    "varz": {"max_connections", "max_payload", "in_msgs"},
    "jsz": {"streams", "consumers", "messages", "storage"},
    "leafz": {"leafnodes", "leafs"},
    "gatewayz": {"inbound_gateways", "outbound_gateways"},
    "accountz": {"accounts", "system_account"},
    "accstatz": {"account_statz"},
    "healthz": {"status"},
}
_ADVICE = {"jsz": "subtrie audit --streams and subtrie acl --streams take it"}
_OTHERS = "save /connz?subs=detail, /subsz?subs=1 or /routez"


def other_page(document: dict[str, Any]) -> str | None:
    """Return which page without subscriptions a document is, such as ``varz``; else None."""
    return next((page for page, keys in _OTHER_PAGES.items() if keys <= document.keys()), None)


def other_page_advice(page: str) -> str:
    """Return what to do with a page without subscriptions."""
    advice = _ADVICE.get(page, _OTHERS)
    return f"this is a response of /{page}, which lists no subscriptions: {advice}"


def _endpoint_of(document: dict[str, Any]) -> str:
    page = other_page(document)
    if page is not None and not isinstance(document.get("connections"), list):
        raise _error("monitor", page)
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
        # The sid of a subscription from a route is its key: "R ACCOUNT subject [queue]".
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
    """Return the record of one entry of a list."""
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
