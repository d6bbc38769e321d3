"""The receivers of a subject at a time, from the intervals of subscriptions.

A subscription is active from the time of its SUB line, and until the time of its end, exclusively.
Pure rules without Spark.
"""  # P-09

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from .._schema import TABLES

Row = Mapping[str, Any]


def active(row: Row, time: datetime) -> bool:
    """Return whether a subscription was active at a time."""
    return bool(row["start"] <= time and (row["end"] is None or time < row["end"]))


def at_rows(matching: Iterable[Row], subject: str, time: datetime) -> list[dict[str, Any]]:
    """Return the subscriptions that would have received a message.

    Args:
        matching: The subscriptions whose pattern matches.
        subject: The subject of the message.
        time: When it is published.
    """
    return [
        {**{name: row.get(name) for name in TABLES["at"]}, "subject": subject, "time": time}
        for row in matching
        if active(row, time)
    ]


def history_rows(
    matching: Iterable[Row], subject: str, begin: Mapping[str, datetime]
) -> list[dict[str, Any]]:
    """Return the intervals in which the receivers of a subject in an account stayed the same.

    Args:
        matching: The subscriptions whose pattern matches.
        subject: The subject.
        begin: The time at which the log of each server begins.
    """
    by_account: dict[tuple[str, str | None], list[Row]] = {}
    for row in matching:
        by_account.setdefault((row["server"], row.get("account")), []).append(row)
    for server in begin.keys() - {server for server, _ in by_account}:
        by_account[server, None] = []
    found: list[dict[str, Any]] = []
    for server, account in sorted(by_account, key=lambda key: (key[0], key[1] or "")):
        rows = by_account[server, account]
        changes: dict[datetime, list[tuple[bool, Row]]] = {}
        for row in rows:
            changes.setdefault(row["start"], []).append((True, row))
            if row["end"] is not None:
                changes.setdefault(row["end"], []).append((False, row))
        if server in begin:
            changes.setdefault(min([begin[server], *changes]), [])
        present: dict[tuple[str, str, datetime], Row] = {}
        last: frozenset[Any] | None = None
        for time in sorted(changes):
            for begins, row in changes[time]:
                key = (row["conn"], row["sid"], row["start"])
                if not begins:
                    present.pop(key, None)
                elif row["end"] is None or row["end"] > row["start"]:
                    present[key] = row
            now = frozenset(present)
            if now == last:
                continue
            if last is not None:
                found[-1]["end"] = time
            last = now
            found.append({**_interval(subject, server, time, present.values()),
                          "account": account})  # fmt: skip
    return found


def _interval(subject: str, server: str, start: datetime, rows: Iterable[Row]) -> dict[str, Any]:
    rows = list(rows)
    names = {
        (row["identity"] or row["conn"]) + ("" if row["queue"] is None else f"@{row['queue']}")
        for row in rows
    }
    return {
        "subject": subject,
        "server": server,
        "start": start,
        "end": None,
        "subscribers": sum(row["queue"] is None for row in rows),
        "groups": len({row["queue"] for row in rows if row["queue"] is not None}),
        "receivers": " ".join(sorted(names)),
    }
