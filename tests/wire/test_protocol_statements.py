"""Statements of the protocol documents about all protocols, on every kind of connection."""

from __future__ import annotations

import pytest
from streams import CONNS, read

from subtrie import WireError, wire

#: For each connection its operations, each with single spaces, and whether a payload follows.
#: ``-`` stands for the payload ``hi``; the sizes below are those of that payload.
OPERATIONS: dict[str, dict[str, bool]] = {
    "client": {
        'CONNECT {"name":"n"}': False, "PUB a 2": True, "PUB a r 2": True, "HPUB a 0 2": True,
        "HPUB a r 0 2": True, "SUB a 1": False, "SUB a q 1": False, "UNSUB 1": False,
        "UNSUB 1 5": False, "PING": False, "PONG": False,
    },
    "server_to_client": {
        'INFO {"port":1}': False, "MSG a 1 2": True, "MSG a 1 r 2": True, "HMSG a 1 0 2": True,
        "HMSG a 1 r 0 2": True, "PING": False, "PONG": False, "+OK": False,
        "-ERR 'Stale Connection'": False,
    },
    "route": {
        'INFO {"port":1}': False, 'CONNECT {"name":"n"}': False, "RS+ $G a": False,
        "RS+ $G a q 1": False, "RS- $G a": False, "RMSG $G a 2": True, "RMSG $G a + r q 2": True,
        "HMSG $G a 0 2": True, "A+ acc": False, "A- acc": False, "PING": False, "PONG": False,
    },
    "leaf": {
        'INFO {"port":1}': False, "LS+ a": False, "LS+ a q 1": False, "LS- a": False,
        "LMSG a 2": True, "LMSG a r 2": True, "HMSG a 0 2": True, "PING": False, "PONG": False,
    },
    "route_legacy": {
        'INFO {"port":1}': False, 'CONNECT {"name":"n"}': False, "PUB a 2": True,
        "PUB a r 2": True, "SUB a RSID:1:1": False, "SUB a q QRSID:1:1": False,
        "UNSUB RSID:1:1": False, "MSG a 1 2": True, "MSG a RSID:1:1 r 2": True, "PING": False,
        "PONG": False, "+OK": False, "-ERR 'Invalid Subject'": False,
    },
}  # fmt: skip

EACH = [
    pytest.param(conn, line, payload, id=f"{conn}-{line.replace(' ', '_')}")
    for conn, lines in OPERATIONS.items()
    for line, payload in lines.items()
]


def one(engine, conn: str, stream: bytes):
    """Return the one operation of a stream that is complete."""
    operations, fault, parser = read(engine, conn, [stream])
    assert fault is None, fault
    assert parser.complete
    (operation,) = operations
    return operation


def test_every_kind_of_connection_has_its_operations():
    assert set(OPERATIONS) == set(CONNS)


@pytest.mark.requirement("S1-006")
@pytest.mark.parametrize(("conn", "line", "payload"), EACH)
def test_separators_and_case_mean_the_same_on_every_connection(engine, conn, line, payload):
    body = b"hi\r\n" if payload else b""
    plain = one(engine, conn, line.encode() + b"\r\n" + body)
    name, *arguments = line.split(" ")
    if name == "-ERR":
        arguments = [" ".join(arguments)]  # the text of an error has its own blanks
    for between in ("\t", "   ", " \t "):
        for written in (name, name.lower()):
            other = between.join([written, *arguments]).encode() + b"\r\n"
            assert one(engine, conn, other + body) == plain
    assert bytes(plain) == line.encode() + b"\r\n" + body


@pytest.mark.requirement("S1-007", "S1-008")
@pytest.mark.parametrize(("conn", "line", "payload"), EACH)
def test_a_payload_follows_the_lines_that_announce_one_and_no_others(engine, conn, line, payload):
    parser = engine.Parser(conn)
    done = parser.feed(line.encode() + b"\r\n")
    assert (len(done), parser.complete) == ((0, False) if payload else (1, True))
    if payload:
        assert parser.feed(b"hi") == []
        done = parser.feed(b"\r\n")
        assert parser.complete
        assert bytes(done[0].payload) == b"hi"
    else:
        assert done[0].payload is None
    name = line.split(" ")[0]
    assert payload is (name in ("PUB", "HPUB", "MSG", "HMSG", "RMSG", "LMSG"))
    (next_one,) = parser.feed(b"PING\r\n")  # and the next line is read as a line
    assert next_one.op == "PING"


@pytest.mark.requirement("S1-012")
@pytest.mark.parametrize(
    ("conn", "line"),
    [
        ("client", "PUB a {}"), ("client", "HPUB a 0 {}"), ("server_to_client", "MSG a 1 {}"),
        ("server_to_client", "HMSG a 1 0 {}"), ("route_legacy", "PUB a {}"),
        ("route_legacy", "MSG a 1 {}"), ("route", "RMSG $G a {}"), ("leaf", "LMSG a {}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["server", "strict"])
def test_CR_LF_ends_the_payload_of_every_message(engine, conn, line, dialect):
    def fed(size: int, rest: bytes):
        head = line.format(size).encode() + b"\r\n"
        operations, fault, _ = read(engine, conn, [head + rest], dialect=dialect)
        return operations, fault and (fault[1], fault[2] - len(head))

    (only,), fault = fed(4, b"\r\n\r\n\r\n")
    assert (bytes(only.payload), fault) == (b"\r\n\r\n", None)
    for size, rest, place in [
        (1, b"xy\r\n", 1), (1, b"x\n", 1), (1, b"x\r\r", 2), (0, b"\n", 0), (0, b"x", 0),
    ]:  # fmt: skip
        assert fed(size, rest) == ([], ("payload terminator", place)), rest


CLUSTER = [
    (b"RS+ $G a.* q 3\r\n", {"op": "RS+", "account": "$G", "subject": "a.*", "queue": "q"}),
    (b"RMSG $G a + r q 2\r\nok\r\n", {"op": "RMSG", "subject": "a", "reply": "r", "size": 2}),
    (b"A- acc\r\n", {"op": "A-", "account": "acc"}),
]
LEAF = [
    (b"LS+ a.* q 3\r\n", {"op": "LS+", "subject": "a.*", "queue": "q", "weight": 3}),
    (b"LMSG a + r q 2\r\nok\r\n", {"op": "LMSG", "subject": "a", "reply": "r", "size": 2}),
]


@pytest.mark.parametrize(
    ("conn", "stream", "parts"),
    [
        *(pytest.param("route", *row, marks=pytest.mark.requirement("S1-003")) for row in CLUSTER),
        *(pytest.param("leaf", *row, marks=pytest.mark.requirement("S1-005")) for row in LEAF),
    ],
)
def test_the_protocols_between_servers_are_parsed_and_serialised(engine, conn, stream, parts):
    assert conn in wire.cluster.DIALECTS
    operation = one(engine, conn, stream)
    assert {name: getattr(operation, name) for name in parts} == parts
    assert operation.conn == conn
    assert bytes(operation) == stream
    for other in ("client", "server_to_client"):  # clients have no such operations
        with pytest.raises(WireError) as refused:
            engine.Parser(other).feed(stream)
        assert refused.value.cause == "unknown op"


@pytest.mark.requirement("S1-004")
@pytest.mark.parametrize("make", ["Parser", "cluster.Parser"])
def test_the_gateway_protocol_is_named_as_not_covered(engine_in_use, make):
    parser = wire.cluster.Parser if make == "cluster.Parser" else engine_in_use.Parser
    with pytest.raises(ValueError, match="the gateway protocol, between clusters, is not covered"):
        parser("gateway")
    with pytest.raises(ValueError, match="conn must be") as other:
        parser("gateways")
    assert "covered" not in str(other.value)


@pytest.mark.requirement("S1-004")
@pytest.mark.parametrize("conn", ["client", "server_to_client", "leaf"])
@pytest.mark.parametrize("line", [b"RS+ $G a\r\n", b"RS- $G a\r\n", b"RMSG $G a 2\r\nhi\r\n"])
def test_interest_and_messages_of_a_gateway_are_refused_by_other_protocols(engine, conn, line):
    """A gateway speaks of interest and messages as a route does."""
    with pytest.raises(WireError) as refused:
        engine.Parser(conn).feed(line)
    assert refused.value.cause == "unknown op"
    assert refused.value.operations == []
