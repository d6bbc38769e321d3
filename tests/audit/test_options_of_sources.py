"""Each option of each data source: what it is by default, and what another value changes.

The sources are driven as Spark does it, in this process; a stream also by Spark.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StringType, StructField, StructType

from subtrie.audit._readers.growing_log import RotatedAwayError
from subtrie.spark import register
from subtrie.spark._sources.monitor_source import MonitorSource
from subtrie.spark._sources.trace_source import TraceSource
from subtrie.spark._sources.wire_source import WireSource
from subtrie.wire import WireError, capture

SOURCES = {"nats-trace": TraceSource, "nats-wire": WireSource, "nats-monitor": MonitorSource}
JWT = "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl"


def line(number: int, conn: int, text: str) -> str:
    return (
        f"[7] 2026/11/21 08:00:00.{number:06} [TRC] 127.0.0.1:{conn} - cid:{conn} - "
        f'"v1:go:a" - {text}\n'
    )


#: A message whose delivery comes later, and a line that is damaged.
FIRST = [
    line(1, 2, "<<- [SUB a 1]"), line(2, 1, "<<- [PUB a 2]"), line(3, 1, '<<- MSG_PAYLOAD: ["hi"]'),
]  # fmt: skip
THEN = [line(4, 2, "->> [MSG a 1 2]"), "junk\n", line(5, 1, "<<- [PING]")]
AFTER = [line(9, 1, "<<- [PONG]")]
JUNK = "not a nats-server line"


@pytest.fixture(autouse=True)
def _three_cores_and_no_pause(monkeypatch):
    monkeypatch.setattr("subtrie.audit._readers.growing_log._PAUSE", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: CORES)


def source(name: str, path: Path, options: dict[str, str]) -> tuple[Any, StructType]:
    """Make a source as Spark does, and its schema."""
    made = SOURCES[name](CaseInsensitiveDict({"path": str(path), **options}))
    columns = re.findall(r"(?:^|, )`?(\w+)`? ", made.schema())
    return made, StructType([StructField(column, StringType()) for column in columns])


def rows(reader: Any, parts: Any) -> list[list[dict[str, Any]]]:
    """Return the rows of each partition."""
    return [[row for batch in reader.read(part) for row in batch.to_pylist()] for part in parts]


def read(name: str, path: Path, options: dict[str, str]) -> list[list[dict[str, Any]]]:
    """Return the rows of each partition of a read without a stream."""
    made, schema = source(name, path, options)
    reader = made.reader(schema)
    return rows(reader, reader.partitions())


def trace(folder: Path, options: dict[str, str]) -> Any:
    """Return what each partition of a log has."""
    log = folder / "nats.log"
    log.write_text("".join(FIRST + THEN))
    return [[shown(row) for row in part] for part in read("nats-trace", log, options)]


def shown(row: dict[str, Any]) -> str:
    """Return the reason of damage or the operation, of a message also its deliveries."""
    if row["reason"] is not None:
        return str(row["reason"])
    return f"PUB {row['deliveries']}" if row["op"] == "PUB" else str(row["op"])


def stream(folder: Path, options: dict[str, str]) -> Any:
    """Return what each partition of three batches has.

    The log grows before the second one; before the third its file is replaced, and lines are lost.
    """
    log = folder / "nats.log"
    log.write_text("".join(FIRST))
    made, schema = source("nats-trace", log, options)
    reader = made.streamReader(schema)
    start, seen = reader.initialOffset(), []
    for then in (FIRST + THEN, AFTER, []):
        try:
            end = reader.latestOffset(start)
        except RotatedAwayError:
            return [*seen, "lost"]
        parts = rows(reader, reader.partitions(start, end))
        seen.append([[shown(row) for row in part] for part in parts])
        start = end
        if then:
            log.write_text("".join(then))
    return seen


def wire(folder: Path, options: dict[str, str]) -> Any:
    """Return what the events of a capture are."""
    return [[shown(row) for row in part] for part in read("nats-wire", captured(folder), options)]


def captured(folder: Path) -> Path:
    """Write a capture with a message without a delivery, a secret, and damage."""
    with capture.Writer(folder / "tap") as writer:
        for conn, data in (
            (1, b'CONNECT {"user":"u","pass":"hunter2"}\r\nSUB a 1\r\n'),
            (2, b"PUB a 2\r\nhi\r\nPUB a five\r\n"),
            (3, b"PING\r\n"),
        ):
            writer.write("opened", conn, b'{"kind":"client"}', at=1)
            writer.write("c2s", conn, data, at=2)
    return folder / "tap"


def operations(folder: Path, options: dict[str, str]) -> Any:
    """Return the number of partitions, and the operations of all."""
    found = read("nats-wire", captured(folder), {"rows": "operations", **options})
    return len(found), sorted(operation(row) for part in found for row in part)


def operation(row: dict[str, Any]) -> str:
    """Return the reason of damage or the operation; of CONNECT the password."""
    if row["op"] == "CONNECT":
        return str(json.loads(row["json"])["pass"])
    return str(row["reason"] or row["op"])


def one_direction(folder: Path, options: dict[str, str]) -> Any:
    """Return the operations of each partition of the bytes of one direction."""
    file = folder / "bytes"
    file.write_bytes(b"MSG a 1 2\r\nhi\r\n")
    found = read("nats-wire", file, {"rows": "operations", **options})
    return [[operation(row) for row in part] for part in found]


def monitor(folder: Path, options: dict[str, str]) -> Any:
    """Return what the events of each snapshot are."""
    return [[shown(row) for row in part] for part in read("nats-monitor", saved(folder), options)]


def saved(folder: Path) -> Path:
    """Write a snapshot with a secret in a name, and one that is damaged."""
    (folder / "saved").mkdir(exist_ok=True)
    listed = [{"cid": 8, "name": JWT, "subscriptions_list_detail": [{"subject": "a", "sid": "1"}]}]
    page = {"server_id": "A", "connections": listed}
    (folder / "saved" / "connz.json").write_text(json.dumps(page))
    (folder / "saved" / "other.json").write_text("{}")
    return folder / "saved"


def subscriptions(folder: Path, options: dict[str, str]) -> Any:
    """Return the names of the connections that subscribed."""
    found = read("nats-monitor", saved(folder), {"rows": "subscriptions", **options})
    return [[row["reason"] or row["name"] for row in part] for part in found]


LOG = [["SUB", "PUB 1", "MSG", JUNK, "PING"]]
WAITS, COMES = [["SUB"]], [["PUB 1", "MSG", JUNK, "PING"]]
WIRE = ["bad size", "CONNECT", "SUB", "PING", "PUB None"]
TAP = ["PING", "PUB", "SUB", "[REDACTED]", "bad size"]
SNAPSHOTS = [["CONNECT", "SUB"], ["monitor"]]
NAMES = [["[REDACTED]"], ["monitor"]]
CORES = 3
#: What reads, and of each option what is seen without it and with each other value. An error is
#: its text.
OPTIONS: list[tuple[Callable[..., Any], str, dict[str | None, Any]]] = [
    (trace, "splitBytes", {None: LOG, "1000": LOG, "300": [LOG[0][:2], LOG[0][2:]]}),
    (trace, "mode", {
        None: LOG, "PERMISSIVE": LOG, "DROPMALFORMED": [["SUB", "PUB 1", "MSG", "PING"]],
        "FAILFAST": JUNK,
    }),
    (stream, "complete", {
        None: [WAITS, COMES, "lost"], "false": [WAITS, COMES, "lost"],
        "true": [[["SUB", "PUB 0"]], [COMES[0][1:]], "lost"],
    }),
    (stream, "failOnDataLoss", {
        None: [WAITS, COMES, "lost"], "true": [WAITS, COMES, "lost"],
        "false": [WAITS, COMES, [["PONG"]]],
    }),
    (stream, "splitBytes", {
        None: [WAITS, COMES, "lost"],
        "100": [WAITS, [["PUB 1"], ["MSG"], [JUNK, "PING"]], "lost"],
    }),
    (stream, "mode", {
        None: [WAITS, COMES, "lost"], "DROPMALFORMED": [WAITS, [["PUB 1", "MSG", "PING"]], "lost"],
        "FAILFAST": JUNK,
    }),
    (wire, "complete", {None: [WIRE], "false": [WIRE], "true": [[*WIRE[:4], "PUB 0"]]}),
    (wire, "mode", {
        None: [WIRE], "DROPMALFORMED": [WIRE[1:]], "FAILFAST": "a size is written in one to nine",
    }),
    (operations, "splits", {None: (CORES, TAP), "1": (1, TAP), "5": (5, TAP)}),
    (operations, "reveal", {
        None: (CORES, TAP), "false": (CORES, TAP),
        "true": (CORES, sorted(["hunter2", *(each for each in TAP if each != "[REDACTED]")])),
    }),
    (operations, "mode", {
        None: (CORES, TAP), "DROPMALFORMED": (CORES, TAP[:-1]),
        "FAILFAST": "a size is written in one to nine",
    }),
    (one_direction, "conn", {
        None: "the file is not a capture", "client": [["unknown op"]],
        "server_to_client": [["MSG"]], "route": [["unknown op"]], "route_legacy": [["MSG"]],
    }),
    (monitor, "mode", {
        None: SNAPSHOTS, "DROPMALFORMED": [SNAPSHOTS[0], []], "FAILFAST": "not a monitoring",
    }),
    (subscriptions, "reveal", {None: NAMES, "false": NAMES, "true": [[JWT], NAMES[1]]}),
    (subscriptions, "mode", {
        None: NAMES, "DROPMALFORMED": [NAMES[0], []], "FAILFAST": "not a monitoring",
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "option", "value", "wanted"),
    [(seen, option, value, wanted) for seen, option, found in OPTIONS
     for value, wanted in found.items()],
)  # fmt: skip
def test_an_option_has_its_default_and_its_effect(tmp_path, seen, option, value, wanted):
    options = {} if value is None else {option: value}
    if isinstance(wanted, str):
        with pytest.raises((ValueError, WireError), match=wanted):
            seen(tmp_path, options)
    else:
        assert seen(tmp_path, options) == wanted


def test_every_option_of_the_page_is_one_of_these():
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
    told = {
        option
        for row in re.findall(r"^\| `nats-.*\| (`.*) \|$", page, re.MULTILINE)
        for option in re.findall(r"`(\w+)`", row)
    }
    assert {"mode", "failOnDataLoss", *told} == {option for _, option, _ in OPTIONS}


def test_a_stream_of_spark_without_options_waits_for_the_delivery_of_a_message(spark, tmp_path):
    register(spark)
    log = tmp_path / "nats.log"
    log.write_text("".join(FIRST))
    made = spark.readStream.format("nats-trace").load(str(log)).select("op", "deliveries")
    query = made.writeStream.format("memory").queryName("waiting").start()
    try:
        query.processAllAvailable()
        log.write_text("".join(FIRST + THEN))
        query.processAllAvailable()
        found = spark.table("waiting").where("op = 'PUB'").collect()
    finally:
        query.stop()
    assert [row.deliveries for row in found] == [1]
