"""The audit of a cluster, a leaf node and three accounts: what the programs counted.

Faults that this system showed have tests of their own below, each with the lines of one log.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import clustered_truth as tables
import pytest
from clustered_system import SERVERS, Truth, system, traffic
from test_trace_reference import compare
from trace_writer import Trace

from subtrie.audit import Questions, audit
from subtrie.report._findings import all_findings

MESSAGES = 300


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Truth, list[Path]]:
    folder = tmp_path_factory.mktemp("system")
    with system(folder) as urls:
        truth = asyncio.run(traffic(urls, MESSAGES, seed=1))
    return truth, [folder / name / "server.log" for name in (*SERVERS, "edge")]


@pytest.fixture(scope="module")
def run(made: tuple[Truth, list[Path]]) -> Any:
    with audit([str(log) for log in made[1]], questions=Questions()) as found:
        yield found


@pytest.mark.parametrize("table", tables.TABLES)
def test_a_table_is_what_the_programs_counted(made, run, table):
    expected, seen = tables.TABLES[table]
    assert seen(run) == expected(made[0])


def test_every_line_of_each_log_is_read_as_the_specification_reads_it(made):
    for log in made[1]:
        compare(log.read_bytes())


def test_an_answer_takes_no_longer_than_its_requester_waited(made, run):
    """The time in the log lies within that of the program, request by request."""
    assert tables.too_slow(made[0], run) == []


def test_the_hottest_subjects_are_those_that_the_programs_sent_most(made, run):
    assert tables.not_hottest(made[0], run) == []


def test_streams_hold_what_was_stored(made):
    stored = made[0].stored.values()
    assert made[0].state["ORDERS"] == sum(each == "ORDERS" for each in stored)
    assert made[0].state["KV_cfg"] == len({
        made[0].sent[number].subject for number, stream in made[0].stored.items()
        if stream == "KV_cfg"
    })  # fmt: skip


def test_the_faults_are_the_only_findings_above_a_note(run):
    found = [(each.level, each.witness, each.count) for each in all_findings(run)]
    assert [each for each in found if each[0] != "note"] == [
        ("warning", "payments.0.refund", 12),
        ("warning", "trucks.left", 7),
        ("warning", "tax.rate", 3),
        ("warning", "127.0.0.1", 2),
        ("warning", "127.0.0.1", 1),
        ("warning", "secret.plans", 1),
    ]


def test_servers_and_links_are_those_of_the_system(run):
    events = sorted((row["server"], row["event"]) for row in run.rows("servers"))
    assert [event for _, event in events] == ["ready", "start", "stop"] * 4
    links = {(row["kind"], row["remote"]) for row in run.rows("links") if row["remote"]}
    assert links == {("leaf", "edge"), ("leaf", "n1"), *(("route", name) for name in SERVERS)}


def written(folder: Path, *lines: str) -> bytes:
    """Return a log of these lines, and write it."""
    front = "[7] 2026/11/21 08:00:00.{:06} [TRC] 127.0.0.1:4"
    data = "".join(f"{front.format(at)}{line}\n" for at, line in enumerate(lines)).encode()
    (folder / "trace.log").write_bytes(data)
    return data


def flows(folder: Path) -> list[tuple[Any, ...]]:
    names = ("publisher", "pattern", "subscriber", "delivered", "undelivered")
    with audit([str(folder / "trace.log")], questions=Questions()) as run:
        return [tuple(row[name] for name in names) for row in run.rows("flows")]


WEB, SHIP = ' - cid:1 - "v1:x:web" - ', ' - cid:2 - "v1:x:ship" - '


def test_subscriptions_of_leaf_nodes_that_a_route_tells(tmp_path):
    """They ended the audit: a pattern was None."""
    data = written(
        tmp_path,
        " - rid:9 - <<- [LS+ edge SHOP orders.>]",
        " - rid:9 - ->> [LS+ edge SHOP orders.>]",
        f"{WEB}<<- [PUB orders.a 0]",
    )
    compare(data)
    assert flows(tmp_path) == [("web", "orders.a", None, 0, 1)]


@pytest.mark.parametrize("reply", ["", "r.1 "])
def test_a_message_that_a_mapping_gives_another_subject(tmp_path, reply):
    """It was undelivered: MAPPING ended the time in which its deliveries were expected."""
    data = written(
        tmp_path,
        f"{SHIP}<<- [SUB new.* 1]",
        f"{WEB}<<- [PUB old.a {reply}2]",
        f"{WEB}<<- [MAPPING old.a -> new.a]",
        f'{WEB}<<- MSG_PAYLOAD: ["hi"]',
        f"{SHIP}->> [MSG new.a 1 {reply}2]",
        f'{SHIP}->> MSG_PAYLOAD: ["hi"]',
    )
    compare(data)
    assert flows(tmp_path) == [("web", "new.*", "ship", 1, 0)]
    with audit([str(tmp_path / "trace.log")], questions=Questions()) as run:
        assert [row["subject"] for row in run.rows("hot_subjects")] == ["new.a"]


def test_a_message_of_a_leaf_node_on_a_route_has_its_cluster_first(tmp_path):
    """Its account was taken for its subject."""
    data = written(
        tmp_path,
        f"{SHIP}<<- [SUB telemetry.* 1]",
        " - rid:9 - <<- [LMSG edge SHOP telemetry.1 0 2]",
        f"{SHIP}->> [MSG telemetry.1 1 2]",
        " - rid:9 - <<- [LMSG edge SHOP telemetry.2 r.1 0 2]",
        f"{SHIP}->> [MSG telemetry.2 1 r.1 2]",
    )
    compare(data)
    with audit([str(tmp_path / "trace.log")], questions=Questions()) as run:
        assert run.summary["unmatched"] == 0


def test_a_message_is_followed_over_a_leaf_node_and_a_route(tmp_path):
    """It was undelivered: only its first hop was followed."""
    edge, hub, other = Trace(pid=7), Trace(pid=8), Trace(pid=9)
    other.subscribe(3, "telemetry.>", "1")
    for number in range(4):
        edge.publish(1, "telemetry.a")
        line(edge, "lid:5 - ->> [LMSG telemetry.a 2]")
        line(hub, "lid:6 - <<- [LMSG telemetry.a 2]")
        line(hub, "rid:7 - ->> [LMSG edge SHOP telemetry.a 0 2]")
        line(other, "rid:8 - <<- [LMSG edge SHOP telemetry.a 0 2]")
        if number:
            other.deliver(3, "telemetry.a", "1")
        for trace in (edge, hub, other):
            trace.tick(3)
    paths = [tmp_path / f"{name}.log" for name in ("edge", "hub", "other")]
    for path, trace in zip(paths, (edge, hub, other), strict=True):
        path.write_text(trace.text())
    with audit([str(path) for path in paths], questions=Questions()) as run:
        assert run.summary["forwarded"] == 0
        found = {
            row["subscriber"]: (row["delivered"], row["undelivered"]) for row in run.rows("flows")
        }
    assert found == {"9/client:3": (3, 0), None: (0, 1)}


def line(trace: Trace, rest: str) -> None:
    """Write a line about a connection to another server."""
    trace.lines.append(
        f"[{trace.pid}] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [TRC] 127.0.0.1:7422 - {rest}"
    )


def test_a_request_to_an_imported_service_is_not_that_of_a_stream(tmp_path):
    """Whatever was answered was stored by a stream that had answered to the same client."""
    told = (
        r'["{\"type\":\"io.nats.jetstream.api.v1.stream_create_response\",\"config\":'
        r'{\"name\":\"ORDERS\",\"subjects\":[\"orders.>\"]}}"]'
    )
    data = written(
        tmp_path,
        f"{WEB}<<- [SUB _INBOX.w.* 1]",
        f"{WEB}<<- [PUB $JS.API.STREAM.CREATE.ORDERS _INBOX.w.1 0]",
        f"{WEB}->> [MSG _INBOX.w.1 1 9]",
        f"{WEB}->> MSG_PAYLOAD: {told}",
        f"{WEB}<<- [PUB orders.a _INBOX.w.2 0]",
        f"{WEB}->> [MSG _INBOX.w.2 1 9]",
        WEB + r'->> MSG_PAYLOAD: ["{\"stream\":\"ORDERS\",\"seq\":1}"]',
        f"{WEB}<<- [PUB charge _INBOX.w.3 0]",
        f"{SHIP}<<- [SUB pay.* payers 1]",
        f"{SHIP}->> [MSG pay.charge 1 _R_.a.b 0]",
        f"{SHIP}<<- [PUB _R_.a.b 2]",
        f"{WEB}->> [MSG _INBOX.w.3 1 2]",
    )
    compare(data)
    assert sorted(each[:4] for each in flows(tmp_path) if not each[1].startswith("$JS")) == [
        ("other accounts", "pay.*", "ship", 1),
        ("ship", "_R_.>", "other accounts", 1),
        ("web", "charge", "other accounts", 1),
        ("web", "orders.a", "stream ORDERS", 1),
    ]


def test_messages_of_no_publisher_in_the_log_have_a_flow(tmp_path):
    """A stream of another account was received, and no flow said so."""
    data = written(
        tmp_path,
        f"{SHIP}<<- [SUB shop.events.> 1]",
        " - rid:9 - <<- [RMSG SHOP events.order 2]",
        f"{SHIP}->> [MSG shop.events.order 1 2]",
        f"{WEB}<<- [PUB a 0]",
    )
    compare(data)
    assert ("not in the log", "shop.events.>", "ship", 1, 0) in flows(tmp_path)
