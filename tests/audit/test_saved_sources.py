"""The data sources ``nats-wire`` and ``nats-monitor`` in a real Spark session."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import StringType, StructField, StructType

from subtrie import PatternError
from subtrie.audit._readers.capture_events import INPUT_BITS
from subtrie.audit._readers.file_source import (
    apply_mode,
    damage_kept,
    flag,
    given_paths,
    mode_of,
    paths_of,
    rows_of,
)
from subtrie.audit._readers.log_files import (
    input_digest,
    input_files,
    input_kind,
    log_files,
    log_size,
    shown_path,
)
from subtrie.audit._schema import EVENTS, TABLE_KEYS
from subtrie.spark import audit, decode, match
from subtrie.spark import events as as_events
from subtrie.spark._decode import FIELDS
from subtrie.spark._lake import _merge
from subtrie.spark._match import pattern_lines
from subtrie.spark._sources.monitor_source import SCHEMA as MONITOR
from subtrie.spark._sources.monitor_source import MonitorReader
from subtrie.spark._sources.trace_source import TraceSourceReader
from subtrie.spark._sources.trace_stream import TraceStreamReader
from subtrie.spark._sources.wire_source import SCHEMA as WIRE
from subtrie.spark._sources.wire_source import CaptureEventsReader, WireReader
from subtrie.wire import OperationRow, capture, read_operations

GO_LIVE = Path(__file__).parents[2] / "examples" / "captures" / "go_live"
JWT = "eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJB.c2lnbmF0dXJl"


def here(path: Path, schema: str = WIRE, **options: str) -> list[dict[str, Any]]:
    """Return the rows of every partition, as the reader of the data source yields them."""
    kind = MonitorReader if schema == MONITOR else WireReader
    fields = [StructField(column.split(" ")[0], StringType()) for column in schema.split(", ")]
    given = {"rows": "subscriptions" if schema == MONITOR else "operations", **options}
    reader = kind(StructType(fields), {"path": str(path), **given})
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("name", ["splitBytes", "splitbytes", "SPLITBYTES"])
def test_split_bytes_of_nats_trace_is_obeyed_in_any_case(session, name):
    """Bug: the option was ignored, because Spark passes the names of options in lower case."""
    log = GO_LIVE / "trace.log"
    size = log.stat().st_size
    reader = session.read.format("nats-trace")
    assert reader.load(str(log)).rdd.getNumPartitions() == 1
    split = reader.option(name, size // 4)
    assert split.load(str(log)).rdd.getNumPartitions() == 5


@pytest.mark.parametrize(
    ("reader", "options", "told"),
    [
        (TraceSourceReader, {"PATH": "/log", "splitBytes": "x"}, "invalid literal"),
        (WireReader, {"Path": "/log", "CONN": "server"}, "conn must be one of"),
        (WireReader, {"Path": "/log", "Splits": "0"}, "splits must be"),
        (MonitorReader, {"Path": "/log", "Mode": "LENIENT"}, "mode must be one of"),
        (
            MonitorReader,
            {"Path": "/log", "REVEAL": "yes"},
            "reveal must be true or false, not 'yes'",
        ),
        (WireReader, {"Path": "/log", "Reveal": "1"}, "reveal must be true or false, not '1'"),
        (CaptureEventsReader, {"Path": "/log", "Complete": "on"}, "complete must be true or false"),
        (TraceStreamReader, {"Path": "/log", "failondataloss": ""}, "failOnDataLoss must be true"),
    ],
)
def test_names_of_options_are_case_insensitive(reader, options, told):
    with pytest.raises(ValueError, match=told):
        reader(StructType([]), options)


@pytest.mark.parametrize(("text", "meant"), [("TRUE", True), ("true", True), ("False", False)])
def test_flags_may_be_written_in_any_case(text, meant):
    reader = WireReader(StructType([]), {"path": "/log", "reveal": text})
    assert reader._reveal is meant


def test_every_operation_is_a_row(session, folder):
    wire = session.read.format("nats-wire").option("rows", "operations")
    df = wire.option("splits", 3).load(str(folder))
    assert df.rdd.getNumPartitions() == 3
    rows = decode(df.drop("payload").where("op != 'PONG'"), "subject").collect()

    def order(row: Any) -> Any:
        return (row[0], row[1], row[2])

    found = [(row.conn, row.direction, row.pos, row.op, row.subject, row.size) for row in rows]
    wanted = [
        (row.conn, row.direction, row.op.offset, row.op.op, row.op.subject, row.op.size)
        for row in read_operations(folder)
        if isinstance(row, OperationRow) and row.op.op != "PONG"
    ]
    assert sorted(found, key=order) == sorted(wanted, key=order)
    truth = json.loads((GO_LIVE / "truth.json").read_text())["totals"]
    count = Counter(row.op for row in rows)
    assert count["PUB"] + count["HPUB"] == truth["published"]
    assert count["MSG"] + count["HMSG"] == truth["delivered"]
    first = min(rows, key=lambda row: row.time)
    assert (first.op, first.time.year) == ("INFO", 1970)
    assert json.loads(first.json)["server_id"]
    assert sum(row.address is not None for row in rows if row.op == "PUB") > 100


def test_any_number_of_splits_and_any_subset_of_columns(folder):
    schema = "pos bigint, conn bigint, subject string, payload binary"
    one, many = (here(folder, schema, splits=splits) for splits in ("1", "5"))
    assert list(one[0]) == ["pos", "conn", "subject", "payload"]
    rows = [sorted(map(repr, rows)) for rows in (one, many)]
    assert rows[0] == rows[1]
    assert max(len(row["payload"] or b"") for row in one) > 100_000


def test_bytes_of_one_direction(tmp_path):
    file = tmp_path / "sent"
    file.write_bytes(
        b'CONNECT {"user":"u","pass":"hunter2"}\r\nSUB a\xff.b q 1\r\n'
        b"HPUB a 20 %d\r\nNATS/1.0\r\nKey: \xff\r\n\r\n%b\r\n" % (len(JWT) + 20, JWT.encode())
    )
    connect, sub, pub = here(file, conn="client")
    assert json.loads(connect["json"]) == {"user": "u", "pass": "[REDACTED]"}
    assert (sub["subject"], sub["queue"], sub["sid"]) == ("a\\xff.b", "q", "1")
    assert pub["payload"].endswith(b"*" * len(JWT))
    connect, _, pub = here(file, conn="client", reveal="true")
    assert json.loads(connect["json"])["pass"] == "hunter2"
    assert pub["payload"].endswith(JWT.encode())
    file.write_bytes(b"HMSG a 1 20 20\r\nNATS/1.0\r\nKey: \xff\r\n\r\n\r\n")
    (message,) = here(file, conn="server_to_client")
    assert message["headers"] == [{"name": "Key", "value": "\\xff"}]
    assert (message["header_size"], message["size"], message["payload"]) == (20, 20, b"")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    with capture.Writer(tmp_path / "damaged") as writer:
        writer.write("opened", 1, b'{"kind":"client"}', at=1)
        writer.write("c2s", 1, b"PING\r\nPUB a five\r\n", at=2)
        writer.write("c2s", 2, b"PUB a 5\r\nhe", at=3)
        writer.write("s2c", 2, b"PONG\r\n", at=4)
        writer.write("s2c", 3, b"PONG\r\n", at=5)
    (file,) = capture.files(writer.folder)
    records = list(capture.read(file))
    data = bytearray(file.read_bytes())
    data[records[3].offset + 12] ^= 1
    file.write_bytes(data)
    return writer.folder


def test_damage_by_mode(session, damaged):
    rows = here(damaged, splits="2")
    told = sorted((row["conn"] or 0, row["op"] or "", row["reason"] or "") for row in rows)
    assert told == [
        (0, "", "record"), (1, "", "bad size"), (1, "PING", ""), (2, "", "torn"), (3, "PONG", ""),
    ]  # fmt: skip
    assert sorted(row["op"] for row in here(damaged, mode="dropmalformed")) == ["PING", "PONG"]
    with pytest.raises(PySparkException, match=r"corrupt|protocol error|the stream ends"):
        session.read.format("nats-wire").option("mode", "FAILFAST").load(str(damaged)).collect()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"path": "/nowhere"}, "nowhere"),
        ({"path": "/nowhere/*.capture"}, "no file matches"),
        ({"mode": "LENIENT"}, "mode must be one of"),
        ({"conn": "server"}, "conn must be one of"),
        ({"splits": "0"}, "splits must be"),
    ],
)
def test_unreadable_input_is_reported(folder, options, told):
    with pytest.raises((ValueError, OSError), match=told):
        here(**{"path": folder, **options})


@pytest.mark.parametrize(("reader", "inputs"), [(WireReader, "operations"),
                                               (CaptureEventsReader, "events"),
                                               (MonitorReader, "events")])  # fmt: skip
def test_an_input_that_is_missing_is_an_error_of_the_plan(tmp_path, reader, inputs):
    given = json.dumps([str(GO_LIVE / "trace.log"), str(tmp_path / "missing")])
    made = reader(StructType([]), {"paths": given, "rows": inputs})
    with pytest.raises(FileNotFoundError, match="missing"):
        made.partitions()


def test_the_time_of_an_operation_is_in_whole_microseconds(tmp_path):
    with capture.Writer(tmp_path / "tap") as writer:
        writer.write("c2s", 1, b"PING\r\n", at=5_000_001_999)
    (row,) = here(tmp_path / "tap")
    assert row["time"] == datetime(1970, 1, 1, 0, 0, 5, 1, UTC)


def test_the_positions_of_events_begin_with_the_number_of_their_input(tmp_path):
    for name in ("a", "b"):
        with capture.Writer(tmp_path / name) as writer:
            writer.write("c2s", 1, b"SUB a 1\r\n", at=1)
        (tmp_path / f"{name}.json").write_text(json.dumps(CONNZ))
    schema = StructType([StructField("position", StringType())])
    for reader, suffix in ((CaptureEventsReader, ""), (MonitorReader, ".json")):
        paths = [str(tmp_path / f"{name}{suffix}") for name in ("a", "b")]
        made = reader(schema, {"paths": json.dumps(paths)})
        found = [row["position"] >> INPUT_BITS for part in made.partitions()
                 for batch in made.read(part) for row in batch.to_pylist()]  # fmt: skip
        assert (found, set(found)) == (sorted(found), {0, 1})


CONNZ: dict[str, Any] = {
    "server_id": "A", "now": "2026-11-21T00:00:00Z", "num_connections": 1, "total": 2,
    "offset": 0, "limit": 1, "connections": [{"cid": 8, "name": "shop", "authorized_user": "u",
    "jwt": JWT, "subscriptions_list_detail": [
        {"account": "$G", "subject": "a.>", "qgroup": "q", "sid": "1", "msgs": 7, "max": 9},
        {"subject": "b", "sid": "2", "msgs": 0}]}],
}  # fmt: skip


def test_snapshots(session, tmp_path):
    (tmp_path / "connz.json").write_text(json.dumps(CONNZ))
    routez = {"server_id": "B", "routes": [{"rid": 5, "subscriptions_list": ["c.*"]}]}
    (tmp_path / "routez.json").write_text(json.dumps(routez))
    monitor = session.read.format("nats-monitor").option("rows", "subscriptions")
    df = monitor.load(str(tmp_path))
    assert df.rdd.getNumPartitions() == 2
    one, two, three = sorted(df.collect(), key=lambda row: row.subject)
    assert (one.endpoint, one.complete, one.server, one.kind, one.id) == (
        "connz", False, "A", "client", 8,
    )  # fmt: skip
    assert (one.name, one.user, one.account, one.subject, one.queue, one.sid) == (
        "shop", "u", "$G", "a.>", "q", "1",
    )  # fmt: skip
    assert (one.delivered, one.max, one.now, one.reason) == (7, 9, CONNZ["now"], None)
    assert (two.subject, two.queue) == ("b", None)
    assert (three.endpoint, three.kind, three.id, three.complete) == ("routez", "route", 5, True)


def test_secrets_of_snapshots_are_redacted_unless_they_are_asked_for(tmp_path):
    (connection,) = CONNZ["connections"]
    named = {**CONNZ, "connections": [{**connection, "name": JWT}]}
    (tmp_path / "connz.json").write_text(json.dumps(named))
    for options, name in (({}, "[REDACTED]"), ({"reveal": "true"}, JWT)):
        assert {row["name"] for row in here(tmp_path, MONITOR, **options)} == {name}


def test_of_a_folder_only_json_files_are_snapshots(tmp_path):
    (tmp_path / "connz.json").write_text(json.dumps(CONNZ))
    (tmp_path / "README.md").write_text("not a snapshot")
    (tmp_path / "connz.json.old").write_text(json.dumps(CONNZ))
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "connz.json").write_text(json.dumps(CONNZ))
    rows = here(tmp_path, MONITOR, mode="FAILFAST")
    assert {row["file"] for row in rows} == {str(tmp_path / "connz.json")}


def test_a_file_that_is_not_a_snapshot_by_mode(tmp_path):
    (tmp_path / "connz.json").write_text(json.dumps(CONNZ))
    (tmp_path / "other.json").write_text("{}")
    assert [row["reason"] for row in here(tmp_path, MONITOR)] == [None, None, "monitor"]
    assert len(here(tmp_path, MONITOR, mode="DROPMALFORMED")) == 2
    with pytest.raises(ValueError, match=r"other.json: not a monitoring response"):
        here(tmp_path, MONITOR, mode="FAILFAST")
    assert len(here(tmp_path / "con*.json", MONITOR)) == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    for given in (empty, tmp_path / "*"):  # the pattern names the files beside it, too
        with pytest.raises(FileNotFoundError, match=rf"no \*.json in {empty}"):
            here(given, MONITOR)


TRACE = ", ".join(f"{name} {kind}" for name, kind in EVENTS)
DAMAGED = (
    "[7] 2026/11/21 08:00:00.000001 [TRC] 1.2.3.4:5 - cid:1 - <<- [PUB a 2]\n"
    "junk\n"
    "[7] 2026/11/21 08:00:00.000002 [TRC] 1.2.3.4:5 - cid:1 - <<- [PING]\n"
)


def events(path: Path, schema: str = TRACE, **options: str) -> list[dict[str, Any]]:
    """Return the rows of every partition of a trace log."""
    fields = [StructField(column.split(" ")[0], StringType()) for column in schema.split(", ")]
    reader = TraceSourceReader(StructType(fields), {"path": str(path), **options})
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return [row for batch in batches for row in batch.to_pylist()]


def test_events_of_a_trace_log(session):
    log = GO_LIVE / "trace.log"
    df = session.read.format("nats-trace").option("splitBytes", 300_000).load(str(log))
    assert [(field.name, field.dataType.simpleString()) for field in df.schema] == list(EVENTS)
    rows = df.where("op = 'PUB' or op = 'HPUB'").select("time", "deliveries", "refused").collect()
    truth = json.loads((GO_LIVE / "truth.json").read_text())["totals"]
    assert len(rows) == truth["published"]
    assert sum(row.deliveries for row in rows) == truth["delivered"]
    assert min(row.time for row in rows).year == 2026


def test_modes_of_a_trace_log(session, tmp_path):
    path = tmp_path / "trace.log"
    path.write_text(DAMAGED)
    rows = events(path)
    assert [(row["offset"], row["op"], row["reason"], row["_corrupt_record"]) for row in rows] == [
        (0, "PUB", None, None),
        (71, None, "not a nats-server line", "junk"),
        (76, "PING", None, None),
    ]
    assert [row["op"] for row in events(path, mode="dropMalformed")] == ["PUB", "PING"]
    assert events(path, "op string, server string", mode="DROPMALFORMED")[0].keys() == {
        "op", "server",
    }  # fmt: skip
    with pytest.raises(PySparkException, match="byte 71: not a nats-server line"):
        session.read.format("nats-trace").option("MODE", "FAILFAST").load(str(path)).collect()


def test_directories_patterns_and_rotation_of_trace_logs(tmp_path):
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(DAMAGED.replace("PUB a", f"PUB {name}"))
    assert len(events(tmp_path)) == 6
    rows = events(tmp_path / "[ab].log", "server string, file string, subject string")
    assert len({row["server"] for row in rows}) == 2
    assert {Path(row["file"]).name for row in rows} == {"a.log", "b.log"}
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileNotFoundError, match="no log in"):
        events(empty)


def test_a_trace_log_that_becomes_shorter_is_reported(tmp_path):
    path = tmp_path / "trace.log"
    path.write_text(DAMAGED)
    reader = TraceSourceReader(StructType([StructField("op", StringType())]), {"path": str(path)})
    (part,) = reader.partitions()
    path.write_text("")
    with pytest.raises(OSError, match="became shorter"):
        list(reader.read(part))


@pytest.mark.parametrize("end", ["\n", ""])
def test_rotated_files_of_one_server_are_one_log(tmp_path, end):
    """Bug: rotated files were taken for the logs of several servers."""
    lines = (GO_LIVE / "trace.log").read_text().splitlines(keepends=True)
    lines = [f"[7] {line.partition('] ')[2]}" for line in lines]
    whole = tmp_path / "whole.log"
    whole.write_text("".join(lines))
    folder = tmp_path / "rotated"
    folder.mkdir()
    for name, start, stop in (("n.log.1", 1000, 2500), ("n.log", 2500, None), ("n.log.2", 0, 1000)):
        part = "".join(lines[start:stop])
        (folder / name).write_text(part.removesuffix("\n") + end if stop else part)
    expected = sorted(events(whole), key=lambda row: row["position"])
    for split in (10**9, 150_000):
        found = sorted(events(folder, splitBytes=str(split)), key=lambda row: row["position"])
        assert {row["server"] for row in found} == {expected[0]["server"]}
        oldest = [row["offset"] for row in found if row["file"].endswith("n.log.2")]
        assert oldest == [row["offset"] for row in expected][: len(oldest)]
        assert len(oldest) > 500
        before = len("".join(lines[:2500]).encode())
        newest = [row for row in found if row["file"].endswith("n.log")]
        assert {row["position"] - row["offset"] for row in newest} == {before}
        assert list(map(anywhere, found)) == list(map(anywhere, expected))


def anywhere(row: dict[str, Any]) -> dict[str, Any]:
    """Return an event without the columns that name a file."""
    return {name: value for name, value in row.items() if name not in ("file", "offset")}


def test_logs_of_two_servers_in_one_folder_are_two_logs(tmp_path):
    for name, pid in (("n.log", 7), ("n.log.1", 8), ("other.log", 7)):
        (tmp_path / name).write_text(
            DAMAGED.replace("[7]", f"[{pid}]").replace("PUB a", "PUB " + name)
        )
    assert len({row["server"] for row in events(tmp_path)}) == 3


def test_a_table_of_messages_becomes_events(session):
    subject = "p1.safe.443.a_com.b_com._.GET.x"
    bad = "p1.safe.443.A_com.b_com._.GET.x"
    rows = [(subject, "a.com", 5), (subject, "evil.com", 7), (bad, None, 1)]
    df = session.createDataFrame(rows, "topic string, host string, size int")
    found = as_events(df, subject="topic", identity="host")
    assert found.columns == [name for name, _ in EVENTS]
    with audit(session, found) as result:
        (edge,) = result.rows("call_graph")
        assert (edge["published"], edge["bytes"], edge["instances"]) == (2, 12, 2)
        assert [row["who"] for row in result.rows("spoofed")] == ["evil.com"]
        assert [row["subject"] for row in result.rows("malformed")] == [bad]
        assert list(result.rows("undelivered")) == []
    with pytest.raises(ValueError, match="no column 'subject'; the columns are: topic, host, size"):
        as_events(df)
    with pytest.raises(ValueError, match="must hold strings, not int"):
        decode(df, "size")
    with pytest.raises(ValueError, match=r"not a table of events.*events\(df, subject="):
        audit(session, df)


def test_every_slot_of_a_subject_is_a_field(session):
    subjects = [
        "prod.safe.443.web_shop.orders_shop.id-7f.GET.a.b%20c",
        "prod.danger.666.web_shop.orders_shop._.POST._",
        "prod.reply._.orders_shop.web_shop.id-7f",
        "prod.safe.666.web_shop.orders_shop._.GET.a",
        None,
    ]
    df = session.createDataFrame([(n, text) for n, text in enumerate(subjects)], "n int, s string")
    rows = [row.address for row in decode(df, "s").orderBy("n").collect()]
    assert list(rows[0].asDict()) == [name for name, _ in FIELDS]
    request = ("request", "prod", "safe", 443, "web.shop", "orders.shop", "id-7f", "GET", "/a/b c")
    assert rows[0] == (*request, None, "microbus-request")
    root = ("request", "prod", "danger", 666, "web.shop", "orders.shop", "", "POST", "/")
    assert rows[1] == (*root, None, "microbus-request")
    reply = ("reply", "prod", "reply", None, "orders.shop", "web.shop", "id-7f", None, None)
    assert rows[2] == (*reply, None, "microbus-reply")
    assert rows[3] == (None,) * 9 + ("trust", "other")
    assert rows[4] is None


def test_patterns_may_be_a_list_and_are_checked_first(session):
    df = session.createDataFrame([("a.b",), ("c",)], "subject string")
    rows = {row.subject: row for row in match(df, ["a.*", "b.>"]).collect()}
    assert rows["a.b"].matched == ["a.*"]
    assert (rows["c"].nearest, rows["c"].differs_at) == ("a.*", 0)
    with pytest.raises(PatternError):
        match(df, ["a..b"])
    with pytest.raises(ValueError, match="there is no column 'topic'"):
        match(df, ["a.*"], "topic")


def test_patterns_of_a_table_are_in_the_order_of_its_columns_and_are_checked_first(session):
    """Bug: of a table they were not checked: a line feed in one made two patterns of it."""
    rows = [("b.*", "s2", 1), (">", "s1", 9), ("a.b", "s1", 7), ("a.b", "s3", 0), (">", "s2", 2)]
    table = session.createDataFrame(rows, "pattern string, server string, start int")
    for columns, order in (
        (["pattern"], ">,a.b,b.*"),
        (["pattern", "server"], ">,a.b,b.*"),
        (["start", "pattern"], "a.b,b.*,>"),
        (["pattern", "server", "start"], "a.b,>,b.*"),
    ):
        assert pattern_lines(table.select(*columns)).decode().split() == order.split(",")
    subjects = session.createDataFrame([("a.b",)], "subject string")
    with pytest.raises(PatternError, match="whitespace"):
        match(subjects, session.createDataFrame([("a.*",), ("a\nb",)], "pattern string"))
    with pytest.raises(ValueError, match="has a row that is null"):
        match(subjects, session.createDataFrame([("a.*",), (None,)], "pattern string"))


def test_of_a_folder_of_logs_the_files_are_logs_and_folders_in_it_are_not(tmp_path):
    for name in ("b.log", "a.log", "old/c.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(DAMAGED)
    (tmp_path / "link").symlink_to(tmp_path / "old")
    logs = [str(tmp_path / "a.log"), str(tmp_path / "b.log")]
    assert log_files([str(tmp_path)]) == logs
    assert log_files([str(tmp_path / "old"), logs[0]]) == [str(tmp_path / "old" / "c.log"), logs[0]]
    alone = tmp_path / "alone"
    (alone / "within").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match="no log in"):
        log_files([str(alone)])


def test_of_the_parameters_of_a_uri_only_three_are_shown():
    names = ["access_key", "secret_key", "session_token", "sas", "Region", "", "key", "proxy"]
    shown = ["endpoint_override=h:9000", "region=eu", "scheme=http"]
    text = "&".join([*shown, *(f"{name}=hush" for name in names), "hush"])
    told = shown_path(f"s3://hush:hush@bucket/log?{text}")
    assert "hush" not in told
    assert all(each in told for each in shown)
    assert told.startswith("s3://")
    assert told.partition("?")[0].endswith("@bucket/log")
    assert shown_path("/var/log/a?access_key=b") == "/var/log/a?access_key=b"


def test_an_input_is_what_its_first_bytes_say(tmp_path):
    with capture.Writer(tmp_path / "tap") as writer:
        writer.write("c2s", 1, b"PING\r\n")
    (of_tap,) = capture.files(tmp_path / "tap")
    page = tmp_path / "page"
    for keys, kind in (
        ({"connections": []}, "snapshot"), ({"routes": []}, "snapshot"),
        ({"num_subscriptions": 0}, "snapshot"), ({"subscriptions_list": []}, "snapshot"),
        ({"connections": [], "max_connections": 1, "max_payload": 1, "in_msgs": 1}, "snapshot"),
    ):  # fmt: skip
        page.write_text("\n " + json.dumps(keys))
        assert input_kind(str(page)) == kind
    for keys, told in (
        ({"connections": 1, "max_connections": 1, "max_payload": 1, "in_msgs": 1}, "of /varz"),
        ({"subtrie": 1}, f"these are rules, not a log.*--rules {tmp_path}"),
        ({"other": 1}, "this JSON is neither a log nor a saved response"),
    ):
        page.write_text(json.dumps(keys))
        with pytest.raises(ValueError, match=told):
            input_kind(str(page))
    for text in ("{", "{}", "{" * 9999):
        page.write_text(text)
        with pytest.raises(ValueError, match="neither a log nor a saved response"):
            input_kind(str(page))
    for text in ("", "[]", "[1] [INF] x", '{"log":"x"}'):
        page.write_text(text)
        assert input_kind(str(page)) == "log"
    assert input_kind(str(tmp_path / "tap")) == input_kind(str(of_tap)) == "capture"
    for bad in (str(tmp_path / "none"), "a\0b", "nothing://secret@x/y"):
        with pytest.raises(OSError, match=r".") as caught:
            input_kind(bad)
        assert "secret" not in str(caught.value)
        with pytest.raises(OSError, match=r"."):
            log_size(bad)
    size = of_tap.stat().st_size
    assert log_size(str(tmp_path / "tap")) == log_size(str(of_tap)) == size
    assert input_files([str(tmp_path / "tap"), str(page)]) == [(str(of_tap), size), (str(page), 11)]


def test_the_files_of_paths_are_in_order(tmp_path):
    for name in ("b.log", "a.log", "[x].log"):
        (tmp_path / name).write_text(name)
    (tmp_path / "empty").mkdir()
    a, b, x = (str(tmp_path / name) for name in ("a.log", "b.log", "[x].log"))
    assert log_files([b, a]) == [b, a]
    assert log_files([str(tmp_path)]) == sorted([a, b, x])
    assert log_files([str(tmp_path / "?.log"), x]) == [a, b, x]
    assert log_files(["s3://bucket/*"]) == ["s3://bucket/*"]
    for none in (str(tmp_path / "empty"), str(tmp_path / "*.txt")):
        with pytest.raises(FileNotFoundError, match="no log in"):
            log_files([none])
    with pytest.raises(FileNotFoundError, match="standard input cannot be read"):
        log_files(["-"])


def test_a_digest_is_of_the_bytes_and_not_of_the_names(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"1" * (1 << 20) + b"x")
    two.write_bytes(b"2")
    files = [(str(one), one.stat().st_size), (str(two), 1)]
    found = input_digest(files)
    assert input_digest(files[::-1]) == found
    one.rename(tmp_path / "other")
    assert input_digest([(str(tmp_path / "other"), (1 << 20) + 1), files[1]]) == found
    assert input_digest([(str(tmp_path / "other"), 1 << 20), files[1]]) != found
    with pytest.raises(OSError, match="two became shorter while it was read"):
        input_digest([(str(two), 2)])


@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"])
def test_each_mode_says_what_becomes_of_damage(mode):
    assert mode_of({"mode": mode.lower()}) == mode
    good, bad = {"reason": None, "a": 1}, {"reason": "r", "file": "f", "_corrupt_record": "c"}
    if mode == "FAILFAST":
        for row, told in ((bad, "f: c"), ({**bad, "text": "t"}, "f: t"),
                          ({"reason": "r", "file": "f"}, "f: r")):  # fmt: skip
            with pytest.raises(ValueError, match=told):
                list(apply_mode([good, row], mode))
        assert list(apply_mode([good], mode)) == [good]
        return
    assert list(apply_mode([good, bad], mode)) == ([good, bad] if mode[0] == "P" else [good])


def test_damage_is_told_where_only_other_columns_are_asked_for():
    rows = [{"op": "PUB", "reason": None, "file": "f", "offset": 0},
            {"op": None, "reason": "bad", "file": "f", "offset": 7}]  # fmt: skip

    def read(names):
        yield pa.RecordBatch.from_pylist(rows).select(names)

    for mode, kept in (("PERMISSIVE", ["PUB", None]), ("DROPMALFORMED", ["PUB"])):
        (found,) = damage_kept(read, ["op"], mode)
        assert found.to_pydict() == {"op": kept}
    with pytest.raises(ValueError, match=r"^f, byte 7: bad$"):
        list(damage_kept(read, ["op"], "FAILFAST"))


def test_options_of_a_data_source_have_defaults(tmp_path):
    assert mode_of({}) == "PERMISSIVE"
    assert [flag({}, "x"), flag({}, "x", "true"), flag({"x": "TRUE"}, "X")] == [False, True, True]
    assert rows_of({}, ("one", "other")) == rows_of({"Rows": "ONE"}, ("one", "other")) == "one"
    assert given_paths({"paths": '["a", 7]', "path": "b"}) == ["a", "7"]
    assert given_paths({"path": "b"}) == ["b"]
    with pytest.raises(ValueError, match="needs a path"):
        given_paths({})
    for name in ("b", "a"):
        (tmp_path / name).write_text("")
    assert paths_of({"path": f"{tmp_path}/*"}) == [f"{tmp_path}/a", f"{tmp_path}/b"]
    with pytest.raises(FileNotFoundError, match="no file matches"):
        paths_of({"path": f"{tmp_path}/*.log"})


def test_a_merge_reads_a_view_of_the_rows_that_is_gone_afterwards(session):
    """The parquet files of this session cannot merge, which Spark says when it knows both sides."""
    keys = [*TABLE_KEYS["cross_plane"]]
    rows = session.createDataFrame([("a",) * len(keys)], keys)
    rows.createOrReplaceTempView("held")
    with pytest.raises(PySparkException, match="does not support MERGE INTO TABLE"):
        _merge(rows, "cross_plane", "held")
    with pytest.raises(PySparkException, match=f"with name `{keys[0]}` cannot be resolved"):
        _merge(rows.drop(keys[0]), "cross_plane", "held")
    assert session.catalog.dropTempView("held")
    assert not any(table.isTemporary for table in session.catalog.listTables())
