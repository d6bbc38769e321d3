"""What the services count by themselves. The audit of the broker's log is held against it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from subtrie.microbus import RequestAddress, decode

#: Who asks whom, at which port, with which method.
Edge = tuple[str, str, int, str]


def edge_of(subject: str) -> Edge:
    """The edge of the call graph to which a request belongs."""
    to = decode(subject)
    assert isinstance(to, RequestAddress), subject
    return to.source, to.host, to.port, to.method


@dataclass
class Tally:
    """Counts of one service, or of the whole shop when added up."""

    sent: Counter[Edge] = field(default_factory=Counter)
    handled: Counter[Edge] = field(default_factory=Counter)
    replies: Counter[tuple[str, str]] = field(default_factory=Counter)  # replier, caller
    unheard: Counter[str] = field(default_factory=Counter)  # subject; nobody answered
    malformed: Counter[str] = field(default_factory=Counter)  # subject, as sent
    rejected: Counter[str] = field(default_factory=Counter)  # subject, as refused on arrival
    spoofed: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # who, claimed, subject
    foreign: Counter[str] = field(default_factory=Counter)  # subject of another plane

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))
