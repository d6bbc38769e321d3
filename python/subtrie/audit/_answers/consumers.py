"""The rows of the table ``consumers``: programs that receive, and consumers without any."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._identity import may_be_equal
from .._schema import TABLES
from .sums import Sums, time_of

#: Account, stream and name of a consumer.
Consumer = tuple[str | None, str, str]


class ToldConsumer(NamedTuple):
    """The settings of a consumer.

    Attributes:
        policy: The ack policy.
        deliver: The subject that it delivers to; None of one that clients ask.
        filters: The patterns of what it delivers, with blanks between them; None for all.
    """

    policy: str
    deliver: str | None = None
    filters: str | None = None


_COUNTS = ("delivered", "redelivered", "acknowledged", "rejected")
_KEY = ("stream", "consumer", "ack_policy", "who", "account", "user", "client")


def consumer_rows(sums: Sums, told: Mapping[Consumer, ToldConsumer]) -> list[dict[str, Any]]:
    """Return the rows of the table.

    Args:
        sums: The sums of the messages.
        told: What the log tells of consumers, or what is given.
    """
    found = []
    by_name: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for key, (came, again, answered, rejected, in_work, first, last) in sums["consumer"].items():
        counts = came, again, answered - rejected - in_work, rejected
        row = dict(zip((*_KEY, *_COUNTS), (*key, *counts), strict=True))
        row |= {
            "deliver_subject": None,
            "filter_subject": None,
            "first": time_of(first),
            "last": time_of(last),
        }
        by_name[row["stream"], row["consumer"]].append(row)
        found.append(row)
    for (account, stream, name), (policy, deliver, filters) in told.items():
        ours = [row for row in by_name[stream, name] if may_be_equal(account, row["account"])]
        if not ours and name != "*":
            row = dict.fromkeys(TABLES["consumers"]) | dict.fromkeys(_COUNTS, 0)
            row |= {"stream": stream, "consumer": name, "ack_policy": policy, "account": account}
            ours.append(row)
            found.append(row)
        for row in ours:
            row["deliver_subject"], row["filter_subject"] = deliver, filters
    return found
