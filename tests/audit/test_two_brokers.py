"""A message forwarded to another broker, without and with the log of that broker."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from plain_tables import audit as plain_audit
from trace_writer import Trace
from truth import tables_differ

from subtrie.spark import TABLES, Questions, audit

HEARD = "p1.safe.443.a_com.b_com._.GET.heard"
UNHEARD = "p1.safe.443.a_com.b_com._.GET.unheard"


def route(trace: Trace, rest: str, other: int = 0) -> None:
    """Write a line about the connection to another broker."""
    trace.lines.append(
        f"[{trace.pid}] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [TRC] "
        f"127.0.0.1:6222 - rid:{9 + other} - {rest}"
    )


@pytest.fixture(scope="module")
def logs(tmp_path_factory) -> tuple[Path, Path]:
    """The logs of both brokers for the same two publishes."""
    here, there = Trace(pid=7), Trace(pid=8)
    for subject in (HEARD, UNHEARD):
        here.publish(1, subject)
        route(here, f"->> [RMSG $G {subject} 2]")
        route(there, f"<<- [RMSG $G {subject} 2]")
        if subject == HEARD:
            there.deliver(2, subject, "1")
    folder = tmp_path_factory.mktemp("two")
    paths = (folder / "here.log", folder / "there.log")
    for path, trace in zip(paths, (here, there), strict=True):
        path.write_text(trace.text())
    return paths


def told(spark: Any, *logs: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    with audit(spark, [str(log) for log in logs]) as result:
        unheard = [row["subject"] for row in result.rows("undelivered")]
        return result.summary, list(result.rows("call_graph")), unheard


def test_one_log_alone_reports_both_as_forwarded(spark, logs) -> None:
    summary, (edge,), undelivered = told(spark, logs[0])
    assert (summary["forwarded"], summary["unmatched"], undelivered) == (2, 0, [])
    assert (edge["published"], edge["delivered"], edge["undelivered"]) == (2, 0, 0)


def test_the_log_of_the_other_broker_alone_has_no_unmatched_delivery(spark, logs) -> None:
    summary, (edge,), undelivered = told(spark, logs[1])
    assert (summary["forwarded"], summary["unmatched"], undelivered) == (0, 0, [])
    assert (edge["published"], edge["delivered"], edge["undelivered"]) == (0, 1, 0)


def test_with_both_logs_the_undelivered_message_is_known(spark, logs) -> None:
    summary, (edge,), undelivered = told(spark, *logs)
    assert (summary["forwarded"], summary["unmatched"]) == (0, 0)
    assert undelivered == [UNHEARD]
    assert (edge["published"], edge["delivered"], edge["undelivered"]) == (2, 1, 1)


def test_what_only_another_broker_delivers_is_a_flow(tmp_path) -> None:
    """A message published at one broker and delivered by another one alone had no flow."""
    here, there = Trace(pid=7), Trace(pid=8)
    here.subscribe(3, "shop.*", "1")
    there.subscribe(4, "shop.>", "1", "q")
    for trace in (here, there):
        trace.tick(1)
    for number in range(10):
        subject = "shop.both" if number < 6 else "shop.far.away"
        here.publish(1, subject)
        if number < 6:
            here.deliver(3, subject, "1")
        route(here, f"->> [RMSG $G {subject} | q 2]")
        route(there, f"<<- [RMSG $G {subject} | q 2]")
        there.deliver(4, subject, "1")
        if number < 2:  # the same subject, published at the other broker and delivered there only
            there.tick(2)
            there.publish(2, subject)
            there.deliver(4, subject, "1")
        for trace in (here, there):
            trace.tick(3)
    paths = [tmp_path / "here.log", tmp_path / "there.log"]
    for path, trace in zip(paths, (here, there), strict=True):
        path.write_text(trace.text())
    names = ("publisher", "pattern", "subscriber", "published", "delivered", "undelivered")
    for order, split in ((paths, None), (paths[::-1], 400)):
        found = audit(None, [str(p) for p in order], questions=Questions(), split_bytes=split)
        with found as result:
            flows = [tuple(row[name] for name in names) for row in result.rows("flows")]
        assert sorted(flows) == [
            ("7/client:1", "shop.*", "7/client:3", 6, 6, 0),
            ("7/client:1", "shop.>", "8/client:4", 10, 10, 0),
            ("8/client:2", "shop.>", "8/client:4", 2, 2, 0),
        ]


HOSTS = ("b_com", "c_com", "d_com")


def brokers(
    seed: int, steps: int = 150, *, count: int = 2, shared: bool = False
) -> tuple[list[str], Counter[tuple[str, str]]]:
    """Return the logs of brokers with routes, and what happened to the requests to each host.

    Services subscribe at any broker and leave again; clients of all publish, in bursts of equal
    requests too. A broker forwards to the others what a client there subscribed to.

    Args:
        seed: Of the random choices.
        steps: The number of subscriptions and bursts.
        count: The number of brokers.
        shared: Whether requests with one subject are published at every broker.
    """
    dice = random.Random(seed)
    logs = [Trace(pid=7 + number) for number in range(count)]
    active: list[dict[str, int]] = [{} for _ in logs]
    told: Counter[tuple[str, str]] = Counter()
    for trace in logs:
        trace.write(99, "<<- [PING]")
    for number in range(steps):
        for trace in logs:
            trace.tick(2)
        at, host = dice.randrange(count), dice.choice(HOSTS)
        here = logs[at]
        conn = 10 + HOSTS.index(host)
        if dice.random() < 0.2:
            known = active[at].pop(host, None)
            if known is None:
                active[at][host] = number
                here.subscribe(conn, f"p1.safe.443.*.{host}._.GET.>", str(number))
            else:
                here.write(conn, f"<<- [UNSUB {known} ]")
            continue
        source = "a_com" if shared else f"a{at}_com"
        subject = f"p1.safe.443.{source}.{host}._.GET.item.{dice.randrange(5)}"
        for burst in range(dice.choice([1, 1, 1, 3])):
            here.publish(1 + burst, subject)
            told[host, "published"] += 1
            heard = False
            if host in active[at]:
                here.deliver(conn, subject, str(active[at][host]))
                told[host, "delivered"] += 1
                heard = True
            for other, there in enumerate(logs):
                if other == at or host not in active[other]:
                    continue
                route(here, f"->> [RMSG $G {subject} 2]", other)
                there.tick(0.0001)
                route(there, f"<<- [RMSG $G {subject} 2]", at)
                if dice.random() < 0.9:  # else the service left while the message was on its way
                    there.deliver(conn, subject, str(active[other][host]))
                    told[host, "delivered"] += 1
                    heard = True
            told[host, "undelivered"] += not heard
            for trace in logs:
                trace.tick(0.001)
    return [trace.text() for trace in logs], told


@pytest.mark.parametrize("count", [2, 3])
def test_messages_of_one_subject_from_several_brokers_are_not_confused(tmp_path, count) -> None:
    """A message arrives at other brokers only, and at each of them once."""
    for seed in range(20, 26):
        texts, told = brokers(seed, count=count, shared=True)
        paths = [tmp_path / f"{seed}-{number}.log" for number in range(count)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        with audit(None, [str(path) for path in paths]) as result:
            tables = {name: list(result.rows(name)) for name in TABLES}
        for name in ("published", "delivered", "undelivered"):
            counted = sum(number for (_, what), number in told.items() if what == name)
            assert sum(row[name] for row in tables["call_graph"]) == counted, (seed, name)
        assert told.total()
        assert tables_differ(tables, plain_audit([text.encode() for text in texts])[1]) == []


def test_equal_messages_at_brokers_without_a_route_stay_apart(tmp_path) -> None:
    """A message is delivered by the broker that received it, however alike that of another is."""
    one, other = Trace(pid=7), Trace(pid=8)
    one.subscribe(5, "p1.safe.443.*.b_com._.GET.>", "1")
    for _ in range(3):
        for trace in (one, other):
            trace.publish(1, HEARD)
        one.deliver(5, HEARD, "1")
    paths = [tmp_path / "one.log", tmp_path / "other.log"]
    for path, trace in zip(paths, (one, other), strict=True):
        path.write_text(trace.text())
    for order in (paths, paths[::-1]):
        with audit(None, [str(path) for path in order]) as result:
            tables = {name: list(result.rows(name)) for name in TABLES}
        (edge,) = tables["call_graph"]
        assert (edge["published"], edge["delivered"], edge["undelivered"]) == (6, 3, 3)
        assert [row["matched"] for row in tables["coverage"]] == [3]
    contents = [path.read_bytes() for path in paths[::-1]]
    assert tables_differ(tables, plain_audit(contents)[1]) == []


def test_a_world_of_two_brokers_comes_out_as_it_was(spark, tmp_path) -> None:
    """Its own count, the plain audit and the audit on Spark agree, whatever the order and split."""
    texts, told = brokers(1)
    paths = [tmp_path / "one.log", tmp_path / "two.log"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    summary, expected = plain_audit([text.encode() for text in texts])
    for order, split_bytes in ((paths, None), (paths[::-1], 5_000)):
        with audit(spark, [str(path) for path in order], split_bytes=split_bytes) as result:
            tables = {name: list(result.rows(name)) for name in TABLES}
            assert {name: result.summary[name] for name in summary} == summary
    assert tables_differ(tables, expected) == []
    found: Counter[tuple[str, str]] = Counter()
    for row in tables["call_graph"]:
        for name in ("published", "delivered", "undelivered"):
            found[row["destination"].replace(".", "_"), name] += row[name]
    assert +found == +told
    assert told["b_com", "undelivered"]
    assert summary["forwarded"] == 0


@pytest.mark.cluster
@pytest.mark.parametrize("seed", range(2, 12))
def test_worlds_of_two_brokers_come_out_as_they_were(spark, tmp_path, seed) -> None:
    texts, told = brokers(seed, steps=400)
    paths = [tmp_path / "one.log", tmp_path / "two.log"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    with audit(spark, [str(path) for path in paths], split_bytes=20_000) as result:
        rows = list(result.rows("call_graph"))
    for name in ("published", "delivered", "undelivered"):
        counted = sum(count for (_, what), count in told.items() if what == name)
        assert sum(row[name] for row in rows) == counted
