"""A Microbus message that a stream stored is not undelivered, with and without questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trace_writer import Trace

from subtrie.acl._jetstream.load import load_streams
from subtrie.audit import Questions, Run, audit, open_run, partials_of, table_of, verdict
from subtrie.audit._growing import GrowingAudit
from subtrie.audit._partial.partial import Partial
from subtrie.audit._tables.context import context_of

CALL = "p1.safe.443.{}_core.orders_core._.POST.{}"
KEPT, LOST = CALL.format("web", "create"), CALL.format("web", "cancel")
FRONT = '[7] 2026/11/21 08:00:00.000001 [TRC] 10.0.0.9:1 - cid:{} - "v1:x" - '
CREATED = (
    FRONT.format(1) + r'->> MSG_PAYLOAD: ["{\"type\":\"io.nats.jetstream.api.v1.'
    r"stream_create_response\",\"config\":{\"name\":\"ORDERS\",\"subjects\":"
    r'[\"p1.*.443.*.orders_core.*.*.create\"]}}"]'
)
DELETED = FRONT.format(1) + "<<- [PUB $JS.API.STREAM.DELETE.ORDERS _INBOX.1 0]"


def written(trace: Trace, folder: Path) -> str:
    """Write a log and return its path."""
    path = folder / "trace.log"
    path.write_text(trace.text())
    return str(path)


@pytest.fixture(params=["here", "asked", "growing", "spark"])
def run_of(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Audit a trace in each way; the caller closes the run."""
    spark = request.getfixturevalue("spark") if request.param == "spark" else None

    def made(trace: Trace, **options: Any) -> Run:
        path, out = written(trace, tmp_path), str(tmp_path / f"out{len(trace.lines)}")
        if request.param == "growing":
            audited = GrowingAudit([path], out, **options)
            assert audited.read_on(complete=True)
            return open_run(out)
        if spark is not None:
            from subtrie.spark import audit as on_spark

            return on_spark(spark, [path], out=out, **options)
        if request.param == "asked":
            options.setdefault("questions", Questions())
        return audit([path], **options)

    return made


def calls() -> Trace:
    trace = Trace()
    trace.subscribe(2, "p1.safe.443.*.orders_core._.POST.other", "1")
    for _ in range(3):
        trace.tick(2)
        trace.publish(1, KEPT)
    trace.publish(3, LOST)
    trace.publish(3, LOST)
    return trace


def picked(run: Run, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in columns) for row in run.rows(table)]


def lost(run: Run) -> dict[str, int]:
    return dict(picked(run, "undelivered", "subject", "count"))


def test_what_only_a_stream_stored_is_not_undelivered(run_of) -> None:
    """It was, as the streams of the log were read with questions only."""
    trace = calls()
    with run_of(trace) as run:
        assert lost(run) == {KEPT: 3, LOST: 2}
    trace.lines.insert(1, CREATED)
    with run_of(trace) as run:
        assert lost(run) == {LOST: 2}
        assert verdict(run) == "2 undelivered"
        assert picked(run, "call_graph", "method", "published", "undelivered") == [("POST", 5, 2)]


def test_what_a_consumer_delivered_was_stored(run_of) -> None:
    """The log does not tell the streams; a message of one has the consumer in its reply."""
    trace = calls()
    trace.subscribe(4, "deliver.here", "9")
    trace.deliver(4, KEPT, "9", reply="$JS.ACK.ORDERS.ship.1.1.1.1763712000000000000.0")
    with run_of(trace) as run:
        assert lost(run) == {LOST: 2}


def test_what_came_after_the_end_of_its_stream_is_undelivered(run_of) -> None:
    """The subject is undelivered twice: two of five messages came after the last line of it."""
    trace = calls()
    trace.lines.insert(1, CREATED)
    trace.lines.append(DELETED)
    trace.tick(5)
    end = trace.clock
    trace.publish(1, KEPT)
    trace.publish(5, KEPT)
    trace.write(5, "<<- [PING]")
    trace.write(1, "<<- [PING]")
    with run_of(trace) as run:
        assert lost(run) == {KEPT: 2, LOST: 2}
        [row] = [row for row in run.rows("undelivered") if row["subject"] == KEPT]
        assert row["last"].replace(tzinfo=None) == end
        assert row["rate"] is None or sum(row["rate"]["counts"]) == row["count"]


def test_a_stream_of_another_account_stores_nothing_of_this_one(run_of) -> None:
    trace = calls()
    named = {2: "A", 1: "A", 3: "A"}
    lines = [*trace.lines, CREATED]
    for number, line in enumerate(lines):
        conn = int(line.partition("cid:")[2].partition(" ")[0])
        account = "B" if line == CREATED else named[conn]
        lines[number] = line.replace(' - "v1:x" - ', f' - "v1:x" - "{account}/user:u{conn}" - ')
    trace.lines = lines
    with run_of(trace) as run:
        assert lost(run) == {KEPT: 3, LOST: 2}


def test_one_table_alone(tmp_path) -> None:
    trace = calls()
    trace.lines.insert(1, CREATED)
    table = table_of("undelivered", partials_of([written(trace, tmp_path)]))
    assert table["subject"].to_pylist() == [LOST]


def test_streams_that_are_given_without_another_question(tmp_path) -> None:
    page = tmp_path / "jsz.json"
    page.write_text(
        '{"config":{"name":"ORDERS","subjects":["p1.*.443.*.orders_core.*.*.create"]},"state":{}}'
    )
    questions = Questions(streams=load_streams([page]), automatic=True)
    with audit([written(calls(), tmp_path)], questions=questions) as run:
        assert (lost(run), run.count("flows")) == ({LOST: 2}, 0)


def test_a_log_without_streams_needs_no_index_of_them(tmp_path) -> None:
    trace = calls()
    for expected in (4, 6):  # the image and the patterns of the streams
        found = Partial()
        for partial in partials_of([written(trace, tmp_path)]):
            found.add(partial)
        assert len(context_of(found.head(), (), None, None).files) == expected
        trace.lines.insert(1, CREATED)
