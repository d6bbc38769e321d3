"""Recorded traffic of Go services: the bytes and the trace log of the broker agree."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from streams import read

from subtrie.wire import StreamError, log, read_operations
from subtrie.wire._trace_operations import log_operation

CAPTURE = Path(__file__).parents[2] / "examples" / "captures" / "go_live"
RECORDINGS = Path(__file__).parents[1] / "recordings" / "go_live"
CONNS = {"c2s": "client", "s2c": "server_to_client"}


@pytest.fixture(scope="module")
def chunks() -> dict[tuple[int, str], list[bytes]]:
    """The recorded chunks, by connection and direction."""
    found: dict[tuple[int, str], list[bytes]] = defaultdict(list)
    with gzip.open(CAPTURE / "wire.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            found[row["conn"], row["dir"]].append(b64decode(row["data"]))
    return found


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    return json.loads((CAPTURE / "truth.json").read_text())


@pytest.mark.requirement("S1-001")
def test_every_byte_is_accounted_for_by_an_operation(engine, chunks, truth):
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
            # The broker writes a space after its INFO, and the Go client an optional one.
            assert bytes(op) == op.raw or op.op in ("INFO", "SUB", "UNSUB")
    totals = truth["totals"]
    assert counted["PUB"] + counted["HPUB"] == totals["published"]
    assert counted["MSG"] + counted["HMSG"] == totals["delivered"]
    assert (counted["SUB"], counted["UNSUB"]) == (totals["subscribed"], totals["unsubscribed"])


def test_the_trace_log_agrees_with_the_bytes(chunks, truth):
    """The log has no INFO, but internal operations of the broker; payloads are truncated."""
    import subtrie._subtrie as engine

    traced_ops: defaultdict[tuple[str, str], list[Any]] = defaultdict(list)
    with (CAPTURE / "trace.log").open(encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            record = log.parse_line(line.rstrip("\n"))
            operation = None if record is None else log_operation(record)
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


def test_each_kind_of_message_is_the_payload_of_an_operation(chunks):
    import subtrie._subtrie as engine

    sent = set()
    for (_, direction), pieces in chunks.items():
        if direction == "c2s":
            operations, _, _ = read(engine, "client", pieces)
            for op in operations:
                if op.op in ("PUB", "HPUB"):
                    sent.add((op.subject, op.reply, bytes(op.payload)))
    recorded = RECORDINGS / "messages.jsonl.gz"
    with gzip.open(recorded, "rt") as lines:
        messages = [json.loads(line) for line in lines]
    assert len(messages) == 37
    for row in messages:
        assert (row["subject"], row["reply"], b64decode(row["bytes"])) in sent, row["meaning"]


@pytest.mark.parametrize("name", ["go_live", "go_app"])
def test_every_line_of_a_trace_is_accounted_for(name):
    """Each is an operation, a payload, a message, or an internal operation of the broker."""
    count: Counter[str] = Counter()
    with (CAPTURE.parent / name / "trace.log").open(encoding="utf-8") as lines:
        for line in lines:
            record = log.parse_line(line.rstrip("\n"))
            assert record is not None, line
            if record.direction is None:
                count["sentence"] += 1
            elif record.op in ("MSG_PAYLOAD", "DELSUB"):
                count[record.op] += 1
            else:
                operation = log_operation(record)
                assert operation is not None, line
                again = engine_line(record, operation)
                assert again == [record.op, *record.args], line
                count["operation"] += 1
    rows = list(read_operations(CAPTURE.parent / name / "trace.log"))
    assert [row for row in rows if isinstance(row, StreamError)] == []
    assert len(rows) == count["operation"] > 2000
    assert count["MSG_PAYLOAD"] > 800


def engine_line(record: Any, operation: dict[str, Any]) -> list[str]:
    """The words of a log line, reconstructed from its operation."""
    if "json" in operation:
        assert json.loads(record.args[0]) == operation["json"]
        return [record.op, *record.args]
    parts = {key: value for key, value in operation.items() if value is not None}
    name = parts.pop("op")
    return ["OK" if name == "+OK" else name, *map(str, parts.values())]
