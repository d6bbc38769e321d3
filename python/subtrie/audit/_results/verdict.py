"""The verdict on a run: one line that says what is wrong, and which tables must be empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .silent_consumers import silent_consumers

if TYPE_CHECKING:
    from .._run import Run


#: What an identity rests on that the broker did not prove: no accusation is made of it.
CLAIMS = ("claimed", "token")


def verdict(result: Run) -> str:
    """Return one line that says what is wrong, such as ``4 spoofed and accepted, 44 undelivered``.

    Messages are counted; a spoofed one only if the broker proved its sender. The line says if no
    operation was read, and if undelivered messages were not counted. Cost: the tables it counts
    are read once, a batch at a time.

    Args:
        result: The result of an audit.
    """
    spoofed = accepted = claimed = 0
    for row in _rows(result, "spoofed"):
        if row.get("identity_source") in CLAIMS:
            claimed += row["accepted"]
        else:
            spoofed, accepted = spoofed + row["count"], accepted + row["accepted"]
    forbidden = sum(
        row["count"] for row in _rows(result, "violations") if row["kind"].startswith("forbidden")
    )
    refused, unparseable = _sum(result, "refused", "count"), result.summary["unparseable_lines"]
    slow = _sum(result, "slow_consumers", "count")
    denied = sum(row["count"] for row in _rows(result, "logins") if row["outcome"] == "refused")
    packets = result.counters.get("mqtt", 0)
    claims = _sum(result, "claimed_users", "count")
    attempts = f" ({spoofed - accepted:,} spoofed)" if spoofed > accepted else ""
    counts = (
        (accepted, "spoofed and accepted"),
        (claims, "claim of another user" if claims == 1 else "claims of another user"),
        (forbidden, "forbidden and accepted"),
        (_undelivered(result), "undelivered"),
        (_sum(result, "malformed", "count"), "malformed"),
        (claimed, "accepted under another name than the client's own"),
        (refused, f"refused{attempts}"),
        (_errors(result), "refused by JetStream"),
        (denied, "refused login" if denied == 1 else "refused logins"),
        (_unacknowledged(result), "unacknowledged"),
        (slow, "slow consumer" if slow == 1 else "slow consumers"),
        *_about_servers(result),
        (unparseable, "unparseable"),
        (packets, "line of MQTT not read" if packets == 1 else "lines of MQTT not read"),
    )
    told = [f"{count:,} {what}" for count, what in counts if count]
    unread = not_read(result)
    return ", ".join(told if unread is None else [unread, *told]) or "no findings"


def is_usual_error(why: str) -> bool:
    """Return whether programs provoke an error as they look something up, or make it twice."""
    return why.endswith("found") or why.startswith("wrong last") or " already " in why


def _errors(result: Run) -> int:
    """Return the number of errors of JetStream that are not usual."""
    rows = _rows(result, "jetstream_errors")
    return sum(row["count"] for row in rows if not is_usual_error(row["why"]))


def _about_servers(result: Run) -> Iterator[tuple[int, str]]:
    """Yield how often servers started again, and so on; and the links that ended before a stop."""
    counts = {"start": 0, "reload": 0, "lame duck": 0}
    for event in _unplanned(result):
        if event in counts:
            counts[event] += 1
    for event, word in (("start", "restart"), ("reload", "reload"), ("lame duck", "lame duck")):
        count = counts[event]
        yield count, word if count == 1 else f"{word}s"
    ended = _ended_links(result)
    yield ended, "link ended" if ended == 1 else "links ended"


def _unplanned(result: Run) -> Iterator[str]:
    """Yield the events of servers but the first start of each."""
    started: set[str] = set()
    for row in _rows(result, "servers"):
        if row["event"] != "start" or row["server"] in started:
            yield row["event"]
        else:
            started.add(row["server"])


def _ended_links(result: Run) -> int:
    """Return the number of links that ended, but those of a server that stopped."""
    stops: dict[str, list[Any]] = {}
    for row in _rows(result, "servers"):
        if row["event"] == "stop" and row["time"] is not None:
            stops.setdefault(row["server"], []).append(row["time"])
    ended = 0
    for row in _rows(result, "links"):
        start, end = row["start"], row["end"]
        stopped = (time for time in stops.get(row["server"], ()) if start is None or time > start)
        ended += end is not None and all(time > end for time in stopped)
    return ended


def not_read(result: Run, tables: Iterable[str] = ("undelivered",)) -> str | None:
    """Return what was not read, so that empty tables do not say that all is well; else None.

    ``no operation was read``: the log has none, as one without the lines of ``-DV``. ``undelivered
    messages not counted``: the input does not tell which messages were delivered, or there is no
    Microbus traffic, and the flows, which tell it then, were not made, as with a redaction.

    Args:
        result: The result of an audit.
        tables: The tables that are looked at.
    """
    if not result.summary["operations"]:
        return "no operation was read"
    if "undelivered" in tables and not _counts_undelivered(result):
        return "undelivered messages not counted"
    return None


def _counts_undelivered(result: Run) -> bool:
    if result.counters.get("unsettled"):
        return False
    if result.summary["planes"]:
        return True
    accepted, flows = (next(_rows(result, name), None) for name in ("other_traffic", "flows"))
    return accepted is None or flows is not None


#: What is wrong in the rows of tables that have other rows, too.
_WRONG: dict[str, Callable[[dict[str, Any]], bool]] = {
    "logins": lambda row: row["outcome"] == "refused",
    "jetstream_errors": lambda row: not is_usual_error(row["why"]),
    "gap": lambda row: row["finding"] != "ok",
    "flows": lambda row: row["undelivered"] > 0,
    "latency": lambda row: row["unanswered"] > 0 or bool(row["errors"]),
    "permission_usage": lambda row: not row["accepted"] or row["effect"] != "allow",
}


#: The events of servers that are wrong; an operator reloads and stops one on purpose.
_TROUBLE = ("start", "lame duck", "slow consumer")


def _wrong(result: Run, table: str) -> int:
    """Return how many rows of a table say that something is wrong."""
    if table == "consumers":
        silent = silent_consumers(_rows(result, table))
        return sum(row["redelivered"] > 0 for row in silent)
    if table == "servers":
        return sum(event in _TROUBLE for event in _unplanned(result))
    if table == "links":
        return _ended_links(result)
    if table in _WRONG:
        return sum(map(_WRONG[table], _rows(result, table)))
    return result.count(table)


def failing(result: Run, tables: Iterable[str]) -> dict[str, int]:
    """Return those of the tables in which something is wrong, each with the number of such rows.

    A row of most tables is wrong in itself. Of others only some are: refused logins, links that
    ended while their servers ran, servers that started again, were lame ducks or had a slow
    consumer, errors of JetStream but those that programs provoke, findings of ``gap``, flows with
    undelivered messages, requests without an answer or with errors, rules that nothing used and
    uses that no rule allows, and consumers of which nothing is acknowledged.

    ``undelivered`` has a row for a subject of Microbus. Without Microbus traffic, the messages that
    the verdict counts as undelivered stand for its rows.

    Args:
        result: The result of an audit.
        tables: Names of ``TABLES``.
    """
    found = {name: _wrong(result, name) for name in tables}
    if found.get("undelivered") == 0:
        found["undelivered"] = _undelivered(result)
    return {name: count for name, count in found.items() if count}


def _undelivered(result: Run) -> int:
    """Return the undelivered messages; without Microbus traffic, only the flows tell."""
    count = _sum(result, "undelivered", "count")
    if result.summary["planes"]:
        return count
    flows = _rows(result, "flows")
    return count + sum(int(row["undelivered"]) for row in flows if row["subscriber"] is None)


def _unacknowledged(result: Run) -> int:
    """Return the messages of consumers that acknowledge none, though they came again."""
    silent = silent_consumers(_rows(result, "consumers"))
    return sum(row["delivered"] for row in silent if row["redelivered"])


def _rows(result: Run, table: str) -> Iterator[dict[str, Any]]:
    """Iterate over the rows of a table; an older result may not have it."""
    try:
        return result.rows(table)
    except KeyError:
        return iter(())


def _sum(result: Run, table: str, column: str) -> int:
    return sum(int(row[column]) for row in _rows(result, table))
