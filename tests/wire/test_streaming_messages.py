"""NATS Streaming: each message of a whole connection, from the bytes that its sender writes.

The bytes are written here from the public numbers of the fields, and not by the code under test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from subtrie import wire
from subtrie.wire import streaming
from subtrie.wire.streaming import Conversation

CLIENT, SERVER = "client", "server_to_client"
Value = str | bytes | int


class Message(NamedTuple):
    """A message of the script: its requirement, who sends it and where, its fields by number."""

    row: int
    name: str
    sender: str
    subject: str
    reply: str
    answers: str | None
    fields: dict[int, tuple[str, Value]]


SCRIPT = [
    Message(9, "ConnectRequest", CLIENT, "_STAN.discover.mycluster", "_INBOX.1", None,
            {1: ("clientID", "me"), 2: ("heartbeatInbox", "_INBOX.hb")}),
    Message(10, "ConnectResponse", SERVER, "_INBOX.1", "", "ConnectRequest",
            {1: ("pubPrefix", "own.pub"), 2: ("subRequests", "own.sub"),
             3: ("unsubRequests", "own.unsub"), 4: ("closeRequests", "own.close"),
             100: ("publicKey", "key")}),
    Message(11, "SubscriptionRequest", CLIENT, "own.sub", "_INBOX.2", None,
            {1: ("clientID", "me"), 2: ("subject", "foo"), 3: ("qGroup", "workers"),
             4: ("inbox", "_INBOX.foo"), 5: ("maxInFlight", 300), 6: ("ackWaitInSecs", 30),
             7: ("durableName", "mine"), 10: ("startPosition", 3), 11: ("startSequence", 7),
             12: ("startTimeDelta", 10**10)}),
    Message(12, "SubscriptionResponse", SERVER, "_INBOX.2", "", "SubscriptionRequest",
            {2: ("ackInbox", "own.acks.foo"), 3: ("error", "late")}),
    Message(14, "PubMsg", CLIENT, "own.pub.foo", "_INBOX.3", None,
            {1: ("clientID", "me"), 2: ("guid", "one"), 3: ("subject", "foo"), 4: ("reply", "back"),
             5: ("data", b"\xff\x00"), 10: ("sha256", b"\x01\x02")}),
    Message(15, "PubAck", SERVER, "_INBOX.3", "", "PubMsg",
            {1: ("guid", "one"), 2: ("error", "full")}),
    Message(16, "MsgProto", SERVER, "_INBOX.foo", "", "SubscriptionRequest",
            {1: ("sequence", 300), 2: ("subject", "foo"), 3: ("reply", "back"),
             4: ("data", b"\xff\x00"), 5: ("timestamp", 10**18), 6: ("redelivered", 1),
             10: ("CRC32", 0xFFFFFFFF)}),
    Message(17, "Ack", CLIENT, "own.acks.foo", "", "SubscriptionRequest",
            {1: ("subject", "foo"), 2: ("sequence", 300)}),
    Message(13, "UnsubscribeRequest", CLIENT, "own.unsub", "_INBOX.4", None,
            {1: ("clientID", "me"), 2: ("subject", "foo"), 3: ("inbox", "own.acks.foo"),
             4: ("durableName", "mine")}),
    Message(18, "CloseRequest", CLIENT, "own.close", "_INBOX.5", None, {1: ("clientID", "me")}),
    Message(19, "CloseResp", SERVER, "_INBOX.5", "", "CloseRequest", {1: ("error", "unknown")}),
]  # fmt: skip


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def written(message: Message) -> bytes:
    """Return the bytes of a message."""
    found = b""
    for number, (_, value) in message.fields.items():
        if isinstance(value, int):
            found += _varint(number << 3) + _varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            found += _varint(number << 3 | 2) + _varint(len(data)) + data
    return found


def sent(message: Message, subject: str = "") -> Any:
    """Return the operation that carries a message, as its sender has it."""
    verb = f"{'PUB' if message.sender == CLIENT else 'MSG'} {subject or message.subject}"
    sid = "" if message.sender == CLIENT else " 1"
    body = written(message)
    line = f"{verb}{sid} {message.reply} {len(body)}\r\n".encode()
    (op,) = wire.Parser(message.sender).feed(line + body + b"\r\n")
    return op


#: What a message says beside its own row.
ALSO = {
    11: ["S3-038"], 12: ["S3-055"], 13: ["S3-059", "S3-060"], 14: ["S3-065"], 15: ["S3-073"],
    17: ["S3-089"], 18: ["S3-093"], 19: ["S3-097"],
}  # fmt: skip


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(
            place,
            id=each.name,
            marks=pytest.mark.requirement(f"S3-{each.row:03}", *ALSO.get(each.row, ())),
        )
        for place, each in enumerate(SCRIPT)
    ],
)
def test_each_message_has_its_sender_its_subject_and_its_fields(place):
    message, talk = SCRIPT[place], Conversation()
    for earlier in SCRIPT[:place]:
        talk.feed(sent(earlier))
    found = talk.feed(sent(message))
    kind = getattr(streaming, message.name)
    assert found.name == kind.DESCRIPTOR.name
    assert type(found.message) is kind
    for name, value in message.fields.values():
        assert getattr(found.message, name) == value
    set_fields = {field.name for field, _ in found.message.ListFields()}
    assert set_fields == {name for name, _ in message.fields.values()}
    assert found.message.encode() == written(message)
    assert (found.answers.name if found.answers else None) == message.answers
    # A server answers where it was asked to; a client publishes where the server said.
    assert talk.feed(sent(message, "_INBOX.other")) is None
    alone = Conversation()
    for earlier in SCRIPT[:place]:
        if earlier.sender == message.sender:
            alone.feed(sent(earlier))
    assert (alone.feed(sent(message)) is None) == (message.name != "ConnectRequest")
