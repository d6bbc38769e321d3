"""The streaming messages of a capture: by client, with their senders, and in order of time."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from functools import cached_property
from typing import Any, NamedTuple

from .._core.errors import WireError
from ._exchange import Connections, Step

#: Who sends a message. S3-009 to S3-019, S3-021, S3-023
SENDERS = {
    "ConnectRequest": "client",
    "ConnectResponse": "server",
    "SubscriptionRequest": "client",
    "SubscriptionResponse": "server",
    "UnsubscribeRequest": "client",
    "PubMsg": "client",
    "PubAck": "server",
    "MsgProto": "server",
    "Ack": "client",
    "CloseRequest": "client",
    "CloseResponse": "server",
    "Ping": "client",
    "PingResponse": "server",
    "Heartbeat": "server",
    "HeartbeatAnswer": "client",
}


class CarriedMessage(NamedTuple):
    """A step and the streaming message that it carries.

    Attributes:
        step: The step.
        typed: The message.
        cluster: The subject on which the clients of its connection ask for a connection, which
            names the cluster; empty if the capture does not have it.
    """

    step: Step
    typed: Any
    cluster: str


class SentMessage(NamedTuple):
    """A streaming message that the owner of a connection sends.

    Attributes:
        step: The step.
        name: The name of its type.
        right: Whether the owner is of the side that sends this type.
    """

    step: Step
    name: str
    right: bool


class ChannelHistory:
    """The sequences and times of all messages of one channel that a capture shows."""

    def __init__(self, times: dict[int, int]) -> None:
        self._times = times
        self._sequences = sorted(times)

    def earlier(self, sequence: int) -> int | None:
        """Return the highest known sequence below this one, or None. Cost: one binary search."""
        place = bisect_left(self._sequences, sequence)
        return self._sequences[place - 1] if place else None

    def time(self, sequence: int) -> int:
        """Return when a known message was stored, in nanoseconds; 0 if it does not say."""
        return self._times[sequence]


class StreamingExchange:
    """The streaming messages of all connections of a capture, decoded once.

    A connection belongs to a client or to the streaming server, by the messages that its owner
    sends. If a capture has both ends of a conversation, the end of the client counts. What a
    connection receives of its own side are copies, which neither keep nor break a rule.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @cached_property
    def _ends(self) -> list[_ConnectionEnd]:
        return [
            _ConnectionEnd(steps) for steps in self._connections.values() if _uses_streaming(steps)
        ]

    @cached_property
    def sent(self) -> list[SentMessage]:
        """The messages that the owners of connections send, and those of the other side."""
        return [message for end in self._ends for message in end.sent()]

    @cached_property
    def clients(self) -> list[list[CarriedMessage]]:
        """The messages of each client, in order."""
        found = []
        seen_themselves: set[tuple[str, str | None]] = set()
        for end in sorted(self._ends, key=lambda end: end.owner != "client"):
            own = end.owner == "client"
            for name, carried in end.by_client().items():
                key = end.cluster, name
                if own or key not in seen_themselves:
                    found.append(carried)
                if own:
                    seen_themselves.add(key)
        return found

    @cached_property
    def in_order(self) -> list[CarriedMessage]:
        """The messages of all clients in the order of their times."""
        everything = [carried for client in self.clients for carried in client]
        return sorted(everything, key=lambda carried: carried.step.time or 0)

    @cached_property
    def channels(self) -> dict[tuple[str, str], ChannelHistory]:
        """The delivered messages of each channel, by cluster and name."""
        times: dict[tuple[str, str], dict[int, int]] = {}
        for each in self.in_order:
            if each.typed.name == "MsgProto" and each.typed.answers is not None:
                key = each.cluster, each.typed.answers.message.subject
                message = each.typed.message
                times.setdefault(key, {}).setdefault(message.sequence, message.timestamp)
        return {key: ChannelHistory(found) for key, found in times.items()}


def _uses_streaming(steps: list[Step]) -> bool:
    return any((step.op.subject or "").startswith("_STAN.discover.") for step in steps)


class _ConnectionEnd:
    """The streaming messages of one connection, in both directions, and whose connection it is."""

    def __init__(self, steps: list[Step]) -> None:
        from .streaming import Conversation

        conversation = Conversation()
        self._typed: list[tuple[Step, Any]] = []
        for step in steps:
            # A payload that is not a streaming message neither keeps nor breaks a rule.
            with contextlib.suppress(WireError):
                typed = conversation.feed(step.op)
                if typed is not None:
                    self._typed.append((step, typed))
        requests = [typed for _, typed in self._typed if typed.name == "ConnectRequest"]
        self.cluster: str = requests[0].subject if requests else ""
        self._ids = {typed.message.clientID for typed in requests}
        first = next((typed for step, typed in self._typed if step.direction == "c2s"), None)
        #: Whose connection it is; None for who only listens to both sides.
        self.owner = None if first is None else SENDERS[first.name]

    def sent(self) -> list[SentMessage]:
        """Return the messages with a known sender: what is sent, and what the other side sends."""
        found = []
        for step, typed in self._typed:
            of_owner = SENDERS[typed.name] == self.owner
            if self.owner is not None and (step.direction == "c2s" or not of_owner):
                found.append(SentMessage(step, typed.name, of_owner == (step.direction == "c2s")))
        return found

    def by_client(self) -> dict[str | None, list[CarriedMessage]]:
        """Return the messages of each client; all, if the connection has one client."""
        found: dict[str | None, list[CarriedMessage]] = {}
        only = next(iter(self._ids), None) if len(self._ids) < 2 else None
        several = len(self._ids) > 1 or self.owner != "client"
        for step, typed in self._typed:
            of_owner = SENDERS[typed.name] == self.owner
            if self.owner is not None and of_owner != (step.direction == "c2s"):
                continue
            client = _client(typed) if several else only
            if client is not None or not several:
                carried = CarriedMessage(step, typed, self.cluster)
                found.setdefault(client, []).append(carried)
        return found


def _client(typed: Any) -> str | None:
    """Return the client of a message: its own field, else that of the request it answers."""
    while typed is not None:
        name: str | None = getattr(typed.message, "clientID", None)
        if name is not None:
            return name
        typed = typed.answers
    return None
