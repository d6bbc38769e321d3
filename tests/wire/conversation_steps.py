"""Steps of conversations: operations of both directions, streaming messages by their senders."""

from __future__ import annotations

import pytest

from subtrie import wire
from subtrie.wire import conversation, streaming

SECOND = 1_000_000_000


def op(text, conn="client"):
    (found,) = wire.Parser(conn).feed(text if isinstance(text, bytes) else f"{text}\r\n".encode())
    return found


def talk(*steps, kind="client", number=1):
    """Steps are ``(direction, line)`` or ``(direction, line, seconds)``."""
    for step in steps:
        direction, line, seconds = (*step, None)[:3]
        conn = "server_to_client" if (kind, direction) == ("client", "s2c") else kind
        time = None if seconds is None else int(seconds * SECOND)
        yield direction, op(line, conn), time, number


def verdict(row, *talks, **options):
    steps = [step for each in talks for step in each]
    found = {finding.row: finding for finding in conversation.check(steps, **options)}
    return found[row].verdict


def marked(*cases):
    """Mark each case with the requirement that it begins with, unless it is marked already."""
    return [
        case
        if hasattr(case, "marks")
        else pytest.param(*case, marks=pytest.mark.requirement(case[0]))
        for case in cases
    ]


def cases(test):
    """The values of each case of a test."""
    return [
        case.values
        for mark in test.pytestmark
        if mark.name == "parametrize"
        for case in mark.args[1]
    ]


#: What a client sends; everything else is sent by the streaming server.
BY_CLIENT = {
    "ConnectRequest", "SubscriptionRequest", "UnsubscribeRequest", "PubMsg", "Ack", "CloseRequest",
}  # fmt: skip


def pub(subject, message=None, reply="", way="c2s"):
    """The bytes of a message, as the client sends it or as it is delivered to the client."""
    # The protocol file refuses what some examples break.
    body = b"" if message is None else message.SerializeToString()
    line = f"PUB {subject} {reply}" if way == "c2s" else f"MSG {subject} 1 {reply}"
    return f"{line} {len(body)}\r\n".encode() + body + b"\r\n"


def say(at, subject, message=None, reply="", way=None):
    """A step: a message in the direction of its sender."""
    if way is None:
        way = "c2s" if type(message).DESCRIPTOR.name in BY_CLIENT else "s2c"
    return (way, pub(subject, message, reply, way), at)


def connected(client="c", error="", number=1, at=0.0, cluster="x"):
    request = streaming.ConnectRequest(clientID=client, heartbeatInbox="hb")
    response = streaming.ConnectResponse(pubPrefix="p", closeRequests="cl", subRequests="su",
                                         unsubRequests="un", error=error)  # fmt: skip
    yield say(at, f"_STAN.discover.{cluster}", request, f"r{number}")
    yield say(at, f"r{number}", response)


def subscribed():
    request = streaming.SubscriptionRequest(
        clientID="c", subject="foo", inbox="in", ackWaitInSecs=1
    )
    yield say(1, "su", request, "r8")
    yield say(1, "r8", streaming.SubscriptionResponse(ackInbox="ack"))


def delivery(at, again=False):
    return say(at, "in", streaming.MsgProto(subject="foo", sequence=1, redelivered=again))


def ack(at, sequence=1):
    return say(at, "ack", streaming.Ack(subject="foo", sequence=sequence))


def subscription(at, inbox="in", *, client="c", channel="foo", **options):
    """A request for a subscription and its answer."""
    request = streaming.SubscriptionRequest(
        **{"clientID": client, "subject": channel, "inbox": inbox, "ackWaitInSecs": 1, **options}
    )
    yield say(at, "su", request, f"r{inbox}")
    yield say(at, f"r{inbox}", streaming.SubscriptionResponse(ackInbox=f"ack.{inbox}"))


def unsubscription(at, channel="foo", client="c", **options):
    request = streaming.UnsubscribeRequest(clientID=client, subject=channel, **options)
    return say(at, "un", request, "r7")


def delivered(at, sequence, inbox="in", *, channel="foo", **options):
    message = streaming.MsgProto(sequence=sequence, subject=channel, **options)
    return say(at, inbox, message)


def acked(at, sequence, inbox="in"):
    return say(at, f"ack.{inbox}", streaming.Ack(subject="foo", sequence=sequence))


def published(at, channel="foo", guid="g1", answer="g1", client="c", **options):
    message = streaming.PubMsg(clientID=client, guid=guid, subject=channel, **options)
    yield say(at, "p.foo", message, "rp")
    yield say(at, "rp", streaming.PubAck(guid=answer))


def closed(at, client="c"):
    return say(at, "cl", streaming.CloseRequest(clientID=client), "r9")
