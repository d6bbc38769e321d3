"""Agreement with a running nats-server about which streams are errors."""

from __future__ import annotations

import socket

import pytest
from streams import read

from engines import ENGINES
from examples.shop.broker import running
from subtrie.wire import ServerError

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
