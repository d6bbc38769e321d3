"""Parts of the audit on Spark that need no session: each by itself, at its boundaries."""

from __future__ import annotations

import datetime
import json
import os
import signal
import socket
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import StringType, StructField, StructType

from subtrie import PatternError, SubjectError, SubjectTrie, classify, microbus
from subtrie._core.errors import SubtrieError
from subtrie.audit import OutputFolderError
from subtrie.audit._readers.growing_log import files_there
from subtrie.audit._schema import EVENTS, arrow_schema
from subtrie.spark import _match, _table_of_spans
from subtrie.spark._decode import decode_column
from subtrie.spark._sessions import carried, local_session, remote_session, ship, task_watch
from subtrie.spark._sessions.failure import failure_text, was_interrupted
from subtrie.spark._sessions.local_session import SparkStartError
from subtrie.spark._settled import _Settling
from subtrie.spark._sources.trace_stream import TraceStreamReader
from subtrie.spark._stream import _is_done
from subtrie.spark._table_of_spans import requests_in

# --- spans

SPAN = {"microbus.service": "a.b", "http.request.method": "GET", "url.full": "https://c.d/x"}
SUBJECT = "p.safe.443.a_b.c_d._.GET.x"


@pytest.mark.parametrize(
    ("kind", "read"),
    [(3, 1), ("SPAN_KIND_CLIENT", 1), ("SpanKind.CLIENT", 1), (2, 0), ("SPAN_KIND_SERVER", 0),
     ("SpanKind.PRODUCER", 0), (4, 0)],
)  # fmt: skip
def test_a_span_of_a_client_is_a_request(kind, read) -> None:
    line = json.dumps({"kind": kind, "attributes": SPAN, "startTimeUnixNano": "1999"})
    assert requests_in(line, "p") == [(SUBJECT, "a.b", 1)] * read
    for missing in SPAN:
        some = {name: value for name, value in SPAN.items() if name != missing}
        line = json.dumps({"kind": kind, "attributes": some, "startTimeUnixNano": "1"})
        assert requests_in(line, "p") == []


def test_the_time_of_a_span_is_in_whole_microseconds() -> None:
    moment = datetime.datetime(2026, 11, 21, 8, 0, 0, 1, tzinfo=datetime.UTC)
    micros = round(moment.timestamp()) * 1_000_000 + 1
    for text in ("2026-11-21T08:00:00.000001Z", "2026-11-21T09:00:00.000001+01:00"):
        line = json.dumps({"kind": 3, "attributes": SPAN, "start_time": text})
        assert [each.time for each in requests_in(line, "p")] == [micros]
    line = json.dumps(
        {"kind": 3, "attributes": SPAN, "startTimeUnixNano": str(micros * 1000 + 999)}
    )
    assert [each.time for each in requests_in(line, "p")] == [micros]


def test_a_line_of_spans_has_so_many_characters(monkeypatch) -> None:
    line = json.dumps({"kind": 3, "attributes": SPAN, "startTimeUnixNano": "1"})
    for most, read in ((len(line), True), (len(line) - 1, False)):
        monkeypatch.setattr(_table_of_spans, "_LONGEST_LINE", most)
        assert (requests_in(line, "p")[0].subject is not None) is read


# --- columns

SUBJECTS = st.lists(
    st.none()
    | st.sampled_from([SUBJECT, "p.reply._.a_b.c_d.id-1", "orders.new", "a..b", "", "_INBOX.x"])
    | st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4).map(".".join),
    max_size=8,
)  # fmt: skip


@settings(max_examples=50)
@given(SUBJECTS)
def test_a_decoded_column_has_the_fields_of_each_subject(texts: list[str | None]) -> None:
    rows = decode_column(pa.array(texts, pa.string())).to_pylist()
    for text, row in zip(texts, rows, strict=True):
        if text is None:
            assert row is None
            continue
        assert row["family"] == classify(text)
        reason = None
        try:
            address = microbus.decode(text)
        except SubtrieError as error:
            reason = error.reason
        assert row["reason"] == reason
        if reason is not None:
            assert (row["kind"], row["host"]) == (None, None)
            continue
        request = isinstance(address, microbus.RequestAddress)
        assert row["kind"] == ("request" if request else "reply")
        assert (row["plane"], row["source"], row["host"]) == (
            address.plane, address.source, address.host,
        )  # fmt: skip
        assert row["slot"] == (address.slot if request else address.id)
        if request:
            assert (row["port"], row["method"], row["path"], row["trust"]) == (
                address.port, address.method, address.path, address.trust,
            )  # fmt: skip


@settings(max_examples=50)
@given(SUBJECTS, st.lists(st.sampled_from(["a.>", "a.*", "b", "*.b", "a.b.c", ">"]), unique=True))
def test_a_matched_column_has_the_patterns_of_each_subject(texts, patterns) -> None:
    trie: Any = SubjectTrie(dialect="server")
    for each in patterns:
        trie.add(each, None)
    found = _match.match_column(trie, patterns, pa.array(texts, pa.string()))
    columns = [found[name].to_pylist() for name in ("matched", "nearest", "differs_at")]
    for text, matched, nearest, differs in zip(texts, *columns, strict=True):
        try:
            known = trie.explain(text)
        except (SubjectError, TypeError):
            assert not matched
            continue
        assert matched == [str(each.pattern) for each in known.matches]
        if known.matches or not known.nearest:
            assert (nearest, differs) == (None, None)
        else:
            assert (nearest, differs) == (str(known.nearest[0].pattern), known.differs_at)


def test_patterns_of_a_list_are_distinct_and_in_order() -> None:
    assert _match.pattern_lines(["b.>", "a", "b.>"]) == b"b.>\na"
    with pytest.raises(PatternError):
        _match.pattern_lines(["a..b"])
    with pytest.raises(ValueError, match="not one string"):
        _match.pattern_lines("a.b")


def test_a_worker_keeps_the_index_of_one_list_of_patterns() -> None:
    read: list[str] = []

    def of(text: str) -> Any:
        return _match._open(text, lambda: (read.append(text), text.encode())[1])

    one, patterns = of("a\nb..c\nb.>")
    assert patterns == ["a", "b.>"]
    assert len(one) == 2
    assert of("a\nb..c\nb.>")[0] is one
    assert of("c")[1] == ["c"]
    of("a\nb..c\nb.>")
    assert read == ["a\nb..c\nb.>", "c", "a\nb..c\nb.>"]


# --- deliveries


def settled(rows: list[dict[str, Any]], window: int, cut: int) -> dict[int, int | None]:
    """Return the deliveries of each row by its position, fed in two batches."""
    settling, found = _Settling(window), {}
    made = [{"server": "s", "subject": "x", "position": n, **row} for n, row in enumerate(rows)]
    parts = [made[:cut], made[cut:]]
    batches = [pa.RecordBatch.from_pylist(each, arrow_schema(EVENTS)) for each in parts if each]
    yielded: Iterator[pa.RecordBatch] = (one for each in batches for one in settling.feed(each))
    for batch in (*yielded, *settling.finish()):
        for row in batch.to_pylist():
            assert row["position"] not in found
            found[row["position"]] = row["deliveries"]
    return found


def moment(micros: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(
        microseconds=micros
    )


def sent(at: int | None, **more: Any) -> dict[str, Any]:
    known = {} if at is None else {"time": moment(at)}
    return {"op": "PUB", "direction": "in", "size": 1, **known, **more}


def taken(at: int, who: str, **more: Any) -> dict[str, Any]:
    return {"op": "MSG", "direction": "out", "size": 1, "time": moment(at), "identity": who, **more}


@pytest.mark.parametrize(
    ("rows", "deliveries"),
    [
        ([sent(0), taken(10, "a")], 1), ([sent(0), taken(11, "a")], 0),
        ([sent(0, op="HPUB"), taken(0, "a", op="HMSG")], 1),
        ([sent(0), taken(1, "a", op="PUB")], 0),
        ([sent(0), taken(1, "a"), taken(2, "a")], 1), ([sent(0), taken(1, "a"), taken(2, "b")], 2),
        ([sent(0), taken(1, "a", queue="q"), taken(2, "b", queue="q")], 1),
        ([sent(0), taken(1, "a", queue="q"), taken(2, "a")], 2),
        ([sent(0), taken(1, None, conn="c"), taken(2, None, conn="d")], 2),
        ([sent(0), taken(1, "a", size=2)], 0), ([sent(0), taken(1, "a", size=None)], 1),
        ([sent(0, size=None), taken(1, "a")], 1), ([sent(0), taken(1, "a", subject="y")], 0),
        ([sent(0), taken(1, "a", server="t")], 0), ([sent(0), taken(1, "a", reply="r")], 0),
        ([sent(None), taken(1, "a")], None), ([sent(0, refused="publish"), taken(1, "a")], None),
        ([sent(0, deliveries=7), taken(1, "a")], 7), ([sent(0, op="SUB"), taken(1, "a")], None),
    ],
)  # fmt: skip
def test_a_message_has_the_deliveries_of_its_window(rows, deliveries) -> None:
    for cut in range(len(rows) + 1):
        found = settled(rows, 10, cut)
        assert found.keys() == set(range(len(rows)))
        assert found[0] == deliveries


def test_the_earliest_message_that_a_receiver_lacks_is_the_one_delivered() -> None:
    rows = [sent(0), sent(1), taken(2, "a"), taken(3, "a"), taken(4, "b"), taken(12, "b")]
    assert settled(rows, 10, 3) == {0: 2, 1: 1, 2: None, 3: None, 4: None, 5: None}


# --- streams

LINE = '[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - cid:1 - "v" - <<- [PING]\n'


@pytest.mark.parametrize(
    ("ranges", "done"),
    [
        ({"a": (0, 5)}, True), ({"a": (5, 9)}, False), ({"a": (2, 5), "b": (0, 3)}, True),
        ({"c": (0, 3)}, False), ({"a": (0, 5), "c": (0, 1)}, False), ({}, True),
        ({"a": (4, 9)}, None), ({"a": (6, 9)}, None), ({"c": (1, 3)}, None),
    ],
)  # fmt: skip
def test_a_batch_that_is_in_the_tables_or_follows_them(ranges, done) -> None:
    logs = {"a": 5, "b": 3}
    if done is not None:
        assert _is_done(ranges, logs, "out") is done
        return
    [(server, (start, _))] = ranges.items()
    with pytest.raises(OutputFolderError) as caught:
        _is_done(ranges, logs, "out")
    assert str(caught.value) == (
        f"out has the log {server} up to byte {logs.get(server, 0)}, and the "
        f"checkpoint goes on at byte {start}: a checkpoint and its output directory belong together"
    )


def test_a_query_of_what_there_is_has_one_end(tmp_path) -> None:
    log = tmp_path / "trace.log"
    log.write_text(LINE)
    schema = StructType([StructField("op", StringType())])

    def reader() -> TraceStreamReader:
        return TraceStreamReader(schema, {"path": str(log), "complete": "true"})

    growing, bounded = reader(), reader()
    bounded.prepareForTriggerAvailableNow()
    first, end = growing.latestOffset(growing.initialOffset()), bounded.latestOffset()
    log.write_text(LINE * 3)
    assert bounded.latestOffset(end) == end
    grown = growing.latestOffset(first)
    assert grown != first

    def read(made: TraceStreamReader, start: Any, until: Any) -> int:
        parts = made.partitions(start, until)
        return sum(batch.num_rows for part in parts for batch in made.read(part))

    assert read(bounded, bounded.initialOffset(), end) == 1
    assert read(growing, first, grown) == 2
    assert growing.latestOffset() == grown  # after a restart that of the batch that was repeated


def test_a_stream_goes_on_where_the_batch_that_was_repeated_ended(tmp_path) -> None:
    """Spark before 4.2 does not give the start, and the first file is gone meanwhile."""
    log, schema = tmp_path / "trace.log", StructType([StructField("op", StringType())])

    def reader() -> TraceStreamReader:
        return TraceStreamReader(schema, {"path": str(log), "complete": "true"})

    start = reader().initialOffset()
    for number, name in enumerate(("trace.log.1", "trace.log")):
        log.write_text(LINE.replace("00.000000", f"0{number}.000000"))
        start = reader().latestOffset(start)
        log.rename(tmp_path / name)
    (tmp_path / "trace.log.1").unlink()
    repeated = reader()
    assert repeated.partitions(start, start) == []
    assert repeated.latestOffset() == reader().latestOffset(start)


def test_the_files_that_were_noted_are_those_of_the_first_batch(tmp_path, monkeypatch) -> None:
    """Later they may be gone, and even forgotten after many rotations."""
    monkeypatch.setattr("subtrie.audit._readers.growing_log._REMEMBERED", 1)
    log, schema = tmp_path / "trace.log", StructType([StructField("op", StringType())])
    log.write_text(LINE)
    options = {"path": str(log), "complete": "true", "noted": json.dumps(files_there([str(log)]))}
    reader = TraceStreamReader(schema, options)
    end = reader.initialOffset()
    for second in range(1, 5):
        log.rename(tmp_path / "trace.log.1")  # in place of the one before
        log.write_text(LINE.replace("00.000000", f"0{second}.000000"))
        end = reader.latestOffset(end)
        (offset,) = end["logs"].values()
        assert offset["position"] == (second + 1) * len(LINE)


# --- errors


def of_spark(text: str) -> Exception:
    kind = type("PythonException", (Exception,), {"__module__": "pyspark.errors"})
    error: Exception = kind(text)
    return error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (of_spark("x\n  File\nValueError: bad line\n"), "the job failed: bad line"),
        (of_spark("OSError: first\nValueError: last\nKeyError: 3"), "the job failed: last"),
        (of_spark("subtrie.audit.OutputFolderError: it is full"), "the job failed: it is full"),
        (of_spark("KeyError: 3\n: java.io.IOException: No space left on device"),
         "the job failed: No space left on device"),
        (of_spark("\n\n: java.lang.X: one\nCaused by: java.lang.Y: two"), "the job failed: two"),
        (of_spark("\n\n  first line  \nsecond"), "the job failed: first line"),
        (of_spark(""), "the job failed: "),
        (OSError("gone"), "gone"), (ValueError("bad"), "bad"), (RuntimeError("ours"), None),
    ],
)  # fmt: skip
def test_the_reason_of_a_failed_job_is_one_line(error, told) -> None:
    assert failure_text(error) == told


def test_a_job_that_an_interrupt_ended() -> None:
    assert was_interrupted(KeyboardInterrupt())
    assert not was_interrupted(None)
    assert not was_interrupted(ValueError())
    for cause in ("__cause__", "__context__"):
        inner, outer = ValueError(), RuntimeError()
        setattr(inner, cause, KeyboardInterrupt())
        setattr(outer, cause, inner)
        assert was_interrupted(outer)


# --- sessions


def test_the_first_host_that_answers_is_that_of_a_master() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        open_, shut = server.getsockname()[1], closed.getsockname()[1]
        for text in (f"127.0.0.1:{open_}", f"127.0.0.1:{shut},localhost:{open_}",
                     f"user:secret@127.0.0.1:{open_}/;x=1"):  # fmt: skip
            assert remote_session._reach(f"spark://{text}", "spark") in ("127.0.0.1", "localhost")
        for scheme, what in (("spark", "Spark master"), ("sc", "Spark Connect server")):
            with pytest.raises(SparkStartError, match=f"the {what} cannot be reached: 127.0.0.1:"):
                remote_session._reach(f"{scheme}://127.0.0.1:{shut}", scheme)
            with pytest.raises(SparkStartError, match="has no host"):
                remote_session._reach(f"{scheme}://", scheme)


@pytest.mark.parametrize(("scheme", "port"), [("spark", 7077), ("sc", 15002)])
def test_a_master_without_a_port_has_that_of_its_kind(scheme, port, monkeypatch) -> None:
    asked = []

    def create(address: Any, limit: float) -> Any:
        asked.append((address, limit))
        raise OSError(111, "refused")

    monkeypatch.setattr(socket, "create_connection", create)
    with pytest.raises(SparkStartError, match=f"::1:{port} does not answer: refused"):
        remote_session._reach(f"{scheme}://[::1]", scheme)
    assert asked == [(("::1", port), 5.0)]


def test_a_call_that_does_not_end_is_given_up(monkeypatch) -> None:
    monkeypatch.setattr(remote_session, "_READY", 0.05)
    assert remote_session._bounded(lambda: 7, "it failed") == 7
    never = threading.Event()
    with pytest.raises(SparkStartError, match=r"^it failed within 0 s$"):
        remote_session._bounded(never.wait, "it failed")
    never.set()

    def fail() -> None:
        raise ValueError("first\nsecond")

    monkeypatch.setattr(remote_session, "_READY", 30.0)
    with pytest.raises(SparkStartError, match=r"^it failed: first$"):
        remote_session._bounded(fail, "it failed")


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ('openjdk version "17.0.1"', None), ('openjdk version "21"', None),
        ('java version "16.0.2"', "is version 16"), ('java version "1.8.0_292"', "is version 8"),
        ("something else", "cannot be determined"), (None, "has no bin/java"),
    ],
)  # fmt: skip
def test_the_java_of_spark_is_17_or_newer(said, fault, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if said is not None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "java").write_text(f"#!/bin/sh\necho '{said}' >&2\n")
        (tmp_path / "bin" / "java").chmod(0o755)
    if fault is None:
        local_session._check_java()
        return
    with pytest.raises(SparkStartError, match=fault):
        local_session._check_java()


def test_pyspark_is_4_0_or_newer(monkeypatch) -> None:
    monkeypatch.setattr(local_session, "_check_java", lambda: None)
    for version, fits in (("4.0.0", True), ("4.1.0.dev1", True), ("10.0", True), ("3.9.9", False)):
        monkeypatch.setattr(pyspark, "__version__", version)
        if fits:
            local_session.check()
        else:
            with pytest.raises(SparkStartError, match=r"needs PySpark 4\.0 or newer, this is 3"):
                local_session.check()


def test_an_interrupt_waits_until_spark_has_started() -> None:
    before, passed = signal.getsignal(signal.SIGINT), []

    def start(interrupts: int) -> None:
        with local_session._interrupts_deferred():
            for _ in range(interrupts):
                os.kill(os.getpid(), signal.SIGINT)
                passed.append(interrupts)
            passed.append(0)

    start(0)
    for interrupts, steps in ((1, [1, 0]), (2, [2])):  # a second one ends it at once
        passed.clear()
        with pytest.raises(KeyboardInterrupt):
            start(interrupts)
        assert passed == steps
        assert signal.getsignal(signal.SIGINT) is before


def test_the_progress_of_stages_leaves_out_those_that_do_not_run() -> None:
    told: list[tuple[int, int]] = []
    handlers: list[Any] = []
    session = SimpleNamespace(
        registerProgressHandler=handlers.append, removeProgressHandler=handlers.remove
    )
    stop = task_watch._listen(session, lambda done, total: told.append((done, total)))

    def stages(*pairs: tuple[int, int]) -> list[Any]:
        return [SimpleNamespace(num_completed_tasks=n, num_tasks=total) for n, total in pairs]

    (handle,) = handlers
    for given_stages, done in (
        (stages((1, 4), (0, 9), (5, 5)), False), (stages((0, 4), (3, 3)), False), (None, False),
        (stages((1, 4), (0, 2)), True),
    ):  # fmt: skip
        handle(given_stages, 0, None, done)
    assert told == [(1, 4), (3, 7), (4, 4)]
    stop()
    assert handlers == []


def test_the_progress_of_tasks_is_told_while_some_run(monkeypatch) -> None:
    """It ends when the session does."""
    told: list[tuple[int, int]] = []
    found = iter([(1, 4), None, (2, 4)])
    over = threading.Event()

    def running(spark: Any) -> Any:
        for each in found:
            return each
        over.set()
        raise ConnectionError

    monkeypatch.setattr(task_watch, "_INTERVAL", 0.001)
    monkeypatch.setattr(task_watch, "running_tasks", running)
    stop = task_watch._poll(None, lambda done, total: told.append((done, total)))  # type: ignore[arg-type]
    assert over.wait(60)
    stop()
    assert told == [(1, 4), (2, 4)]


# --- the package


def test_a_package_that_is_sent_has_what_it_runs_and_equal_bytes(tmp_path) -> None:
    files = [("subtrie/a.py", b"1"), ("subtrie/b.so", b"2")]
    data = ship._zip(iter(files))
    assert ship._zip(iter(files)) == data
    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as made:
        for name in ("subtrie/__init__.py", "subtrie/a.txt", "subtrie/b.pyd", "subtrie/c.pyc",
                     "other/d.py", "subtrie/e.html"):  # fmt: skip
            made.writestr(name, name)
    assert [name for name, _ in ship._of_wheel(wheel)] == [
        "subtrie/__init__.py", "subtrie/b.pyd", "subtrie/e.html",
    ]  # fmt: skip
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr("other/__init__.py", "")
    with pytest.raises(ValueError, match="does not contain the package subtrie"):
        list(ship._of_wheel(wheel))
    (tmp_path / "x.zip").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "x.zip") as made:
        assert made.namelist() == ["subtrie/__init__.py", *(f"package/{name}" for name, _ in files)]
    names = {name for name, _ in ship._installed()}
    assert {"subtrie/__init__.py", "subtrie/py.typed"} <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith((".pyi", ".pyc"))]


def test_the_package_is_put_on_the_path_only_where_there_is_none(monkeypatch) -> None:
    import importlib.util
    import sys

    path = list(sys.path)
    monkeypatch.setattr(sys, "path", path)
    unpack = carried._unpacker(b"content")
    unpack()
    before = list(path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    unpack()
    first, *rest = path
    assert rest == before
    assert Path(first).read_bytes() == b"content"
