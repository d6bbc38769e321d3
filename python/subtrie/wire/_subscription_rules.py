"""The behaviour rules of NATS Streaming about what a subscription is delivered.

A capture may begin in the middle: what happened before it neither keeps nor breaks a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._exchange import Connections, Step, Verdict, broken, kept
from ._streaming_rules import CarriedMessage, in_order, messages

_NEW_ONLY, _LAST_RECEIVED, _TIME_DELTA, _SEQUENCE, _FIRST = range(5)
#: The tolerance between the clocks of a server and a capture, in nanoseconds.
_CLOCKS = 2_000_000_000


def rules() -> list[tuple[str, str, Callable[[Connections], Iterator[Verdict]]]]:
    """Return each rule with its id and the function that checks it."""
    return [
        ("S3-042", "one member of a queue group is delivered a message", _queue_groups),
        ("S3-044", "no more than maxInFlight messages wait to be acknowledged", _in_flight),
        ("S3-046", "a durable subscription resumes after what it acknowledged", _durables),
        ("S3-050", "NewOnly delivers new messages only", _starts(_NEW_ONLY, _after_known)),
        ("S3-051", "LastReceived begins with the last message", _starts(_LAST_RECEIVED, _last)),
        ("S3-052", "TimeDeltaStart begins at that age", _starts(_TIME_DELTA, _age)),
        ("S3-053", "SequenceStart begins at startSequence", _starts(_SEQUENCE, _sequence)),
        ("S3-054", "First delivers everything available", _starts(_FIRST, _everything)),
        ("S3-082", "the sequences of a channel rise", _rising),
    ]


def _first_deliveries(carried: list[CarriedMessage]) -> Iterator[tuple[Step, Any, Any]]:
    """Yield step, message and subscription request of each delivery except redeliveries."""
    for each in carried:
        request = each.typed.answers
        if each.typed.name == "MsgProto" and request is not None:
            message = each.typed.message
            if not message.redelivered:
                yield each.step, message, request.message


def _queue_groups(connections: Connections) -> Iterator[Verdict]:
    delivered: dict[tuple[str, str, str, int], str] = {}
    for step, message, request in _first_deliveries(in_order(connections)):
        if not request.qGroup:
            continue
        key = request.subject, request.qGroup, request.durableName, message.sequence
        member = delivered.setdefault(key, request.inbox)
        yield kept(step) if member == request.inbox else broken(step)


def _in_flight(connections: Connections) -> Iterator[Verdict]:
    for connection in messages(connections):
        waiting: dict[str, set[int]] = {}
        for step, typed in connection:
            if typed.answers is None or typed.name not in ("MsgProto", "Ack"):
                continue
            request = typed.answers.message
            unacknowledged = waiting.setdefault(request.inbox, set())
            if typed.name == "Ack":
                unacknowledged.discard(typed.message.sequence)
                continue
            unacknowledged.add(typed.message.sequence)
            if request.maxInFlight > 0:
                within = len(unacknowledged) <= request.maxInFlight
                yield kept(step) if within else broken(step)


def _durables(connections: Connections) -> Iterator[Verdict]:
    # By durable and queue group: the acknowledged sequences, each with its number among them.
    acknowledged: dict[tuple[str, str, str], dict[str, dict[int, int]]] = {}
    # By inbox: these sequences, and how many there were as it subscribed.
    earlier: dict[str, tuple[dict[int, int], int]] = {}
    for step, typed in in_order(connections):
        request = typed.message if typed.name == "SubscriptionRequest" else None
        if request is None and typed.name in ("MsgProto", "Ack") and typed.answers is not None:
            request = typed.answers.message
        if typed.name == "UnsubscribeRequest":  # the durable may end here
            name = typed.message.clientID, typed.message.subject, typed.message.durableName
            acknowledged.pop(name, None)
        if request is None or not request.durableName:
            continue
        durable = request.clientID, request.subject, request.durableName
        groups = acknowledged.setdefault(durable, {})
        sequences = groups.setdefault(request.qGroup, {})
        if typed.name == "SubscriptionRequest":
            earlier[request.inbox] = sequences, len(sequences)
        elif typed.name == "Ack":
            sequences.setdefault(typed.message.sequence, len(sequences))
        else:
            before, count = earlier.get(request.inbox, ({}, 0))
            if count:
                known = before.get(typed.message.sequence, count) < count
                yield broken(step) if known else kept(step)


#: The lowest and the highest sequence of a channel known before a subscription; None without any.
_Known = tuple[int, int] | None
#: Takes the request, its step, the first delivery and what was known before; returns whether the
#: delivery is right, or None if the capture cannot tell.
_Judge = Callable[[Any, Step, Any, _Known], bool | None]


def _starts(position: int, judge: _Judge) -> Callable[[Connections], Iterator[Verdict]]:
    """Return a rule about the first delivery of a subscription with this start position."""

    def check(connections: Connections) -> Iterator[Verdict]:
        known: dict[str, tuple[int, int]] = {}
        requested: dict[str, tuple[Any, Step, _Known]] = {}
        for step, typed in in_order(connections):
            if typed.name == "SubscriptionRequest":
                request = typed.message
                # A durable subscription starts there only once.
                if request.startPosition == position and not request.durableName:
                    requested[request.inbox] = request, step, known.get(request.subject)
            elif typed.name == "MsgProto" and typed.answers is not None:
                message, inbox = typed.message, typed.answers.message.inbox
                channel, sequence = typed.answers.message.subject, message.sequence
                low, high = known.get(channel, (sequence, sequence))
                known[channel] = min(low, sequence), max(high, sequence)
                # A member of a queue group receives what the others leave.
                if inbox not in requested or typed.answers.message.qGroup:
                    continue
                request, asked, before = requested.pop(inbox)
                right = judge(request, asked, message, before)
                if right is not None:
                    yield kept(step) if right else broken(step)

    return check


def _after_known(request: Any, asked: Step, message: Any, known: _Known) -> bool | None:
    return message.sequence > known[-1] if known else None


def _last(request: Any, asked: Step, message: Any, known: _Known) -> bool | None:
    return message.sequence >= known[-1] if known else None


def _age(request: Any, asked: Step, message: Any, known: _Known) -> bool | None:
    if asked.time is None or not message.timestamp:
        return None
    return bool(message.timestamp >= asked.time - request.startTimeDelta - _CLOCKS)


def _sequence(request: Any, asked: Step, message: Any, known: _Known) -> bool | None:
    return bool(message.sequence >= request.startSequence)


def _everything(request: Any, asked: Step, message: Any, known: _Known) -> bool | None:
    if message.sequence == 1:
        return True
    return message.sequence <= known[0] if known else None


def _rising(connections: Connections) -> Iterator[Verdict]:
    for connection in messages(connections):
        highest: dict[str, int] = {}
        for step, message, request in _first_deliveries(connection):
            before = highest.get(request.inbox)
            highest[request.inbox] = message.sequence
            if before is not None:
                yield kept(step) if message.sequence > before else broken(step)
