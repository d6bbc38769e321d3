"""Every spelling of every operation on every connection, as nats-server reads it."""

from __future__ import annotations

import itertools

import pytest
from streams import read

#: The operations of each connection. The parser of nats-server has one path for all of its peers,
#: and refuses the first letters R, L and A of a client, L of anything but a route or a leaf node,
#: and a delivery to a server. A legacy route has the operations of servers before 2.0.
BY_ALL = ("INFO", "PING", "PONG", "+OK", "-ERR")
OF_CONNECTION = {
    "client": (*BY_ALL, "CONNECT", "PUB", "HPUB", "SUB", "UNSUB"),
    "server_to_client": (*BY_ALL, "MSG", "HMSG"),
    "route": (*BY_ALL, "CONNECT", "PUB", "HPUB", "RS+", "RS-", "RMSG", "HMSG", "LS+", "LS-", "LMSG",
              "A+", "A-"),
    "leaf": (*BY_ALL, "CONNECT", "PUB", "HPUB", "HMSG", "LS+", "LS-", "LMSG", "A+", "A-"),
    "route_legacy": (*BY_ALL, "CONNECT", "PUB", "SUB", "UNSUB", "MSG"),
}  # fmt: skip
NAMES = sorted({name for names in OF_CONNECTION.values() for name in names})
#: The line of these is read before the operation is refused.
REFUSED_LATER = {"client": ["HMSG"]}
#: Names of payloads that a legacy route cannot skip; it keeps any other line that it does not know.
UNKNOWN_PAYLOADS = ("HPUB", "HMSG", "RMSG", "LMSG")

ARGUMENTS = {
    "INFO": " {}", "CONNECT": " {}", "PUB": " a 0", "HPUB": " a 0 0", "SUB": " a 1", "UNSUB": " 1",
    "MSG": " a 1 0", "HMSG": " a 1 0 0", "PING": "", "PONG": "", "+OK": "", "-ERR": " x",
    "RS+": " APP a", "RS-": " APP a", "LS+": " a", "LS-": " a", "RMSG": " APP a 0",
    "LMSG": " a 0", "A+": " APP", "A-": " APP",
}  # fmt: skip
#: On a route an account stands before the subject, and the origin of a leaf node before that.
ON_A_ROUTE = {
    "HMSG": " APP a 0 0", "LS+": " o APP a", "LS-": " APP a", "LMSG": " o APP a 0 0",
}  # fmt: skip
ON_A_LEAF = {"HMSG": " a 0 0"}


def line(conn: str, name: str, spelling: str) -> bytes:
    """Return an operation with the arguments that the connection wants."""
    arguments = ARGUMENTS[name]
    if conn in ("route", "leaf"):
        arguments = {"route": ON_A_ROUTE, "leaf": ON_A_LEAF}[conn].get(name, arguments)
    payload = "\r\n" if name.endswith(("PUB", "MSG")) else ""
    return f"{spelling}{arguments}\r\n{payload}".encode("latin-1")


def spellings(name: str) -> list[str]:
    """Return the name with each letter in each case; a server also reads ``Au`` as ``A-``."""
    cases = [dict.fromkeys((char, char.lower())) for char in name]
    found = ["".join(chars) for chars in itertools.product(*cases)]
    return [*found, "Au", "au"] if name == "A-" else found


def known(conn: str) -> dict[str, str]:
    """Return the operation of each spelling that the connection reads."""
    return {each: name for name in OF_CONNECTION[conn] for each in spellings(name)}


def begun(conn: str, spelling: str) -> int:
    """Return the length of the longest begin that an operation of the connection has too."""
    others = [*known(conn), *(s for name in REFUSED_LATER.get(conn, ()) for s in spellings(name))]
    return max(
        length
        for length in range(len(spelling) + 1)
        if any(other.startswith(spelling[:length]) for other in others)
    )


def test_a_connection_has_no_other_names():
    assert set(ARGUMENTS) == set(NAMES)


@pytest.mark.parametrize("dialect", ["server", "strict"])
@pytest.mark.parametrize("conn", OF_CONNECTION)
def test_every_spelling_is_the_operation(engine, conn, dialect):
    for spelling, name in known(conn).items():
        operations, fault, parser = read(
            engine, conn, [line(conn, name, spelling)], dialect=dialect
        )
        assert fault is None, (spelling, fault)
        assert parser.complete
        assert [(op.op, op.conn) for op in operations] == [(name, conn)], spelling
        assert bytes(operations[0]) == line(conn, name, name), spelling


@pytest.mark.parametrize("conn", OF_CONNECTION)
def test_an_operation_of_another_connection_is_refused_at_its_first_other_byte(engine, conn):
    """A legacy route keeps its line, unless a payload follows."""
    for name in sorted(set(NAMES) - set(OF_CONNECTION[conn])):
        for spelling in spellings(name):
            operations, fault, _ = read(engine, conn, [line(conn, name, spelling)])
            if name in REFUSED_LATER.get(conn, ()):
                assert fault[0] == "payload terminator", spelling
            elif conn != "route_legacy":
                assert fault[1:3] == ("unknown op", begun(conn, spelling)), spelling
            elif name in UNKNOWN_PAYLOADS:
                assert fault[1:3] == ("unknown op", 0), spelling
            else:
                assert fault is None, spelling
                assert [op.op for op in operations] == ["UNKNOWN"], spelling


@pytest.mark.parametrize("conn", sorted(set(OF_CONNECTION) - {"route_legacy"}))
def test_no_other_byte_stands_for_one_of_a_name(engine, conn):
    """The neighbours of each byte, and the one that differs in the bit of the case."""
    reads = known(conn)
    for name in OF_CONNECTION[conn]:
        for spelling in dict.fromkeys((name, name.lower(), *spellings(name)[-2:])):
            for place, char in enumerate(spelling):
                for other in (ord(char) ^ 0x20, ord(char) - 1, ord(char) + 1, ord(char) | 0x80):
                    bent = f"{spelling[:place]}{chr(other)}{spelling[place + 1 :]}"
                    operations, fault, _ = read(engine, conn, [line(conn, name, bent)])
                    if bent in reads:
                        assert [op.op for op in operations] in ([], [reads[bent]]), bent
                    else:
                        assert fault is not None, bent
                        assert fault[1] == "unknown op", bent
