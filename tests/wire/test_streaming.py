"""NATS Streaming: fields by their public numbers, subjects, answers on inboxes."""

from __future__ import annotations

import hashlib
import zlib

import pytest

from subtrie import SubjectError, WireError, classify, wire
from subtrie.wire import streaming
from subtrie.wire.streaming import Conversation, identify

#: The public table: field numbers and types.
FIELDS = {
    "PubMsg": "1 clientID string, 2 guid string, 3 subject string, 4 reply string, 5 data bytes, "
    "6 connID bytes, 10 sha256 bytes",
    "PubAck": "1 guid string, 2 error string",
    "MsgProto": "1 sequence uint64, 2 subject string, 3 reply string, 4 data bytes, "
    "5 timestamp int64, 6 redelivered bool, 7 redeliveryCount uint32, 10 CRC32 uint32",
    "Ack": "1 subject string, 2 sequence uint64",
    "ConnectRequest": "1 clientID string, 2 heartbeatInbox string, 3 protocol int32, "
    "4 connID bytes, 5 pingInterval int32, 6 pingMaxOut int32",
    "ConnectResponse": "1 pubPrefix string, 2 subRequests string, 3 unsubRequests string, "
    "4 closeRequests string, 5 error string, 6 subCloseRequests string, 7 pingRequests string, "
    "8 pingInterval int32, 9 pingMaxOut int32, 10 protocol int32, 100 publicKey string",
    "Ping": "1 connID bytes",
    "PingResponse": "1 error string",
    "SubscriptionRequest": "1 clientID string, 2 subject string, 3 qGroup string, 4 inbox string, "
    "5 maxInFlight int32, 6 ackWaitInSecs int32, 7 durableName string, 10 startPosition enum, "
    "11 startSequence uint64, 12 startTimeDelta int64",
    "SubscriptionResponse": "2 ackInbox string, 3 error string",
    "UnsubscribeRequest": "1 clientID string, 2 subject string, 3 inbox string, "
    "4 durableName string",
    "CloseRequest": "1 clientID string",
    "CloseResponse": "1 error string",
}
#: The documented fields, by requirement.
SEED = {
    "ConnectRequest": {27: "clientID", 28: "heartbeatInbox"},
    "ConnectResponse": {
        32: "pubPrefix", 33: "subRequests", 34: "unsubRequests", 35: "closeRequests", 36: "error",
        37: "publicKey",
    },
    "SubscriptionRequest": {
        40: "clientID", 41: "subject", 42: "qGroup", 43: "inbox", 44: "maxInFlight",
        45: "ackWaitInSecs", 46: "durableName", 47: "startPosition", 48: "startSequence",
        49: "startTimeDelta",
    },
    "SubscriptionResponse": {57: "ackInbox", 58: "error"},
    "UnsubscribeRequest": {61: "clientID", 62: "subject", 63: "inbox", 64: "durableName"},
    "PubMsg": {67: "clientID", 68: "guid", 69: "subject", 70: "reply", 71: "data", 72: "sha256"},
    "PubAck": {78: "guid", 79: "error"},
    "MsgProto": {
        82: "sequence", 83: "subject", 84: "reply", 85: "data", 86: "timestamp",
        87: "redelivered", 88: "CRC32",
    },
    "Ack": {91: "subject", 92: "sequence"},
    "CloseResponse": {98: "error"},
}  # fmt: skip
_TYPES = {1: "double", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes",
          13: "uint32", 14: "enum"}  # fmt: skip


@pytest.mark.requirement("S3-001", "S3-008", "A46")
@pytest.mark.parametrize("name", FIELDS)
def test_every_field_has_its_public_number(name):
    descriptor = getattr(streaming, name).DESCRIPTOR
    fields = [f"{f.number} {f.name} {_TYPES[f.type]}" for f in descriptor.fields]
    assert ", ".join(fields) == FIELDS[name]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        pytest.param(
            name, field, id=f"{name}-{field}", marks=pytest.mark.requirement(f"S3-{number:03}")
        )
        for name, fields in SEED.items()
        for number, field in fields.items()
    ],
)
def test_a_documented_field_survives_a_round_trip(name, field):
    kind = getattr(streaming, name)
    types = {f.name: f for f in kind.DESCRIPTOR.fields}
    value = {"string": "x", "bytes": b"\xff\0", "bool": True}.get(_TYPES[types[field].type], 3)
    message = kind(**{field: value})
    assert getattr(kind.decode(message.encode()), field) == value
    assert getattr(kind(), field) == type(value)()


@pytest.mark.requirement("S3-095", "A45")
def test_two_names_of_one_message():
    assert streaming.CloseResp is streaming.CloseResponse
    assert streaming.CloseRequest(clientID="c").encode() == b"\n\x01c"


@pytest.mark.requirement("S3-050", "S3-051", "S3-052", "S3-053", "S3-054")
def test_start_positions_of_a_subscription():
    assert streaming.StartPosition == {
        "NewOnly": 0, "LastReceived": 1, "TimeDeltaStart": 2, "SequenceStart": 3, "First": 4,
    }  # fmt: skip
    request = streaming.SubscriptionRequest(startPosition=4)
    assert request.encode() == b"P\x04"


@pytest.mark.requirement("A46")
def test_unknown_fields_survive():
    strange = b"\x0a\x01c" + b"\xfa\x07\x03new" + b"\xd0\x0f\x07"  # fields 127 and 250
    assert streaming.PubMsg.decode(strange).encode() == strange


@pytest.mark.parametrize(
    "data",
    [b"\x0a", b"\x0a\x05a", b"\x0b", b"\x08", b"\xff" * 11, b"\x0a\x01\xff", b"\x00", b"\x0e\x00"],
)
def test_bytes_that_are_not_a_message_are_refused(data):
    with pytest.raises(WireError) as caught:
        streaming.PubMsg.decode(data)
    assert (caught.value.reason, caught.value.status) == ("bad message", 400)
    assert str(caught.value).startswith("not a PubMsg: ")
    assert caught.value.hint in str(caught.value)


def test_a_repeated_field_keeps_the_last_and_negative_numbers_are_long():
    assert streaming.PubAck.decode(b"\x0a\x01a\x0a\x01b").guid == "b"
    request = streaming.SubscriptionRequest(maxInFlight=-1)
    assert len(request.encode()) == 11
    assert streaming.SubscriptionRequest.decode(request.encode()).maxInFlight == -1


@pytest.mark.requirement("A48")
def test_a_start_by_time_is_a_duration_in_nanoseconds():
    """The time is relative to now, so clocks may differ; the range is wide."""
    ages = 290 * 365 * 86_400 * 10**9
    for delta in (0, 5 * 10**9, ages, -1):
        message = streaming.SubscriptionRequest(startTimeDelta=delta)
        assert streaming.SubscriptionRequest.decode(message.encode()).startTimeDelta == delta
    with pytest.raises(ValueError, match=r"out of range|range"):
        streaming.SubscriptionRequest(startTimeDelta=2**63)


@pytest.mark.requirement("A49")
def test_checksums_on_request():
    data = b"payload"
    assert streaming.crc_matches(streaming.MsgProto(data=data)) is None
    assert streaming.crc_matches(streaming.MsgProto(data=data, CRC32=zlib.crc32(data)))
    assert streaming.crc_matches(streaming.MsgProto(data=data, CRC32=1)) is False
    digest = hashlib.sha256(data).digest()
    assert streaming.digest_matches(streaming.PubMsg(data=data)) is None
    assert streaming.digest_matches(streaming.PubMsg(data=data, sha256=digest))
    assert streaming.digest_matches(streaming.PubMsg(data=b"", sha256=digest)) is False


@pytest.mark.requirement("S3-002")
@pytest.mark.parametrize(
    ("subject", "name"),
    [
        pytest.param(
            "_STAN.discover.mycluster",
            "ConnectRequest",
            id="discover",
            marks=pytest.mark.requirement("S3-025", "S3-026"),
        ),
        ("_STAN.discover.mycluster.pings", "Ping"),
        ("_STAN.pub.id.foo.bar", "PubMsg"),
        ("_STAN.sub.id", "SubscriptionRequest"),
        ("_STAN.unsub.id", "UnsubscribeRequest"),
        ("_STAN.subclose.id", "UnsubscribeRequest"),
        ("_STAN.close.id", "CloseRequest"),
        ("_STAN.acks.x", "PubAck"),
        ("_STAN.ack.x", "Ack"),
        ("_INBOX.x", None),
        ("_STAN.raft.x", None),
        ("foo", None),
    ],
)
def test_which_message_a_subject_carries(subject, name):
    assert identify(subject) == name
    if name is not None:
        assert classify(subject) == "streaming"


@pytest.mark.requirement("S3-025")
def test_a_server_with_a_discover_prefix_of_its_own():
    assert identify("own.find.mycluster", discover="own.find") == "ConnectRequest"
    assert identify("own.find.mycluster.pings", discover="own.find") == "Ping"
    assert identify("own.finder.mycluster", discover="own.find") is None
    assert identify("_STAN.discover.mycluster", discover="own.find") is None
    body = streaming.ConnectRequest(clientID="me", heartbeatInbox="hb").encode()
    line = b"PUB own.find.mycluster r %d\r\n%b\r\n" % (len(body), body)
    (op,) = wire.Parser("client").feed(line)
    assert Conversation().feed(op) is None
    assert Conversation(discover="own.find").feed(op).message.clientID == "me"


@pytest.mark.requirement("S3-030")
def test_a_response_replaces_the_default_subjects():
    response = streaming.ConnectResponse(
        pubPrefix="p.x", subRequests="s", unsubRequests="u", closeRequests="c", pingRequests="g"
    )
    assert [identify(subject, response) for subject in ("p.x.foo", "s", "u", "c", "g")] == [
        "PubMsg", "SubscriptionRequest", "UnsubscribeRequest", "CloseRequest", "Ping",
    ]  # fmt: skip
    assert identify("_STAN.sub.id", response) is None
    assert identify("p.xfoo", response) is None
    assert identify("", response) is None
    assert [identify(f"_STAN.{name}.x", response) for name in ("acks", "ack", "pub", "close")] == [
        "PubAck", "Ack", None, None,
    ]  # fmt: skip
    assert identify("p.x", response) is None
    assert identify("_STAN.discover.mycluster", response) == "ConnectRequest"
    assert identify(".foo", streaming.ConnectResponse()) is None


@pytest.mark.requirement("S3-007")
@pytest.mark.parametrize(
    "name", ["SubscriptionRequest", "UnsubscribeRequest", "PubMsg", "MsgProto", "Ack"]
)
@pytest.mark.parametrize("channel", ["foo.*", "foo.>", ">", "*.foo"])
def test_a_channel_with_wildcards_is_read_and_not_written(name, channel):
    kind = getattr(streaming, name)
    message = kind(subject=channel)
    with pytest.raises(SubjectError, match="no wildcards") as caught:
        message.encode()
    assert (caught.value.reason, caught.value.field) == ("wildcard", "subject")
    assert (caught.value.hint, caught.value.status) == ("name each channel", 400)
    assert kind.decode(message.SerializeToString()).subject == channel
    assert kind(subject="foo*.b>").encode()


@pytest.mark.requirement("S3-011", "S3-013")
def test_a_client_asks_to_close_a_subscription_where_the_server_said():
    response = streaming.ConnectResponse(unsubRequests="u", subCloseRequests="k")
    assert identify("k", response) == "UnsubscribeRequest"
    assert identify("u", response) == "UnsubscribeRequest"
    assert identify("_STAN.subclose.id", response) is None


@pytest.mark.requirement("S3-004", "S3-005", "S3-006", "S3-007", "A50")
def test_channels_are_subjects_without_wildcards():
    from subtrie import Subject

    for valid in ("FOO", "BAR", "foo.bar", "foo.BAR", "FOO.BAR", "FOO.BAR.BAZ"):  # S3-005
        Subject(valid)
    for invalid in ("FOO. BAR", "foo. .bar", "foo..bar", "foo.*", "foo.>"):  # S3-006
        with pytest.raises(SubjectError):
            Subject(invalid)


def pub(subject, message, reply=""):
    body = message.encode() if message is not None else b""
    line = f"PUB {subject} {reply} {len(body)}\r\n".encode()
    (op,) = wire.Parser("client").feed(line + body + b"\r\n")
    return op


@pytest.mark.requirement(
    "S3-003", "S3-024", "S3-029", "S3-039", "S3-074", "S3-075", "S3-077", "S3-096"
)
def test_answers_find_their_requests():
    talk = Conversation()
    request = streaming.ConnectRequest(clientID="c", heartbeatInbox="_INBOX.hb")
    assert talk.feed(pub("_STAN.discover.x", request, "_INBOX.1")).name == "ConnectRequest"
    response = streaming.ConnectResponse(
        pubPrefix="_STAN.pub.i", subRequests="_STAN.sub.i", unsubRequests="_STAN.unsub.i",
        closeRequests="_STAN.close.i",
    )  # fmt: skip
    answer = talk.feed(pub("_INBOX.1", response))
    assert (answer.name, answer.answers.message.clientID) == ("ConnectResponse", "c")
    first = streaming.PubMsg(guid="g1", subject="foo", data=b"1")
    second = streaming.PubMsg(guid="g2", subject="foo", data=b"2")
    talk.feed(pub("_STAN.pub.i.foo", first, "_STAN.acks.a"))
    talk.feed(pub("_STAN.pub.i.foo", second, "_STAN.acks.b"))
    late = talk.feed(pub("_STAN.acks.b", streaming.PubAck(guid="g2")))
    early = talk.feed(pub("_STAN.acks.a", streaming.PubAck(guid="g1", error="full")))
    assert (late.answers.message.data, early.answers.message.data) == (b"2", b"1")  # S3-066
    assert early.message.error == "full"  # S3-076: not stored
    wanted = streaming.SubscriptionRequest(subject="foo", inbox="_INBOX.m")
    talk.feed(pub("_STAN.sub.i", wanted, "_INBOX.2"))
    talk.feed(pub("_INBOX.2", streaming.SubscriptionResponse(ackInbox="_INBOX.ack")))
    delivered = talk.feed(pub("_INBOX.m", streaming.MsgProto(sequence=1, subject="foo")))
    assert (delivered.name, delivered.answers.message.subject) == ("MsgProto", "foo")  # S3-080
    acked = talk.feed(pub("_INBOX.ack", streaming.Ack(subject="foo", sequence=1)))
    assert acked.name == "Ack"  # S3-090
    assert talk.feed(pub("_INBOX.hb", None, "_INBOX.3")).name == "Heartbeat"  # S3-021
    assert talk.feed(pub("_INBOX.3", None)).name == "HeartbeatAnswer"
    talk.feed(pub("_STAN.close.i", streaming.CloseRequest(clientID="c"), "_INBOX.4"))
    assert talk.feed(pub("_INBOX.4", streaming.CloseResponse())).name == "CloseResponse"
    assert talk.feed(pub("_INBOX.other", None)) is None
    assert talk.feed(wire.Parser("client").feed(b"PING\r\n")[0]) is None


@pytest.mark.parametrize(
    ("subject", "request_type", "answer"),
    [
        ("_STAN.discover.x", "ConnectRequest", "ConnectResponse"),
        ("_STAN.discover.x.pings", "Ping", "PingResponse"),
        ("_STAN.sub.i", "SubscriptionRequest", "SubscriptionResponse"),
        ("_STAN.unsub.i", "UnsubscribeRequest", "SubscriptionResponse"),
        ("_STAN.subclose.i", "UnsubscribeRequest", "SubscriptionResponse"),
        ("_STAN.close.i", "CloseRequest", "CloseResponse"),
        ("_STAN.pub.i.foo", "PubMsg", "PubAck"),
    ],
)
@pytest.mark.parametrize("name", ["PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG"])
def test_each_request_has_an_answer_on_any_connection(subject, request_type, answer, name):
    conn, extra = {
        "PUB": ("client", ""), "HPUB": ("client", ""), "MSG": ("server_to_client", " 1"),
        "HMSG": ("server_to_client", " 1"), "RMSG": ("route", ""), "LMSG": ("leaf", ""),
    }[name]  # fmt: skip
    account = "$G " if name == "RMSG" else ""

    def carried(to, message, reply=""):
        body = message.encode()
        head = b"NATS/1.0\r\n\r\n" if name[0] == "H" else b""
        sizes = f"{len(head)} {len(head + body)}" if head else f"{len(body)}"
        line = f"{name} {account}{to}{extra}{reply and f' {reply}'} {sizes}\r\n".encode()
        (op,) = wire.Parser(conn).feed(line + head + body + b"\r\n")
        return talk.feed(op)

    talk = Conversation()
    asked = carried(subject, getattr(streaming, request_type)(), "_INBOX.1")
    assert (asked.name, asked.subject, asked.reply) == (request_type, subject, "_INBOX.1")
    told = carried("_INBOX.1", getattr(streaming, answer)())
    assert (told.name, told.answers.name) == (answer, request_type)


def test_the_inboxes_that_were_used_last_are_known(monkeypatch):
    monkeypatch.setattr(streaming._conversation, "_MAX_INBOXES", 3)
    talk = Conversation()
    for inbox in ("a", "b", "c", "a", "d"):
        talk.feed(pub("_STAN.close.i", streaming.CloseRequest(), inbox))
    answers = {inbox: talk.feed(pub(inbox, streaming.CloseResponse())) for inbox in "abcd"}
    assert [inbox for inbox, found in answers.items() if found is not None] == ["a", "c", "d"]


def test_an_acknowledgement_without_its_message_answers_nothing():
    ack = Conversation().feed(pub("_STAN.acks.a", streaming.PubAck(guid="g")))
    assert (ack.name, ack.answers) == ("PubAck", None)
    talk = Conversation()
    talk.feed(pub("_STAN.sub.i", streaming.SubscriptionRequest(inbox=""), "_INBOX.1"))
    talk.feed(pub("_INBOX.1", streaming.SubscriptionResponse(ackInbox="")))
    assert list(talk._expected) == ["_INBOX.1"]


@pytest.mark.requirement("S3-021", "S3-066", "S3-076", "S3-080", "S3-090")
def test_inboxes_carry_the_message_types_of_their_requests():
    talk = Conversation()
    talk.feed(pub("_STAN.discover.x", streaming.ConnectRequest(heartbeatInbox="hb"), "_INBOX.1"))
    assert talk.feed(pub("hb", None, "_INBOX.2")).name == "Heartbeat"
    talk.feed(pub("_STAN.pub.i.foo", streaming.PubMsg(guid="g", data=b"1"), "_STAN.acks.a"))
    ack = talk.feed(pub("_STAN.acks.a", streaming.PubAck(guid="g", error="not stored")))
    assert (ack.message.guid, ack.answers.message.guid) == ("g", "g")
    assert ack.message.error == "not stored"
    stray = talk.feed(pub("_STAN.acks.a", streaming.PubAck(guid="other")))
    assert stray.answers is None
    talk.feed(pub("_STAN.sub.i", streaming.SubscriptionRequest(inbox="in"), "_INBOX.3"))
    talk.feed(pub("_INBOX.3", streaming.SubscriptionResponse(ackInbox="out")))
    assert talk.feed(pub("in", streaming.MsgProto(data=b"payload"))).message.data == b"payload"
    assert talk.feed(pub("out", streaming.Ack(sequence=1))).message.sequence == 1


@pytest.mark.requirement("S3-066", "S3-076")
@pytest.mark.parametrize(
    ("answer", "error"), [(b"\x0a\x01g\x12\x04full", "full"), (b"\x0a\x01g", "")]
)
def test_an_error_of_an_acknowledgement_says_that_the_message_is_not_stored(answer, error):
    """The bytes of a server: field 1 is the GUID of the message, field 2 the error."""
    talk = Conversation()
    talk.feed(pub("_STAN.pub.i.foo", streaming.PubMsg(guid="g", data=b"1"), "_STAN.acks.a"))
    line = b"PUB _STAN.acks.a %d\r\n%b\r\n" % (len(answer), answer)
    (ack,) = (talk.feed(op) for op in wire.Parser("client").feed(line))
    assert (ack.name, ack.message.guid, ack.message.error) == ("PubAck", "g", error)
    assert ack.answers.message.data == b"1"


@pytest.mark.requirement("S3-031")
def test_an_error_in_a_response_ends_nothing_and_changes_nothing():
    talk = Conversation()
    talk.feed(pub("_STAN.discover.x", streaming.ConnectRequest(clientID="c"), "_INBOX.1"))
    refused = talk.feed(pub("_INBOX.1", streaming.ConnectResponse(error="clientID in use")))
    assert refused.message.error
    assert talk.response is None


def test_a_payload_of_another_type_than_its_subject_is_an_error():
    op = wire.Parser("client").feed(b"PUB _STAN.pub.i.foo 3\r\n\x0a\x05a\r\n")[0]
    with pytest.raises(WireError):
        Conversation().feed(op)
