"""Messages that a server sent to others, followed into the logs of those.

Of one account, subject, reply and size, each message that left a server is paired with as many
messages that arrived at others, at most one at each: the earliest that are left. Both are taken by
their times, as each server has a log of its own; clocks that differ by more than the time between
two such messages can exchange them. A leaf node has other names of accounts, so those are not
compared there. A copy that its server sent on, as to the cluster what came from a leaf node, is
followed likewise. A message that no client of its server received is *undelivered* if all its
copies arrived in given logs and no client there received one; if one did, it was delivered.
"""

from __future__ import annotations

from collections import Counter, deque
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from .._identity import may_be_equal
from .._partial.kinds import SUMS, kind_schema
from .._partial.rates import LOST, rate_at

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Publisher(NamedTuple):
    """A program that publishes; of several with one identity, user and name, all of them.

    Attributes:
        who: The identity, else the connection.
        user: The user as the broker knows it; empty for none.
        client: The name that the client gave itself; empty for none.
    """

    who: str
    user: str = ""
    client: str = ""


class Crossing(NamedTuple):
    """Messages of one publisher to one subject, received by clients of another server.

    Attributes:
        server: The server that received them from the publisher.
        account: The account of the publisher; None if it is not told.
        publisher: The publisher.
        subject: The subject.
        other: The server whose clients received them.
    """

    server: str
    account: str | None
    publisher: Publisher
    subject: str
    other: str


class Followed(NamedTuple):
    """The result of following messages between servers.

    Attributes:
        publishes: What to add to the rows of the kind ``publish``.
        undelivered: Further rows of the kind ``undelivered``.
        crossed: The number of messages of each crossing. In place of the other server, their own
            server stands for those that no client of their own received.
    """

    publishes: pa.Table
    undelivered: pa.Table
    crossed: Counter[Crossing]


def followed(hops: pa.Table, arrivals: pa.Table) -> Followed:
    """Pair messages that left with messages that arrived.

    Args:
        hops: Rows of the kind ``hop``.
        arrivals: Rows of the kind ``arrival``.
    """
    import pyarrow as pa

    arrived: dict[Any, dict[tuple[str, str | None], deque[dict[str, Any]]]] = {}
    for row in sorted(arrivals.to_pylist(), key=_order):
        at = arrived.setdefault(_group(row), {})
        account = None if "/leaf:" in row["conn"] else row["account"]
        at.setdefault((row["server"], account), deque()).append(row)
    changed: list[dict[str, Any]] = []
    crossed: Counter[Crossing] = Counter()
    for row in sorted(hops.to_pylist(), key=_order):
        elsewhere: dict[str, deque[dict[str, Any]]] = {}
        for (server, account), waiting in arrived.get(_group(row), {}).items():
            if server == row["server"] or not waiting or not may_be_equal(account, row["account"]):
                continue
            known = elsewhere.setdefault(server, waiting)
            if _order(waiting[0]) < _order(known[0]):
                elsewhere[server] = waiting
        sent = row["forwarded"]
        arrived_at: list[dict[str, Any]] = []
        for waiting in sorted(elsewhere.values(), key=lambda waiting: _order(waiting[0])):
            if len(arrived_at) < sent:
                arrived_at.append(waiting.popleft())
                sent += arrived_at[-1]["forwarded"] or 0
        copies = [bool(copy["taken"]) for copy in arrived_at]
        complete = len(copies) == sent
        publisher = Publisher(
            row["identity"] or row["conn"], row["user"] or "", row["client"] or ""
        )
        about = row["server"], row["account"], publisher, row["subject"]
        crossed.update(Crossing(*about, copy["server"]) for copy in arrived_at if copy["taken"])
        crossed[Crossing(*about, row["server"])] += any(copies) and not row["taken"]
        if row["taken"] or not (any(copies) or complete):
            continue
        lost = not any(copies)
        sums = dict.fromkeys(SUMS, 0) | {"forwarded": -1, "taken": int(not lost)}
        times = {"first_undelivered": row["time"], "last_undelivered": row["time"],
                 LOST: rate_at(row["time"])}  # fmt: skip
        # The message was accepted, and its day is known without a receiver.
        taken = {} if lost or row["time"] is None else {"days": [_taken_on(row["time"])]}
        more = times if lost else taken
        changed.append({**row, **sums, "undelivered": int(lost), **more})
    lost_rows = [row for row in changed if row["undelivered"]]
    return Followed(
        pa.Table.from_pylist(changed, kind_schema("publish")),
        pa.Table.from_pylist(lost_rows, kind_schema("undelivered")),
        +crossed,
    )


def _group(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["subject"], row["reply"], row["size"])


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["time"] is not None, row["time"], row["server"], row["position"])


def _taken_on(time: datetime) -> int:
    """Return what says that a client received a message of this time, as in the column ``days``."""
    return (time - _EPOCH) // timedelta(microseconds=1) * 4 + 3
