"""Live Go services, recorded between them and the broker: bytes and trace log say the same."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from streams import read

from subtrie.wire import log, traced

CAPTURE = Path(__file__).parents[2] / "examples" / "captures" / "go_live"
CONNS = {"c2s": "client", "s2c": "server_to_client"}


@pytest.fixture(scope="module")
def chunks() -> dict[tuple[int, str], list[bytes]]:
    """The pieces as they were read, by connection and direction."""
    found: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    with gzip.open(CAPTURE / "wire.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            found[row["conn"], row["dir"]].append(b64decode(row["data"]))
    return found


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    return json.loads((CAPTURE / "truth.json").read_text())


def test_S1_001_every_byte_is_accounted_for_by_an_operation(engine, chunks, truth):
    counted: defaultdict[str, int] = defaultdict(int)
    for (_, direction), pieces in chunks.items():
        conn = CONNS[direction]
        operations, fault, parser = read(engine, conn, pieces)
        assert fault is None
        assert parser.complete
        assert b"".join(op.raw for op in operations) == b"".join(pieces)
        for op in operations:
            counted[op.op] += 1
            again, _, _ = read(engine, conn, [bytes(op)])
            assert again == [op]
            # The broker writes a blank behind its INFO, Go's client where none is needed.
            assert bytes(op) == op.raw or op.op in ("INFO", "SUB", "UNSUB")
    totals = truth["totals"]
    assert counted["PUB"] + counted["HPUB"] == totals["published"]
    assert counted["MSG"] + counted["HMSG"] == totals["delivered"]
    assert (counted["SUB"], counted["UNSUB"]) == (totals["subscribed"], totals["unsubscribed"])


def test_the_trace_log_says_the_same_as_the_bytes(chunks, truth):
    """INFO is never traced, what the broker does by itself is extra, and payloads are cut."""
    import subtrie._subtrie as engine

    traced_ops: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    with (CAPTURE / "trace.log").open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            record = log.parse_line(line.rstrip("\n"))
            operation = None if record is None else traced.operation(record)
            if operation is not None:
                traced_ops[record.peer, record.direction].append(operation)
    compared = 0
    for service in truth["services"]:
        for direction, way in (("c2s", "in"), ("s2c", "out")):
            operations, _, _ = read(engine, CONNS[direction], chunks[service["conn"], direction])
            wanted = [op.as_dict() for op in operations if op.op != "INFO"]
            for row in wanted:
                for key in ("payload_b64", "status", "description", "headers"):
                    row.pop(key, None)
            assert traced_ops[service["server_sees"], way] == wanted
            compared += len(wanted)
    assert compared > 2000
