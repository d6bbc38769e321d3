"""From a bucket to the sums that answers are made of.

All rows about a subject are in one bucket, and so are requests with one reply subject, and heads
with one message id.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from ..._core import engine
from ..._core.control_headers import ERROR, REQUEST, RESPONSE
from ..._core.errors import SubtrieError
from .._answers.folding import HEAD, fold
from .._answers.rule_table import NO_RULE, NO_RULES
from .._answers.sums import Sums, greatest_known, least_known
from .._partial.kinds import DAY, DAYS
from .bucket import Bucket
from .classified import Classified, columns_of

if TYPE_CHECKING:
    import pyarrow as pa

#: The least status of a response that is an error.
_FIRST_ERROR = 400
_ACCEPTED, _TAKEN = 2, 1


def answer_sums(bucket: Bucket) -> Sums:
    """Return the sums of a bucket."""
    sums = Sums()
    _refusal_sums(sums, bucket.table("refused"))
    if bucket.subjects is not None:
        classified = Classified(bucket)
        _publish_sums(sums, bucket, classified)
        _flow_sums(sums, bucket, classified)
        _request_sums(sums, bucket, classified)
    microbus_sums(sums, bucket.table("head"), _host_in)
    return sums


def _publish_sums(sums: Sums, bucket: Bucket, of: Classified) -> None:
    """Add edges, values at wildcards and matches of rules."""
    rules = bucket.asked.rules
    names = ("window", "published", "refused", "taken", "undelivered", "first", "last",
             "first_accepted", "last_accepted", DAYS)  # fmt: skip
    sent = zip(*columns_of(bucket.publishes, *names), strict=True)
    known = zip(
        *(column.to_pylist() for column in (
            of.service, of.kinds, of.plane, of.port, of.pattern, of.route, of.standing,
            of.identity, of.call, of.texts,
        )), of.matched.decided.tolist(), strict=True,
    )  # fmt: skip
    for row, (counted, about) in enumerate(zip(sent, known, strict=True)):
        window, published, refused, taken, undelivered, first, last, *span, days = counted
        *_, pattern, route, standing, identity, call, subject, decided = about
        days = days or ()
        allowed = None
        if decided != NO_RULES:
            allowed = decided != NO_RULE and rules[decided].effect == "allow"
        received = frozenset(day // 4 // DAY for day in days if day & _TAKEN)
        accepted = subject if published > 0 else None
        sums.add(
            "edge",
            (*about[:8], allowed, decided, call),
            (published, refused, taken, undelivered, received, *span,
             accepted, (first or 0, subject), accepted),
        )  # fmt: skip
        evidence = standing == "verified" and taken > 0 and allowed is not False
        if evidence and route is not None and ("*" in route or ">" in route):
            for position, value in _values(route, subject):
                sums.add("value", (pattern, position), (value, value))
        if decided == NO_RULES:
            continue
        everything, seen = published + refused, frozenset(day // 4 // DAY for day in days)
        for rule in of.matched.of(row) or (None,):
            sums.add(
                "match",
                (identity if rule is None else None, rule, window),
                (published, refused, everything if rule == decided else 0, seen, last),
            )


def _values(route: str, subject: str) -> Iterator[tuple[int, str]]:
    """Yield the values at the wildcards of a route, with their position in the path."""
    tokens = subject.split(".")
    for position, token in enumerate(route.split(".")):
        if token == "*" and position + HEAD < len(tokens):
            yield position, tokens[position + HEAD]
        elif token == ">":
            yield position, ".".join(tokens[position + HEAD :])


def _flow_sums(sums: Sums, bucket: Bucket, of: Classified) -> None:
    """Add the flows of a bucket.

    The log does not say which publisher a delivery comes from. If several publish one subject, its
    deliveries are divided in the ratio of their messages that were received: this is exact for
    subscribers that received all of them.
    """
    folded = cache(fold)
    published: dict[tuple[str, int], dict[str, list[int]]] = defaultdict(dict)
    names = ("server", "at", "published", "undelivered", "bytes", "taken",
             "first_accepted", "last_accepted")  # fmt: skip
    rows = zip(*columns_of(bucket.publishes, *names), of.who.to_pylist(), strict=True)
    for server, at, *counts, first, last, who in rows:
        if counts[0] <= 0:
            continue
        found = published[server, at].setdefault(who, [0, 0, 0, 0, first, last])
        for place, count in enumerate(counts):
            found[place] += count
        found[4], found[5] = least_known(found[4], first), greatest_known(found[5], last)
    delivered: dict[tuple[str, int], dict[tuple[str, str, str | None], int]] = defaultdict(dict)
    for server, at, to, count in _received(bucket):
        lines = delivered[server, at]
        lines[to] = lines.get(to, 0) + count
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
                subject = folded(of.subjects.texts[key[1]].as_py())
                sums.add("flow", (who, subject, None, None), _flow(counts, 0))


def _received(bucket: Bucket) -> Iterator[tuple[str, int, tuple[str, str, str | None], int]]:
    """Yield server, subject, subscription (pattern, subscriber, queue) and number of deliveries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    deliveries, index = bucket.deliveries, bucket.index
    place = index.rows_of(deliveries)
    known = place >= 0
    rows = index.subscriptions.take(pa.array(place[known]))
    patterns = index.patterns.take(rows["number"].combine_chunks())
    subscribers = pc.coalesce(rows["identity"], rows["conn"])
    to = zip(*(each.to_pylist() for each in (patterns, subscribers, rows["queue"])), strict=True)
    of = deliveries.filter(pa.array(known))
    yield from zip(*columns_of(of, "server", "at"), to, of["count"].to_pylist(), strict=True)


def _flow(counts: Sequence[int], delivered: int) -> tuple[int, ...]:
    """Return the sums of a flow from those of its publisher, in the order of ``Sums``."""
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


def _request_sums(sums: Sums, bucket: Bucket, of: Classified) -> None:
    """Add the latency of NATS requests: to the first message of a day on their reply subject."""
    folded = cache(fold)
    requests = bucket.table("request")
    asked_for = set(requests["reply"].to_pylist())
    answers: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    rows = zip(*columns_of(bucket.publishes, "server", DAYS), of.texts.to_pylist(),
               of.who.to_pylist(), strict=True)  # fmt: skip
    for server, days, subject, who in rows:
        if subject in asked_for:
            answers[server, subject] += [(d // 4, who) for d in days or () if d & _ACCEPTED]
    for found in answers.values():
        found.sort()
    names = ("server", "conn", "identity", "subject", "reply", "time")
    for server, conn, identity, subject, reply, asked in zip(
        *columns_of(requests, *names), strict=True
    ):
        found = answers.get((server, reply), [])
        at = bisect_left(found, (asked,))
        answered, responder = found[at] if at < len(found) else (None, None)
        took = None if answered is None else answered - asked
        key = ("nats", identity or conn, folded(subject), responder)
        sums.add("latency", key, ({took: 1}, 0))


def microbus_sums(sums: Sums, sent: pa.Table, host_of: Callable[[str], str]) -> None:
    """Add the latency of Microbus requests, to the first response of each responder.

    A response belongs to a request by its message id and the host of the requester. Of a message in
    fragments the first one counts. A multicast has a row for each responder.

    Args:
        sums: Receives it.
        sent: Rows of the kind ``head``: ``time, subject, message_id, op_code, status``.
        host_of: Returns the host in a token.
    """
    folded = cache(fold)
    asked: dict[tuple[str, str], tuple[int, str]] = {}
    answers: dict[tuple[str, str], dict[str, tuple[int, str, int]]] = defaultdict(dict)
    names = ("time", "subject", "message_id", "op_code", "status")
    for time, subject, message, op, status in zip(*columns_of(sent, *names), strict=True):
        tokens = subject.split(".")
        if len(tokens) < 5 or time is None:  # without a time there is no latency
            continue
        if tokens[1] in ("safe", "danger") and op == REQUEST:
            key, first = (tokens[3], message), (time, subject)
            asked[key] = min(asked.get(key, first), first)
        elif tokens[1] == "reply" and op in (RESPONSE, ERROR):
            found = answers[tokens[4], message]
            # Null is before every status.
            answer = (time, op, -1 if status is None else status)
            found[tokens[3]] = min(found.get(tokens[3], answer), answer)
    for (requester, number), (time, subject) in asked.items():
        host = host_of(requester)
        found = answers.get((requester, number), {})
        for responder, (answered, code, status) in found.items():
            failed = int(code == ERROR or status >= _FIRST_ERROR)
            # Clocks of two servers may differ by more than a request takes.
            took = max(answered - time, 0)
            of_both = ("microbus", host, folded(subject), host_of(responder))
            sums.add("latency", of_both, ({took: 1}, failed))
        if not found:
            sums.add("latency", ("microbus", host, folded(subject), None), ({None: 1}, 0))


def _refusal_sums(sums: Sums, refused: pa.Table) -> None:
    """Add the subscriptions that a server refused."""
    names = ("reason", "identity", "subject", "queue", "day", "window", "count", "last")
    for reason, *key, count, last in zip(*columns_of(refused, *names), strict=True):
        if reason == "subscribe":
            sums.add("refusal", tuple(key), (count, last))


def _host_in(token: str) -> str:
    try:
        return str(engine.unflatten_host(token))
    except SubtrieError:
        return token
