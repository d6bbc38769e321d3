"""The behaviour rules of NATS Streaming about what a subscription is delivered.

A capture may begin in the middle: what happened before it neither keeps nor breaks a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._exchange import SECOND, TOLERANCE, Step, Verdict, broken, kept
from ._streaming_messages import CarriedMessage, ChannelHistory, StreamingExchange
from ._streaming_rules import StreamingRule

_NEW_ONLY, _LAST_RECEIVED, _TIME_DELTA, _SEQUENCE, _FIRST = range(5)


def rules() -> list[StreamingRule]:
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
        ("S3-056", "a delivered message is acknowledged, and no other", _acknowledged),
        ("S3-081", "a message not acknowledged in time is redelivered", _redelivered),
        ("S3-082", "a sequence names one message of its channel, and rises", _rising),
        ("S3-087", "what was delivered before is flagged, and nothing else", _flagged),
    ]


def _deliveries(carried: list[CarriedMessage]) -> Iterator[tuple[CarriedMessage, Any, Any]]:
    """Yield each delivery with its message and the subscription request."""
    for each in carried:
        if each.typed.name == "MsgProto" and each.typed.answers is not None:
            yield each, each.typed.message, each.typed.answers.message


def _queue_groups(exchange: StreamingExchange) -> Iterator[Verdict]:
    delivered: dict[tuple[str, str, str, str, int], str] = {}
    for (step, _, cluster), message, request in _deliveries(exchange.in_order):
        if message.redelivered or not request.qGroup:
            continue
        key = cluster, request.subject, request.qGroup, request.durableName, message.sequence
        member = delivered.setdefault(key, request.inbox)
        yield kept(step) if member == request.inbox else broken(step)


def _in_flight(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        waiting: dict[str, set[int]] = {}
        for step, typed, _ in client:
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


class _Durable:
    """The deliveries and acknowledgements of one durable subscription, until now.

    Attributes:
        acknowledged: The acknowledged sequences, each with its number among them.
        waiting: The sequences delivered since its last request that wait for an acknowledgement.
        owed: Those that waited as it was requested again, and were not delivered since.
        highest: The highest delivered sequence.
    """

    __slots__ = ("acknowledged", "highest", "owed", "waiting")

    def __init__(self) -> None:
        self.acknowledged: dict[int, int] = {}
        self.waiting: set[int] = set()
        self.owed: set[int] = set()
        self.highest = 0

    def request(self) -> int | None:
        """Begin again; return how many were acknowledged, None if nothing was delivered yet."""
        self.owed |= self.waiting
        self.waiting = set()
        return len(self.acknowledged) if self.acknowledged or self.owed else None

    def acknowledge(self, sequence: int) -> None:
        self.acknowledged.setdefault(sequence, len(self.acknowledged))
        self.waiting.discard(sequence)
        self.owed.discard(sequence)

    def deliver(self, sequence: int) -> None:
        self.owed.discard(sequence)
        if sequence not in self.acknowledged:
            self.waiting.add(sequence)
        self.highest = max(self.highest, sequence)

    def is_next(self, sequence: int, before: int, history: ChannelHistory) -> bool:
        """Return whether a delivery is not acknowledged yet, and skips no known message.

        Args:
            sequence: The sequence of the delivery.
            before: How many were acknowledged as the subscription was requested again.
            history: What the capture shows of the channel.
        """
        if self.acknowledged.get(sequence, before) < before:
            return False
        if sequence <= self.highest:  # one that is owed, or is delivered once more
            return True
        earlier = history.earlier(sequence)
        return not self.owed and (earlier is None or earlier <= self.highest)


def _durables(exchange: StreamingExchange) -> Iterator[Verdict]:
    durables: dict[tuple[str, str, str, str], dict[str, _Durable]] = {}
    resumed: dict[str, tuple[_Durable, int | None]] = {}  # by inbox
    for step, typed, cluster in exchange.in_order:
        if typed.name == "UnsubscribeRequest":  # the durable may end here
            ended = typed.message
            durables.pop((cluster, ended.clientID, ended.subject, ended.durableName), None)
        request = typed.message if typed.name == "SubscriptionRequest" else None
        if request is None and typed.name in ("MsgProto", "Ack") and typed.answers is not None:
            request = typed.answers.message
        if request is None or not request.durableName:
            continue
        if typed.name == "SubscriptionRequest":
            name = cluster, request.clientID, request.subject, request.durableName
            durable = durables.setdefault(name, {}).setdefault(request.qGroup, _Durable())
            resumed[request.inbox] = durable, durable.request()
            continue
        durable, before = resumed[request.inbox]
        sequence = typed.message.sequence
        if typed.name == "Ack":
            durable.acknowledge(sequence)
            continue
        # Before it is requested again only its start position decides.
        if before is not None:
            # The other members of a queue group may be delivered what this one is owed.
            new = bool(request.qGroup) and sequence > durable.highest
            history = exchange.channels[cluster, request.subject]
            right = new or durable.is_next(sequence, before, history)
            yield kept(step) if right else broken(step)
        durable.deliver(sequence)


#: The lowest and the highest sequence of a channel known before a subscription; None without any.
_Known = tuple[int, int] | None


class _Start(NamedTuple):
    """A request for a subscription with a start position.

    Attributes:
        request: The request.
        asked: Its step.
        known: What was known of the channel.
        history: What the whole capture shows of the channel.
    """

    request: Any
    asked: Step
    known: _Known
    history: ChannelHistory


#: Takes the start, a delivery, and whether it is the first; returns whether it is right, or None if
#: the capture cannot tell.
_Judge = Callable[[_Start, Any, bool], bool | None]


def _starts(position: int, judge: _Judge) -> Callable[[StreamingExchange], Iterator[Verdict]]:
    """Return a rule about the deliveries of a subscription with this start position."""

    def check(exchange: StreamingExchange) -> Iterator[Verdict]:
        known: dict[tuple[str, str], tuple[int, int]] = {}
        started: dict[str, _Start] = {}
        last: dict[str, int] = {}
        for step, typed, cluster in exchange.in_order:
            if typed.name == "SubscriptionRequest":
                request, channel = typed.message, (cluster, typed.message.subject)
                # A durable subscription starts there only once; a member of a queue group is
                # delivered what the others leave.
                alone = not request.durableName and not request.qGroup
                if request.startPosition == position and alone and channel in exchange.channels:
                    history = exchange.channels[channel]
                    started[request.inbox] = _Start(request, step, known.get(channel), history)
            elif typed.name == "MsgProto" and typed.answers is not None:
                message, inbox = typed.message, typed.answers.message.inbox
                channel, sequence = (cluster, typed.answers.message.subject), message.sequence
                low, high = known.get(channel, (sequence, sequence))
                known[channel] = min(low, sequence), max(high, sequence)
                if inbox not in started or message.redelivered:
                    continue
                before, start = last.get(inbox), started[inbox]
                right = judge(start, message, before is None)
                if before is not None and right is not False:
                    earlier = start.history.earlier(sequence)
                    skipped = earlier is not None and earlier > before
                    right = False if skipped else right
                last[inbox] = sequence
                if right is not None:
                    yield kept(step) if right else broken(step)

    return check


def _after_known(start: _Start, message: Any, first: bool) -> bool | None:
    return message.sequence > start.known[-1] if start.known else None


def _last(start: _Start, message: Any, first: bool) -> bool | None:
    return message.sequence >= start.known[-1] if start.known else None


def _age(start: _Start, message: Any, first: bool) -> bool | None:
    if start.asked.time is None or not message.timestamp:
        return None
    begin = start.asked.time - start.request.startTimeDelta
    earlier = start.history.earlier(message.sequence) if first else None
    if earlier is not None and start.history.time(earlier) > begin + TOLERANCE:
        return False  # a younger one was skipped
    return bool(message.timestamp >= begin - TOLERANCE)


def _sequence(start: _Start, message: Any, first: bool) -> bool | None:
    wanted = start.request.startSequence
    earlier = start.history.earlier(message.sequence) if first else None
    if earlier is not None and earlier >= wanted:
        return False
    return bool(message.sequence >= wanted)


def _everything(start: _Start, message: Any, first: bool) -> bool | None:
    if message.sequence == 1:
        return True
    if first and start.history.earlier(message.sequence) is not None:
        return False
    return True if start.known else None


class _StreamingDelivery(NamedTuple):
    """A MsgProto with its acknowledgement wait, its acknowledgement and its redelivery."""

    step: Step
    wait: int
    acknowledged: Step | None
    redelivered: Step | None
    last: Step

    def settled_by(self, step: Step | None) -> Iterator[Verdict]:
        """Yield that the rule is kept by a step, or broken if there was time for one."""
        if step is not None:
            yield kept(step)
        elif self.last.since(self.step) > self.wait + TOLERANCE:
            yield broken(self.step)


def _followed(client: list[CarriedMessage]) -> list[_StreamingDelivery]:
    """Return each delivery of a client with what followed it."""
    unsubscribed = _unsubscribed(client)
    found: list[_StreamingDelivery] = []
    # Read backwards: what follows a delivery of an inbox and a sequence is known then.
    acknowledged: dict[tuple[str, int], Step] = {}
    redelivered: dict[tuple[str, int], Step] = {}
    for step, typed, _ in reversed(client):
        request = typed.answers
        if typed.name not in ("Ack", "MsgProto") or request is None:
            continue
        inbox = request.message.inbox
        key = inbox, typed.message.sequence
        if typed.name == "Ack":
            acknowledged[key] = step
            continue
        wait = request.message.ackWaitInSecs * SECOND
        last = unsubscribed.get(inbox, client[-1].step)
        found.append(
            _StreamingDelivery(step, wait, acknowledged.get(key), redelivered.get(key), last)
        )
        if typed.message.redelivered:
            redelivered[key] = step
    return found[::-1]


def _unsubscribed(client: list[CarriedMessage]) -> dict[str, Step]:
    """Return the step at which each subscription (by its inbox) was unsubscribed."""
    inboxes: dict[str, str] = {}
    unsubscribed: dict[str, Step] = {}
    for step, typed, _ in client:
        if typed.name == "SubscriptionResponse" and typed.answers is not None:
            if typed.answers.name == "SubscriptionRequest":
                inboxes[typed.message.ackInbox] = typed.answers.message.inbox
        elif typed.name == "UnsubscribeRequest":
            inbox = inboxes.get(typed.message.inbox)
            if inbox is not None:
                unsubscribed[inbox] = step
    return unsubscribed


def _acknowledged(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        delivered: set[tuple[str, int]] = set()
        for step, typed, _ in client:
            if typed.answers is None or typed.name not in ("MsgProto", "Ack"):
                continue
            key = typed.answers.message.inbox, typed.message.sequence
            if typed.name == "MsgProto":
                delivered.add(key)
            elif key not in delivered:
                yield broken(step)
        for delivery in _followed(client):
            yield from delivery.settled_by(delivery.acknowledged)


def _redelivered(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        for delivery in _followed(client):
            answer = delivery.acknowledged
            if answer is None or answer.since(delivery.step) > delivery.wait:
                yield from delivery.settled_by(delivery.redelivered)


def _rising(exchange: StreamingExchange) -> Iterator[Verdict]:
    for client in exchange.clients:
        highest: dict[str, int] = {}
        for (step, _, _), message, request in _deliveries(client):
            if message.redelivered:
                continue
            before = highest.get(request.inbox)
            highest[request.inbox] = message.sequence
            if before is not None:
                yield kept(step) if message.sequence > before else broken(step)
    stored: dict[tuple[str, str, int], bytes] = {}
    for (step, _, cluster), message, request in _deliveries(exchange.in_order):
        key = cluster, request.subject, message.sequence
        if stored.setdefault(key, message.data) != message.data:
            yield broken(step)


def _flagged(exchange: StreamingExchange) -> Iterator[Verdict]:
    """Check the flag of each delivery; others may have had it before a durable or a group."""
    for client in exchange.clients:
        delivered: set[tuple[str, int]] = set()
        for (step, _, _), message, request in _deliveries(client):
            key = request.inbox, message.sequence
            again = key in delivered
            delivered.add(key)
            if again:
                yield kept(step) if message.redelivered else broken(step)
            elif not request.durableName and not request.qGroup:
                yield broken(step) if message.redelivered else kept(step)
