"""Audit only some messages: of a period, of a source, to a host."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from ...microbus import check_identity_host, flatten_host

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MESSAGES = ("PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG", "HRMSG", "HLMSG", "VIOLATION")


@dataclass(frozen=True)
class Selection:
    """The messages that are audited. Subscriptions are followed from the start of the log.

    Attributes:
        since: The first time, inclusive; None for the start of the log.
        until: The last time, exclusive; None for its end.
        source: The host in whose name a message is sent, or the identity that sends it.
        host: The host that a message is sent to, or an identity that receives it.
    """

    since: datetime | None = None
    until: datetime | None = None
    source: str | None = None
    host: str | None = None

    def __post_init__(self) -> None:
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise ValueError("the period is empty: the first time must be before the last")

    def __bool__(self) -> bool:
        return any(each is not None for each in (self.since, self.until, self.source, self.host))

    def of(self, events: DataFrame) -> DataFrame:
        """Return the events that are audited."""
        from pyspark.sql import functions as F

        message = F.coalesce(F.col("op").isin(*_MESSAGES), F.lit(False))
        kept = F.lit(True)
        if self.since is not None:
            kept = kept & (F.col("time") >= F.lit(self.since))
        if self.until is not None:
            kept = kept & (F.col("time") < F.lit(self.until))
        chosen = events.where(~message | kept)
        for name, place in ((self.source, 3), (self.host, 4)):
            if name is not None:
                chosen = _only(chosen, message, name, place)
        return chosen


def _only(events: DataFrame, message: object, name: str, place: int) -> DataFrame:
    """Return the messages of which a token is a host, or that an identity sends or receives."""
    from pyspark.sql import functions as F

    token = _token(name)
    direction = "in" if place == 3 else "out"
    tokens = F.split("subject", r"\.")
    named = (F.get(tokens, F.lit(place)) == token) & F.get(tokens, F.lit(1)).isin(
        "safe", "danger", "reply"
    )
    own = (F.col("identity") == name) & (F.col("direction") == direction)
    messages = events.where(message)  # type: ignore[arg-type]
    subjects = messages.where(named | own).select("subject").distinct()
    others = events.where(~message)  # type: ignore[operator]
    return others.unionByName(
        messages.join(subjects, "subject", "left_semi").select(*events.columns)
    )


def _token(name: str) -> str:
    try:
        return str(flatten_host(check_identity_host(name)))
    except ValueError:
        return name
