"""Connections, subscriptions and delivery windows of the simulated broker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .trace_log import Written

#: Columns of the audit, and their values.
Proof = tuple[tuple[str, str | None], ...]


@dataclass(eq=False)
class Subscription:
    """A subscription that the broker accepted."""

    conn: Connection
    sid: str
    pattern: str
    queue: str | None
    start: Written
    end: int | None = None  # the time at which it ended
    tokens: tuple[str, ...] = ()
    ended: int | None = None  # the offset of the line at which it ended


@dataclass(eq=False)
class Connection:
    """A client connection.

    Attributes:
        cid: Its number.
        front: What stands between the level and the operation in its lines.
        user: The user that the broker knows, or None.
        name: The name that the client gives itself, or None.
        host: The host that the audit takes for its identity, or None.
        publish_allow: The patterns it may publish to; None for all.
        blanks: The blanks before the size of a publish without a reply: some clients write two.
    """

    cid: int
    front: str
    user: str | None
    name: str | None
    host: str | None
    publish_allow: list[tuple[str, ...]] | None
    blanks: str
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    window: Window | None = None
    next_sid: int = 1

    @property
    def proof(self) -> Proof:
        """The columns that say whose it is, and what its identity rests on."""
        who = self.host or self.user or self.name
        source = None if who is None else "user" if who == self.user else "claimed"
        account = None if self.user is None else "$G"
        named = ("account", account), ("user", self.user), ("client", self.name)
        return *named, ("identity_source", source)


@dataclass(eq=False)
class Window:
    """The time in which deliveries belong to a publish."""

    conn: Connection
    limit: int
    row: dict[str, Any]  # the event of the publish
    ambiguous: bool = False
    closed: bool = False
