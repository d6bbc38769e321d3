"""Classification of the options of INFO and CONNECT."""

from __future__ import annotations

import gzip
import json
import re
import socket
from base64 import b64decode
from pathlib import Path

import pytest
from streams import read

from examples.shop.broker import find_binary
from patience import PATIENCE
from servers import free_port, serving
from subtrie import wire
from subtrie.wire._connection_options import KNOWN, classify_options

CAPTURE = Path(__file__).parents[2] / "examples" / "captures" / "go_live" / "wire.jsonl.gz"


def of(engine, line, conn="client"):
    operations, fault, _ = read(engine, conn, [line])
    assert fault is None
    return classify_options(operations[0])


@pytest.mark.requirement("A59")
def test_options_are_classified_in_order(engine):
    found = of(
        engine, b'CONNECT {"x":1,"verbose":true,"user":null,"pass":7,"a":{},"lang":"go"}\r\n'
    )
    assert found.known == {"verbose": True, "user": None, "lang": "go"}
    assert list(found.unknown.items()) == [("x", 1), ("a", {})]
    assert found.mistyped == {"pass": 7}


def test_a_boolean_is_not_a_number(engine):
    found = of(engine, b'INFO {"port":true,"headers":1,"proto":1}\r\n')
    assert (found.known, found.mistyped) == ({"proto": 1}, {"port": True, "headers": 1})


def test_every_option_of_live_servers_and_clients_is_known(engine):
    seen = set()
    with gzip.open(CAPTURE, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            data = b64decode(row["data"])
            conn = "client" if row["dir"] == "c2s" else "server_to_client"
            if not data.startswith((b"INFO", b"CONNECT")):
                continue
            for op in read(engine, conn, [data])[0]:
                if op.json is not None:
                    found = classify_options(op)
                    assert not found.unknown
                    assert not found.mistyped
                    assert list(found.known) == list(op.json)
                    seen.add(op.op)
    assert seen == {"INFO", "CONNECT"}


def test_other_operations_have_no_options(engine):
    with pytest.raises(ValueError, match="PING has no options"):
        of(engine, b"PING\r\n")


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """The ports of a real server for clients and for routes."""
    routes = free_port()
    config = f'max_control_line: 1MB\ncluster {{ name: c, listen: "127.0.0.1:{routes}" }}'
    with serving(tmp_path_factory.mktemp("options"), config) as url:
        yield {"CONNECT": int(url.rpartition(":")[2]), "INFO": routes}


def _accepts(port, name, options):
    """Whether the server answers a PING after these options."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as peer:
        lines = peer.makefile("rb")
        lines.readline()  # its own INFO
        if name == "INFO":  # which only servers send
            peer.sendall(b'CONNECT {"verbose":false,"cluster":"c","name":"n"}\r\n')
        peer.sendall(f"{name} {json.dumps(options)}\r\nPING\r\n".encode())
        return b"PONG\r\n" in iter(lines.readline, b"")


_OTHER = {bool: "text", str: 7, int: "text", list: "text"}


@pytest.mark.parametrize("name", KNOWN)
def test_the_server_knows_the_same_options_and_types(ports, name):
    """Bug: the types of two options of routes, and a nonce in CONNECT, which no server reads."""
    differ = {}
    for option, kind in {**KNOWN[name], "made_up": bool}.items():
        wrong = {"verbose": False, option: _OTHER[kind]}
        refused = not _accepts(ports[name], name, wrong)
        (op,) = wire.Parser("client").feed(f"{name} {json.dumps(wrong)}\r\n".encode())
        found = classify_options(op)
        if (bool(found.mistyped), option in found.unknown) != (refused, not refused):
            differ[option] = refused
    # The old name of tls_required, which servers do not read any more.
    assert differ == ({"ssl_required": False} if name == "INFO" else {})


@pytest.mark.parametrize("name", KNOWN)
def test_the_server_reads_no_other_option(ports, name):
    """Of all names of JSON in the server, an object is a wrong value of those alone."""
    names = set(re.findall(rb'json:"([a-z0-9_]+)', find_binary().read_bytes()))
    others = {each.decode() for each in names} - {*KNOWN[name], "verbose"}
    assert len(others) > 500
    assert _accepts(ports[name], name, {"verbose": False} | {each: {} for each in others})
