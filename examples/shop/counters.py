"""What the services count by themselves. The audit of the broker's log is held against it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path

from subtrie.connector import Connector
from subtrie.microbus import ReplyAddress, RequestAddress, decode, source_of

#: Who asks whom, at which port, with which method.
Edge = tuple[str, str, int, str]

_MESSAGE_ID = re.compile(rb"^Microbus-Msg-Id: (\w+)\r$", re.MULTILINE)


def edge_of(subject: str) -> Edge:
    """The edge of the call graph to which a request belongs."""
    to = decode(subject)
    assert isinstance(to, RequestAddress), subject
    return to.source, to.host, to.port, to.method


@dataclass
class Counters:
    """Counts of one service, or of the whole shop when added up."""

    sent: Counter[Edge] = field(default_factory=Counter)
    handled: Counter[Edge] = field(default_factory=Counter)
    replies: Counter[tuple[str, str]] = field(default_factory=Counter)  # replier, caller
    undelivered: Counter[str] = field(default_factory=Counter)  # subject; nobody answered
    malformed: Counter[str] = field(default_factory=Counter)  # subject, as sent
    rejected: Counter[str] = field(default_factory=Counter)  # subject, as refused on arrival
    spoofed: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # who, claimed, subject
    other_traffic: Counter[str] = field(default_factory=Counter)  # subject that is not on the plane

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def watch(self, *connectors: Connector) -> None:
        """Counts what connectors send over the bus and what they hear from it.

        Those of one process go in one call: they hear each other's messages and answers.
        """
        asked: dict[bytes, str] = {}  # message id: the subject on which nothing came back yet

        def count(direction: str, subject: str, payload: bytes) -> None:
            if direction == "in" and source_of(subject) is None:
                self.rejected[subject] += 1  # no handler hears it, no answer (A25)
                return
            found = _MESSAGE_ID.search(payload)
            message_id, to = (found[1] if found else b""), decode(subject)
            if direction == "in":
                if isinstance(to, RequestAddress):
                    self.handled[edge_of(subject)] += 1
                if message_id in asked:  # somebody answers, or one of these heard it
                    self.undelivered[asked.pop(message_id)] -= 1
            elif isinstance(to, ReplyAddress):
                self.replies[to.source, to.host] += 1
            else:
                self.sent[edge_of(subject)] += 1
                asked[message_id] = subject
                self.undelivered[subject] += 1

        for connector in connectors:
            connector.watch(count)

    def save(self, path: Path) -> None:
        """Writes the counts as lists, since JSON has no keys of several parts."""
        tables = {
            f.name: [[key, n] for key, n in getattr(self, f.name).items()] for f in fields(self)
        }
        path.write_text(json.dumps(tables, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Counters:
        """Reads what ``save`` wrote."""
        counters = cls()
        for name, rows in json.loads(path.read_text()).items():
            counter: Counter[object] = getattr(counters, name)
            for key, count in rows:
                counter[tuple(key) if isinstance(key, list) else key] += count
        return counters
