"""The rules of NATS Streaming about senders, channels, clients and published messages."""

from __future__ import annotations

import hashlib
import zlib

import pytest
from conversation_steps import (
    closed,
    connected,
    delivered,
    marked,
    published,
    say,
    subscription,
    talk,
    unsubscription,
    verdict,
)

from subtrie.wire import streaming

CLOSE = closed(50)
LATE = ("c2s", b"PING\r\n", 50)
DATA = b"payload"


def beat(at):
    return say(at, "hb", None, "h1", "s2c")


def answer(at, size=0):
    return ("c2s", b"PUB h1 %d\r\n%b\r\n" % (size, b"x" * size), at)


def wildcards(channel):
    """Each message that names a channel."""
    return [
        [*subscription(1, channel=channel)],
        [unsubscription(1, channel)],
        [*published(1, channel)],
    ]


@pytest.mark.parametrize(
    ("row", "steps", "wanted"),
    marked(
        ("S3-023", [beat(1), answer(1)], "kept"),
        ("S3-023", [beat(1), CLOSE], "broken"),
        ("S3-023", [beat(48), CLOSE], "not seen"),
        ("S3-023", [beat(47.9), CLOSE], "broken"),
        ("S3-023", [beat(1), answer(1, size=1)], "broken"),
        ("S3-004", published(1, "foo.bar"), "kept"),
        ("S3-004", subscription(1, channel="FOO.bar.BAZ"), "kept"),
        ("S3-004", published(1, "foo..bar"), "broken"),
        ("S3-004", published(1, "FOO. BAR"), "broken"),
        ("S3-004", subscription(1, channel=""), "broken"),
        ("S3-007", subscription(1, channel="foo.bar"), "kept"),
        *(
            ("S3-007", steps, "broken")
            for channel in ("foo.*", "foo.>", "*", ">", "*.foo")
            for steps in wildcards(channel)
        ),
        *(("S3-007", steps, "kept") for steps in wildcards("foo*.b>r")),
        *(
            (row, steps(client), wanted)
            for row, steps in (
                ("S3-040", lambda client: [*subscription(1, client=client)]),
                ("S3-061", lambda client: [unsubscription(1, client=client)]),
                ("S3-067", lambda client: [*published(1, client=client)]),
            )
            for client, wanted in (("c", "kept"), ("C", "broken"), ("", "broken"))
        ),
        ("S3-066", [*published(1), *published(2, guid="g2", answer="g2")], "kept"),
        ("S3-066", [*published(1), *published(2)], "broken"),
        ("S3-066", [*published(None), *published(None)], "broken"),
        ("S3-066", [*published(1, answer="g2")], "broken"),
        ("S3-072", published(1, data=DATA, sha256=hashlib.sha256(DATA).digest()), "kept"),
        ("S3-072", published(1, data=b"", sha256=hashlib.sha256(DATA).digest()), "broken"),
        ("S3-072", published(1, data=DATA), "not seen"),
        ("S3-088", [*subscription(1), delivered(2, 1, data=DATA, CRC32=zlib.crc32(DATA))], "kept"),
        ("S3-088", [*subscription(1), delivered(2, 1, data=DATA, CRC32=1)], "broken"),
        ("S3-088", [*subscription(1), delivered(2, 1, data=DATA)], "not seen"),
        ("S3-088", [*subscription(1), delivered(2, 1, data=b"", CRC32=1)], "broken"),
        ("S3-094", [CLOSE], "kept"),
        ("S3-094", [LATE], "broken"),
        ("S3-094", [closed(1), *published(2)], "broken"),
        ("S3-094", [closed(1), *subscription(2)], "broken"),
        ("S3-094", [closed(1), unsubscription(2)], "broken"),
        ("S3-094", [closed(1), *connected(at=2), *published(3), closed(4)], "kept"),
        ("S3-094", [closed(1), *connected(at=2), *published(3)], "broken"),
    ),
)  # fmt: skip
def test_rules_of_clients(row, steps, wanted):
    assert verdict(row, talk(*connected(), *steps)) == wanted


#: The messages of one client, each with its requirement, as the examples above write them.
SCRIPT = [
    *zip(("S3-009", "S3-010"), connected(), strict=True),
    *zip(("S3-011", "S3-012"), subscription(1), strict=True),
    *zip(("S3-014", "S3-015"), published(2), strict=True),
    ("S3-016", delivered(3, 1)),
    ("S3-017", say(4, "ack.in", streaming.Ack(subject="foo", sequence=1))),
    ("S3-013", unsubscription(5)),
    ("S3-018", closed(6)),
    ("S3-019", say(6, "r9", streaming.CloseResponse())),
]


def from_the_other_side(step):
    """The same message, sent by the side that does not send it."""
    direction, line, at = step
    if direction == "s2c":
        return ("c2s", line.replace(b"MSG", b"PUB", 1).replace(b" 1 ", b" ", 1), at)
    return ("s2c", line.replace(b"PUB", b"MSG", 1).replace(b" ", b" 1 ", 2).replace(
        b" 1 ", b" ", 1), at)  # fmt: skip


@pytest.mark.parametrize(
    ("place", "row"),
    [
        pytest.param(place, row, id=row, marks=pytest.mark.requirement(row))
        for place, (row, _) in enumerate(SCRIPT)
    ],
)
def test_each_message_is_sent_by_its_side(place, row):
    steps = [step for _, step in SCRIPT]
    assert verdict(row, talk(*steps)) == "kept"
    assert verdict(row, talk(*steps[:place], *steps[place + 1 :])) == "not seen"
    direction = steps[place][0]
    wrong = from_the_other_side(steps[place])
    assert wrong[0] != direction
    turned = [*steps[: place + 1], wrong, *steps[place + 1 :]]
    if direction == "s2c":
        assert verdict(row, talk(*turned)) == "broken", "the client sends what the server sends"
    else:
        assert verdict(row, talk(*turned)) == "kept", "a client may listen to its own messages"
    # On the connection of the streaming server each message goes the other way.
    server = [from_the_other_side(step) for step in steps]
    assert verdict(row, talk(*server)) == "kept"
    if direction == "c2s":
        sent = from_the_other_side(from_the_other_side(steps[place]))
        assert verdict(row, talk(*server, sent)) == "broken", "the server sends what clients send"


@pytest.mark.requirement("S3-022", "S3-066", "S3-094")
def test_both_ends_of_a_conversation_are_one_conversation():
    """The connections of a client and of the streaming server show each message twice."""
    client = [step for _, step in SCRIPT]
    server = [from_the_other_side(step) for step in client]
    for row in ("S3-020", "S3-040", "S3-066", "S3-094"):
        assert verdict(row, talk(*client), talk(*server, number=2)) == "kept"
        assert verdict(row, talk(*server), talk(*client, number=2)) == "kept"
    assert verdict("S3-022", talk(*client), talk(*server, number=2)) == "not seen"


@pytest.mark.requirement("S3-009", "S3-014", "S3-066")
def test_who_listens_to_its_own_messages_sends_them_once():
    client = [step for _, step in SCRIPT]
    copies = [from_the_other_side(step) for step in client if step[0] == "c2s"]
    for row in ("S3-014", "S3-056", "S3-066", "S3-094"):
        expected = verdict(row, talk(*client))
        assert expected == "kept"
        assert verdict(row, talk(*client, *copies)) == expected


@pytest.mark.requirement("S3-040", "S3-094")
def test_two_clients_on_one_connection():
    both = [*connected(), *connected("d", number=2), *published(1, client="d"), closed(2, "d")]
    assert verdict("S3-067", talk(*both)) == "kept"
    assert verdict("S3-094", talk(*both)) == "broken", "c does not close"
    assert verdict("S3-094", talk(*both, closed(3))) == "kept"
    assert verdict("S3-094", talk(*both, closed(3), *published(4, guid="g4"))) == "broken"


@pytest.mark.requirement("S3-066")
def test_a_guid_is_unique_among_all_clients():
    one, other = [*connected(), *published(1)], [*connected("d"), *published(2, client="d")]
    assert verdict("S3-066", talk(*one), talk(*other, number=2)) == "broken"
    elsewhere = [*connected("d", cluster="y"), *published(2, client="d")]
    assert verdict("S3-066", talk(*one), talk(*elsewhere, number=2)) == "kept"


@pytest.mark.parametrize(
    ("channel", "wanted"),
    [
        *(
            pytest.param(name, "kept", marks=pytest.mark.requirement("S3-004", "S3-005"))
            for name in ("FOO", "BAR", "foo.bar", "foo.BAR", "FOO.BAR", "FOO.BAR.BAZ")
        ),
        *(
            pytest.param(name, "broken", marks=pytest.mark.requirement("S3-004", "S3-006"))
            for name in ("FOO. BAR", "foo. .bar", "foo..bar", "foo.\tbar", ".foo", "foo.", "")
        ),
    ],
)
def test_the_names_of_channels(channel, wanted):
    for steps in (published(1, channel), subscription(1, channel=channel), [
        *subscription(1), delivered(2, 1, channel=channel),
    ]):  # fmt: skip
        assert verdict("S3-004", talk(*connected(), *steps)) == wanted, steps


@pytest.mark.requirement("S3-020", "S3-022")
def test_an_identifier_in_use():
    one = list(talk(*connected()))
    refused = list(talk(*connected(error="in use", number=2, at=1), number=2))
    taken = list(talk(*connected(number=2, at=1), number=2))
    assert verdict("S3-022", one, refused) == "kept"
    assert verdict("S3-022", one, taken) == "broken"
    assert verdict("S3-022", one) == "not seen"
    free = list(talk(*connected(), closed(0.5)))
    assert verdict("S3-022", free, taken) == "not seen"
    of_another = list(talk(*connected(), closed(0.5, client="d")))
    assert verdict("S3-022", of_another, taken) == "broken", "only its own identifier is free"
    elsewhere = list(talk(*connected(number=2, at=1, cluster="y"), number=2))
    assert verdict("S3-022", one, elsewhere) == "not seen", "each cluster has its own identifiers"


def test_who_was_refused_is_not_connected():
    refused = list(talk(*connected(error="no"), LATE))
    assert verdict("S3-094", refused) == "not seen"
    taken = list(talk(*connected(number=2, at=51), number=2))
    assert verdict("S3-022", refused, taken) == "not seen"


def test_the_order_of_connections_is_that_of_their_times():
    """The connection that a capture has first may be the later one."""
    later = list(talk(*connected(number=2, at=2), number=2))
    assert verdict("S3-022", later, talk(*connected(), closed(1))) == "not seen"
    refused = list(talk(*connected(error="in use", number=2, at=2), number=2))
    assert verdict("S3-022", refused, talk(*connected())) == "kept"


def test_a_heartbeat_is_answered_by_its_own_client():
    one = list(talk(*connected(), beat(1), answer(1)))
    other = list(talk(*connected("d"), beat(1), closed(50, "d"), number=2))
    assert verdict("S3-023", one) == "kept"
    assert verdict("S3-023", one, other) == "broken"


def test_without_its_connection_an_identifier_is_not_judged():
    sent = say(0, "_STAN.pub.foo", streaming.PubMsg(clientID="c", guid="1", subject="foo"))
    assert verdict("S3-067", talk(sent)) == "not seen"
    # On the connection of the streaming server each client is judged alone.
    served = [*connected(), *published(1, client="d"), closed(2)]
    turned = [from_the_other_side(step) for step in served]
    assert verdict("S3-067", talk(*turned)) == "not seen"
    assert verdict("S3-067", talk(*served)) == "broken"


@pytest.mark.requirement("S3-020")
def test_a_client_that_does_not_connect_first():
    early = [*published(0)]
    assert verdict("S3-020", talk(*connected())) == "kept"
    assert verdict("S3-020", talk(*connected(at=1))) == "kept"
    discover = ("c2s", b"SUB _STAN.discover.x 9\r\n", 0)
    sent = say(0, "_STAN.pub.foo", streaming.PubMsg(guid="1", subject="foo"))
    assert verdict("S3-020", talk(discover, sent, *connected(at=1))) == "broken"
    assert verdict("S3-020", talk(*early)) == "not seen"


@pytest.mark.requirement("S3-066")
def test_a_puback_for_a_guid_that_was_not_published():
    answer = say(2, "_STAN.acks.x", streaming.PubAck(guid="other"))
    assert verdict("S3-066", talk(*connected(), *published(1), answer)) == "broken"


def test_payloads_that_are_not_streaming_messages_are_skipped():
    noise = ("c2s", b"PUB _STAN.pub.foo 2\r\n\xff\xff\r\n", 1)
    assert verdict("S3-094", talk(*connected(), noise, CLOSE)) == "kept"
    at_the_prefix = ("c2s", b"PUB p.foo 2\r\n\xff\xff\r\n", 1)
    assert verdict("S3-094", talk(*connected(), at_the_prefix, CLOSE)) == "kept"
