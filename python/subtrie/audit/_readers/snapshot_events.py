"""The events of a monitoring response: its connections and subscriptions, as operations.

A connection is a row CONNECT, and a subscription a row SUB, at the time of the snapshot. What a
connection has ended is not in a snapshot, so nothing ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..._core.errors import WireError
from ..._core.redaction import redacted
from ...wire import monitor
from .._identity import Who, who_is_listed
from .capture_events import INPUT_BITS
from .log_files import shown_path

Row = dict[str, Any]


def snapshot_events(path: str, number: int = 0) -> Iterator[Row]:
    """Yield the events of a saved response of ``/connz``, ``/subsz`` or ``/routez``.

    Args:
        path: The file.
        number: The number of the input among several; positions of one input are together.
    """
    first = number << INPUT_BITS
    try:
        page = monitor.read(path, reveal=True)  # whose JWT says who it is
    except WireError as error:
        yield {"server": "-", "file": shown_path(path), "offset": 0, "position": first,
               "reason": error.reason, "_corrupt_record": str(error)}  # fmt: skip
        return
    time = _microseconds(page.now)
    connections = dict(_connections(page))
    found: list[Row] = []
    for conn, (account, who) in connections.items():
        found += _connected(conn, account, who)
    found += [_subscription(each, connections) for each in page.subscriptions]
    for place, row in enumerate(map(redacted, found)):
        yield {
            "server": page.server or "-",
            "file": shown_path(path),
            "offset": place,
            "position": first + place,
            "time": time,
            **({} if row["op"] == "CLAIM" else {"direction": "in"}),
            **row,
        }


def _connections(page: monitor.Snapshot) -> Iterator[tuple[str, tuple[str | None, Who]]]:
    """Yield each connection of a client or to another server: name, account, who it is."""
    kind, key = {"connz": ("client", "cid"), "routez": ("route", "rid")}.get(
        page.endpoint, ("", "")
    )
    for each in page.document.get("connections") or page.document.get("routes") or ():
        account = each.get("account")
        known = account if isinstance(account, str) else None
        yield f"-/{kind}:{each.get(key)}", (known, who_is_listed(each))


def _connected(conn: str, account: str | None, who: Who) -> Iterator[Row]:
    """Yield the rows of a connection."""
    row = {"conn": conn, "account": account, **who.columns}
    yield {**row, "op": "CONNECT"}
    if who.claimed is not None:
        yield {**row, "op": "CLAIM", "subject": who.claimed}


def _subscription(
    found: monitor.SubscriptionRecord, connections: Mapping[str, tuple[str | None, Who]]
) -> Row:
    """Return the row of a subscription."""
    conn = f"-/{found.kind}:{'-' if found.id is None else found.id}"
    _, who = connections.get(conn, (None, Who()))
    return {
        "conn": conn,
        "op": "SUB",
        "account": found.account,
        **who.columns,
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
