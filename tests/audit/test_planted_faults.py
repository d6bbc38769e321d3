"""The audit of real systems with planted faults has these first, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty_systems import ABSENT, BARRED, BESIDE, DOWN, FULL, LARGE, LATE, jetstream, leaf, limits
from test_trace_reference import compare

from subtrie._findings.finding import Finding
from subtrie.audit import Questions, Run, audit
from subtrie.audit._readers.jetstream_answers import rows_of_answer
from subtrie.audit._results.row_lines import key_text, row_lines
from subtrie.audit._results.verdict import failing
from subtrie.audit._schema import TABLE_KEYS
from subtrie.report._findings import all_findings


def audited(logs: list[Path]) -> Iterator[Run]:
    with audit([str(each) for each in logs], questions=Questions()) as run:
        yield run


def above_a_note(run: Run) -> list[Finding]:
    """Return the findings that are warnings or errors, as they are printed."""
    return [each for each in all_findings(run) if each.level != "note"]


@pytest.fixture(scope="module")
def run_of_jetstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    yield from audited(jetstream(tmp_path_factory.mktemp("jetstream")))


@pytest.fixture(scope="module")
def of_jetstream(run_of_jetstream: Run) -> list[Finding]:
    return above_a_note(run_of_jetstream)


def test_three_faults_of_jetstream_are_three_findings(of_jetstream):
    """Two of them were not found; the messages that a full stream refused counted as received."""
    assert [(each.rule, each.count) for each in of_jetstream] == [
        ("jetstream_errors", FULL), ("refused", BARRED), ("consumers", 1),
    ]  # fmt: skip
    assert [each.message for each in of_jetstream] == [
        "The stream LIMITED did not store what web published: maximum messages exceeded",
        "The broker refused ship: publish",
        "No client subscribes audits.orders, to which the consumer auditor of stream ORDERS "
        "delivers",
    ]


def test_what_a_full_stream_refused_is_not_delivered_to_it(run_of_jetstream):
    """It counted as received by the stream."""
    names = ("published", "delivered", "undelivered")
    flows = {row["pattern"]: [row[name] for name in names]
             for row in run_of_jetstream.rows("flows")
             if row["subscriber"] == "stream LIMITED" and row["publisher"] == "web"}  # fmt: skip
    assert [sum(each) for each in zip(*flows.values(), strict=True)] == [8 + FULL, 8, FULL]


def test_tables_of_jetstream_and_its_server_fail_a_check_by_what_is_wrong(run_of_jetstream):
    """A normal start failed it, and so did a look-up of a bucket that is not there yet."""
    assert [row["event"] for row in run_of_jetstream.rows("servers")] == ["start", "ready", "stop"]
    errors = list(run_of_jetstream.rows("jetstream_errors"))
    assert sum(row["count"] for row in errors if row["stream"] == "LIMITED") == FULL
    asked = ("servers", "links", "jetstream_errors")
    assert failing(run_of_jetstream, asked) == {"jetstream_errors": 1}
    assert len(errors) > 1


@pytest.fixture(scope="module")
def run_of_leaf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    yield from audited(leaf(tmp_path_factory.mktemp("leaf")))


@pytest.fixture(scope="module")
def of_leaf(run_of_leaf: Run) -> list[Finding]:
    return above_a_note(run_of_leaf)


def test_a_restart_and_a_slow_consumer_fail_a_check_of_servers(run_of_leaf):
    events = Counter(row["event"] for row in run_of_leaf.rows("servers"))
    assert events["start"] == 3  # of two servers
    assert events["slow consumer"] > 0
    assert failing(run_of_leaf, ("servers",)) == {"servers": 1 + events["slow consumer"]}


def test_the_end_of_a_link_is_one_finding_of_both_ends(run_of_leaf):
    """There were two notes, and both counted the end that the lost messages are about, too."""
    [note] = [each for each in all_findings(run_of_leaf) if each.rule == "links"]
    assert (note.level, note.count) == ("note", 1)


def test_three_faults_of_a_leaf_node_and_accounts_are_three_findings(of_leaf):
    """There were six: messages of the next run of the leaf node were among the lost ones."""
    assert [(each.rule, each.witness) for each in of_leaf] == [
        ("slow_consumers", "bill"), ("flows", "cmd.till"), ("flows", "stock.count"),
    ]  # fmt: skip
    assert [each.count for each in of_leaf[1:]] == [DOWN, ABSENT]


def test_what_a_slow_consumer_lost_is_part_of_its_finding(of_leaf):
    """They were two, and the one about its messages said that it had to reconnect sooner."""
    slow = of_leaf[0]
    assert slow.message == (
        "bill (client bill-slow) reads more slowly than the broker sends to it, and was cut off: "
        f"no client received {slow.count} messages to invoices.eu"
    )
    assert "handlers" in slow.instead


def test_a_leaf_node_that_was_down_is_named(of_leaf):
    """It was one of its clients that did not subscribe, or the leaf node, by chance."""
    assert "no client received it: the leaf node edge (cmd.till) was down from " in (
        of_leaf[1].message
    )


@pytest.fixture(scope="module")
def run_of_limits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    yield from audited(limits(tmp_path_factory.mktemp("limits")))


def test_what_is_beyond_limits_is_all_that_is_found(run_of_limits):
    """Large messages counted as undelivered, and a requester was advised to reconnect sooner."""
    found = [(each.level, each.message, each.count) for each in all_findings(run_of_limits)]
    assert sorted(found) == [
        ("note", "The consumer biller delivers orders.*.billed, and stream ORDERS stored no such "
                 "message", 1),
        ("warning", "quotes replied when the requester did not wait any longer", LATE),
        ("warning", "upload published messages larger than max_payload", LARGE),
        ("warning", "web publishes what no subscriber receives", BESIDE),
    ]  # fmt: skip


def test_errors_and_consumers_in_a_capture():
    api = b'{"type":"io.nats.jetstream.api.v1.consumer_info_response",'
    lines = {
        b'{"error":{"code":400,"description":"wrong last sequence: 5"},"stream":"A","seq":0}': {
            "op": "ERROR", "sid": "publish", "subject": "A", "queue": "wrong last sequence",
        },
        api + b'"error":{"code":404,"description":"consumer not found"}}': {
            "op": "ERROR", "sid": "consumer_info", "queue": "consumer not found",
        },
        api + b'"stream_name":"A","name":"b",'
        b'"config":{"ack_policy":"all","deliver_subject":"d"}}': {
            "op": "CONSUMER", "queue": "A.b", "subject": "all", "reply": "d",
        },
    }  # fmt: skip
    for payload, row in lines.items():
        assert list(rows_of_answer(payload)) == [row]
    assert list(rows_of_answer(b'{"error":{"code":400,"description":"of another program"}}')) == []


def test_the_lines_of_an_error_of_a_stream(tmp_path):
    [log] = jetstream(tmp_path / "system")
    with audit([str(log)], questions=Questions()) as run:
        compare(log.read_bytes())
        [row] = [row for row in run.rows("jetstream_errors") if row["request"] == "publish"]
        keys = [key_text(row[name]) for name in TABLE_KEYS["jetstream_errors"]]
        assert len(list(row_lines(run, "jetstream_errors", keys, [str(log)]))) == FULL
