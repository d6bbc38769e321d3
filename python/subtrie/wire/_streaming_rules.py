"""The behaviour rules of NATS Streaming: channels, heartbeats, acknowledgements, closing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._core import engine
from .._core.errors import PatternError, WireError
from ._exchange import Connections, Step, Verdict, broken, kept

_SECOND = 1_000_000_000
#: The tolerance for agreed times, for a busy machine.
_SLACK = 2 * _SECOND

_Rule = tuple[str, str, Callable[[Connections], Iterator[Verdict]]]


def rules() -> list[_Rule]:
    """Return each rule with its id and the function that checks it."""
    return [
        ("S3-004", "a channel is a subject", _channel_names),
        ("S3-007", "a channel has no wildcards", _channel_wildcards),
        ("S3-020", "a client connects before all else", _connects_first),
        ("S3-022", "connecting with an identifier in use fails", _identifiers),
        ("S3-023", "a heartbeat is answered by an empty message", _heartbeats),
        ("S3-056", "a delivered message is acknowledged", _acknowledged),
        ("S3-066", "a guid names one message and returns in its PubAck", _guids),
        ("S3-081", "a message not acknowledged in time is redelivered", _redelivered),
        ("S3-094", "a client sends a CloseRequest before it disconnects", _closed),
    ]


class CarriedMessage(NamedTuple):
    """A step and the streaming message that it carries."""

    step: Step
    typed: Any


def messages(connections: Connections) -> Iterator[list[CarriedMessage]]:
    """Yield the streaming messages of each connection that has any."""
    if not any(_uses_streaming(steps) for steps in connections.values()):
        return
    from .streaming import Conversation

    for steps in connections.values():
        if not _uses_streaming(steps):
            continue
        conversation = Conversation()
        carried = []
        for step in steps:
            # A payload that is not a streaming message neither keeps nor breaks a rule.
            with contextlib.suppress(WireError):
                typed = conversation.feed(step.op)
                if typed is not None:
                    carried.append(CarriedMessage(step, typed))
        yield carried


def in_order(connections: Connections) -> list[CarriedMessage]:
    """Return the streaming messages of all connections in the order of their times."""
    everything = [carried for connection in messages(connections) for carried in connection]
    return sorted(everything, key=lambda carried: carried.step.time or 0)


def _uses_streaming(steps: list[Step]) -> bool:
    return any((step.op.subject or "").startswith("_STAN.discover.") for step in steps)


def _channels(connections: Connections) -> Iterator[tuple[Step, str]]:
    for connection in messages(connections):
        for step, typed in connection:
            if typed.name in ("SubscriptionRequest", "UnsubscribeRequest", "PubMsg", "MsgProto"):
                yield step, typed.message.subject


def _channel_names(connections: Connections) -> Iterator[Verdict]:
    for step, channel in _channels(connections):
        try:
            engine.check_pattern(channel)
        except PatternError:
            yield broken(step)
        else:
            yield kept(step)


def _channel_wildcards(connections: Connections) -> Iterator[Verdict]:
    for step, channel in _channels(connections):
        wild = not {"*", ">"}.isdisjoint(channel.split("."))
        yield broken(step) if wild else kept(step)


def _connects_first(connections: Connections) -> Iterator[Verdict]:
    for connection in messages(connections):
        if connection:
            first = connection[0]
            yield kept(first.step) if first.typed.name == "ConnectRequest" else broken(first.step)


def _guids(connections: Connections) -> Iterator[Verdict]:
    for connection in messages(connections):
        published: set[str] = set()
        for step, typed in connection:
            if typed.name == "PubMsg":
                if typed.message.guid in published:
                    yield broken(step)
                published.add(typed.message.guid)
            elif typed.name == "PubAck":
                yield kept(step) if typed.message.guid in published else broken(step)


def _identifiers(connections: Connections) -> Iterator[Verdict]:
    in_use: set[str] = set()
    for carried in in_order(connections):
        if carried.typed.name == "ConnectResponse" and carried.typed.answers is not None:
            name = carried.typed.answers.message.clientID
            if name in in_use:
                yield kept(carried.step) if carried.typed.message.error else broken(carried.step)
            elif not carried.typed.message.error:
                in_use.add(name)
        elif carried.typed.name == "CloseRequest":
            in_use.discard(carried.typed.message.clientID)


def _heartbeats(connections: Connections) -> Iterator[Verdict]:
    for connection in messages(connections):
        answered = {s.typed.subject for s in connection if s.typed.name == "HeartbeatAnswer"}
        for carried in connection:
            if carried.typed.name == "HeartbeatAnswer":
                yield broken(carried.step) if carried.step.op.size else kept(carried.step)
                continue
            missed = carried.typed.name == "Heartbeat" and carried.typed.reply not in answered
            # The last heartbeat may have arrived as the connection ended.
            if missed and connection[-1].step.since(carried.step) > _SLACK:
                yield broken(carried.step)


class _StreamingDelivery(NamedTuple):
    """A MsgProto with its acknowledgement wait, its acknowledgement and its redelivery."""

    step: Step
    wait: int
    acknowledged: Step | None
    redelivered: Step | None
    last: Step


def _deliveries(connections: Connections) -> Iterator[_StreamingDelivery]:
    for connection in messages(connections):
        unsubscribed = _unsubscribed(connection)
        found: list[_StreamingDelivery] = []
        # Read backwards: what follows a delivery of an inbox and a sequence is known then.
        acknowledged: dict[tuple[str, int], Step] = {}
        redelivered: dict[tuple[str, int], Step] = {}
        for step, typed in reversed(connection):
            request = typed.answers
            if typed.name not in ("Ack", "MsgProto") or request is None:
                continue
            inbox = request.message.inbox
            key = inbox, typed.message.sequence
            if typed.name == "Ack":
                acknowledged[key] = step
                continue
            wait = request.message.ackWaitInSecs * _SECOND
            last = unsubscribed.get(inbox, connection[-1].step)
            found.append(
                _StreamingDelivery(step, wait, acknowledged.get(key), redelivered.get(key), last)
            )
            if typed.message.redelivered:
                redelivered[key] = step
        yield from reversed(found)


def _unsubscribed(connection: list[CarriedMessage]) -> dict[str, Step]:
    """Return the step at which each subscription (by its inbox) was unsubscribed."""
    inboxes: dict[str, str] = {}
    unsubscribed: dict[str, Step] = {}
    for carried in connection:
        if carried.typed.name == "SubscriptionResponse" and carried.typed.answers is not None:
            request = carried.typed.answers
            if request.name == "SubscriptionRequest":
                inboxes[carried.typed.message.ackInbox] = request.message.inbox
        elif carried.typed.name == "UnsubscribeRequest":
            inbox = inboxes.get(carried.typed.message.inbox)
            if inbox is not None:
                unsubscribed[inbox] = carried.step
    return unsubscribed


def _acknowledged(connections: Connections) -> Iterator[Verdict]:
    for delivery in _deliveries(connections):
        if delivery.acknowledged is not None:
            yield kept(delivery.acknowledged)
        elif delivery.last.since(delivery.step) > delivery.wait + _SLACK:
            yield broken(delivery.step)


def _redelivered(connections: Connections) -> Iterator[Verdict]:
    for delivery in _deliveries(connections):
        if (
            delivery.acknowledged is not None
            and delivery.acknowledged.since(delivery.step) <= delivery.wait
        ):
            continue
        if delivery.redelivered is not None:
            yield kept(delivery.redelivered)
        elif delivery.last.since(delivery.step) > delivery.wait + _SLACK:
            yield broken(delivery.step)


def _closed(connections: Connections) -> Iterator[Verdict]:
    for connection in messages(connections):
        connected = None
        for carried in connection:
            if carried.typed.name == "ConnectResponse" and not carried.typed.message.error:
                connected = carried.step
            elif carried.typed.name == "CloseRequest" and connected is not None:
                yield kept(carried.step)
                connected = None
        if connected is not None:
            yield broken(connected)
