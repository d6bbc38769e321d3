"""Two streams, servers or users that share a name or a pattern: both count, and are kept apart."""

from __future__ import annotations

import itertools
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from table_rows import Row, bucket_of, sub, table_of

sys.path.insert(0, str(Path(__file__).parent.parent / "report"))

from report_runs import RunOfRows, row

from subtrie.acl._jetstream.streams import Consumer, Stream, Streams
from subtrie.audit import Questions, audit, verdict
from subtrie.audit._answers.adoption import proposed_permissions
from subtrie.audit._partial.partial import Partial
from subtrie.audit._results.silent_consumers import silent_consumers
from subtrie.audit._tables.answer_sums import answer_sums
from subtrie.audit._tables.bucket import _After
from subtrie.audit._tables.by_subject import explained
from subtrie.audit._tables.exports import Exports
from subtrie.audit._tables.messages_between_servers import Crossing, Publisher, followed
from subtrie.audit._tables.pattern_index import index_files, open_index
from subtrie.audit._tables.streams import ack_policies

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def stream(account: str | None, name: str, pattern: str) -> Row:
    return {"server": "s", "account": account, "queue": name, "subject": pattern,
            "last_position": 0}  # fmt: skip


#: Streams of two accounts with equal patterns, equal names, and patterns that overlap.
STREAMS = [
    stream("A", "ONE", "x.a"), stream("B", "TWO", "x.a"), stream("A", "WIDE", "x.*"),
    stream("B", "ONE", "x.>"), stream("A", "REST", "x.*"), stream("B", "OTHER", "y"),
]  # fmt: skip


@pytest.mark.parametrize("order", [*itertools.permutations(STREAMS)][::101])
def test_streams_that_store_equal_or_overlapping_patterns_all_count(order) -> None:
    sent = [("A", "x.a"), ("B", "x.a"), ("A", "x.b"), ("B", "x.b.c"), ("A", "y"), ("B", "y")]
    rows: list[Row] = [
        {"server": "s", "conn": f"7/client:{n}", "account": account, "subject": text,
         "published": 1, "undelivered": 1, "lines": 1}
        for n, (account, text) in enumerate(sent)
    ]  # fmt: skip
    bucket = bucket_of(rows, stream=order, subscription=[sub("q", 0, account="A"),
                       sub("q", 1, account="B", conn="7/client:8")])  # fmt: skip
    assert bucket.subjects is not None
    found = {
        text: {(each.account, each.stream, each.pattern) for each in stored}
        for text, stored in zip(bucket.subjects.texts.to_pylist(), bucket.stored, strict=True)
    }
    wide = {("A", "WIDE", "x.*"), ("A", "REST", "x.*"), ("B", "ONE", "x.>")}
    assert found == {
        "x.a": wide | {("A", "ONE", "x.a"), ("B", "TWO", "x.a")}, "x.b": wide,
        "x.b.c": {("B", "ONE", "x.>")}, "y": {("B", "OTHER", "y")},
    }  # fmt: skip
    left = {each["conn"]: each["undelivered"] for each in bucket.publishes.to_pylist()}
    assert [left[each["conn"]] for each in rows] == [0, 0, 0, 0, 1, 0]


@pytest.mark.parametrize("places", [*itertools.permutations([("s", 6), ("s", 12), ("t", 6)])])
def test_a_subscription_is_inactive_if_it_was_so_at_one_of_several_messages(places) -> None:
    lines: dict[str, list[Any]] = {
        "server": ["s", "t"], "start": [5, 0], "end": [9, None], "account": ["A", "A"],
        "pattern": ["a.*", "a.*"], "queue": [None, None],
    }  # fmt: skip
    kinds = {"start": pa.int64(), "end": pa.int64()}
    table = pa.table({n: pa.array(v, kinds.get(n, pa.string())) for n, v in lines.items()})
    files = dict(index_files(table)[0])
    index = open_index(list(files), files.__getitem__)
    texts, accounts = pa.array(["a.x"]), pa.array(["A"])
    matches, numbers = index.matches_in(texts, accounts)
    missed = pa.table({"account": accounts, "subject": texts})
    for some in (places, places[:2], places[:1]):
        lost = table_of("undelivered", [
            {"server": server, "account": "A", "subject": "a.x", "position": position}
            for server, position in some
        ])  # fmt: skip
        order = np.argsort(matches, kind="stable")
        found = explained(missed, pa.array([0]), lost, index, matches[order], numbers[order])
        assert found["subscription_inactive"].to_pylist() == [("s", 12) in some]


@pytest.mark.parametrize(
    "stops", [[("a", 5), ("a", 15), ("b", 8)], [("b", 8), ("a", 15), ("a", 5)]]
)
def test_each_stop_of_each_server_ends_its_links(stops) -> None:
    def at(seconds: int) -> datetime:
        return DAY + timedelta(seconds=seconds)

    run = RunOfRows({
        "servers": [row("servers", server=server, event="stop", time=at(time))
                    for server, time in stops],
        "links": [row("links", server=server, start=at(start), end=at(end))
                  for server, start, end in (("a", 1, 6), ("a", 11, 16), ("b", 1, 9), ("b", 1, 7))],
    })  # fmt: skip
    assert verdict(run) == "1 link ended"


def test_streams_of_one_name_have_consumers_of_one_name() -> None:
    policies = (("A", "none"), ("B", "all"), ("C", "explicit"))
    given = Streams(tuple(
        Stream("S", account, key=account, consumers=(Consumer("c", ack_policy=policy),))
        for account, policy in policies
    ), given=True)  # fmt: skip
    assert ack_policies(Partial(), given) == {("S", "c"): set(policies)}


def test_connections_of_one_program_are_one_publisher() -> None:
    program = {"identity": "i", "user": "u", "client": "c", "account": "A", "subject": "x"}
    counts = ((1, 2, 20), (2, 4, 50), (3, 1, 5))
    rows: list[Row] = [
        program | {"server": "s", "conn": f"7/client:{n}", "published": published, "bytes": size,
                   "undelivered": published, "lines": published}
        for n, published, size in counts
    ]  # fmt: skip
    bucket = bucket_of(rows, subscription=[sub("q", 0, account="A")], questions=Questions())
    [found] = answer_sums(bucket)["flow"].values()
    assert found[:4] == (7, 0, 7, 75)


def test_of_two_queues_of_arrivals_the_earlier_one_is_taken_for_each_message() -> None:
    """One was the first for the message before; a leaf node tells no account of its own."""
    sent: Row = {"server": "s", "conn": "7/client:1", "account": "A", "subject": "x", "reply": "",
                 "size": 2, "taken": 0, "forwarded": 1}  # fmt: skip
    there = sent | {"server": "t", "conn": "8/route:1", "forwarded": 0}
    leaf = there | {"conn": "8/leaf:1"}
    hops = [sent | {"position": n, "time": DAY} for n in (1, 2)]
    arrivals = [
        each | {"position": n, "time": DAY + timedelta(seconds=n)}
        for n, each in enumerate((there, leaf | {"taken": 1}, there), 3)
    ]
    found = followed(table_of("hop", hops), table_of("arrival", arrivals)).crossed
    assert found[Crossing("s", "A", Publisher("7/client:1"), "x", "t")] == 1


@pytest.mark.parametrize("lines", [(2, 1), (1, 2), (3, 0)])
def test_messages_of_several_connections_are_exported_if_together_they_are_more(lines) -> None:
    rows: list[Row] = [
        {"server": "s", "conn": f"7/client:{n}", "account": "A", "subject": "x", "published": 9,
         "lines": count}
        for n, count in enumerate(lines)
    ]  # fmt: skip
    rows.append(rows[0] | {"account": "B", "lines": 0})
    line = {"server": "s", "conn": "c", "account": "A", "sid": "1", "subject": "x", "count": 2}
    bucket = bucket_of(rows, [line])
    assert bucket.subjects is not None
    place = {name: n for n, name in enumerate(bucket.subjects.account.to_pylist())}
    publishers: Any = {("s", place["A"], Publisher("a")): 5}
    of: Any = SimpleNamespace(subjects=bucket.subjects)
    exports = Exports(bucket, of, {("s", place["A"]): publishers})
    assert list(exports.to("s", place["B"])) == list(publishers.items())


def test_of_messages_after_a_position_each_is_taken_once() -> None:
    lost = [{"server": "s", "account": "A", "subject": "x", "position": n} for n in (1, 2, 3, 4)]
    after = _After(table_of("undelivered", lost))
    assert [after.take(("s", "A", "x"), 1, 1) for _ in range(5)] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("order", [1, -1])
def test_the_home_plane_of_an_identity_is_that_of_all_its_programs(order, tmp_path) -> None:
    sent = [("p", "c1", 3), ("p", "c2", 3), ("q", "c1", 5)][::order]
    lines = []
    for cid, (plane, client, count) in enumerate(sent, 1):
        begin = f'[7] 2026/11/21 08:00:01 [TRC] 127.0.0.1:1 - cid:{cid} - "v1:py:{client}"'
        begin += ' - "$G/user:a.b" - <<- '
        subject = f"{plane}.safe.443.a_b.c_d._.GET.x"
        lines += [f"{begin}[PUB {subject} 2]", f'{begin}MSG_PAYLOAD: ["hi"]'] * count
    log = tmp_path / "trace.log"
    log.write_text("\n".join(lines) + "\n")
    with audit([str(log)], planes=["p", "q"]) as run:
        found = [(each["plane"], each["home_plane"], each["count"]) for each in
                 run.rows("cross_plane")]  # fmt: skip
    assert found == [("q", "p", 5)]


@pytest.mark.parametrize("order", [1, -1])
def test_acknowledgements_of_several_programs_are_those_of_their_consumer(order) -> None:
    shared = {"account": "A", "stream": "S", "consumer": "c", "ack_policy": "explicit"}
    counts = [(5, 1), (1, 3)]
    rows = [
        shared | {"who": f"w{n}", "acknowledged": answered, "delivered": received, "rejected": 0,
                  "redelivered": 0}
        for n, (answered, received) in enumerate(counts[::order])
    ]  # fmt: skip
    silent = rows[0] | {"who": "silent", "acknowledged": 0, "delivered": 2}
    assert list(silent_consumers([*rows, silent])) == []
    other = silent | {"stream": "T"}
    assert list(silent_consumers([*rows, silent, other])) == [other]


def test_all_proposed_rules_of_a_service_are_its_permissions() -> None:
    rows = [{"service": service, "verb": verb, "rule": rule} for service, verb, rule in (
        ("a", "publish", "y"), ("b", "publish", "z"), ("a", "subscribe", "r"),
        ("a", "publish", "x"), ("a", "publish", "y"), ("a", "subscribe", "q"),
    )]  # fmt: skip
    found = proposed_permissions(rows)
    assert {name: (each.publish_allow, each.subscribe_allow) for name, each in found.items()} == {
        "a": (("x", "y"), ("q", "r")), "b": (("z",), ()),
    }  # fmt: skip
