"""The client protocol, rule by rule: the documentation in ``strict``, the broker in ``server``."""

from __future__ import annotations

import pytest
from streams import read

import subtrie
from subtrie import WireError


def ops(engine, stream, conn="client", **options):
    operations, fault, parser = read(engine, conn, [stream], **options)
    assert fault is None, fault
    assert parser.complete
    return operations


def refused(engine, stream, conn="client", **options):
    _, fault, _ = read(engine, conn, [stream], **options)
    assert fault is not None
    return fault[0], fault[2]


CLIENT = (
    b'CONNECT {"verbose":false}\r\nPUB a 2\r\nhi\r\nHPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n'
    b"SUB a.> q 1\r\nUNSUB 1 5\r\nPING\r\nPONG\r\n"
)
SERVER = (
    b'INFO {"max_payload":1048576} \r\nMSG a 1 r 2\r\nhi\r\n'
    b"HMSG a 1 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
    b"PING\r\nPONG\r\n+OK\r\n-ERR 'Stale Connection'\r\n"
)


@pytest.mark.requirement("S1-001")
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_every_operation_of_both_directions(engine, dialect):
    sent = ops(engine, CLIENT, dialect=dialect)
    assert [op.op for op in sent] == ["CONNECT", "PUB", "HPUB", "SUB", "UNSUB", "PING", "PONG"]
    answered = ops(engine, SERVER, "server_to_client", dialect=dialect)
    assert [op.op for op in answered] == ["INFO", "MSG", "HMSG", "PING", "PONG", "+OK", "-ERR"]
    for operations, stream in ((sent, CLIENT), (answered, SERVER)):
        assert b"".join(op.raw for op in operations) == stream
        assert [op.offset for op in operations] == [stream.index(op.raw) for op in operations]


@pytest.mark.requirement("S1-003", "S1-005", "S1-006")
@pytest.mark.parametrize("conn", ["client", "server_to_client", "route", "leaf", "route_legacy"])
def test_one_parser_for_every_connection(engine, conn):
    assert engine.Parser(conn).conn == conn
    assert ops(engine, b"PING\r\n", conn)[0].conn == conn


@pytest.mark.requirement("S1-002")
def test_the_subjects_of_jetstream_are_known(engine):
    stream = (
        b"PUB $JS.API.STREAM.INFO.S _INBOX.1 0\r\n\r\nPUB $KV.b.k 0\r\n\r\nPUB $O.b.C.x 0\r\n\r\n"
    )
    subjects = [op.subject for op in ops(engine, stream)]
    assert [engine.classify(subject) for subject in subjects] == ["jetstream", "kv", "object"]


@pytest.mark.requirement("S1-004")
def test_the_gateway_protocol_is_refused():
    with pytest.raises(ValueError, match="conn must be"):
        subtrie.wire.Parser("gateway")
    assert subtrie.classify("_GR_.abc.x") == "gateway"


@pytest.mark.requirement("S1-007", "S1-008")
@pytest.mark.parametrize(
    ("line", "payload"),
    [
        ("PUB a 2", True), ("HPUB a 0 2", True), ("SUB a 1", False), ("UNSUB 1", False),
        ("PING", False), ("CONNECT {}", False),
    ],
)  # fmt: skip
def test_which_operations_have_a_payload(engine, line, payload):
    parser = engine.Parser("client")
    assert len(parser.feed(f"{line}\r\n".encode())) == (0 if payload else 1)
    assert parser.complete is not payload
    if payload:
        (op,) = parser.feed(b"hi\r\n")
        assert bytes(op.payload) == b"hi"
    assert parser.complete


@pytest.mark.requirement("S1-009", "S1-010")
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_spaces_between_arguments(engine, dialect):
    plain = ops(engine, b"PUB a b 2\r\nhi\r\n", dialect=dialect)
    for line in (b"PUB\ta\tb\t2\r\n", b"PUB  a \t b\t\t2 \t\r\n"):
        (op,) = ops(engine, line + b"hi\r\n", dialect=dialect)
        assert [op] == plain
        assert bytes(op) == b"PUB a b 2\r\nhi\r\n"


@pytest.mark.requirement("S1-011")
def test_CR_LF_ends_a_line_and_the_broker_accepts_LF(engine):
    (op,) = ops(engine, b"SUB a 1\n")
    assert bytes(op) == b"SUB a 1\r\n"
    assert refused(engine, b"SUB a 1\n", dialect="strict") == ("line end", 7)
    assert refused(engine, b"PING\n", dialect="strict") == ("line end", 4)
    assert refused(engine, b"SUB a\rb 1\r\n", dialect="strict") == ("line end", 6)
    assert engine.Parser("client", dialect="strict").feed(b"SUB a 1\r") == []


@pytest.mark.requirement("S1-012")
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_CR_LF_ends_a_payload_and_nothing_else_does(engine, dialect):
    (op,) = ops(engine, b"PUB a 4\r\n\r\n\r\n\r\n", dialect=dialect)
    assert bytes(op.payload) == b"\r\n\r\n"
    assert refused(engine, b"PUB a 1\r\nxy\r\n", dialect=dialect) == ("payload terminator", 10)
    assert refused(engine, b"PUB a 1\r\nx\ry", dialect=dialect) == ("payload terminator", 11)
    assert refused(engine, b"PUB a 0\r\n\n", dialect=dialect) == ("payload terminator", 9)


def test_a_payload_that_looks_like_operations_is_skipped_by_its_length(engine):
    inner = b"x\r\nPUB b 1\r\ny\r\nPING\r\n"
    stream = b"PUB a %d\r\n%b\r\nPING\r\n" % (len(inner), inner)
    first, second = ops(engine, stream)
    assert bytes(first.payload) == inner
    assert second.op == "PING"


@pytest.mark.requirement("S1-013")
def test_subjects_keep_their_case_and_names_of_operations_do_not(engine):
    (op,) = ops(engine, b"pUb FOO.bar 0\r\n\r\n")
    assert (op.op, op.subject) == ("PUB", "FOO.bar")


@pytest.mark.requirement("S1-049")
def test_interest_in_every_subject(engine):
    for dialect in ("server", "strict"):
        (op,) = ops(engine, b"sub > 1\r\n", dialect=dialect)
        assert (op.subject, op.queue, op.sid) == (">", None, "1")


@pytest.mark.parametrize(
    ("line", "offset"),
    [
        pytest.param(
            b"PUB foo..bar 0\r\n", 8, id="pub-two-dots", marks=pytest.mark.requirement("S1-026")
        ),
        pytest.param(
            b"PUB foo. .bar 5\r\n",
            8,
            id="pub-space-as-a-token",
            marks=pytest.mark.requirement("A33"),
        ),
        pytest.param(
            b"PUB a .bar 5\r\n",
            6,
            id="pub-reply-with-leading-dot",
            marks=pytest.mark.requirement("A33"),
        ),
        pytest.param(b"PUB a.* 0\r\n", 6, id="pub-wildcard", marks=pytest.mark.requirement("A17")),
        pytest.param(
            b"SUB foo*.bar 1\r\n",
            7,
            id="sub-partial-wildcard",
            marks=pytest.mark.requirement("S1-044"),
        ),
        pytest.param(
            b"SUB a.>.b 1\r\n",
            6,
            id="sub-tail-in-the-middle",
            marks=pytest.mark.requirement("S1-029"),
        ),
        pytest.param(
            b"PUB \xc3\xa9 0\r\n", 4, id="pub-not-ascii", marks=pytest.mark.requirement("S1-032")
        ),
        pytest.param(
            b"PUB a\xff 0\r\n", 5, id="pub-not-utf8", marks=pytest.mark.requirement("S1-033")
        ),
    ],
)
def test_strict_validates_subjects_and_the_broker_does_not(engine, line, offset):
    assert refused(engine, line, dialect="strict") == ("bad subject", offset)
    parser = engine.Parser("client")
    parser.feed(line)
    assert parser.offset in (0, len(line))


@pytest.mark.requirement("A57")
def test_cr_lf_ends_the_line_and_the_payload_and_may_be_the_payload(engine):
    parser = engine.Parser("client")
    (one,) = parser.feed(b"PUB a 2\r\n\r\n\r\n")
    assert bytes(one.payload) == b"\r\n"
    assert parser.feed(b"PUB a 2\r\nok") == []
    (two,) = parser.feed(b"\r\n")
    assert bytes(two.payload) == b"ok"


@pytest.mark.requirement("A33")
def test_a_space_in_a_subject_begins_the_reply(engine):
    (op,) = ops(engine, b"PUB foo. .bar 0\r\n\r\n")
    assert (op.subject, op.reply) == ("foo.", ".bar")


@pytest.mark.parametrize(
    ("stream", "subject"),
    [
        (b"PUB fo\ro 0\r\n\r\n", "fo\ro"),
        (b"PUB \r 0\r\n\r\n", "\r"),
        (b"SUB \nfoo 1\r\n", "foo"),
        (b"SUB a\xff 1\r\n", "a\udcff"),
    ],
)
def test_stray_bytes_are_parsed_as_the_broker_does(engine, stream, subject):
    (op,) = ops(engine, stream)
    assert op.subject == subject


def test_a_stray_CR_costs_the_last_byte_of_a_line_that_ends_in_LF(engine):
    (op,) = ops(engine, b"SUB a\r 12\n")
    assert (op.subject, op.sid, bytes(op)) == ("a", "1", b"SUB a 1\r\n")


@pytest.mark.parametrize(
    ("text", "most"),
    [("5", 5), ("007", 7), ("0", None), ("x", None), ("-1", None), ("1" * 10, None)],
)
def test_values_of_max_that_unsubscribe_at_once(engine, text, most):
    (op,) = ops(engine, f"UNSUB 1 {text}\r\n".encode())
    assert op.max == most


@pytest.mark.parametrize("line", [b"HMSG a 1 12 14", b"hmsg ", b"HMSG a"])
def test_hmsg_from_a_client_is_refused_after_its_line(engine, line):
    """As nats-server 2.15: "parser ERROR, state=41", the end of a payload that it did not read."""
    parser = engine.Parser("client")
    assert parser.feed(line + b"x\r") == []
    with pytest.raises(WireError) as caught:
        parser.feed(b"\n\r\n")
    error = caught.value
    assert (error.reason, error.position, error.resume, error.state) == (
        "payload terminator", len(line) + 3, 0, "payload",
    )  # fmt: skip


# Headers ------------------------------------------------------------------------------------------

HMSG = b"HMSG a 1 r %d %d\r\n%b\r\n"


def hmsg(engine, block, body=b"ok"):
    stream = HMSG % (len(block), len(block) + len(body), block + body)
    (op,) = ops(engine, stream, "server_to_client")
    return op


@pytest.mark.parametrize(
    ("block", "status", "description", "headers"),
    [
        (b"NATS/1.0\r\n\r\n", None, None, ()),
        (b"NATS/1.0 503\r\n\r\n", "503", None, ()),
        (b"NATS/1.0 100 Idle Heartbeat\r\n\r\n", "100", "Idle Heartbeat", ()),
        (b"NATS/1.0\r\nA: b\r\na:c\r\nA:  d  \r\n\r\n", None, None,
         (("A", "b"), ("a", "c"), ("A", "d"))),
        (b"NATS/1.0 404  x y \r\nUrl: http://a:1/?b:c\r\n\r\n", "404", "x y",
         (("Url", "http://a:1/?b:c"),)),
    ],
)  # fmt: skip
def test_headers(engine, block, status, description, headers):
    op = hmsg(engine, block)
    assert (op.status, op.description, op.headers) == (status, description, headers)
    assert (bytes(op.header), bytes(op.body), bytes(op.payload)) == (block, b"ok", b"ok")


@pytest.mark.parametrize(
    "block",
    [b"", b"NATS/2.0\r\n\r\n", b"NATS/1.0\r\n", b"NATS/1.0x\r\n\r\n", b"NATS/1.0\r\nA\r\n\r\n",
     b"NATS/1.0\r\n: a\r\n\r\n", b"NATS/1.0\r\n A: b\r\n\r\n", b"yyy"],
)  # fmt: skip
def test_a_malformed_header_block_is_kept_and_not_parsed(engine, block):
    op = hmsg(engine, block)
    assert (op.status, op.description, op.headers) == (None, None, None)
    assert bytes(op.header) == block
    assert op.as_dict()["headers"] is None


def test_payloads_and_headers_are_views_of_the_input():
    stream = b"HPUB a 12 16\r\nNATS/1.0\r\n\r\nbody\r\n"
    (op,) = subtrie._subtrie.Parser("client").feed(stream)
    for view in (op.payload, op.header, op.body):
        assert isinstance(view, memoryview)
        assert view.readonly
        assert view.obj is stream


# Options ------------------------------------------------------------------------------------------


@pytest.mark.requirement("A66")
def test_options_keep_their_order_and_unknown_names(engine):
    text = b'{"zeta":1,"verbose":true,"alpha":[1,{"b":null}],"Verbose":2,"name":"\xc3\xa9"}'
    (op,) = ops(engine, b"CONNECT  " + text + b" \r\n")
    assert list(op.json) == ["zeta", "verbose", "alpha", "Verbose", "name"]
    assert op.json["alpha"] == [1, {"b": None}]
    assert op.json["name"] == "é"
    assert bytes(op) == b"CONNECT " + text + b"\r\n"


@pytest.mark.requirement("A66")
@pytest.mark.parametrize(
    "text",
    [b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"o":{"a":1,"a":2}}', b"[]", b"null", b"", b"{",
     b'{"a":' * 200 + b"1" + b"}" * 200, b'{"a":%b}' % (b"1" * 1025), b'{"a":NaN}', b"{}x"],
)  # fmt: skip
def test_options_must_be_an_object_with_unique_names(engine, text):
    assert refused(engine, b"INFO " + text + b"\r\n")[0] == "bad json"


@pytest.mark.requirement("A66")
def test_options_may_have_lone_surrogates_and_bytes_that_are_not_utf_8(engine):
    def is_read(text):
        return read(engine, "client", [b"INFO " + text + b"\r\n"])[1] is None

    high, low, byte = b"\\ud800", b"\\udcff", b"\xff"
    for name in (high, low, byte, b"\\\\" + byte):
        assert is_read(b'{"%b":{"%b":["%b",1e999]}}' % (name, name, name)), name
        assert not is_read(b'{"a":[{"%b":1,"b":2,"%b":3}]}' % (name, name)), name
    assert is_read(b'{"%b":1,"%b":2}' % (high, low))
    assert not is_read(b'{"%b":1,"%b":2}' % (byte, low))
    assert not is_read(b'{"\xf0\x9f\x98\x80":1,"\\ud83d\\ude00":2}')
    # A byte beyond ASCII neither is escaped nor stands outside of strings.
    for text in (b'{"\\%b":1}' % byte, b'{"a":%b}' % byte, b'{"a":1}%b' % byte):
        assert not is_read(text), text


@pytest.mark.requirement("A66")
def test_options_may_be_nested_up_to_the_limit(engine):
    for depth in (127, 128):
        line = b'INFO {"a":' + b"[" * depth + b"1" + b"]" * depth + b"}\r\n"
        _, fault, _ = read(engine, "client", [line])
        assert (fault is None) is (depth == 127)


def test_secrets_do_not_show(engine):
    line = b'CONNECT {"user":"u","pass":"hunter2","jwt":"eyJ0","nkey":"U","sig":"s","name":"n"}\r\n'
    (op,) = ops(engine, line)
    assert repr(op).count("[REDACTED]") == 4
    for secret in ("hunter2", "eyJ0"):
        assert secret not in repr(op)
    assert op.json["pass"] == "hunter2"


def test_an_operation_is_immutable(engine):
    (op,) = ops(engine, b"PING\r\n")
    with pytest.raises(AttributeError):
        op.subject = "x"
    assert op != "PING"
    assert op == ops(engine, b"ping \r\n")[0]
    assert op != ops(engine, b"PONG\r\n")[0]
    assert len({op, *ops(engine, b"PING\r\nPING\r\n")}) == 1
