"""The rules of NATS Streaming about what a subscription is delivered and acknowledges."""

from __future__ import annotations

import pytest
from conversation_steps import (
    SECOND,
    ack,
    acked,
    closed,
    connected,
    delivered,
    delivery,
    marked,
    say,
    subscribed,
    subscription,
    talk,
    unsubscription,
    verdict,
)

from subtrie.wire import streaming

NEW_ONLY, LAST_RECEIVED, TIME_DELTA, SEQUENCE, FIRST = range(5)
#: A subscription that was delivered 1 to 5 of the channel, stored in seconds 61 to 65.
KNOWN = [
    *subscription(1, "a", startPosition=FIRST),
    *(delivered(2, n, "a", timestamp=(60 + n) * SECOND) for n in range(1, 6)),
]
CLOSE = closed(50)


def started(position, *sequences, known=KNOWN, at=3.0, timestamp=0, channel="foo", **options):
    """Return a second subscription and its deliveries."""
    return [
        *known,
        *subscription(at, "b", startPosition=position, channel=channel, **options),
        *(
            delivered(at + 1, number, "b", timestamp=int(timestamp * SECOND))
            for number in sequences
        ),
    ]


def durable(at, inbox, client="c", name="d", **options):
    return [*subscription(at, inbox, client=client, durableName=name, **options)]


#: A durable subscription that was delivered 1 and 2, and acknowledged both.
DURABLE = [
    *durable(1, "a"), delivered(2, 1, "a"), acked(2, 1, "a"), delivered(2, 2, "a"),
    acked(2, 2, "a"),
]  # fmt: skip
#: The same, with 3 and 4 waiting for their acknowledgements.
OWED = [*DURABLE, delivered(2, 3, "a"), delivered(2, 4, "a")]


def queue(at, inbox, name="q", **options):
    return [*subscription(at, inbox, qGroup=name, **options)]


def delivered_to(inbox, *sequences, at=4, **options):
    return [delivered(at, number, inbox, **options) for number in sequences]


@pytest.mark.parametrize(
    ("row", "steps", "wanted"),
    marked(
        ("S3-042", [*queue(1, "a"), *queue(1, "b"), delivered(2, 1, "a"), delivered(2, 2, "b"),
                    delivered(4, 1, "b", redelivered=True)], "kept"),
        ("S3-042", [*queue(1, "a"), *queue(1, "b"), delivered(2, 1, "a"), delivered(2, 1, "b")],
         "broken"),
        ("S3-042", [*queue(1, "a"), *queue(1, "b", "other"), delivered(2, 1, "a"),
                    delivered(2, 1, "b")], "kept"),
        ("S3-042", [*queue(1, "a"), *queue(1, "b", channel="bar"), delivered(2, 1, "a"),
                    delivered(2, 1, "b", channel="bar")], "kept"),
        ("S3-042", [*queue(1, "a", durableName="d"), *queue(1, "b", durableName="e"),
                    delivered(2, 1, "a"), delivered(2, 1, "b")], "kept"),
        ("S3-042", [*queue(1, "a", durableName="d"), *queue(1, "b", durableName="d"),
                    delivered(2, 1, "a"), delivered(2, 1, "b")], "broken"),
        ("S3-042", [*queue(1, "a"), delivered(2, 1, "a"), delivered(2, 1, "a")], "kept"),
        ("S3-042", [*subscription(1, "a"), delivered(2, 1, "a")], "not seen"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    acked(2, 1), delivered(2, 3)], "kept"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    delivered(2, 3)], "broken"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    acked(2, 1), delivered(2, 3), delivered(2, 4)], "broken"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    acked(2, 1), acked(2, 1), delivered(2, 3), delivered(2, 4)], "broken"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    delivered(4, 2, redelivered=True)], "kept"),
        ("S3-044", [*subscription(1, "a", maxInFlight=1), *subscription(1, "b", maxInFlight=1),
                    delivered(2, 1, "a"), delivered(2, 1, "b")], "kept"),
        ("S3-044", [*subscription(1, "a", maxInFlight=1), *subscription(1, "b", maxInFlight=1),
                    delivered(2, 1, "a"), delivered(2, 1, "b"), acked(2, 1, "b"),
                    delivered(2, 2, "a")], "broken"),
        ("S3-044", [*subscription(1, maxInFlight=1), delivered(2, 1)], "kept"),
        ("S3-044", [*subscription(1), delivered(2, 1), delivered(2, 2)], "not seen"),
        ("S3-046", [*DURABLE, *durable(3, "b"), *delivered_to("b", 3, 4)], "kept"),
        ("S3-046", [*DURABLE, *durable(3, "b"), *delivered_to("b", 2, 3)], "broken"),
        ("S3-046", [*DURABLE, *durable(3, "b"), *delivered_to("b", 1)], "broken"),
        ("S3-046", [*OWED, *durable(3, "b"), *delivered_to("b", 3, 4, 5)], "kept"),
        ("S3-046", [*OWED, *durable(3, "b"), *delivered_to("b", 3, 5)], "broken"),
        ("S3-046", [*OWED, *durable(3, "b"), *delivered_to("b", 5)], "broken"),
        ("S3-046", [*OWED, acked(2.5, 3, "a"), *durable(3, "b"), *delivered_to("b", 4, 5)],
         "kept"),
        ("S3-046", [*OWED, *durable(3, "b"), *delivered_to("b", 3), *durable(5, "e"),
                    *delivered_to("e", 3, at=6), acked(6, 3, "e"),
                    *delivered_to("e", 5, at=6)], "broken"),
        ("S3-046", [*DURABLE, *durable(3, "b"), *delivered_to("b", 4),
                    *subscription(5, "e"), *delivered_to("e", 3, at=6)], "broken"),
        ("S3-046", [*DURABLE, *durable(3, "b"), *delivered_to("b", 4)], "kept"),
        ("S3-046", [*DURABLE, *durable(3, "b", "d2"), *delivered_to("b", 1)], "not seen"),
        ("S3-046", [*DURABLE, *durable(3, "b", name="e"), *delivered_to("b", 1)], "not seen"),
        ("S3-046", [*DURABLE, *durable(3, "b", channel="bar"), *delivered_to("b", 1)],
         "not seen"),
        ("S3-046", [*DURABLE, unsubscription(2.5, durableName="d"), *durable(3, "b"),
                    *delivered_to("b", 1)], "not seen"),
        ("S3-046", [*DURABLE, unsubscription(2.5, durableName="e"), *durable(3, "b"),
                    *delivered_to("b", 1)], "broken"),
        ("S3-046", [*DURABLE, unsubscription(2.5, client="d2", durableName="d"),
                    *durable(3, "b"), *delivered_to("b", 1)], "broken"),
        ("S3-046", [*queue(1, "a", durableName="d"), delivered(2, 1, "a"),
                    *queue(3, "b", durableName="d"), *delivered_to("b", 2)], "kept"),
        ("S3-046", [*queue(1, "a", durableName="d"), delivered(2, 1, "a"), acked(2, 1, "a"),
                    *queue(3, "b", durableName="d"), *delivered_to("b", 1)], "broken"),
        ("S3-046", [*DURABLE, *queue(3, "b", durableName="d"), *delivered_to("b", 1)],
         "not seen"),
        ("S3-046", [*OWED, *durable(3, "b"), acked(3, 3, "a"), acked(3, 4, "a"),
                    *delivered_to("b", 5)], "kept"),
        ("S3-046", [*DURABLE, delivered(2.5, 2, "a", redelivered=True), *durable(3, "b"),
                    *delivered_to("b", 3)], "kept"),
        ("S3-046", [*durable(1, "b"), delivered(2, 9, "b")], "not seen"),
        ("S3-050", started(NEW_ONLY, 6, 7), "kept"),
        ("S3-050", started(NEW_ONLY, 5), "broken"),
        ("S3-050", started(NEW_ONLY, 5, known=[
            *KNOWN, *subscription(2.5, "z", startPosition=FIRST),
            *delivered_to("z", 2, at=2.5)]), "broken"),
        ("S3-050", started(NEW_ONLY, 6, 2), "broken"),
        ("S3-050", [*started(NEW_ONLY, 6, 8), *delivered_to("a", 6, 7, 8, at=5)], "broken"),
        ("S3-050", started(NEW_ONLY, 6, 8), "kept"),
        ("S3-050", started(NEW_ONLY, 5, channel="bar"), "not seen"),
        ("S3-050", started(NEW_ONLY, 9, known=[]), "not seen"),
        ("S3-050", started(NEW_ONLY, 5, durableName="d"), "not seen"),
        ("S3-050", started(NEW_ONLY, 5, qGroup="q"), "not seen"),
        ("S3-051", started(LAST_RECEIVED, 5, 6), "kept"),
        ("S3-051", started(LAST_RECEIVED, 4), "broken"),
        ("S3-051", started(LAST_RECEIVED, 5, 4), "broken"),
        ("S3-051", [*started(LAST_RECEIVED, 5, 7), *delivered_to("a", 6, at=5)], "broken"),
        ("S3-051", started(LAST_RECEIVED, 4, known=[]), "not seen"),
        ("S3-051", started(LAST_RECEIVED, 4, durableName="d"), "not seen"),
        ("S3-051", started(LAST_RECEIVED, 4, qGroup="q"), "not seen"),
        # From second 70 on, with a tolerance of two seconds; nothing known is younger.
        *(
            ("S3-052", started(TIME_DELTA, 6, at=100, timestamp=stored,
                               startTimeDelta=30 * SECOND), wanted)
            for stored, wanted in ((71, "kept"), (68, "kept"), (67.9, "broken"), (60, "broken"))
        ),
        # From second 62.5 on: 3, 4 and 5 are younger, and 5 beyond the tolerance.
        *(
            ("S3-052", started(TIME_DELTA, first, at=100, timestamp=66,
                               startTimeDelta=int(37.5 * SECOND)), wanted)
            for first, wanted in ((3, "kept"), (5, "kept"), (6, "broken"))
        ),
        ("S3-052", started(TIME_DELTA, 6, at=100, timestamp=0, startTimeDelta=SECOND),
         "not seen"),
        ("S3-052", started(TIME_DELTA, 6, at=100, timestamp=60, startTimeDelta=SECOND,
                           durableName="d"), "not seen"),
        ("S3-053", started(SEQUENCE, 3, 4, startSequence=3), "kept"),
        ("S3-053", started(SEQUENCE, 2, startSequence=3), "broken"),
        ("S3-053", started(SEQUENCE, 5, startSequence=3), "broken"),
        ("S3-053", started(SEQUENCE, 4, startSequence=3), "broken"),
        ("S3-053", [*started(SEQUENCE, 3, 4, 5, startSequence=3),
                    *delivered_to("b", 3, at=6, redelivered=True), *delivered_to("b", 6, at=7)],
         "kept"),
        ("S3-053", started(SEQUENCE, 3, 5, startSequence=3), "broken"),
        ("S3-053", started(SEQUENCE, 3, 2, startSequence=3), "broken"),
        ("S3-053", started(SEQUENCE, 5, startSequence=3, known=[]), "kept"),
        ("S3-053", started(SEQUENCE, 2, startSequence=3, durableName="d"), "not seen"),
        ("S3-053", started(SEQUENCE, 2, startSequence=3, qGroup="q"), "not seen"),
        ("S3-054", started(FIRST, 1, 2, 3), "kept"),
        ("S3-054", started(FIRST, 2), "broken"),
        ("S3-054", started(FIRST, 1, 4), "broken"),
        ("S3-054", started(FIRST, 7, known=[]), "not seen"),
        ("S3-054", [*started(FIRST, 7, known=[]), *subscription(5, "a"),
                    *delivered_to("a", 6, at=6)], "broken"),
        ("S3-054", started(FIRST, 2, qGroup="q"), "kept"),
        ("S3-056", [*subscribed(), delivery(2), ack(2.1), CLOSE], "kept"),
        ("S3-056", [*subscribed(), delivery(2), CLOSE], "broken"),
        ("S3-056", [*subscribed(), delivery(47), CLOSE], "not seen"),
        ("S3-056", [*subscribed(), delivery(46.9), CLOSE], "broken"),
        ("S3-056", [*subscription(1, ackWaitInSecs=30), delivered(2, 1), closed(34)], "not seen"),
        ("S3-056", [*subscription(1, ackWaitInSecs=30), delivered(2, 1), closed(34.1)], "broken"),
        ("S3-056", [*subscribed(), delivery(2), ack(2.1), ack(2.2, sequence=2)], "broken"),
        ("S3-056", [*subscribed(), ack(1.5), delivery(2), ack(2.1)], "broken"),
        ("S3-081", [*subscribed(), delivery(2), delivery(3.1, True), ack(3.2), CLOSE], "kept"),
        ("S3-081", [*subscribed(), delivery(2), ack(40), CLOSE], "broken"),
        ("S3-081", [*subscribed(), delivery(2), ack(2.5), CLOSE], "not seen"),
        ("S3-081", [*subscribed(), delivery(2), ack(3), CLOSE], "not seen"),
        ("S3-081", [*subscribed(), delivery(2), ack(3.1), CLOSE], "broken"),
        ("S3-081", [*subscribed(), delivery(2), delivery(4), ack(4.5), CLOSE], "broken"),
        ("S3-081", [*subscription(1, ackWaitInSecs=30), delivered(2, 1), acked(32, 1), CLOSE],
         "not seen"),
        ("S3-081", [*subscription(1, ackWaitInSecs=30), delivered(2, 1), acked(32.1, 1), CLOSE],
         "broken"),
        ("S3-081", [*subscribed(), delivery(47), CLOSE], "not seen"),
        ("S3-081", [*subscribed(), delivery(46.9), CLOSE], "broken"),
        pytest.param(
            "S3-081", [*subscribed(), delivery(2), unsubscription(2.5, inbox="ack"), CLOSE],
            "not seen", id="unsubscribed", marks=pytest.mark.requirement("S3-081", "A47"),
        ),
        ("S3-082", [*subscription(1), delivered(2, 1), delivered(2, 3),
                    delivered(3, 1, redelivered=True)], "kept"),
        ("S3-082", [*subscription(1), delivered(2, 3), delivered(2, 1)], "broken"),
        ("S3-082", [*subscription(1), delivered(2, 3), delivered(2, 3)], "broken"),
        ("S3-082", [*subscription(1), delivered(2, 3), delivered(3, 3, redelivered=True),
                    delivered(4, 2)], "broken"),
        ("S3-082", [*subscription(1, "a"), *subscription(1, "b"), delivered(2, 1, "a", data=b"x"),
                    delivered(2, 2, "a"), delivered(2, 1, "b", data=b"x")], "kept"),
        ("S3-082", [*subscription(1, "a"), *subscription(1, "b"), delivered(2, 1, "a", data=b"x"),
                    delivered(2, 2, "a"), delivered(2, 1, "b", data=b"y")], "broken"),
        ("S3-082", [*subscription(1), delivered(2, 1, data=b"x"),
                    delivered(3, 1, data=b"y", redelivered=True)], "broken"),
        ("S3-082", [*subscription(1, "a"), *subscription(1, "b", channel="bar"),
                    delivered(2, 1, "a", data=b"x"), delivered(2, 2, "a"),
                    delivered(2, 1, "b", data=b"y", channel="bar")], "kept"),
        ("S3-087", [*subscription(1), delivered(2, 1), delivered(4, 1, redelivered=True)], "kept"),
        ("S3-087", [*subscription(1), delivered(2, 1), delivered(4, 1)], "broken"),
        ("S3-087", [*subscription(1, "a"), *subscription(1, "b"), delivered(2, 1, "a"),
                    delivered(2, 1, "b")], "kept"),
        ("S3-087", [*subscription(1), delivered(2, 1, redelivered=True)], "broken"),
        ("S3-087", [*subscription(1), delivered(2, 1), delivered(4, 2, redelivered=True)],
         "broken"),
        ("S3-087", [*queue(1, "a"), delivered(2, 1, "a", redelivered=True)], "not seen"),
        ("S3-087", [*durable(1, "a"), delivered(2, 1, "a", redelivered=True)], "not seen"),
        ("S3-087", [*durable(1, "a"), delivered(2, 1, "a"), delivered(4, 1, "a")], "broken"),
    ),
)  # fmt: skip
def test_rules_of_subscriptions(row, steps, wanted):
    assert verdict(row, talk(*connected(), *steps)) == wanted


@pytest.mark.requirement("A51")
def test_each_channel_has_its_own_sequence():
    """Sequence 1 of one channel is not sequence 1 of another."""

    def channel(name, number):
        request = streaming.SubscriptionRequest(
            clientID="c", subject=name, inbox=f"in.{name}", ackWaitInSecs=1
        )
        response = streaming.SubscriptionResponse(ackInbox=f"ack.{name}")
        yield say(1, "su", request, f"r{number}")
        yield say(1, f"r{number}", response)
        yield say(2, f"in.{name}", streaming.MsgProto(sequence=1))

    both = [*channel("foo", 5), *channel("bar", 6)]
    acks = [say(2.1, f"ack.{name}", streaming.Ack(subject=name, sequence=1))
            for name in ("foo", "bar")]  # fmt: skip
    assert verdict("S3-056", talk(*connected(), *both, *acks, CLOSE)) == "kept"
    for one in acks:
        assert verdict("S3-056", talk(*connected(), *both, one, CLOSE)) == "broken"


@pytest.mark.requirement("S3-042", "S3-046", "S3-054")
def test_clusters_have_their_own_channels():
    """The same names and sequences in two clusters are different ones."""
    one = list(talk(*connected(), *queue(1, "a"), delivered(2, 1, "a", data=b"x")))
    steps = [*connected("d", cluster="y"), *queue(1, "b", client="d"),
             delivered(3, 1, "b", data=b"y")]  # fmt: skip
    other = list(talk(*steps, number=2))
    assert verdict("S3-042", one, other) == "kept"
    assert verdict("S3-082", one, other) == "not seen"
    same = list(talk(*connected("d"), *steps[2:], number=2))
    assert verdict("S3-042", one, same) == "broken"
    assert verdict("S3-082", one, same) == "broken"
