"""The protocol between servers: as originally documented, and as in use today."""

from __future__ import annotations

import pickle

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


def test_only_a_message_between_servers_has_the_names_of_several_queues(engine):
    headers = b"NATS/1.0\r\n\r\n"
    assert (
        one(engine, b"HMSG a 1 12 13\r\n" + headers + b"x\r\n", "server_to_client").queues is None
    )
    routed = one(engine, b"HMSG $G a + r q 12 13\r\n" + headers + b"x\r\n", "route")
    assert routed.queues == ("q",)


@pytest.mark.requirement("S4-002", "S4-003")
@pytest.mark.parametrize(
    "example",
    [
        pytest.param(INFO, id="info", marks=pytest.mark.requirement("S4-013", "S4-022", "S4-038")),
        pytest.param(
            CONNECT, id="connect", marks=pytest.mark.requirement("S4-014", "S4-039", "S4-050")
        ),
        pytest.param(
            b"PUB FOO 11\r\nHello NATS!\r\n",
            id="pub",
            marks=pytest.mark.requirement("S4-015", "S4-052", "S4-059"),
        ),
        pytest.param(
            b"PUB FRONT.DOOR INBOX.22 11\r\nKnock Knock\r\n",
            id="pub-with-reply",
            marks=pytest.mark.requirement("S4-054", "S4-060"),
        ),
        pytest.param(
            b"PUB NOTIFY 0\r\n\r\n",
            id="pub-without-payload",
            marks=pytest.mark.requirement("S4-058", "S4-061"),
        ),
        pytest.param(
            b"SUB FOO RSID:1:1\r\n",
            id="sub",
            marks=pytest.mark.requirement("S4-016", "S4-062", "S4-069"),
        ),
        pytest.param(
            b"SUB BAR G1 QRSID:14:44\r\n",
            id="sub-with-queue",
            marks=pytest.mark.requirement("S4-063", "S4-070", "A52"),
        ),
        pytest.param(
            b"UNSUB RSID:5:1\r\n",
            id="unsub",
            marks=pytest.mark.requirement("S4-017", "S4-071", "S4-079"),
        ),
        pytest.param(
            b"UNSUB RSID:1:1 5\r\n",
            id="unsub-after-messages",
            marks=pytest.mark.requirement("S4-080", "A54"),
        ),
        pytest.param(
            b"UNSUB QRSID:14:44\r\n", id="unsub-with-queue", marks=pytest.mark.requirement("S4-072")
        ),
        pytest.param(
            b"MSG FOO.BAR 9 11\r\nHello World\r\n",
            id="msg",
            marks=pytest.mark.requirement("S4-018", "S4-081", "S4-088"),
        ),
        pytest.param(
            b"MSG FOO.BAR 9 INBOX.34 11\r\nHello World\r\n",
            id="msg-with-reply",
            marks=pytest.mark.requirement("S4-084", "S4-089"),
        ),
        pytest.param(b"PING\r\n", id="ping", marks=pytest.mark.requirement("S4-019")),
        pytest.param(b"PONG\r\n", id="pong", marks=pytest.mark.requirement("S4-020")),
        pytest.param(b"+OK\r\n", id="ok", marks=pytest.mark.requirement("S4-021", "S4-094")),
        pytest.param(
            b"-ERR 'Invalid Subject'\r\n",
            id="err",
            marks=pytest.mark.requirement("S4-021", "S4-095"),
        ),
    ],
)
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_each_printed_example_is_written_back_byte_for_byte(engine, example, dialect):
    op = one(engine, example, dialect=dialect)
    assert op.op == example.split()[0].decode(), "not a line of another version, which is kept too"
    assert op.raw == bytes(op) == example


@pytest.mark.requirement("S4-005")
def test_the_examples_have_the_documented_meaning(engine):
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
        pytest.param(
            PUB, "subject", "FRONT.DOOR", id="pub-subject", marks=pytest.mark.requirement("S4-053")
        ),
        pytest.param(
            PUB, "reply", "INBOX.22", id="pub-reply", marks=pytest.mark.requirement("S4-054")
        ),
        pytest.param(PUB, "size", 11, id="pub-size", marks=pytest.mark.requirement("S4-055")),
        pytest.param(
            PUB,
            "payload",
            b"Knock Knock",
            id="pub-payload",
            marks=pytest.mark.requirement("S4-056"),
        ),
        pytest.param(
            SUB, "subject", "BAR", id="sub-subject", marks=pytest.mark.requirement("S4-064")
        ),
        pytest.param(SUB, "queue", "G1", id="sub-queue", marks=pytest.mark.requirement("S4-065")),
        pytest.param(
            b"UNSUB RSID:5:1\r\n", "cid", 5, id="unsub-cid", marks=pytest.mark.requirement("S4-075")
        ),
        pytest.param(
            b"UNSUB RSID:5:1\r\n",
            "sid",
            "1",
            id="unsub-sid",
            marks=pytest.mark.requirement("S4-076"),
        ),
        pytest.param(
            MSG, "subject", "FOO.BAR", id="msg-subject", marks=pytest.mark.requirement("S4-082")
        ),
        pytest.param(MSG, "sid", "9", id="msg-sid", marks=pytest.mark.requirement("S4-083")),
        pytest.param(MSG, "size", 11, id="msg-size", marks=pytest.mark.requirement("S4-085")),
        pytest.param(
            MSG,
            "payload",
            b"Hello World",
            id="msg-payload",
            marks=pytest.mark.requirement("S4-086"),
        ),
    ],
)
def test_the_arguments(engine, line, part, value):
    assert getattr(one(engine, line), part) == value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(
            "server_id",
            "KP19vTlB417XElnv8kKaC5",
            id="server_id",
            marks=pytest.mark.requirement("S4-023"),
        ),
        pytest.param("version", "0.9.4", id="version", marks=pytest.mark.requirement("S4-024")),
        pytest.param("go", "", id="go", marks=pytest.mark.requirement("S4-025")),
        pytest.param("host", "localhost", id="host", marks=pytest.mark.requirement("S4-026")),
        pytest.param("port", 5222, id="port", marks=pytest.mark.requirement("S4-027")),
        pytest.param(
            "auth_required", False, id="auth_required", marks=pytest.mark.requirement("S4-028")
        ),
        pytest.param(
            "ssl_required", False, id="ssl_required", marks=pytest.mark.requirement("S4-029")
        ),
        pytest.param(
            "max_payload", 1048576, id="max_payload", marks=pytest.mark.requirement("S4-030")
        ),
        pytest.param(
            "connect_urls",
            ["localhost:4222"],
            id="connect_urls",
            marks=pytest.mark.requirement("S4-031"),
        ),
        pytest.param(
            "ip", "nats-route://127.0.0.1:5222/", id="ip", marks=pytest.mark.requirement("S4-032")
        ),
        pytest.param(
            "tls_required", False, id="tls_required", marks=pytest.mark.requirement("A59")
        ),
        pytest.param("tls_verify", False, id="tls_verify", marks=pytest.mark.requirement("A59")),
    ],
)
def test_the_options_of_info(engine, key, value):
    assert one(engine, INFO).json[key] == value


EITHER = {"client", "server_to_client", "route_legacy"}
BY_A_CLIENT, BY_A_SERVER = EITHER - {"server_to_client"}, EITHER - {"client"}


@pytest.mark.parametrize(
    ("line", "senders"),
    [
        pytest.param(line, senders, id=row, marks=pytest.mark.requirement(row))
        for row, line, senders in (
            ("S4-013", b"INFO {}\r\n", EITHER),
            ("S4-014", b"CONNECT {}\r\n", BY_A_CLIENT),
            ("S4-015", b"PUB a 0\r\n\r\n", BY_A_CLIENT),
            ("S4-016", b"SUB a 1\r\n", BY_A_CLIENT),
            ("S4-017", b"UNSUB 1\r\n", BY_A_CLIENT),
            ("S4-018", b"MSG a 1 0\r\n\r\n", BY_A_SERVER),
            ("S4-019", b"PING\r\n", EITHER),
            ("S4-020", b"PONG\r\n", EITHER),
            ("S4-021", b"+OK\r\n", EITHER),
            ("S4-021", b"-ERR 'Parser Error'\r\n", EITHER),
        )
    ],
)
def test_who_sends_an_operation(engine, line, senders):
    """All servers send all of them; between a client and a server each has its side."""
    taken = set()
    for conn in EITHER:
        stream = line.replace(b" 1", b" RSID:1:1") if conn == "route_legacy" else line
        operations, fault, parser = read(engine, conn, [stream])
        if fault is None and parser.complete and len(operations) == 1:
            taken.add(conn)
    assert taken == senders


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(
            "verbose",
            False,
            id="verbose",
            marks=pytest.mark.requirement("S4-040", "S4-051", "S4-097"),
        ),
        pytest.param("pedantic", True, id="pedantic", marks=pytest.mark.requirement("S4-041")),
        pytest.param(
            "tls_required", True, id="tls_required", marks=pytest.mark.requirement("S4-042")
        ),
        pytest.param("auth_token", "t", id="auth_token", marks=pytest.mark.requirement("S4-043")),
        pytest.param("user", "u", id="user", marks=pytest.mark.requirement("S4-044")),
        pytest.param("pass", "p", id="pass", marks=pytest.mark.requirement("S4-045")),
        pytest.param("name", "n", id="name", marks=pytest.mark.requirement("S4-046")),
        pytest.param("lang", "go", id="lang", marks=pytest.mark.requirement("S4-047")),
        pytest.param("version", "1.0", id="version", marks=pytest.mark.requirement("S4-048")),
    ],
)
def test_the_options_of_connect(engine, key, value):
    line = (
        b'CONNECT {"verbose":false,"pedantic":true,"tls_required":true,"auth_token":"t",'
        b'"user":"u","pass":"p","name":"n","lang":"go","version":"1.0"}\r\n'
    )
    assert one(engine, line).json[key] == value


@pytest.mark.requirement("A56", "A60")
def test_the_meaning_of_combined_options():
    assert cluster.is_verbose({})
    assert not cluster.is_verbose({"verbose": False})
    assert cluster.needs_tls({"ssl_required": True, "tls_required": False})
    assert cluster.needs_tls({"tls_required": True})
    assert not cluster.needs_tls({})


@pytest.mark.requirement("S4-008", "S4-009", "S4-010", "S4-011")
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_spaces_and_line_ends(engine, dialect):
    # Servers before 2.0 wrote two spaces for an absent queue.
    op = one(engine, b"SUB FOO  \tRSID:1:1\t\r\n", dialect=dialect)
    assert bytes(op) == b"SUB FOO RSID:1:1\r\n"
    _, fault, _ = read(engine, "route_legacy", [b"PUB a 2\r\nhi\n"], dialect=dialect)
    assert fault[:2] == ("parse", "payload terminator")


@pytest.mark.requirement("S4-012", "A65")
def test_names_of_operations_in_any_case_and_nothing_else(engine):
    op = one(engine, b"sub foo rsid:1:1\r\n")
    assert (op.op, op.subject, op.rsid) == ("SUB", "foo", "rsid:1:1")
    assert (op.is_queue, op.cid, op.sid) == (None, None, None)


@pytest.mark.requirement("A61")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(
            "RSID:1:1",
            (False, 1, "1"),
            id="rsid",
            marks=pytest.mark.requirement("S4-066", "S4-067"),
        ),
        pytest.param(
            "QRSID:014:x:y",
            (True, 14, "x:y"),
            id="qrsid-with-colons",
            marks=pytest.mark.requirement("A61"),
        ),
        pytest.param(
            "RSID:x:1",
            (None, None, None),
            id="cid-is-not-a-number",
            marks=pytest.mark.requirement("A61"),
        ),
        pytest.param(
            "RSID:1:", (None, None, None), id="no-sid", marks=pytest.mark.requirement("A61")
        ),
        pytest.param(
            "RSID:1", (None, None, None), id="no-second-colon", marks=pytest.mark.requirement("A61")
        ),
        pytest.param(
            "RSID:" + "1" * 19 + ":1",
            (None, None, None),
            id="cid-too-long",
            marks=pytest.mark.requirement("A61"),
        ),
        pytest.param("7", (None, None, None), id="plain-sid", marks=pytest.mark.requirement("A55")),
    ],
)
def test_subscription_ids_are_split(engine, text, parts):
    op = one(engine, f"SUB foo {text}\r\n".encode())
    assert (op.rsid, (op.is_queue, op.cid, op.sid)) == (text, parts)


@pytest.mark.requirement("S4-083", "A55")
@pytest.mark.parametrize("text", ["9", "abc", "RSID:4:1", "QRSID:4:1"])
def test_the_sid_of_a_delivery_in_every_form(engine, text):
    op = one(engine, f"MSG foo {text} r 2\r\nok\r\n".encode())
    assert (op.sid, op.reply) == (text, "r")
    assert ("cid" in op.as_dict()) is ("RSID" in text)


@pytest.mark.requirement("S4-073", "S4-074", "S4-077", "A53")
@pytest.mark.parametrize(
    ("line", "printed", "most", "written"),
    [
        (b"UNSUB 1 RSID:5:1\r\n", "1", None, b"UNSUB RSID:5:1\r\n"),
        (b"UNSUB 1 QRSID:5:1 7\r\n", "1", 7, b"UNSUB QRSID:5:1 7\r\n"),
        (b"UNSUB RSID:5:1 7\r\n", None, 7, b"UNSUB RSID:5:1 7\r\n"),
    ],
)
def test_both_forms_of_unsub_are_parsed_and_one_is_written(engine, line, printed, most, written):
    op = one(engine, line)
    assert (op.printed_sid, op.max, op.cid, bytes(op)) == (printed, most, 5, written)
    assert op.as_dict().get("printed_sid") == printed
    assert ("printed_sid='1'" in repr(op)) is (printed is not None)


@pytest.mark.requirement("A63")
@pytest.mark.parametrize(
    "line", [b"RS+ $G foo\r\n", b"A+ acc\r\n", b"LS- $G foo\r\n", b"STATS\r\n"]
)
def test_a_line_of_another_version_is_kept(engine, line):
    op = one(engine, line)
    assert (op.op, op.message, bytes(op)) == ("UNKNOWN", line.decode().strip(), line)


@pytest.mark.requirement("A63")
@pytest.mark.parametrize(
    "line", [b"RMSG $G foo 2\r\n", b"HMSG foo 1 2 2\r\n", b"\r\n", b" PING\r\n"]
)
def test_a_payload_of_unknown_size_is_an_error(engine, line):
    _, fault, _ = read(engine, "route_legacy", [line])
    assert fault[:2] == ("parse", "unknown op")


@pytest.mark.requirement("A63")
def test_the_legacy_protocol_is_the_default_and_the_new_one_is_an_option():
    assert cluster.Parser().conn == "route_legacy"
    assert cluster.Parser("route", lnocu=True).conn == "route"
    with pytest.raises(ValueError, match="conn must be one of"):
        cluster.Parser("client")
    assert wire.Parser("route").feed(b"RS+ $G foo\r\n")[0].account == "$G"


@pytest.mark.requirement("S4-006", "S4-007")
def test_system_subjects(engine):
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


def test_a_pinned_route_omits_its_account(engine):
    for line in (b"RS+ a q 1\r\n", b"RMSG a + r q 2\r\nok\r\n", b"LMSG o a 0 2\r\nok\r\n"):
        op = one(engine, line, "route", pinned_account="APP")
        assert (op.account, op.subject, bytes(op)) == ("APP", "a", line)


def test_an_operation_without_a_subject_has_no_account_on_a_pinned_route(engine):
    for line in (b"PING\r\n", b"PONG\r\n", b"INFO {}\r\n"):
        op = one(engine, line, "route", pinned_account="APP")
        assert (op.account, op.subject, bytes(op)) == (None, None, line)


def test_a_peer_that_announced_lnocu_names_the_origin(engine):
    op = one(engine, b"LS- o $G a\r\n", "route", lnocu=True)
    assert (op.origin, op.account, op.subject) == ("o", "$G", "a")


@pytest.mark.parametrize("conn", ["client", "route", "leaf", "route_legacy"])
@pytest.mark.parametrize("name", ["INFO", "CONNECT"])
def test_options_without_a_blank_before_them(engine, conn, name):
    line = f'{name}{{"a":1}}\r\n'.encode()
    assert one(engine, line, conn).json == {"a": 1}
    found, fault, _ = read(engine, conn, [line], dialect="strict")
    assert (found, fault[0]) == ([], "parse" if conn == "route_legacy" else "no delimiter")


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_in_options_has_at_most_1024_characters(engine, sign):
    for length, valid in [(1023, True), (1024, True), (1025, False)]:
        number = sign + "7" * (length - len(sign))
        line = f'INFO {{"a":[{number}]}}\r\n'.encode()
        _, fault, _ = read(engine, "client", [line], max_control_line=4096)
        assert fault is None if valid else fault[0] == "bad json", length


def test_an_empty_pinned_account_is_none(engine):
    op = one(engine, b"RS+ $G a\r\n", "route", pinned_account="")
    assert (op.account, op.subject) == ("$G", "a")


def test_equal_operations_say_the_same_on_the_same_connection(engine):
    def operations():
        for conn in ("client", "route", "leaf", "route_legacy"):
            yield one(engine, b"PING\r\n", conn)
        for name in ("APP", "OTHER"):
            yield one(engine, b"RS+ a\r\n", "route", pinned_account=name)
            yield one(engine, b"PING\r\n", "route", pinned_account=name)
        yield one(engine, b"RS+ $G a\r\n", "route")
        yield one(engine, b"PONG\r\n", "client")

    different = list(operations())
    for at, op in enumerate(operations()):
        assert [other == op for other in different] == [at == n for n in range(len(different))]
        assert hash(op) == hash(different[at])
        assert op != bytes(op)
        again = pickle.loads(pickle.dumps(op))
        assert (again.conn, again.account, bytes(again)) == (op.conn, op.account, bytes(op))


def test_a_pickled_operation_is_read_as_the_peer_announced_it(engine):
    op = one(engine, b"LS- o $G a\r\n", "route", lnocu=True)
    again = pickle.loads(pickle.dumps(op))
    assert (again.origin, again.account, again.subject) == ("o", "$G", "a")


def test_a_weight_that_is_not_a_number_is_read_as_the_broker_does(engine):
    op = one(engine, b"RS+ $G a q x\r\n", "route")
    assert (op.weight, bytes(op)) == (-1, b"RS+ $G a q -1\r\n")
    _, fault, _ = read(engine, "route", [b"RS+ $G a q x\r\n"], dialect="strict")
    assert fault[0] == "bad size"
