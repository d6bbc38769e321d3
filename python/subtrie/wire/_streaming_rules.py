"""The rules of seed 003 about behaviour: heartbeats, acknowledgements, redelivery, closing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._errors import WireError
from ._exchange import Step, Talks, Verdict, broken, kept

_SECOND = 1_000_000_000
#: What a busy machine may take beyond a time that was agreed on.
_SLACK = 2 * _SECOND

_Rule = tuple[str, str, Callable[[Talks], Iterator[Verdict]]]


def rules() -> list[_Rule]:
    """Each rule with its requirement and how it is judged."""
    return [
        ("S3-022", "connecting with an identifier in use fails", _identifiers),
        ("S3-023", "a heartbeat is answered by an empty message", _heartbeats),
        ("S3-056", "what is delivered is acknowledged", _acknowledged),
        ("S3-081", "what is not acknowledged in time is delivered again", _redelivered),
        ("S3-094", "a client that is finished sends a CloseRequest", _closed),
    ]


class _Said(NamedTuple):
    """A step and the message of the streaming protocol in it."""

    step: Step
    typed: Any


def _said(talks: Talks) -> Iterator[list[_Said]]:
    """The streaming messages of each connection that has any."""
    if not any(_speaks(steps) for steps in talks.values()):
        return
    from .streaming import Conversation

    for steps in talks.values():
        if not _speaks(steps):
            continue
        conversation = Conversation()
        said = []
        for step in steps:
            # What is none of the protocol's messages keeps and breaks none of its rules.
            with contextlib.suppress(WireError):
                typed = conversation.feed(step.op)
                if typed is not None:
                    said.append(_Said(step, typed))
        yield said


def _speaks(steps: list[Step]) -> bool:
    return any((step.op.subject or "").startswith("_STAN.discover.") for step in steps)


def _identifiers(talks: Talks) -> Iterator[Verdict]:
    everything = sorted(
        (said for connection in _said(talks) for said in connection),
        key=lambda said: said.step.time or 0,
    )
    in_use: set[str] = set()
    for said in everything:
        if said.typed.name == "ConnectResponse" and said.typed.answers is not None:
            name = said.typed.answers.message.clientID
            if name in in_use:
                yield kept(said.step) if said.typed.message.error else broken(said.step)
            elif not said.typed.message.error:
                in_use.add(name)
        elif said.typed.name == "CloseRequest":
            in_use.discard(said.typed.message.clientID)


def _heartbeats(talks: Talks) -> Iterator[Verdict]:
    for connection in _said(talks):
        answered = {s.typed.subject for s in connection if s.typed.name == "HeartbeatAnswer"}
        for said in connection:
            if said.typed.name == "HeartbeatAnswer":
                yield broken(said.step) if said.step.op.size else kept(said.step)
                continue
            missed = said.typed.name == "Heartbeat" and said.typed.reply not in answered
            # The last one may have come as the connection ended.
            if missed and connection[-1].step.since(said.step) > _SLACK:
                yield broken(said.step)


class _Delivery(NamedTuple):
    """A MsgProto: when it came, when it is due again, and what followed it."""

    step: Step
    wait: int
    acked: Step | None
    again: Step | None
    last: Step


def _deliveries(talks: Talks) -> Iterator[_Delivery]:
    for connection in _said(talks):
        left = _left(connection)
        for place, said in enumerate(connection):
            request = said.typed.answers
            if said.typed.name != "MsgProto" or request is None:
                continue
            inbox, sequence = request.message.inbox, said.typed.message.sequence
            acked = again = None
            for later in connection[place + 1 :]:
                message, asked = later.typed.message, later.typed.answers
                if later.typed.name not in ("Ack", "MsgProto") or asked is None:
                    continue
                if asked.message.inbox != inbox or message.sequence != sequence:
                    continue
                if later.typed.name == "Ack":
                    acked = acked or later.step
                elif message.redelivered:
                    again = again or later.step
            wait = request.message.ackWaitInSecs * _SECOND
            last = left.get(inbox, connection[-1].step)
            yield _Delivery(said.step, wait, acked, again, last)


def _left(connection: list[_Said]) -> dict[str, Step]:
    """When each subscription (by its inbox) was left."""
    inboxes: dict[str, str] = {}
    left: dict[str, Step] = {}
    for said in connection:
        if said.typed.name == "SubscriptionResponse" and said.typed.answers is not None:
            asked = said.typed.answers
            if asked.name == "SubscriptionRequest":
                inboxes[said.typed.message.ackInbox] = asked.message.inbox
        elif said.typed.name == "UnsubscribeRequest":
            inbox = inboxes.get(said.typed.message.inbox)
            if inbox is not None:
                left[inbox] = said.step
    return left


def _acknowledged(talks: Talks) -> Iterator[Verdict]:
    for delivery in _deliveries(talks):
        if delivery.acked is not None:
            yield kept(delivery.acked)
        elif delivery.last.since(delivery.step) > delivery.wait + _SLACK:
            yield broken(delivery.step)


def _redelivered(talks: Talks) -> Iterator[Verdict]:
    for delivery in _deliveries(talks):
        if delivery.acked is not None and delivery.acked.since(delivery.step) <= delivery.wait:
            continue
        if delivery.again is not None:
            yield kept(delivery.again)
        elif delivery.last.since(delivery.step) > delivery.wait + _SLACK:
            yield broken(delivery.step)


def _closed(talks: Talks) -> Iterator[Verdict]:
    for connection in _said(talks):
        connected = None
        for said in connection:
            if said.typed.name == "ConnectResponse" and not said.typed.message.error:
                connected = said.step
            elif said.typed.name == "CloseRequest" and connected is not None:
                yield kept(said.step)
                connected = None
        if connected is not None:
            yield broken(connected)
