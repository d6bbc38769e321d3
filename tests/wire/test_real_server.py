"""Agreement with a running nats-server about which streams are errors."""

from __future__ import annotations

import socket
import time

import pytest
from streams import read

from engines import ENGINES
from examples.shop.broker import running
from servers import serving
from subtrie import wire
from subtrie.wire import ServerError
from subtrie.wire.conversation import check

STREAMS = [
    b"", b"\r\n", b" PING\r\n", b"PINGS\r\n", b"Px", b"ping\t x\n", b"+OKay\r\n", b"-Ex\r\n",
    b"SUB\r\n", b"SUB  \r\n", b"SUB a\r\n", b"SUB a b c d\r\n", b"SUB a 1\r\n", b"sub\ta\tq 1 \n",
    b"SUB \na 1\r\n", b"SUB a\rb 1\r\n", b"SUB a\r 12\n", b"SUB a\xff 1\r\n", b"UNSUB\r\n",
    b"UNSUB \r\n",
    b"UNSUB 1 x\r\n", b"UNSUB 1 2 3\r\n", b"PUB a\r\n", b"PUB a -1\r\n", b"PUB a 1e3\r\n",
    b"PUB a 007\r\n1234567\r\n", b"PUB a 1\r\nab\r\n", b"PUB a 1\r\na\n", b"PUB a 1\r\na\rx",
    b"PUB a b c 0\r\n\r\n", b"PUB a\rb 0\r\n\r\n", b"PUB \r 0\r\n\r\n", b"PUB a..b 0\r\n\r\n",
    b"PUB a 1048577\r\n", b"PUB a 1234567890\r\n", b"PUB a 0000000000\r\n\r\n", b"PUBa 0\r\n\r\n",
    b"HPUB a 0 0\r\n\r\n", b"HPUB a 3 2\r\n", b"HPUB a x 2\r\n", b"HPUB a 2\r\n",
    b"HPUB a 12 12\r\nNATS/1.0\r\n\r\n\r\n", b"CONNECT x\r\n", b"CONNECT\r\n", b"CONNECT{}\r\n",
    b"CONNECT {} \r\n", b"INFO {}\r\n", b"INFO x\r\n", b"MSG a 1 0\r\n\r\n", b"RS+ $G a\r\n",
    b"LS+ a\r\n", b"A+ a\r\n", b"RMSG $G a 0\r\n\r\n", b"HMSG a 1 0 0\r\nx",
    b"SUB " + b"a" * 4094 + b" 1\r\n", b"SUB " + b"a" * 4095 + b" 1\r\n", b"Z",
]  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with running(tmp_path_factory.mktemp("broker")) as broker:
        host, _, port = broker.url.removeprefix("nats://").rpartition(":")
        yield host, int(port)


def server_takes(address, stream: bytes) -> bool:
    """Return whether the server still answers a PING after these bytes."""
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nPING\r\n')
        heard = b""
        while b"PONG\r\n" not in heard:
            heard += connection.recv(65536)
        connection.sendall(stream + b"PING\r\n")
        heard = b""
        while b"PONG\r\n" not in heard:
            try:
                data = connection.recv(65536)
            except ConnectionError:
                return False
            if not data:
                return False
            heard += data
        return True


@pytest.mark.parametrize("stream", STREAMS, ids=range(len(STREAMS)))
def test_the_broker_and_both_parsers_agree(address, stream):
    takes = server_takes(address, stream)
    for engine in ENGINES.values():
        operations, fault, parser = read(engine, "client", [stream + b"PING\r\n"])
        assert (fault is None and parser.complete) is takes, (operations, fault)


def conversation(address, *sent: bytes) -> bytes:
    """Return what the server says between the INFO and the PONG that follows the bytes."""
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(b"".join(sent) + b"PING\r\n")
        heard = b""
        while not heard.endswith(b"PONG\r\n"):
            data = connection.recv(65536)
            assert data, heard
            heard += data
        return heard.partition(b"\r\n")[2].removesuffix(b"PONG\r\n")


@pytest.mark.requirement("S4-096")
def test_a_server_says_ok_only_to_a_verbose_client(address):
    steps = (b"SUB a 1\r\n", b"PUB b 0\r\n\r\n", b"UNSUB 1\r\n")
    assert conversation(address, b'CONNECT {"verbose":false}\r\n', *steps) == b""
    verbose = conversation(address, b'CONNECT {"verbose":true}\r\n', *steps)
    assert verbose == b"+OK\r\n" * 4


@pytest.mark.requirement("S4-099")
def test_an_error_arrives_beside_what_goes_on(address):
    """The operation after a refused one is served, and before it was known to be refused."""
    said = conversation(
        address, b'CONNECT {"verbose":false,"pedantic":true}\r\n', b"SUB a 1\r\n",
        b"PUB a..b 1\r\nx\r\n", b"PUB a 2\r\nok\r\n",
    )  # fmt: skip
    for engine in ENGINES.values():
        operations, fault, parser = read(engine, "server_to_client", [said])
        assert fault is None
        assert parser.complete
        error, message = operations
        assert (error.op, message.op, message.body) == ("-ERR", "MSG", b"ok")
        found = ServerError.of(error.message)
        assert found is ServerError.INVALID_PUBLISH_SUBJECT
        assert not found.closes, "the server goes on"


def talked(address, *groups: bytes) -> list[tuple[str, object, int, int]]:
    """Send each group after the answer to the one before; return all steps, with their times.

    The answer to the last group ends with the connection, or with a PONG.
    """
    parsers = {
        "c2s": wire.Parser("client", max_payload=None),
        "s2c": wire.Parser("server_to_client"),
    }
    steps: list[tuple[str, object, int, int]] = []
    # The server may have sent INFO at once, however late this process reads it.
    began = time.monotonic_ns()

    def take(direction: str, data: bytes) -> list[str]:
        found = parsers[direction].feed(data)
        now = time.monotonic_ns() if steps else began
        steps.extend((direction, op, now, 1) for op in found)
        return [op.op for op in found]

    with socket.create_connection(address, timeout=20) as connection:
        for group, answer in ((b"", "INFO"), *((group, "PONG") for group in groups)):
            take("c2s", group)
            connection.sendall(group)
            heard: list[str] = []
            while answer not in heard:
                try:
                    data = connection.recv(65536)
                except ConnectionError:
                    data = b""
                if not data:
                    return steps
                heard = take("s2c", data)
    return steps


def verdicts(steps, **options) -> dict[str, str]:
    return {found.row: found.verdict for found in check(steps, **options)}


@pytest.mark.requirement("S4-030", "S4-041", "S4-077", "S4-083", "S4-098", "S4-107")
def test_a_server_keeps_the_rules_about_its_client(address):
    ping = b"PING\r\n"
    message = b"PUB a 0\r\n\r\n"
    steps = talked(
        address,
        b'CONNECT {"verbose":false,"pedantic":true}\r\n' + ping,
        b"SUB a 1\r\nUNSUB 1 2\r\n" + ping,
        message * 3 + ping,
        b"PUB a..b 0\r\n\r\nPUB a.* 0\r\n\r\n" + ping,
        b"SUB foo. 90\r\n" + ping,
        b"SUB a 2\r\n" + message + ping,
        b"UNSUB 2\r\n" + message + ping,
        message + ping,
        b"PUB a 1048577\r\n" + b"x" * 1048577 + b"\r\n",
    )
    found = verdicts(steps)
    for row in ("S4-030", "S4-041", "S4-077", "S4-083", "S4-098", "S4-107"):
        assert found[row] == "kept", row
    assert "broken" not in found.values()


@pytest.mark.requirement("S4-028", "S4-044", "S4-045", "S4-102")
def test_who_must_authenticate(tmp_path):
    config = "authorization { user: u, password: p, timeout: 1 }"
    with serving(tmp_path, config) as url:
        host, _, port = url.removeprefix("nats://").rpartition(":")
        place = host, int(port)
        right = b'CONNECT {"verbose":false,"user":"u","pass":"p"}\r\nPING\r\n'
        assert verdicts(talked(place, right, b"PING\r\n"))["S4-028"] == "kept"
        without = verdicts(talked(place, b'CONNECT {"verbose":false}\r\n'))
        assert (without["S4-028"], without["S4-098"]) == ("broken", "kept")
        waited = verdicts(talked(place, b""))
        assert (waited["S4-102"], waited["S4-028"]) == ("kept", "not seen")
