"""Classification of the options of INFO and CONNECT."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from pathlib import Path

import pytest
from streams import read

from subtrie.wire._connection_options import classify_options

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
