"""Behaviour rules: each can be kept, broken, or not seen."""

from __future__ import annotations

import json

import pytest
from conversation_steps import SECOND, cases, marked, op, talk, verdict

from subtrie.wire import OperationRow, StreamError, conversation
from subtrie.wire._server_error import ServerError

INFO = 'INFO {"server_id":"A"}'
FORWARDED = 'INFO {"server_id":"C","ip":"nats-route://127.0.0.1:5/"}'
CONNECT = 'CONNECT {"verbose":false}'
CONNECT_AGAIN = 'CONNECT {"user":"a"}'


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
        ("S4-035", "route", [("s2c", INFO),
                             ("s2c", 'INFO {"server_id":"C","ip":"nats://127.0.0.1:5/"}')],
         "broken"),
        ("S4-035", "route", [("s2c", INFO)], "not seen"),
        ("S4-035", "route", [("s2c", FORWARDED)], "kept"),
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
        ("S4-090", "route", [("s2c", INFO, 0), ("s2c", "RS+ $G a", 600)], "not seen"),
        ("S4-090", "route", [("s2c", INFO, 0), ("s2c", "RS+ $G a", 600.1)], "broken"),
        ("S4-090", "route_legacy", [("s2c", INFO, 0), ("s2c", "SUB a RSID:1:1", 601)], "broken"),
        ("S4-090", "route", [("s2c", INFO, 0), ("c2s", "PING", 600), ("s2c", "RS+ $G a", 1200)],
         "kept"),
        ("S4-090", "route", [("s2c", INFO), ("s2c", "RS+ $G a", 601)], "not seen"),
        ("S4-090", "client", [("s2c", "PING")], "not seen"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "-ERR 'Stale Connection'", 20)], "kept"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "PONG", 20)], "broken"),
        ("S4-091", "client", [("s2c", "PING", 0), ("c2s", "PONG", 1)], "not seen"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "PING", 20)], "kept"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "+OK", 10)], "not seen"),
        ("S4-091", "client", [("s2c", "PING", 0), ("s2c", "+OK", 10.1)], "broken"),
        ("S4-091", "client", [("s2c", "PING", 0), ("c2s", "PING", 20)], "not seen"),
        ("S4-091", "client", [("s2c", "PING"), ("s2c", "+OK", 20)], "not seen"),
        ("S4-092", "client", [("s2c", "PING", 0), ("c2s", "PONG", 1000)], "broken"),
        ("S4-092", "client", [("s2c", "PING", 0), ("c2s", "PONG", 100)], "not seen"),
        ("S4-092", "client", [("s2c", "PING", 0), ("c2s", "PONG", 600)], "not seen"),
        ("S4-092", "client", [("s2c", "PING", 0), ("c2s", "PONG", 600.1)], "broken"),
        ("S4-092", "client", [("c2s", "PING", 0), ("s2c", "-ERR 'Stale Connection'", 700)], "kept"),
        ("S4-092", "client", [("c2s", "PING", 0), ("s2c", "-ERR 'Parser Error'", 700)], "broken"),
        ("S4-092", "client", [("c2s", "PING", 0), ("s2c", "PONG", 1), ("c2s", "PING", 2),
                              ("s2c", "-ERR 'Stale Connection'", 9)], "kept"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "PONG", 1)], "kept"),
        ("S4-093", "client", [("c2s", "PING"), ("s2c", "PONG")], "kept"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "PONG", 11)], "broken"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "PONG", 10)], "kept"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "PONG", 10.1)], "broken"),
        ("S4-093", "client", [("s2c", "PING", 0), ("s2c", "PING", 9), ("c2s", "PONG", 10),
                              ("c2s", "PONG", 19)], "kept"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "SUB a 1", 11)], "broken"),
        ("S4-093", "client", [("s2c", "PING", 0), ("c2s", "SUB a 1", 1)], "not seen"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", "SUB a 1"),
                              ("s2c", "+OK")], "kept"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", "SUB a 1")], "broken"),
        ("S4-096", "client", [("c2s", CONNECT), ("c2s", "SUB a 1"), ("s2c", "+OK")], "broken"),
        ("S4-096", "client", [("c2s", CONNECT), ("c2s", "SUB a 1")], "not seen"),
        *(
            ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", line), *answer],
             "kept" if answer else "broken")
            for line in ("SUB a 1", "UNSUB 1", b"PUB a 0\r\n\r\n",
                         b"HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n", CONNECT_AGAIN)
            for answer in ([("s2c", "+OK")], [])
        ),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", "PING")], "kept"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", "SUB a..b 1"),
                              ("s2c", "-ERR 'Invalid Subject'")], "kept"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("s2c", "+OK"), ("c2s", CONNECT),
                              ("c2s", "SUB a 1")], "kept"),
        ("S4-096", "client", [("c2s", "CONNECT {}"), ("c2s", CONNECT), ("s2c", "+OK"),
                              ("c2s", "SUB a 1")], "kept"),
        ("S4-098", "route", [("s2c", "-ERR 'Parser Error'"), ("s2c", "PONG")], "not seen"),
        ("S4-098", "route_legacy", [("s2c", "-ERR 'Parser Error'"), ("s2c", "PONG")], "not seen"),
        ("S4-107", "route_legacy", [("c2s", "SUB foo. RSID:1:1"), ("c2s", "PING"),
                                    ("s2c", "PONG")], "not seen"),
        ("S4-097", "route", [("c2s", CONNECT)], "kept"),
        ("S4-097", "route", [("c2s", "CONNECT {}")], "broken"),
        ("S4-097", "client", [("c2s", "CONNECT {}")], "not seen"),
    ),
)  # fmt: skip
def test_one_connection(row, kind, steps, wanted):
    assert verdict(row, talk(*steps, kind=kind)) == wanted


AUTH = ("s2c", 'INFO {"auth_required":true}', 0)
VIOLATION = ("s2c", "-ERR 'Authorization Violation'", 1)
TIMEOUT = "-ERR 'Authorization Timeout'"
SMALL = ("s2c", 'INFO {"max_payload":3}')
PING, PONG = ("c2s", "PING"), ("s2c", "PONG")
HEADERS = b"NATS/1.0\r\n\r\n"


def connect(**options):
    return ("c2s", f"CONNECT {json.dumps({'verbose': False, **options})}", 0.5)


def publish(payload, subject="a"):
    return ("c2s", f"PUB {subject} {len(payload)}\r\n{payload}\r\n".encode())


def message(sid, subject="a", at=None):
    return ("s2c", f"MSG {subject} {sid} 0\r\n\r\n".encode(), at)


def with_headers(subject="a"):
    return ("c2s", b"HPUB %s 12 12\r\n%s\r\n" % (subject.encode(), HEADERS))


def message_with_headers(sid, subject="a", at=None):
    return ("s2c", b"HMSG %s %d 12 12\r\n%s\r\n" % (subject.encode(), sid, HEADERS), at)


SUB, UNSUB = ("c2s", "SUB a.* 1", 1), ("c2s", "UNSUB 1", 2)
TWO = ("c2s", "UNSUB 1 2", 2)
GOT = message(1, "a.b", 3)


@pytest.mark.parametrize(
    ("row", "steps", "wanted"),
    marked(
        ("S4-028", [AUTH, connect(user="u", **{"pass": "p"})], "kept"),
        *(("S4-028", [AUTH, connect(**{name: "x"}), VIOLATION], "kept")
          for name in ("auth_token", "user", "pass", "jwt", "nkey", "sig")),
        ("S4-028", [AUTH, connect(), VIOLATION], "broken"),
        ("S4-028", [AUTH, connect(user=""), VIOLATION], "broken"),
        ("S4-028", [AUTH, connect(), PONG], "not seen"),
        ("S4-028", [("s2c", INFO), connect(), VIOLATION], "not seen"),
        *(
            pytest.param("S4-028", [AUTH, connect(user="u", **rest), *after], wanted,
                         marks=pytest.mark.requirement("S4-044", "S4-045"))
            for rest, after, wanted in (({"pass": "p"}, [], "kept"), ({}, [VIOLATION], "kept"))
        ),
        *(
            (row, [("s2c", f'INFO {{"{name}":true}}'), *after], wanted)
            for name in ("tls_required", "ssl_required")
            for row, after, wanted in (
                ("S4-029", [], "kept"),
                ("S4-029", [connect()], "broken"),
                ("S4-029", [PING], "broken"),
                ("S4-042", [connect(tls_required=True)], "kept"),
                ("S4-042", [connect(tls_required=False)], "broken"),
                ("S4-042", [connect()], "not seen"),
            )
        ),
        ("S4-029", [("s2c", INFO), connect()], "not seen"),
        ("S4-042", [("s2c", INFO), connect(tls_required=True)], "broken"),
        ("S4-042", [("s2c", INFO), connect(tls_required=False)], "kept"),
        ("S4-042", [connect(tls_required=True)], "not seen"),
        ("S4-030", [SMALL, publish("abcd"), ("s2c", "-ERR 'Maximum Payload Violation'")], "kept"),
        ("S4-030", [SMALL, publish("abcd"), PING, PONG], "broken"),
        ("S4-030", [SMALL, PING, publish("abcd"), PONG], "not seen"),
        ("S4-030", [SMALL, with_headers(), PING, PONG], "broken"),
        ("S4-030", [SMALL, PING, publish("abcd"), PING, PONG], "not seen"),
        ("S4-030", [SMALL, PING, publish("abcd"), PING, PONG, PONG], "broken"),
        ("S4-030", [("s2c", 'INFO {"max_payload":0}'), publish("a"), PING, PONG], "broken"),
        ("S4-030", [("s2c", 'INFO {"max_payload":"3"}'), publish("abcd"), PING, PONG],
         "not seen"),
        ("S4-030", [SMALL, publish("abc"), PING, PONG], "not seen"),
        ("S4-030", [("s2c", INFO), publish("abcd"), PING, PONG], "not seen"),
        ("S4-030", [SMALL, publish("abcd"), ("s2c", "-ERR 'Invalid Subject'"), PING, PONG],
         "broken"),
        ("S4-041", [connect(pedantic=True), publish("", "a.*"),
                    ("s2c", "-ERR 'Invalid Publish Subject'")], "kept"),
        ("S4-041", [connect(pedantic=True), publish("", "a.*"), PING, PONG], "broken"),
        ("S4-041", [connect(pedantic=True), publish("", "a..b"), PING, PONG], "broken"),
        ("S4-041", [connect(pedantic=True), publish("", "a.b"), PING, PONG], "not seen"),
        ("S4-041", [connect(pedantic=True), with_headers("a.*"), PING, PONG], "broken"),
        ("S4-041", [connect(pedantic=True), publish("", "a*b.é"), PING, PONG], "not seen"),
        ("S4-041", [connect(pedantic=False), publish("", "a.*"), PING, PONG], "not seen"),
        ("S4-041", [connect(), publish("", "a.*"), PING, PONG], "not seen"),
        ("S4-107", [("c2s", "SUB foo. 90"), ("s2c", "-ERR 'Invalid Subject'")], "kept"),
        ("S4-107", [("c2s", "SUB foo. 90"), PING, PONG], "broken"),
        ("S4-107", [("c2s", "SUB foo.* 90"), PING, PONG], "not seen"),
        ("S4-107", [("c2s", "SUB foo*.é 90"), PING, PONG], "not seen"),
        ("S4-077", [SUB, UNSUB, PING, PONG], "kept"),
        ("S4-077", [SUB, UNSUB], "not seen"),
        ("S4-077", [SUB, PING, UNSUB, PONG, GOT], "not seen"),
        ("S4-077", [SUB, UNSUB, PING, GOT, PONG], "kept"),
        ("S4-077", [SUB, UNSUB, PING, PONG, GOT], "broken"),
        ("S4-077", [SUB, UNSUB, message(1, "a.b", 4)], "not seen"),
        ("S4-077", [SUB, UNSUB, message(1, "a.b", 4.1)], "broken"),
        ("S4-077", [SUB, UNSUB, PING, PONG, SUB, GOT], "not seen"),
        ("S4-077", [SUB, UNSUB, PING, PONG, ("c2s", "SUB a.* 2"), message(2, "a.b")], "kept"),
        ("S4-077", [SUB, TWO, GOT, GOT], "kept"),
        ("S4-077", [SUB, UNSUB, PING, PONG, message_with_headers(1, "a.b", 3)], "broken"),
        ("S4-077", [SUB, GOT, TWO, GOT], "kept"),
        ("S4-077", [SUB, TWO, GOT], "not seen"),
        ("S4-077", [SUB, TWO, GOT, PING, PONG], "not seen"),
        ("S4-077", [SUB, TWO, GOT, GOT, PING, PONG, GOT], "broken"),
        ("S4-077", [SUB, GOT, GOT, TWO, GOT], "not seen"),
        ("S4-083", [connect(), SUB, GOT], "kept"),
        ("S4-083", [connect(), SUB, message(2, "a.b")], "broken"),
        ("S4-083", [connect(), SUB, message(1, "b.b")], "broken"),
        ("S4-083", [connect(), SUB, message_with_headers(1, "a.b")], "kept"),
        ("S4-083", [connect(), SUB, message_with_headers(2, "a.b")], "broken"),
        ("S4-083", [connect(), ("c2s", "SUB a. 1"), message(1, "a.")], "kept"),
        ("S4-083", [connect(), ("c2s", b"SUB a\xff 1\r\n"), ("s2c", b"MSG a\xff 1 0\r\n\r\n")],
         "kept"),
        ("S4-083", [SUB, message(2, "a.b")], "not seen"),
        ("S4-098", [("s2c", "-ERR 'Parser Error'")], "kept"),
        ("S4-098", [("s2c", "-ERR 'Parser Error'"), PONG], "broken"),
        ("S4-098", [("s2c", "-ERR 'Parser Error'"), PING], "kept"),
        ("S4-098", [("s2c", "-ERR 'Invalid Subject'"), PONG], "not seen"),
        ("S4-098", [("s2c", "-ERR 'Something new'"), PONG], "not seen"),
        ("S4-102", [AUTH, ("s2c", TIMEOUT, 1)], "kept"),
        ("S4-102", [AUTH, ("s2c", TIMEOUT, 0.95)], "kept"),
        ("S4-102", [AUTH, ("s2c", TIMEOUT, 0.94)], "broken"),
        ("S4-102", [AUTH, ("s2c", "PING", 3)], "not seen"),
        ("S4-102", [AUTH, ("s2c", "PING", 3.1)], "broken"),
        ("S4-102", [AUTH, connect(user="u"), ("s2c", "PING", 4)], "not seen"),
        ("S4-102", [("s2c", INFO, 0), ("s2c", "PING", 4)], "not seen"),
    ),
)  # fmt: skip
def test_a_client_and_its_server(row, steps, wanted):
    assert verdict(row, talk(*steps)) == wanted


@pytest.mark.parametrize("first", [[PING], [("s2c", INFO)], [("c2s", CONNECT)]])
def test_another_connection_changes_no_verdict_about_one(first):
    """Whatever a rule does not judge about one connection, it goes on to the next."""
    judged = [(row, kind, steps, wanted) for row, kind, steps, wanted in cases(test_one_connection)]
    judged += [(row, "client", *case) for row, *case in cases(test_a_client_and_its_server)]
    order = ("broken", "kept", "not seen")
    for row, kind, steps, wanted in judged:
        other = (talk(*first, kind=kind, number=7), talk(*first, kind=kind, number=8))
        alone = verdict(row, talk(*first, kind=kind, number=7))
        worst = min(alone, wanted, key=order.index)
        talks = (other[0], talk(*steps, kind=kind), other[1])
        assert verdict(row, *talks) == worst, (row, steps)


@pytest.mark.requirement("S4-102", "S4-105")
def test_the_times_that_decide_about_an_error():
    assert ServerError.AUTHORIZATION_TIMEOUT.seconds == 1
    assert ServerError.SLOW_CONSUMER.seconds == 2
    timed = {error for error in ServerError if error.seconds}
    assert timed == {ServerError.AUTHORIZATION_TIMEOUT, ServerError.SLOW_CONSUMER}
    late = [AUTH, ("s2c", TIMEOUT, 4)]
    assert verdict("S4-102", talk(*late), authorization=4) == "kept"
    assert verdict("S4-102", talk(*late), authorization=4.1) == "broken"


@pytest.mark.requirement("S4-077", "S4-083", "S4-065")
def test_either_end_of_a_route_subscribes():
    """A subscription belongs to the server that sent it, and its deliveries go there."""
    steps = [("c2s", CONNECT), ("c2s", "SUB a RSID:1:1"), ("s2c", "SUB b q QRSID:1:1")]
    to_one = ("s2c", b"MSG a RSID:1:1 0\r\n\r\n")
    to_other = ("c2s", b"MSG b QRSID:1:1 0\r\n\r\n")
    for each in (to_one, to_other):
        assert verdict("S4-083", talk(*steps, each, kind="route_legacy")) == "kept"
    for direction, line in (("c2s", to_one[1]), ("s2c", to_other[1])):
        crossed = talk(*steps, (direction, line), kind="route_legacy")
        assert verdict("S4-083", crossed) == "broken"
    ended = [*steps, ("s2c", "UNSUB QRSID:1:1 1"), to_other, to_one]
    assert verdict("S4-077", talk(*ended, kind="route_legacy")) == "kept"
    again = [*ended, ("s2c", "PING"), ("c2s", "PONG"), to_other]
    assert verdict("S4-077", talk(*again, kind="route_legacy")) == "broken"


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
    # A route of which one end is not known may be a route to the newcomer.
    half = timed(talk(("s2c", INFO), kind="route"), 1)
    assert verdict("S4-035", half, newcomer, every_route=True) == "not seen"
    # The order of the connections in the capture does not matter, only their times.
    assert verdict("S4-035", newcomer, silent, every_route=True) == "broken"
    of_b = FORWARDED.replace("C", "B")
    late = timed(before, 9)
    early = timed(route("A", "D", ("s2c", FORWARDED), ("s2c", of_b), number=3), 1)
    both = timed(route("A", "C", ("s2c", of_b), number=2), 5)
    assert verdict("S4-035", late, early, both, every_route=True) == "kept"
    # A route that begins at the same time is not an earlier one.
    assert verdict("S4-035", timed(before, 5), newcomer, every_route=True) == "not seen"
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
    twice = [*told, *joined, *met, *route("B", "C", number=4)]
    findings = {each.row: each for each in conversation.check(twice, every_route=True)}
    assert findings["S4-036"].conn == 3, "the first of their routes"
    half = [("s2c", INFO), ("s2c", FORWARDED)]  # the receiver did not announce itself
    assert verdict("S4-036", talk(*half, kind="route"), every_route=True) == "not seen"


def test_an_error_answers_the_oldest_operation_that_waits():
    """The place of a violation is that of the operation that has no answer."""
    steps = [("c2s", "CONNECT {}", 0), ("s2c", "+OK", 0), ("c2s", "SUB a..b 1", 1),
             ("c2s", "SUB a 2", 2), ("s2c", "-ERR 'Invalid Subject'", 3)]  # fmt: skip
    findings = {finding.row: finding for finding in conversation.check(talk(*steps))}
    assert (findings["S4-096"].verdict, findings["S4-096"].time) == ("broken", 2 * SECOND)


def test_only_the_server_itself_announces_that_it_came():
    """Neither what others tell of a server, nor its own connection, is a route to it."""
    told = list(talk(("s2c", FORWARDED), kind="route"))
    told_again = list(talk(("s2c", FORWARDED), kind="route", number=2))
    own = list(talk(("s2c", 'INFO {"server_id":"C"}'), ("s2c", FORWARDED), kind="route"))
    for row in ("S4-036", "S4-037"):
        assert verdict(row, told, told_again) == "not seen"
        assert verdict(row, own) == "not seen"


def row(direction, operation, time=None, number=1):
    return OperationRow(number, direction, time, {}, operation)


def test_rows_of_any_input_are_judged_by_what_they_have():
    """A log names directions as its server sees them, has times as text, and no bytes."""
    connect, info = op("CONNECT {}"), op(INFO, "server_to_client")
    assert verdict("S4-049", [row("out", info), row("in", connect)]) == "kept"
    assert verdict("S4-049", [row("in", connect), row("out", info)]) == "broken"
    damage = StreamError(1, "s2c", "lost", None, "bytes were not recorded")
    without = [damage, row("out", None), row(None, info), row("in", connect)]
    assert verdict("S4-033", without) == "not seen"
    assert verdict("S4-049", without) == "broken"
    words = [row("c2s", op("PING"), "08:00:00"), row("s2c", op("PONG", "server_to_client"), "9")]
    (kept,) = [each for each in conversation.check(words) if each.row == "S4-093"]
    assert (kept.verdict, kept.time) == ("kept", None)


def test_an_unknown_time_breaks_no_rule():
    late = 10**6 * SECOND
    for times in ((None, late), (late, None), (None, None)):
        steps = [("c2s", op("PING"), times[0], 1),
                 ("s2c", op("PONG", "server_to_client"), times[1], 1)]  # fmt: skip
        assert verdict("S4-093", steps) == "kept"
        assert verdict("S4-092", steps) == "not seen"


def test_findings_are_in_the_order_of_the_pages_each_at_its_first_step():
    steps = talk(("s2c", INFO, 1), ("c2s", CONNECT, 2), ("c2s", CONNECT, 3), number=0)
    findings = conversation.check(steps)
    names = [finding.row for finding in findings]
    core = sum(name.startswith("S4") for name in names)
    assert names == [*sorted(names[:core]), *sorted(names[core:])]
    assert {name[:2] for name in names[core:]} == {"S3"}
    (found,) = [finding for finding in findings if finding.row == "S4-049"]
    assert found.time == 2 * SECOND
    assert str(found).endswith("(connection 0, byte 0)")
    closed = talk(("s2c", INFO, 1), ("c2s", "PING", 2), ("s2c", "-ERR 'Stale Connection'", 9))
    (found,) = [each for each in conversation.check(closed) if each.row == "S4-092"]
    assert found.time == 9 * SECOND


@pytest.mark.parametrize("option", ["ping_within", "idle", "authorization"])
def test_each_limit_is_of_its_own_rules_and_may_be_a_part_of_a_second(option):
    rules = {"ping_within": {"S4-091", "S4-093"}, "idle": {"S4-092"}, "authorization": {"S4-102"}}
    limits = dict.fromkeys(rules, 1e6)
    at = 3.4 if option == "authorization" else 1.4  # its tolerance is two seconds
    steps = list(talk(AUTH, ("s2c", "PING", 0), ("s2c", "+OK", at)))
    for limit, wanted in ((1.3, rules[option]), (1.5, set())):
        found = conversation.check(steps, **limits | {option: limit})
        broken = {each.row for each in found if each.verdict == "broken"}
        assert broken & set().union(*rules.values()) == wanted


def test_the_text_of_a_finding():
    steps = talk(("s2c", INFO, 1), ("c2s", "PING", 2), ("c2s", "SUB a 1", 20), number=7)
    findings = conversation.check(steps)
    assert len({finding.row for finding in findings}) == len(findings) == 57
    late, broken = [finding for finding in findings if finding.verdict == "broken"]
    assert late.row == "S4-091", "whoever asked in vain went on"
    assert (broken.row, broken.conn, broken.time) == ("S4-093", 7, 2 * SECOND)
    assert str(broken).startswith("S4-093 broken: a PING is answered")
    with pytest.raises(ValueError, match="direction must be"):
        conversation.check([("sideways", op("PING"))])
