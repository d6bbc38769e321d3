"""Behaviour rules: each can be kept, broken, or not seen."""

from __future__ import annotations

import pytest

from subtrie import wire
from subtrie.wire import conversation, streaming

pytest.importorskip("google.protobuf", reason="the extra 'wire' is not installed")

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


INFO = 'INFO {"server_id":"A"}'
FORWARDED = 'INFO {"server_id":"C","ip":"nats-route://127.0.0.1:5/"}'
CONNECT = 'CONNECT {"verbose":false}'


def marked(*cases):
    """Mark each case with the requirement that it begins with, unless it is marked already."""
    return [
        case
        if hasattr(case, "marks")
        else pytest.param(*case, marks=pytest.mark.requirement(case[0]))
        for case in cases
    ]


@pytest.mark.requirement("A72")
@pytest.mark.parametrize(
    ("row", "kind", "steps", "wanted"),
    marked(
        ("S4-033", "client", [("s2c", INFO)], "kept"),
        ("S4-033", "client", [("s2c", "PING")], "broken"),
        ("S4-033", "client", [("c2s", "PING")], "not seen"),
        ("S4-034", "route", [("s2c", INFO), ("c2s", CONNECT), ("c2s", INFO)], "kept"),
        ("S4-034", "route", [("s2c", INFO), ("c2s", CONNECT)], "broken"),
        ("S4-034", "client", [("s2c", INFO), ("c2s", CONNECT)], "not seen"),
        ("S4-035", "route", [("s2c", INFO), ("s2c", FORWARDED)], "kept"),
        ("S4-035", "route", [("s2c", INFO),
                             ("s2c", 'INFO {"server_id":"A","ip":"nats-route://x/"}')], "broken"),
        ("S4-035", "route", [("s2c", INFO), ("s2c", 'INFO {"server_id":"C","ip":"x"}')], "broken"),
        ("S4-035", "route", [("s2c", INFO)], "not seen"),
        *(
            ("S4-035", "route", [("s2c", INFO),
                                 ("s2c", f'INFO {{"server_id":"C","ip":"nats-route://{ip}/"}}')],
             "broken")
            for ip in ("", ":4222", "host", "host:x", "host:70000", "[::1:4222", "host:0")
        ),
        ("S4-049", "client", [("s2c", INFO), ("c2s", CONNECT)], "kept"),
        ("S4-049", "client", [("c2s", CONNECT), ("s2c", INFO)], "broken"),
        ("S4-049", "client", [("s2c", INFO)], "not seen"),
        ("S4-090", "route", [("s2c", "PING")], "kept"),
        ("S4-090", "route", [("s2c", INFO, 0), ("s2c", "RS+ $G a", 601)], "broken"),
        ("S4-090", "route", [("s2c", INFO, 0), ("s2c", "RS+ $G a", 599)], "not seen"),
        ("S4-090", "client", [("s2c", "PING")], "not seen"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "-ERR 'Stale Connection'", 20)], "kept"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "PONG", 20)], "broken"),
        ("S4-091", "client", [("s2c", "PING", 0), ("c2s", "PONG", 1)], "not seen"),
        ("S4-092", "client", [("s2c", "PING", 0), ("c2s", "PONG", 1000)], "broken"),
        ("S4-092", "client", [("s2c", "PING", 0), ("c2s", "PONG", 100)], "not seen"),
        ("S4-092", "client", [("c2s", "PING", 0), ("s2c", "-ERR 'Stale Connection'", 700)], "kept"),
        ("S4-092", "client", [("c2s", "PING", 0), ("s2c", "-ERR 'Parser Error'", 700)], "broken"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "PONG", 1)], "kept"),
        ("S4-093", "client", [("c2s", "PING"), ("s2c", "PONG")], "kept"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "PONG", 11)], "broken"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "SUB a 1", 11)], "broken"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "SUB a 1", 1)], "not seen"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", "SUB a 1"),
                              ("s2c", "+OK")], "kept"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", "SUB a 1")], "broken"),
        ("S4-096", "client", [("c2s", CONNECT), ("c2s", "SUB a 1"), ("s2c", "+OK")], "broken"),
        ("S4-096", "client", [("c2s", CONNECT), ("c2s", "SUB a 1")], "not seen"),
        ("S4-097", "route", [("c2s", CONNECT)], "kept"),
        ("S4-097", "route", [("c2s", "CONNECT {}")], "broken"),
        ("S4-097", "client", [("c2s", "CONNECT {}")], "not seen"),
    ),
)  # fmt: skip
def test_one_connection(row, kind, steps, wanted):
    assert verdict(row, talk(*steps, kind=kind)) == wanted


@pytest.mark.requirement("S4-036", "S4-037")
def test_a_server_connects_to_each_announced_server():
    told = list(talk(("s2c", INFO), ("s2c", FORWARDED), kind="route"))
    met = list(talk(("s2c", 'INFO {"server_id":"C"}'), kind="route", number=2))
    for row in ("S4-036", "S4-037"):
        assert verdict(row, told, met) == "kept"
        assert verdict(row, told) == "not seen"


def route(first, second, *more, number):
    """A route between two servers, each of which announces itself."""
    infos = [(way, f'INFO {{"server_id":"{name}"}}')
             for way, name in (("s2c", first), ("c2s", second))]  # fmt: skip
    return list(talk(*infos, *more, kind="route", number=number))


def timed(steps, seconds):
    """The same steps, at a time."""
    return [(direction, op, int(seconds * SECOND), conn) for direction, op, _, conn in steps]


@pytest.mark.requirement("S4-035")
def test_a_newcomer_of_whom_an_earlier_server_is_not_told():
    """B has a route to A before C comes: A tells B of C, or breaks the rule."""
    before, told = route("A", "B", number=1), list(talk(("s2c", FORWARDED), kind="route"))
    newcomer = timed(route("A", "C", number=2), 5)
    silent = timed(before, 1)
    assert verdict("S4-035", silent, newcomer, every_route=True) == "broken"
    assert verdict("S4-035", silent, newcomer) == "not seen", "the route may not be captured"
    forwarded = [*silent, *timed(told, 5)]
    assert verdict("S4-035", forwarded, newcomer, every_route=True) == "kept"
    # If B came later, C is not told of B.
    assert verdict("S4-035", timed(before, 9), newcomer, every_route=True) == "broken"
    # Without times the newcomer is not known.
    assert verdict("S4-035", before, route("A", "C", number=2), every_route=True) == "not seen"


@pytest.mark.requirement("S4-036", "S4-037", "A72")
def test_a_missing_route_is_a_violation_in_a_capture_of_every_route():
    told = route("A", "B", ("s2c", FORWARDED), number=1)
    joined = route("A", "C", number=2)
    met = route("B", "C", number=3)
    for row in ("S4-036", "S4-037"):
        assert verdict(row, told, joined, met, every_route=True) == "kept"
        assert verdict(row, told, joined, every_route=True) == "broken"
        assert verdict(row, told, joined, met[::-1], every_route=True) == "kept"
        assert verdict(row, joined, met, every_route=True) == "not seen"
    half = [("s2c", INFO), ("s2c", FORWARDED)]  # the receiver did not announce itself
    assert verdict("S4-036", talk(*half, kind="route"), every_route=True) == "not seen"


def test_the_text_of_a_finding():
    steps = talk(("s2c", INFO, 1), ("c2s", "PING", 2), ("c2s", "SUB a 1", 20), number=7)
    findings = conversation.check(steps)
    assert len({finding.row for finding in findings}) == len(findings) == 30
    late, broken = [finding for finding in findings if finding.verdict == "broken"]
    assert late.row == "S4-091", "whoever asked in vain went on"
    assert (broken.row, broken.conn, broken.time) == ("S4-093", 7, 2 * SECOND)
    assert str(broken).startswith("S4-093 broken: a PING is answered")
    with pytest.raises(ValueError, match="direction must be"):
        conversation.check([("sideways", op("PING"))])


# NATS Streaming -----------------------------------------------------------------------------------


def pub(subject, message=None, reply=""):
    body = b"" if message is None else message.encode()
    return f"PUB {subject} {reply} {len(body)}\r\n".encode() + body + b"\r\n"


def connected(client="c", error="", number=1, at=0.0):
    request = streaming.ConnectRequest(clientID=client, heartbeatInbox="hb")
    response = streaming.ConnectResponse(pubPrefix="p", closeRequests="cl", subRequests="su",
                                         unsubRequests="un", error=error)  # fmt: skip
    yield ("c2s", pub("_STAN.discover.x", request, f"r{number}"), at)
    yield ("c2s", pub(f"r{number}", response), at)


def subscribed():
    request = streaming.SubscriptionRequest(subject="foo", inbox="in", ackWaitInSecs=1)
    yield ("c2s", pub("su", request, "r8"), 1)
    yield ("c2s", pub("r8", streaming.SubscriptionResponse(ackInbox="ack")), 1)


def delivery(at, again=False):
    return ("c2s", pub("in", streaming.MsgProto(sequence=1, redelivered=again)), at)


def ack(at):
    return ("c2s", pub("ack", streaming.Ack(subject="foo", sequence=1)), at)


def subscription(at, inbox="in", *, last=8, client="c", channel="foo", **options):
    """A request for a subscription and its answer."""
    request = streaming.SubscriptionRequest(
        clientID=client, subject=channel, inbox=inbox, ackWaitInSecs=1, **options
    )
    yield ("c2s", pub("su", request, f"r{inbox}"), at)
    yield ("c2s", pub(f"r{inbox}", streaming.SubscriptionResponse(ackInbox=f"ack.{inbox}")), at)


def delivered(at, sequence, inbox="in", *, channel="foo", **options):
    message = streaming.MsgProto(sequence=sequence, subject=channel, **options)
    return ("c2s", pub(inbox, message), at)


def acked(at, sequence, inbox="in"):
    return ("c2s", pub(f"ack.{inbox}", streaming.Ack(subject="foo", sequence=sequence)), at)


def published(at, channel="foo", guid="g1", answer="g1"):
    message = streaming.PubMsg(clientID="c", guid=guid, subject=channel)
    yield ("c2s", pub("p.foo", message, "rp"), at)
    yield ("c2s", pub("rp", streaming.PubAck(guid=answer)), at)


NEW_ONLY, LAST_RECEIVED, TIME_DELTA, SEQUENCE, FIRST = range(5)
#: A subscription that was delivered 1 to 5 of the channel.
KNOWN = [*subscription(1, "a", startPosition=FIRST), *(delivered(2, n, "a") for n in range(1, 6))]


def started(position, sequence, *, known=KNOWN, at=3.0, timestamp=0, **options):
    """Return a second subscription and its first delivery."""
    return [
        *known,
        *subscription(at, "b", startPosition=position, **options),
        delivered(at + 1, sequence, "b", timestamp=int(timestamp * SECOND)),
    ]


def resumed(*sequences):
    """A durable subscription that acknowledged 1 and 2, and then is requested again."""
    return [
        *subscription(1, "a", durableName="d"),
        delivered(2, 1, "a"), acked(2, 1, "a"), delivered(2, 2, "a"), acked(2, 2, "a"),
        *subscription(3, "b", durableName="d"),
        *(delivered(4, sequence, "b") for sequence in sequences),
    ]  # fmt: skip


CLOSE = ("c2s", pub("cl", streaming.CloseRequest(clientID="c"), "r9"), 50)
LATE = ("c2s", b"PING\r\n", 50)


@pytest.mark.parametrize(
    ("row", "steps", "wanted"),
    marked(
        ("S3-023", [("c2s", pub("hb", None, "h1"), 1), ("c2s", pub("h1"), 1)], "kept"),
        ("S3-023", [("c2s", pub("hb", None, "h1"), 1), CLOSE], "broken"),
        ("S3-023", [("c2s", pub("hb", None, "h1"), 49), CLOSE], "not seen"),
        ("S3-023", [("c2s", pub("hb", None, "h1"), 1),
                    ("c2s", b"PUB h1 1\r\nx\r\n", 1)], "broken"),
        ("S3-056", [*subscribed(), delivery(2), ack(2.1), CLOSE], "kept"),
        ("S3-056", [*subscribed(), delivery(2), CLOSE], "broken"),
        ("S3-056", [*subscribed(), delivery(49), CLOSE], "not seen"),
        ("S3-081", [*subscribed(), delivery(2), delivery(3.1, True), ack(3.2), CLOSE], "kept"),
        ("S3-081", [*subscribed(), delivery(2), ack(40), CLOSE], "broken"),
        ("S3-081", [*subscribed(), delivery(2), ack(2.5), CLOSE], "not seen"),
        pytest.param(
            "S3-081", [*subscribed(), delivery(2),
                       ("c2s", pub("un", streaming.UnsubscribeRequest(inbox="ack"), "r7"), 2.5),
                       CLOSE], "not seen", id="unsubscribed",
            marks=pytest.mark.requirement("S3-081", "A47"),
        ),
        ("S3-004", published(1, "foo.bar"), "kept"),
        ("S3-004", subscription(1, channel="FOO.bar.BAZ"), "kept"),
        ("S3-004", published(1, "foo..bar"), "broken"),
        ("S3-004", published(1, "FOO. BAR"), "broken"),
        ("S3-004", subscription(1, channel=""), "broken"),
        ("S3-007", subscription(1, channel="foo.bar"), "kept"),
        ("S3-007", subscription(1, channel="foo.*"), "broken"),
        ("S3-007", subscription(1, channel="foo.>"), "broken"),
        ("S3-042", [*subscription(1, "a", qGroup="q"), *subscription(1, "b", qGroup="q"),
                    delivered(2, 1, "a"), delivered(2, 2, "b"),
                    delivered(4, 1, "b", redelivered=True)], "kept"),
        ("S3-042", [*subscription(1, "a", qGroup="q"), *subscription(1, "b", qGroup="q"),
                    delivered(2, 1, "a"), delivered(2, 1, "b")], "broken"),
        ("S3-042", [*subscription(1, "a", qGroup="q"), *subscription(1, "b", qGroup="other"),
                    delivered(2, 1, "a"), delivered(2, 1, "b")], "kept"),
        ("S3-042", [*subscription(1, "a"), delivered(2, 1, "a")], "not seen"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    acked(2, 1), delivered(2, 3)], "kept"),
        ("S3-044", [*subscription(1, maxInFlight=2), delivered(2, 1), delivered(2, 2),
                    delivered(2, 3)], "broken"),
        ("S3-044", [*subscription(1), delivered(2, 1), delivered(2, 2)], "not seen"),
        ("S3-046", resumed(3, 4), "kept"),
        ("S3-046", resumed(2, 3), "broken"),
        ("S3-046", [*subscription(1, "b", durableName="d"), delivered(2, 9, "b")], "not seen"),
        ("S3-050", started(NEW_ONLY, 6), "kept"),
        ("S3-050", started(NEW_ONLY, 5), "broken"),
        ("S3-050", started(NEW_ONLY, 9, known=[]), "not seen"),
        ("S3-051", started(LAST_RECEIVED, 5), "kept"),
        ("S3-051", started(LAST_RECEIVED, 4), "broken"),
        ("S3-051", started(LAST_RECEIVED, 4, known=[]), "not seen"),
        ("S3-052", started(TIME_DELTA, 3, at=100, timestamp=71, startTimeDelta=30 * SECOND),
         "kept"),
        ("S3-052", started(TIME_DELTA, 3, at=100, timestamp=60, startTimeDelta=30 * SECOND),
         "broken"),
        ("S3-053", started(SEQUENCE, 3, startSequence=3), "kept"),
        ("S3-053", started(SEQUENCE, 2, startSequence=3), "broken"),
        ("S3-054", started(FIRST, 1), "kept"),
        ("S3-054", started(FIRST, 2), "broken"),
        ("S3-054", started(FIRST, 7, known=[]), "not seen"),
        ("S3-066", [*published(1), *published(2, guid="g2", answer="g2")], "kept"),
        ("S3-066", [*published(1), *published(2)], "broken"),
        ("S3-082", [*subscription(1), delivered(2, 1), delivered(2, 3),
                    delivered(3, 1, redelivered=True)], "kept"),
        ("S3-082", [*subscription(1), delivered(2, 3), delivered(2, 1)], "broken"),
        ("S3-094", [CLOSE], "kept"),
        ("S3-094", [LATE], "broken"),
    ),
)  # fmt: skip
def test_streaming(row, steps, wanted):
    assert verdict(row, talk(*connected(), *steps)) == wanted


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


@pytest.mark.requirement("A51")
def test_each_channel_has_its_own_sequence():
    """Sequence 1 of one channel is not sequence 1 of another."""

    def channel(name, number):
        request = streaming.SubscriptionRequest(subject=name, inbox=f"in.{name}", ackWaitInSecs=1)
        response = streaming.SubscriptionResponse(ackInbox=f"ack.{name}")
        yield ("c2s", pub("su", request, f"r{number}"), 1)
        yield ("c2s", pub(f"r{number}", response), 1)
        yield ("c2s", pub(f"in.{name}", streaming.MsgProto(sequence=1)), 2)

    both = [*channel("foo", 5), *channel("bar", 6)]
    acks = [("c2s", pub(f"ack.{name}", streaming.Ack(subject=name, sequence=1)), 2.1)
            for name in ("foo", "bar")]  # fmt: skip
    assert verdict("S3-056", talk(*connected(), *both, *acks, CLOSE)) == "kept"
    for one in acks:
        assert verdict("S3-056", talk(*connected(), *both, one, CLOSE)) == "broken"


@pytest.mark.requirement("A72")
def test_every_rule_has_been_seen_kept_and_broken():
    """The examples above show each rule both kept and broken."""
    rows = {row for row, *_ in conversation._rules(1, 1, True)}
    rows |= {row for row, *_ in conversation._streaming_rules.rules()}
    rows |= {row for row, *_ in conversation._subscription_rules.rules()}
    assert rows == {
        "S3-004", "S3-007", "S3-020", "S3-022", "S3-023", "S3-042", "S3-044", "S3-046", "S3-050",
        "S3-051", "S3-052", "S3-053", "S3-054", "S3-056", "S3-066", "S3-081", "S3-082", "S3-094",
        "S4-033", "S4-034", "S4-035", "S4-036",
        "S4-037", "S4-049", "S4-090", "S4-091", "S4-092", "S4-093", "S4-096", "S4-097",
    }  # fmt: skip
    several = {("S3-020", "kept"), ("S3-020", "broken"),
               ("S3-022", "kept"), ("S3-022", "broken"), ("S4-036", "kept"), ("S4-036", "broken"),
               ("S4-037", "kept"), ("S4-037", "broken")}  # fmt: skip
    seen = several | {
        (values[0], values[-1])
        for test in (test_one_connection, test_streaming)
        for mark in test.pytestmark
        if mark.name == "parametrize"
        for values in (case.values for case in mark.args[1])
    }
    assert seen >= {(row, word) for row in rows for word in ("kept", "broken")}


@pytest.mark.requirement("S3-020", "S3-022")
def test_an_identifier_in_use():
    one = list(talk(*connected()))
    refused = list(talk(*connected(error="in use", number=2, at=1), number=2))
    taken = list(talk(*connected(number=2, at=1), number=2))
    assert verdict("S3-022", one, refused) == "kept"
    assert verdict("S3-022", one, taken) == "broken"
    assert verdict("S3-022", one) == "not seen"
    closed = list(talk(*connected(), ("c2s", CLOSE[1], 0.5)))
    assert verdict("S3-022", closed, taken) == "not seen"


@pytest.mark.requirement("S3-020")
def test_a_client_that_does_not_connect_first():
    early = [*published(0)]
    assert verdict("S3-020", talk(*connected())) == "kept"
    assert verdict("S3-020", talk(*connected(at=1))) == "kept"
    discover = ("c2s", b"SUB _STAN.discover.x 9\r\n", 0)
    sent = ("c2s", pub("_STAN.pub.foo", streaming.PubMsg(guid="1", subject="foo")), 0)
    assert verdict("S3-020", talk(discover, sent, *connected(at=1))) == "broken"
    assert verdict("S3-020", talk(*early)) == "not seen"


@pytest.mark.requirement("S3-066")
def test_a_puback_for_a_guid_that_was_not_published():
    answer = ("c2s", pub("_STAN.acks.x", streaming.PubAck(guid="other")), 2)
    assert verdict("S3-066", talk(*connected(), *published(1), answer)) == "broken"


def test_payloads_that_are_not_streaming_messages_are_skipped():
    noise = ("c2s", b"PUB _STAN.pub.foo 2\r\n\xff\xff\r\n", 1)
    assert verdict("S3-094", talk(*connected(), noise, CLOSE)) == "kept"
