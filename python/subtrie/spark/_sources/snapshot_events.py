"""The events of a monitoring response: its connections and subscriptions, as operations.

A connection is a row CONNECT, and a subscription a row SUB, at the time of the snapshot. What a
connection has ended is not in a snapshot, so nothing ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._errors import WireError
from ...wire import monitor
from .._identity import identity_of
from .capture_events import INPUT_BITS
from .log_files import shown_path
from .text_encoding import escape_surrogates

Row = dict[str, Any]


def snapshot_events(path: str, number: int = 0) -> Iterator[Row]:
    """Yield the events of a saved response of ``/connz``, ``/subsz`` or ``/routez``.

    Args:
        path: The file.
        number: The number of the input among several; positions of one input are together.
    """
    first = number << INPUT_BITS
    try:
        page = monitor.read(path)
    except WireError as error:
        text = escape_surrogates(str(error))
        yield {"server": "-", "file": shown_path(path), "offset": 0, "position": first,
               "reason": error.reason, "_corrupt_record": text}  # fmt: skip
        return
    time = _microseconds(page.now)
    found = [*_connections(page), *map(_subscription, page.subscriptions)]
    for place, row in enumerate(found):
        texts = {key: escape_surrogates(v) if isinstance(v, str) else v for key, v in row.items()}
        yield {
            "server": page.server or "-",
            "file": shown_path(path),
            "offset": place,
            "position": first + place,
            "time": time,
            "direction": "in",
            **texts,
        }


def _connections(page: monitor.Snapshot) -> Iterator[Row]:
    """Yield a row for each connection of a client or to another server."""
    kind, key = {"connz": ("client", "cid"), "routez": ("route", "rid")}.get(
        page.endpoint, ("", "")
    )
    for each in page.document.get("connections") or page.document.get("routes") or ():
        texts = {name: text for name, text in each.items() if isinstance(text, str)}
        yield {
            "conn": f"-/{kind}:{each.get(key)}",
            "op": "CONNECT",
            "account": texts.get("account"),
            "identity": identity_of(
                texts.get("authorized_user"), texts.get("name"), texts.get("remote_name")
            ),
        }


def _subscription(found: monitor.SubscriptionRecord) -> Row:
    """Return the row of a subscription."""
    number = "-" if found.id is None else found.id
    return {
        "conn": f"-/{found.kind}:{number}",
        "op": "SUB",
        "account": found.account,
        "identity": identity_of(found.user, found.name),
        "subject": found.subject,
        "queue": found.queue,
        # Without details there is no id; the pattern and the queue group then identify it.
        "sid": found.sid or f"{found.subject} {found.queue or ''}".strip(),
    }


def _microseconds(text: str | None) -> int | None:
    """Return a time in the form of RFC 3339 as microseconds in UTC."""
    from datetime import UTC, datetime

    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    if time.tzinfo is None:
        return None
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds
