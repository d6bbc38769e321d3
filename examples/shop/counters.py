"""Counts that the services keep themselves, to compare with the audit of the broker's log."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field, fields
from pathlib import Path

from subtrie.connector import Connector
from subtrie.microbus import ReplyAddress, RequestAddress, decode, source_of

#: Source, destination, port and method.
Edge = tuple[str, str, int, str]

_MESSAGE_ID = re.compile(rb"^Microbus-Msg-Id: (\w+)\r$", re.MULTILINE)


def edge_of(subject: str) -> Edge:
    """Return the edge of the call graph to which a request belongs."""
    to = decode(subject)
    assert isinstance(to, RequestAddress), subject
    return to.source, to.host, to.port, to.method


@dataclass
class Counters:
    """Counts of one service, or the sum over the whole shop."""

    sent: Counter[Edge] = field(default_factory=Counter)
    handled: Counter[Edge] = field(default_factory=Counter)
    replies: Counter[tuple[str, str]] = field(default_factory=Counter)  # replier, caller
    undelivered: Counter[str] = field(default_factory=Counter)  # subject without a response
    malformed: Counter[str] = field(default_factory=Counter)  # subject, as sent
    rejected: Counter[str] = field(default_factory=Counter)  # subject rejected by its receiver
    spoofed: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # who, claimed, subject
    other_traffic: Counter[str] = field(default_factory=Counter)  # subject that is not on the plane

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def watch(self, *connectors: Connector) -> None:
        """Count the messages that connectors send to and receive from the bus.

        Connectors of one process belong in one call, since they receive each other's messages.
        """
        pending: dict[bytes, str] = {}  # message id: subject of a request without a response

        def count(direction: str, subject: str, payload: bytes) -> None:
            if direction == "in" and source_of(subject) is None:
                self.rejected[subject] += 1  # dropped without a response (A25)
                return
            found = _MESSAGE_ID.search(payload)
            message_id, to = (found[1] if found else b""), decode(subject)
            if direction == "in":
                if isinstance(to, RequestAddress):
                    self.handled[edge_of(subject)] += 1
                if message_id in pending:  # answered, or received by one of these connectors
                    self.undelivered[pending.pop(message_id)] -= 1
            elif isinstance(to, ReplyAddress):
                self.replies[to.source, to.host] += 1
            else:
                self.sent[edge_of(subject)] += 1
                pending[message_id] = subject
                self.undelivered[subject] += 1

        for connector in connectors:
            connector.watch(count)

    def save(self, path: Path) -> None:
        """Write the counts as lists, since JSON has no keys of several parts."""
        tables = {
            f.name: [[key, n] for key, n in getattr(self, f.name).items()] for f in fields(self)
        }
        path.write_text(json.dumps(tables, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Counters:
        """Read what ``save`` wrote."""
        counters = cls()
        for name, rows in json.loads(path.read_text()).items():
            counter: Counter[object] = getattr(counters, name)
            for key, count in rows:
                counter[tuple(key) if isinstance(key, list) else key] += count
        return counters
