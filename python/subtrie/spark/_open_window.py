"""A message that came in, and the connection it came from."""

from __future__ import annotations

from typing import NamedTuple


class Link(NamedTuple):
    """What the front of a line says, times aside."""

    conn: str
    client: bool  # a client, not another broker
    arrow: str
    payload: bool
    user: str | None
    name: str | None
    account: str | None


class Window:
    """A message that came in, and until where its deliveries are looked for."""

    __slots__ = ("end", "keys", "limit", "link", "pos", "refusal", "size")

    def __init__(
        self, pos: int, link: Link, keys: list[tuple[str, str]], size: int, limit: int | None
    ) -> None:
        self.pos = pos
        self.link = link
        self.keys = keys  # (subject, reply): two readings for some messages between brokers
        self.size = size
        self.limit = limit  # microseconds, or None in a log without times
        self.end: int | None = None
        self.refusal: str | None = None
