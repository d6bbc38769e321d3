"""Sums that answers are made of; they add, so any division of the messages gives the same ones.

| kind | key | sums |
|---|---|---|
| ``edge`` | ``EDGE`` | ``published, refused, taken, undelivered``, days with a received message, first and last accepted, their rate, least accepted subject, earliest (time, subject), greatest accepted subject |
| ``value`` | pattern with its route, position of a wildcard in the path, account, whether the sender is proven | least and greatest value |
| ``match`` | service whose rules apply, number of a rule (None: no rule matches), window, ``PROGRAM`` | accepted, refused, decided, days, last |
| ``refusal`` | identity, pattern, queue, day and window of a refused subscription, ``PROGRAM`` | refused, last |
| ``flow`` | publisher, pattern, subscriber, queue, account, user and client of the publisher, user and client of the subscriber | published, delivered, undelivered, bytes, first, last, rate of the undelivered |
| ``consumer`` | stream, consumer, its ack policy, program that receives, account, user and client | delivered, of these again, acknowledged, of these refused, and said to be in work, first, last |
| ``stored`` | of a flow to the receiver that answered although no client received the message | messages |
| ``unstored`` | of a flow to a stream, without pattern: messages that the stream refused | messages |
| ``latency`` | ``nats`` or ``microbus``, requester, subject, responder, account, user and client of the requester | microseconds, as ``latency_step``, with their number (None: no answer), errors |

Times are microseconds since 1970.
"""  # noqa: E501 - a table

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from .._partial.rates import both_rates

#: Account, user and name of a client, and what its identity rests on.
PROGRAM = ("account", "user", "client", "identity_source")
#: The key of an edge: messages of one program to one pattern.
EDGE = (
    *("service", "kind", "plane", "port", "pattern", "route", "standing", "identity"),
    *("allowed", "decided", "code", *PROGRAM),
)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_of(micros: int | None) -> datetime | None:
    """Return a time of sums, which are microseconds; None for an unknown one."""
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def _add(one: int, other: int) -> int:
    return one + other


def least_known(one: Any, other: Any) -> Any:
    """Return the least of two values, of which None is an unknown one."""
    return other if one is None else one if other is None else min(one, other)


def greatest_known(one: Any, other: Any) -> Any:
    """Return the greatest of two values, of which None is an unknown one."""
    return other if one is None else one if other is None else max(one, other)


def _union(one: frozenset[int], other: frozenset[int]) -> frozenset[int]:
    return one | other


def _tally(one: dict[int | None, int], other: dict[int | None, int]) -> dict[int | None, int]:
    both = dict(one)
    for value, count in other.items():
        both[value] = both.get(value, 0) + count
    return both


def latency_step(took: int) -> int:
    """Return the time of an answer as it is kept: in microseconds, with its first three digits.

    So the number of requests has no effect on the memory, and any division has the same sums.
    """
    unit: int = 10 ** max(len(str(took)) - 3, 0)
    return took // unit * unit


#: How the sums of two equal keys are added.
KINDS: dict[str, tuple[Callable[[Any, Any], Any], ...]] = {
    "edge": (
        _add,
        _add,
        _add,
        _add,
        _union,
        least_known,
        greatest_known,
        both_rates,
        least_known,
        least_known,
        greatest_known,
    ),
    "value": (least_known, greatest_known),
    "match": (_add, _add, _add, _union, greatest_known),
    "refusal": (_add, greatest_known),
    "flow": (_add, _add, _add, _add, least_known, greatest_known, both_rates),
    "consumer": (_add, _add, _add, _add, _add, least_known, greatest_known),
    "stored": (_add,),
    "unstored": (_add,),
    "latency": (_tally, _add),
}


#: The programs of one identity and user that have rows of their own; more of them are one row.
MOST_PROGRAMS = 100
#: In place of the name of a program: that of any of them.
MANY = "*"
#: Where keys have the name of a program: the kinds, the columns of its identity, account and user,
#: and that of the name.
_PROGRAMS: tuple[tuple[tuple[str, ...], int, int, int, int], ...] = (
    (("flow", "stored", "unstored"), 0, 4, 5, 6),
    (("flow", "stored"), 2, 4, 7, 8),
    (("latency",), 1, 4, 5, 6),
    (("consumer",), 3, 4, 5, 6),
    (("edge",), 0, 11, 12, 13),
    (("match",), 0, 3, 4, 5),
    (("refusal",), 0, 5, 6, 7),
)


def one_name_of_many(rows: Iterable[dict[str, Any]], owner: Sequence[str]) -> list[dict[str, Any]]:
    """Return rows with ``MANY`` as the ``client`` of those of one owner, if it has many.

    Args:
        rows: The rows.
        owner: The columns of the owner.
    """
    owned = [(tuple(row[name] for name in owner), row) for row in rows]
    clients: dict[tuple[Any, ...], set[str | None]] = {}
    for key, row in owned:
        clients.setdefault(key, set()).add(row["client"])
    many = {key for key, names in clients.items() if len(names) > MOST_PROGRAMS or MANY in names}
    return [{**row, "client": MANY} if key in many else row for key, row in owned]


class Sums:
    """The sums of some messages, by kind and key."""

    def __init__(self) -> None:
        self._of: dict[str, dict[tuple[Any, ...], tuple[Any, ...]]] = {name: {} for name in KINDS}

    def __getitem__(self, kind: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        return self._of[kind]

    def add(self, kind: str, key: tuple[Any, ...], values: tuple[Any, ...]) -> None:
        """Add the sums of further messages with a key."""
        of = self._of[kind]
        old = of.get(key)
        if old is not None:
            values = tuple(how(a, b) for how, a, b in zip(KINDS[kind], old, values, strict=True))
        of[key] = values

    def merge(self, other: Sums) -> None:
        """Add other sums."""
        for kind, of in other._of.items():
            for key, values in of.items():
                self.add(kind, key, values)

    def bound_programs(self) -> None:
        """Put ``MANY`` in place of the names of programs that share a user, if they are many.

        What a part of the sums has put there stays there, so any division gives the same rows.
        """
        for kinds, *owner, client in _PROGRAMS:
            all_names = {key[client] for kind in kinds for key in self._of[kind]}
            if len(all_names) <= MOST_PROGRAMS and MANY not in all_names:
                continue
            named: dict[tuple[Any, ...], set[str | None]] = {}
            for key in (key for kind in kinds for key in self._of[kind]):
                named.setdefault(tuple(key[at] for at in owner), set()).add(key[client])
            many = {
                who for who, names in named.items() if len(names) > MOST_PROGRAMS or MANY in names
            }
            for kind in kinds if many else ():
                before, self._of[kind] = self._of[kind], {}
                for key, values in before.items():
                    if tuple(key[at] for at in owner) in many:
                        key = (*key[:client], MANY, *key[client + 1 :])
                    self.add(kind, key, values)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Yield kind and JSON of each key, for another process."""
        for kind, of in self._of.items():
            for key, values in of.items():
                yield kind, json.dumps([key, values], default=_plain, separators=(",", ":"))

    def add_rows(self, rows: Iterable[tuple[str, str]]) -> None:
        """Add what ``rows`` of other sums yields."""
        for kind, text in rows:
            key, values = json.loads(text)
            read = (_read(how, value) for how, value in zip(KINDS[kind], values, strict=True))
            self.add(kind, tuple(key), tuple(read))


def _plain(value: Any) -> Any:
    """Return a set of days as a list."""
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"no sum: {value!r}")


def _read(how: Callable[[Any, Any], Any], value: Any) -> Any:
    if how is _union:
        return frozenset(value)
    if how is _tally:
        return {None if took == "null" else int(took): count for took, count in value.items()}
    return tuple(value) if isinstance(value, list) else value
