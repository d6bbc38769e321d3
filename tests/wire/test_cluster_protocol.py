"""The protocol between servers: as seed 004 prints it, and as it is spoken today."""

from __future__ import annotations

import pytest
from streams import read

from subtrie import wire
from subtrie.wire import cluster

INFO = (
    b'INFO {"server_id":"KP19vTlB417XElnv8kKaC5","version":"0.9.4","go":"","host":"localhost",'
    b'"port":5222,"auth_required":false,"ssl_required":false,"tls_required":false,'
    b'"tls_verify":false,"max_payload":1048576,"ip":"nats-route://127.0.0.1:5222/",'
    b'"connect_urls":["localhost:4222"]}\r\n'
)
CONNECT = (
    b'CONNECT {"verbose":false,"pedantic":false,"tls_required":false,'
    b'"name":"wt0vffeQyoDGMVBC2aKX0b"}\r\n'
)


def one(engine, stream, conn="route_legacy", **options):
    operations, fault, parser = read(engine, conn, [stream], **options)
    assert fault is None, fault
    assert parser.complete
    (op,) = operations
    return op


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(INFO, id="S4-013-S4-022-S4-038"),
        pytest.param(CONNECT, id="S4-014-S4-039-S4-050"),
        pytest.param(b"PUB FOO 11\r\nHello NATS!\r\n", id="S4-015-S4-052-S4-059"),
        pytest.param(b"PUB FRONT.DOOR INBOX.22 11\r\nKnock Knock\r\n", id="S4-054-S4-060"),
        pytest.param(b"PUB NOTIFY 0\r\n\r\n", id="S4-058-S4-061"),
        pytest.param(b"SUB FOO RSID:1:1\r\n", id="S4-016-S4-062-S4-069"),
        pytest.param(b"SUB BAR G1 QRSID:14:44\r\n", id="S4-063-S4-070-A52"),
        pytest.param(b"UNSUB RSID:5:1\r\n", id="S4-017-S4-071-S4-079"),
        pytest.param(b"UNSUB RSID:1:1 5\r\n", id="S4-080-A54"),
        pytest.param(b"UNSUB QRSID:14:44\r\n", id="S4-072"),
        pytest.param(b"MSG FOO.BAR 9 11\r\nHello World\r\n", id="S4-018-S4-081-S4-088"),
        pytest.param(b"MSG FOO.BAR 9 INBOX.34 11\r\nHello World\r\n", id="S4-084-S4-089"),
        pytest.param(b"PING\r\n", id="S4-019"),
        pytest.param(b"PONG\r\n", id="S4-020"),
        pytest.param(b"+OK\r\n", id="S4-021-S4-094"),
        pytest.param(b"-ERR 'Invalid Subject'\r\n", id="S4-021-S4-095"),
    ],
)
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_S4_002_S4_003_what_the_seed_prints_comes_back_byte_for_byte(engine, example, dialect):
    op = one(engine, example, dialect=dialect)
    assert op.raw == bytes(op) == example


def test_S4_005_the_examples_say_what_the_seed_says_of_them(engine):
    pub = one(engine, b"PUB FRONT.DOOR INBOX.22 11\r\nKnock Knock\r\n")
    assert (pub.subject, pub.reply, pub.size) == ("FRONT.DOOR", "INBOX.22", 11)  # S4-053 to S4-055
    assert bytes(pub.payload) == b"Knock Knock"  # S4-056
    sub = one(engine, b"SUB BAR G1 QRSID:14:44\r\n")
    assert (sub.subject, sub.queue, sub.is_queue, sub.cid, sub.sid) == ("BAR", "G1", True, 14, "44")
    msg = one(engine, b"MSG FOO.BAR 9 INBOX.34 11\r\nHello World\r\n")
    assert (msg.subject, msg.sid, msg.reply, msg.size) == ("FOO.BAR", "9", "INBOX.34", 11)


PUB = b"PUB FRONT.DOOR INBOX.22 11\r\nKnock Knock\r\n"
SUB = b"SUB BAR G1 QRSID:14:44\r\n"
MSG = b"MSG FOO.BAR 9 INBOX.34 11\r\nHello World\r\n"


@pytest.mark.parametrize(
    ("line", "part", "value"),
    [
        pytest.param(PUB, "subject", "FRONT.DOOR", id="S4-053"),
        pytest.param(PUB, "reply", "INBOX.22", id="S4-054"),
        pytest.param(PUB, "size", 11, id="S4-055"),
        pytest.param(PUB, "payload", b"Knock Knock", id="S4-056"),
        pytest.param(SUB, "subject", "BAR", id="S4-064"),
        pytest.param(SUB, "queue", "G1", id="S4-065"),
        pytest.param(b"UNSUB RSID:5:1\r\n", "cid", 5, id="S4-075"),
        pytest.param(b"UNSUB RSID:5:1\r\n", "sid", "1", id="S4-076"),
        pytest.param(MSG, "subject", "FOO.BAR", id="S4-082"),
        pytest.param(MSG, "sid", "9", id="S4-083"),
        pytest.param(MSG, "size", 11, id="S4-085"),
        pytest.param(MSG, "payload", b"Hello World", id="S4-086"),
    ],
)
def test_the_arguments(engine, line, part, value):
    assert getattr(one(engine, line), part) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("server_id", "KP19vTlB417XElnv8kKaC5", id="S4-023"),
        pytest.param("version", "0.9.4", id="S4-024"),
        pytest.param("go", "", id="S4-025"),
        pytest.param("host", "localhost", id="S4-026"),
        pytest.param("port", 5222, id="S4-027"),
        pytest.param("auth_required", False, id="S4-028"),
        pytest.param("ssl_required", False, id="S4-029"),
        pytest.param("max_payload", 1048576, id="S4-030"),
        pytest.param("connect_urls", ["localhost:4222"], id="S4-031"),
        pytest.param("ip", "nats-route://127.0.0.1:5222/", id="S4-032"),
        pytest.param("tls_required", False, id="A59"),
        pytest.param("tls_verify", False, id="A59-verify"),
    ],
)
def test_the_options_of_info(engine, key, value):
    assert one(engine, INFO).json[key] == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("verbose", False, id="S4-040-S4-051-S4-097"),
        pytest.param("pedantic", True, id="S4-041"),
        pytest.param("tls_required", True, id="S4-042"),
        pytest.param("auth_token", "t", id="S4-043"),
        pytest.param("user", "u", id="S4-044"),
        pytest.param("pass", "p", id="S4-045"),
        pytest.param("name", "n", id="S4-046"),
        pytest.param("lang", "go", id="S4-047"),
        pytest.param("version", "1.0", id="S4-048"),
    ],
)
def test_the_options_of_connect(engine, key, value):
    line = (
        b'CONNECT {"verbose":false,"pedantic":true,"tls_required":true,"auth_token":"t",'
        b'"user":"u","pass":"p","name":"n","lang":"go","version":"1.0"}\r\n'
    )
    assert one(engine, line).json[key] == value


def test_A56_A60_what_options_mean_together():
    assert cluster.is_verbose({})
    assert not cluster.is_verbose({"verbose": False})
    assert cluster.needs_tls({"ssl_required": True, "tls_required": False})
    assert cluster.needs_tls({"tls_required": True})
    assert not cluster.needs_tls({})


@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_S4_008_S4_009_S4_010_S4_011_blanks_and_line_ends(engine, dialect):
    # Servers of that time wrote two blanks where there was no queue.
    op = one(engine, b"SUB FOO  \tRSID:1:1\t\r\n", dialect=dialect)
    assert bytes(op) == b"SUB FOO RSID:1:1\r\n"
    _, fault, _ = read(engine, "route_legacy", [b"PUB a 2\r\nhi\n"], dialect=dialect)
    assert fault[:2] == ("parse", "payload terminator")


def test_S4_012_A65_names_of_operations_in_any_case_and_nothing_else(engine):
    op = one(engine, b"sub foo rsid:1:1\r\n")
    assert (op.op, op.subject, op.rsid) == ("SUB", "foo", "rsid:1:1")
    assert (op.is_queue, op.cid, op.sid) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("RSID:1:1", (False, 1, "1"), id="S4-066-S4-067"),
        pytest.param("QRSID:014:x:y", (True, 14, "x:y"), id="A61"),
        pytest.param("RSID:x:1", (None, None, None), id="A61-no-number"),
        pytest.param("RSID:1:", (None, None, None), id="A61-no-sid"),
        pytest.param("RSID:1", (None, None, None), id="A61-short"),
        pytest.param("RSID:" + "1" * 19 + ":1", (None, None, None), id="A61-too-long"),
        pytest.param("7", (None, None, None), id="A55"),
    ],
)
def test_A61_ids(engine, text, parts):
    op = one(engine, f"SUB foo {text}\r\n".encode())
    assert (op.rsid, (op.is_queue, op.cid, op.sid)) == (text, parts)


@pytest.mark.parametrize("text", ["9", "abc", "RSID:4:1", "QRSID:4:1"])
def test_S4_083_A55_the_sid_of_a_delivery_in_every_form(engine, text):
    op = one(engine, f"MSG foo {text} r 2\r\nok\r\n".encode())
    assert (op.sid, op.reply) == (text, "r")
    assert ("cid" in op.as_dict()) is ("RSID" in text)


@pytest.mark.parametrize(
    ("line", "printed", "most", "written"),
    [
        (b"UNSUB 1 RSID:5:1\r\n", "1", None, b"UNSUB RSID:5:1\r\n"),
        (b"UNSUB 1 QRSID:5:1 7\r\n", "1", 7, b"UNSUB QRSID:5:1 7\r\n"),
        (b"UNSUB RSID:5:1 7\r\n", None, 7, b"UNSUB RSID:5:1 7\r\n"),
    ],
)
def test_S4_073_S4_074_S4_077_A53_both_forms_of_unsub_and_one_that_is_written(
    engine, line, printed, most, written
):
    op = one(engine, line)
    assert (op.printed_sid, op.max, op.cid, bytes(op)) == (printed, most, 5, written)


@pytest.mark.parametrize(
    "line", [b"RS+ $G foo\r\n", b"A+ acc\r\n", b"LS- $G foo\r\n", b"STATS\r\n"]
)
def test_A63_a_line_of_another_time_is_kept(engine, line):
    op = one(engine, line)
    assert (op.op, op.message, bytes(op)) == ("UNKNOWN", line.decode().strip(), line)


@pytest.mark.parametrize(
    "line", [b"RMSG $G foo 2\r\n", b"HMSG foo 1 2 2\r\n", b"\r\n", b" PING\r\n"]
)
def test_A63_a_payload_nobody_can_measure_is_not_guessed(engine, line):
    _, fault, _ = read(engine, "route_legacy", [line])
    assert fault[:2] == ("parse", "unknown op")


def test_A63_the_old_protocol_is_the_default_and_the_new_one_has_its_name():
    assert cluster.Parser().conn == "route_legacy"
    assert cluster.Parser("route", lnocu=True).conn == "route"
    with pytest.raises(ValueError, match="conn must be one of"):
        cluster.Parser("client")
    assert wire.Parser("route").feed(b"RS+ $G foo\r\n")[0].account == "$G"


def test_S4_006_S4_007_system_subjects(engine):
    from subtrie import classify, names

    op = one(engine, b"PUB _SYS.x 0\r\n\r\n", dialect="strict")
    assert classify(op.subject) == "legacy-system"
    assert names.reserved(op.subject).era == "before nats-server 2.0"


# Today -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conn", "line", "parts"),
    [
        (
            "route",
            b"RS+ $G a\r\n",
            {"account": "$G", "subject": "a", "weight": None},
        ),
        ("route", b"RS+ $G a q 3\r\n", {"queue": "q", "weight": 3}),
        ("route", b"RS- $G a q\r\n", {"account": "$G", "subject": "a", "queue": "q"}),
        (
            "route",
            b"LS+ o $G a q 3\r\n",
            {"origin": "o", "queue": "q", "weight": 3},
        ),
        ("route", b"LS- $G a\r\n", {"origin": None, "account": "$G", "subject": "a"}),
        ("leaf", b"LS+ a q 3\r\n", {"subject": "a", "queue": "q", "weight": 3}),
        ("leaf", b"LS- a q\r\n", {"subject": "a", "queue": "q"}),
        ("route", b"A+ acc\r\n", {"account": "acc"}),
        ("route", b"A- acc\r\n", {"account": "acc"}),
    ],
)
def test_interest(engine, conn, line, parts):
    op = one(engine, line, conn)
    assert {**op.as_dict(), **parts} == op.as_dict()
    assert bytes(op) == line


@pytest.mark.parametrize(
    ("conn", "line", "reply", "queues"),
    [
        ("route", b"RMSG $G a 2\r\nok\r\n", None, ()),
        ("route", b"RMSG $G a r 2\r\nok\r\n", "r", ()),
        ("route", b"RMSG $G a + r q1 q2 2\r\nok\r\n", "r", ("q1", "q2")),
        ("route", b"RMSG $G a | q1 2\r\nok\r\n", None, ("q1",)),
        ("route", b"HMSG $G a + r q1 0 2\r\nok\r\n", "r", ("q1",)),
        ("route", b"LMSG o $G a | q1 q2 q3 0 2\r\nok\r\n", None, ("q1", "q2", "q3")),
        ("leaf", b"LMSG a + r q 2\r\nok\r\n", "r", ("q",)),
        ("leaf", b"HMSG a r 1 2\r\nok\r\n", "r", ()),
    ],
)
def test_messages(engine, conn, line, reply, queues):
    op = one(engine, line, conn)
    assert (op.subject, op.reply, op.queues, op.size) == ("a", reply, queues, 2)
    assert bytes(op) == line


def test_a_plus_without_queues_is_written_as_a_plain_reply(engine):
    op = one(engine, b"RMSG $G a + r 2\r\nok\r\n", "route")
    assert (op.reply, op.queues) == ("r", ())
    assert bytes(op) == b"RMSG $G a r 2\r\nok\r\n"


def test_a_pinned_route_leaves_its_account_out(engine):
    for line in (b"RS+ a q 1\r\n", b"RMSG a + r q 2\r\nok\r\n", b"LMSG o a 0 2\r\nok\r\n"):
        op = one(engine, line, "route", pinned_account="APP")
        assert (op.account, op.subject, bytes(op)) == ("APP", "a", line)


def test_a_peer_that_announced_lnocu_names_the_origin(engine):
    op = one(engine, b"LS- o $G a\r\n", "route", lnocu=True)
    assert (op.origin, op.account, op.subject) == ("o", "$G", "a")


def test_a_weight_that_is_no_number_is_what_the_broker_makes_of_it(engine):
    op = one(engine, b"RS+ $G a q x\r\n", "route")
    assert (op.weight, bytes(op)) == (-1, b"RS+ $G a q -1\r\n")
    _, fault, _ = read(engine, "route", [b"RS+ $G a q x\r\n"], dialect="strict")
    assert fault[0] == "bad size"
