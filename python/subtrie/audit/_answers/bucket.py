"""From the uses of one bucket to sums: all uses of a subject are in one bucket.

A request is in the bucket of its reply subject, and a subscription to a pattern without wildcards
in that of the pattern. Subscriptions with wildcards are known to every bucket.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..._core.control_headers import ERROR, REQUEST, RESPONSE
from .._schema import arrow_schema
from .folding import HEAD, fold
from .rule_table import NO_RULE, NO_RULES, Rule
from .sums import EDGE, Sums
from .uses import KEYS, SUMS, USES

if TYPE_CHECKING:
    import pyarrow as pa

#: A subscription by server and position of its SUB line: pattern, subscriber, queue.
Subscribed = dict[tuple[str, int], tuple[str, str, str | None]]

#: The least status of a response that is an error.
_FIRST_ERROR = 400


def summed(uses: Sequence[pa.RecordBatch]) -> pa.Table:
    """Return uses with equal keys added up."""
    import pyarrow as pa

    schema = arrow_schema(USES)
    table = pa.Table.from_batches(uses) if uses else schema.empty_table()
    names = [name for name, _ in KEYS]
    how = [*((name, "sum") for name in SUMS), ("first", "min"), ("last", "max")]
    found = table.select([name for name, _ in USES]).group_by(names).aggregate(how)
    found = found.select([*names, *(f"{name}_{kind}" for name, kind in how)])
    return found.rename_columns([*names, *(name for name, _ in how)]).cast(schema)


def has_wildcard(pattern: str) -> bool:
    """Return whether a pattern may match several subjects."""
    return "*" in pattern or ">" in pattern


def publish_sums(sums: Sums, described: pa.Table, rules: tuple[Rule, ...]) -> None:
    """Add edges, values at wildcards and matches of rules.

    Args:
        sums: Receives them.
        described: Uses of the kind ``publish`` with the columns ``DESCRIBED`` and ``matched``.
        rules: The publish rules, by number.
    """
    keys = [name for name in EDGE if name != "allowed"]
    names = ("day", "window", "subject", *SUMS, "first", "last", "matched")
    for row in _rows(described, (*keys, *names)):
        decided, published, subject = row["decided"], row["published"], row["subject"]
        allowed = None
        if decided != NO_RULES:
            allowed = decided != NO_RULE and rules[decided].effect == "allow"
        first, last, accepted = row["first"], row["last"], published > 0
        days = frozenset((row["day"],))
        sums.add(
            "edge",
            tuple(allowed if name == "allowed" else row[name] for name in EDGE),
            (
                published,
                row["refused"],
                row["taken"],
                row["undelivered"],
                days if row["taken"] > 0 else frozenset(),
                first if accepted else None,
                last if accepted else None,
                subject if accepted else None,
                (first, subject),
                subject if accepted else None,
            ),
        )
        route = row["route"]
        evidence = row["standing"] == "verified" and row["taken"] > 0 and allowed is not False
        if evidence and route is not None and has_wildcard(route):
            for position, value in _values(route, subject):
                sums.add("value", (row["pattern"], position), (value, value))
        if decided == NO_RULES:
            continue
        everything = published + row["refused"]
        for rule in row["matched"] or (None,):
            identity = row["identity"] if rule is None else None
            sums.add(
                "match",
                (identity, rule, row["window"]),
                (published, row["refused"], everything if rule == decided else 0, days, last),
            )


def _values(route: str, subject: str) -> Iterator[tuple[int, str]]:
    """Yield the values at the wildcards of a route, with their position in the path."""
    tokens = subject.split(".")
    for position, token in enumerate(route.split(".")):
        if token == "*" and position + HEAD < len(tokens):
            yield position, tokens[position + HEAD]
        elif token == ">":
            yield position, ".".join(tokens[position + HEAD :])


def subscribed_in(uses: pa.Table) -> Subscribed:
    """Return the subscriptions in a table of uses of the kind ``subscribe``."""
    names = ("server", "position", "subject", "who", "queue")
    return {
        (row["server"], row["position"]): (row["subject"], row["who"], row["queue"])
        for row in _rows(_of_kind(uses, "subscribe"), names)
    }


def flow_sums(sums: Sums, uses: pa.Table, subscribed: Subscribed) -> None:
    """Add the flows of a bucket.

    The log does not say which publisher a delivery comes from. If several publish one subject, its
    deliveries are divided in the ratio of their messages that were received: this is exact for
    subscribers that received all of them.

    Args:
        sums: Receives them.
        uses: The uses of the bucket.
        subscribed: The subscriptions with wildcards.
    """
    known = subscribed | subscribed_in(uses)
    folded = cache(fold)
    published: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(dict)
    names = ("server", "subject", "who", "published", "undelivered", "bytes", "taken")
    for row in _rows(_of_kind(uses, "publish"), (*names, "first", "last")):
        if row["published"] <= 0:
            continue
        of = published[row["server"], row["subject"]]
        found = of.setdefault(row["who"], [0, 0, 0, 0, row["first"], row["last"]])
        for place, name in enumerate(names[3:]):
            found[place] += row[name]
        found[4], found[5] = min(found[4], row["first"]), max(found[5], row["last"])
    delivered: dict[tuple[str, str], dict[tuple[str, str, str | None], int]] = defaultdict(dict)
    for row in _rows(_of_kind(uses, "delivery"), ("server", "position", "subject", "published")):
        to = known.get((row["server"], row["position"]))
        if to is not None:
            lines = delivered[row["server"], row["subject"]]
            lines[to] = lines.get(to, 0) + row["published"]
    for key, publishers in published.items():
        received = sorted((who, counts) for who, counts in publishers.items() if counts[3] > 0)
        for (pattern, subscriber, queue), count in delivered.get(key, {}).items():
            shares = _divided(count, [counts[3] for _, counts in received])
            for (who, counts), share in zip(received, shares, strict=True):
                sums.add(
                    "flow",
                    (who, folded(pattern), subscriber, queue),
                    _flow(counts, share),
                )
        for who, counts in publishers.items():
            if counts[3] == 0:
                sums.add("flow", (who, folded(key[1]), None, None), _flow(counts, 0))


def _flow(counts: Sequence[int], delivered: int) -> tuple[int, ...]:
    """Return the sums of a flow from those of its publisher, in the order of ``flow_sums``."""
    published, undelivered, size, _, first, last = counts
    return published, delivered, undelivered, size, first, last


def _divided(count: int, weights: list[int]) -> list[int]:
    """Divide a number in a ratio; what is left goes to the largest remainders, then in order."""
    total = sum(weights)
    parts = [count * weight // total for weight in weights]
    rests = [count * weight - part * total for weight, part in zip(weights, parts, strict=True)]
    order = sorted(range(len(weights)), key=lambda at: -rests[at])
    for at in order[: count - sum(parts)]:
        parts[at] += 1
    return parts


def request_sums(sums: Sums, uses: pa.Table) -> None:
    """Add the latency of NATS requests: to the first message on their reply subject."""
    folded = cache(fold)
    answers: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for row in _rows(_of_kind(uses, "publish"), ("server", "subject", "who", "published", "first")):
        if row["published"] > 0:
            answers[row["server"], row["subject"]].append((row["first"], row["who"]))
    for of in answers.values():
        of.sort()
    names = ("server", "position", "subject", "who", "first", "reply")
    for row in _rows(_of_kind(uses, "request"), names):
        asked, of = row["first"], answers.get((row["server"], row["reply"]), [])
        at = bisect_left(of, (asked,))
        answered, responder = of[at] if at < len(of) else (None, None)
        took = None if answered is None else answered - asked
        key = ("nats", row["who"], folded(row["subject"]), responder)
        sums.add("latency", key, ({took: 1}, 0))


def microbus_sums(sums: Sums, sent: pa.Table, host_of: Callable[[str], str]) -> None:
    """Add the latency of Microbus requests, to the first response of each responder.

    A response belongs to a request by its message id and the host of the requester. Of a message in
    fragments the first one counts. A multicast has a row for each responder.

    Args:
        sums: Receives it.
        sent: Accepted publishes with ``time, subject, message_id, op_code, status``.
        host_of: Returns the host in a token.
    """
    folded = cache(fold)
    asked: dict[tuple[str, str], tuple[int, str]] = {}
    answers: dict[tuple[str, str], dict[str, tuple[int, str, int]]] = defaultdict(dict)
    for row in _rows(sent, ("time", "subject", "message_id", "op_code", "status")):
        tokens = row["subject"].split(".")
        if len(tokens) < 5:
            continue
        if tokens[1] in ("safe", "danger") and row["op_code"] == REQUEST:
            key, first = (tokens[3], row["message_id"]), (row["time"], row["subject"])
            asked[key] = min(asked.get(key, first), first)
        elif tokens[1] == "reply" and row["op_code"] in (RESPONSE, ERROR):
            of = answers[tokens[4], row["message_id"]]
            # Null is before every status, as in Spark.
            status = -1 if row["status"] is None else row["status"]
            answer = (row["time"], row["op_code"], status)
            of[tokens[3]] = min(of.get(tokens[3], answer), answer)
    for (requester, number), (time, subject) in asked.items():
        host = host_of(requester)
        of = answers.get((requester, number), {})
        for responder, (answered, code, status) in of.items():
            failed = int(code == ERROR or status >= _FIRST_ERROR)
            # Clocks of two servers may differ by more than a request takes.
            took = max(answered - time, 0)
            of_both = ("microbus", host, folded(subject), host_of(responder))
            sums.add("latency", of_both, ({took: 1}, failed))
        if not of:
            sums.add("latency", ("microbus", host, folded(subject), None), ({None: 1}, 0))


def refusal_sums(sums: Sums, uses: pa.Table) -> None:
    """Add the subscriptions that a server refused."""
    names = ("identity", "subject", "queue", "day", "window", "refused", "last")
    for row in _rows(_of_kind(uses, "refused"), names):
        sums.add("refusal", tuple(row[name] for name in names[:5]), (row["refused"], row["last"]))


def _of_kind(uses: pa.Table, kind: str) -> pa.Table:
    import pyarrow.compute as pc

    return uses.filter(pc.equal(uses["use"], kind))


def _rows(table: pa.Table, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of some columns; times as microseconds."""
    import pyarrow as pa

    names = tuple(names)
    for batch in table.select(list(dict.fromkeys(names))).to_batches(max_chunksize=65_536):
        columns = [
            (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
            for column in batch.columns
        ]
        for values in zip(*columns, strict=True):
            yield dict(zip(batch.schema.names, values, strict=True))
