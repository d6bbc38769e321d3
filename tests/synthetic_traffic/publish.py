"""A message on its way through the simulated broker."""

from __future__ import annotations

from dataclasses import dataclass

from .connections import Subscription
from .truth import Subject


@dataclass(eq=False)
class Publish:
    """A message that the broker accepted and has yet to deliver."""

    subject: Subject
    reply: str
    payload: tuple[int, str]
    header: int  # bytes of headers, 0 without
    receivers: list[Subscription]
    lost: bool = False  # its own line is damaged
