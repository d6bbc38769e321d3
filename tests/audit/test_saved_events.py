"""Captures, snapshots and tables of messages as the table ``events``, and their audit."""

from __future__ import annotations

import base64
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from patience import PATIENCE
from subtrie.audit import TABLES, open_run
from subtrie.audit._partial.parts import EVENT_COLUMNS
from subtrie.audit._readers.capture_events import INPUT_BITS, capture_events, capture_payloads
from subtrie.audit._readers.snapshot_events import snapshot_events
from subtrie.spark import EVENTS, audit, events, verdict
from subtrie.spark._sources.monitor_source import MonitorSource
from subtrie.spark._sources.wire_source import WireSource
from subtrie.spark._table_of_messages import narrowed
from subtrie.wire import capture
from synthetic_traffic import write_traffic

ROOT = Path(__file__).parents[2]
GO_LIVE = ROOT / "examples" / "captures" / "go_live"
SUBJECT = "p1.safe.443.a_com.b_com._.GET.x"


def tables(spark: Any, source: Any, *names: str) -> dict[str, list[dict[str, Any]]]:
    with audit(spark, source) as result:
        return {name: list(result.rows(name)) for name in names}


@pytest.mark.requirement("P-01")
def test_a_capture_and_the_log_of_the_same_traffic_have_the_same_tables(session, folder):
    wire = session.read.format("nats-wire").option("COMPLETE", "true").load(str(folder))
    assert [(field.name, field.dataType.simpleString()) for field in wire.schema] == list(EVENTS)
    names = ("call_graph", "replies", "undelivered", "fan_out", "hot_subjects", "subscriptions")
    found = tables(session, wire, *names)
    expected = tables(session, [str(GO_LIVE / "trace.log")], *names)
    for name in names:
        assert shown(found[name]) == shown(expected[name]), name
    truth = json.loads((GO_LIVE / "truth.json").read_text())["totals"]
    with audit(session, [str(folder)]) as result:
        assert result.summary["unmatched"] == 0
        assert sum(row["delivered"] for row in result.rows("fan_out")) == truth["delivered"]
        assert list(result.rows("undelivered")) == []  # other clients may have received them


def shown(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows without the columns that name a clock, a process or what a capture has not."""
    hidden = {"first", "last", "rate", "start", "end", "server", "account"}
    found = [{key: value for key, value in row.items() if key not in hidden} for row in rows]
    for row in found:
        if "conn" in row:
            row["conn"] = row["conn"].rpartition("/")[2]
    return sorted(map(repr, found))


def written(folder: Path, *records: tuple[str, int, bytes, float]) -> str:
    with capture.Writer(folder) as writer:
        for kind, conn, data, seconds in records:
            writer.write(kind, conn, data, at=int(seconds * 1e9))
    return str(folder)


QUEUE_REFUSED = b'-ERR \'Permissions Violation for Subscription to "q.>" using queue "g"\'\r\n'
INFO = b'INFO {"server_id":"A","client_id":%d}\r\n'


def test_what_a_server_refuses_in_a_capture(tmp_path):
    path = written(
        tmp_path / "a",
        ("opened", 1, b'{"kind":"client"}', 1),
        ("s2c", 1, INFO % 7, 1),
        ("c2s", 1, b'CONNECT {"user":"a.com"}\r\nSUB q.> 1\r\nSUB q.> g 2\r\n', 2),
        ("c2s", 1, b"PUB x 1\r\na\r\nPUB y z 1\r\nb\r\nPUB y w 1\r\nb\r\n", 3),
        ("s2c", 1, b"-ERR 'Permissions Violation for Publish to \"x\"'\r\n", 3.1),
        ("s2c", 1, b"-ERR 'Permissions Violation for Publish with Reply of \"w\"'\r\n", 3.2),
        ("s2c", 1, QUEUE_REFUSED, 3.3),
        ("closed", 1, b"{}", 9),
    )  # fmt: skip
    rows = list(capture_events(path, complete=True))
    published = {(row["subject"], row.get("reply")): row for row in rows if row["op"] == "PUB"}
    assert {key: row.get("refused") for key, row in published.items()} == {
        ("x", None): "publish", ("y", "z"): None, ("y", "w"): "reply",
    }  # fmt: skip
    assert published["y", "z"]["deliveries"] == 0
    assert "deliveries" not in published["x", None]
    told = [(r["subject"], r["sid"], r["refused"]) for r in rows if r["op"] == "VIOLATION"]
    assert told == [("x", None, "publish"), ("w", None, "reply"), ("q.>", "2", "subscribe")]
    assert rows[-1]["op"] == "CLOSED"
    assert {row["conn"] for row in rows} == {"-/client:7"}
    assert {row.get("identity") for row in rows if row["op"] == "PUB"} == {"a.com"}


JWT_OF_BANK = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=")
    for part in (b'{"typ":"JWT"}', b'{"name":"bank.core"}', b"sig")
)
HEAD = b"NATS/1.0\r\nA: b\r\n\r\n"
ANN = {"identity": "ann", "identity_source": "user", "user": "ann", "client": "prog"}


def test_every_row_of_a_capture_has_all_that_is_known(tmp_path):
    sizes = b"%d %d\r\n%bhi" % (len(HEAD), len(HEAD) + 2, HEAD)
    path = written(
        tmp_path / "a",
        ("opened", 1, b'{"kind":"client"}', 1),
        ("s2c", 1, b'INFO {"server_id":"A","client_id":7,"auth_required":true}\r\n', 1),
        ("c2s", 1, b'CONNECT {"user":"ann","name":"prog"}\r\nSUB a.* q 1\r\nSUB b 2\r\n', 1.5),
        ("opened", 2, b'{"kind":"route"}', 1.7),
        ("c2s", 2, b"RS+ $G a\r\n", 1.8),
        ("c2s", 1, b"HPUB a.x r %b\r\n" % sizes, 2),
        ("s2c", 1, b"HMSG a.x 1 r %b\r\n" % sizes, 2.2),
        ("c2s", 1, b"UNSUB 2 1\r\nPUB b 0\r\n\r\nUNSUB 1\r\n", 3),
        ("s2c", 1, b"MSG b 2 0\r\n\r\n", 4),
        ("c2s", 1, b"PUB %b x\r\n" % JWT_OF_BANK.encode(), 5),
        ("closed", 1, b"{}", 9),
    )  # fmt: skip
    base = 3 << INPUT_BITS
    found = {}
    for row in capture_events(path, 3):
        assert row.pop("file") == path
        found[row.pop("position") - base] = row
    client = {"server": "A", "conn": "-/client:7", "account": None, **ANN}
    settled = {"deliveries": 1, "forwarded": 0, "ambiguous": False}
    nobody = dict.fromkeys(ANN)
    wanted = {
        1: {**client, **nobody, "op": "INFO", "offset": 0, "time": 1_000_000, "direction": "out"},
        2: {**client, "op": "CONNECT", "offset": 0, "time": 1_500_000, "direction": "in"},
        3: {**client, "op": "SUB", "offset": 38, "time": 1_500_000, "direction": "in",
            "subject": "a.*", "queue": "q", "sid": "1"},
        4: {**client, "op": "SUB", "offset": 51, "time": 1_500_000, "direction": "in",
            "subject": "b", "sid": "2"},
        5: {"server": "-", "conn": "-/route:tap-2", **nobody, "account": "$G", "op": "RS+",
            "offset": 0, "time": 1_800_000, "direction": "in", "subject": "a"},
        6: {**client, "op": "HPUB", "offset": 60, "time": 2_000_000, "direction": "in",
            "subject": "a.x", "reply": "r", "size": 20, "subscription": base + 4,
            "until": base + 11, **settled},
        7: {**client, "op": "HMSG", "offset": 59, "time": 2_200_000, "direction": "out",
            "subject": "a.x", "reply": "r", "size": 20, "sid": "1", "queue": "q",
            "subscription": base + 3},
        8: {**client, "op": "UNSUB", "offset": 100, "time": 3_000_000, "direction": "in",
            "sid": "2", "size": 1},
        9: {**client, "op": "PUB", "offset": 111, "time": 3_000_000, "direction": "in",
            "subject": "b", "size": 0, "subscription": base + 8, "until": base + 14, **settled},
        10: {**client, "op": "UNSUB", "offset": 122, "time": 3_000_000, "direction": "in",
             "sid": "1"},
        11: {**client, "op": "MSG", "offset": 101, "time": 4_000_000, "direction": "out",
             "subject": "b", "size": 0, "sid": "2", "subscription": base + 4},
        12: {"server": "A", "conn": "-/client:7", "account": None, "op": "DELSUB", "offset": 101,
             "time": 4_000_000, "direction": "local", "sid": "2"},
        14: {**client, "op": "CLOSED", "offset": 0, "time": 9_000_000},
    }  # fmt: skip
    damage = found.pop(13)
    assert found == wanted
    assert (damage["reason"], damage["server"], damage["offset"]) == ("bad size", "A", 187)
    assert "(at byte 187" in damage["_corrupt_record"]
    assert list(capture_payloads(path, 3)) == [("A", base + 6, HEAD + b"hi")]


@pytest.mark.parametrize(
    ("after", "deliveries"), [(0, 1), (999_999_999, 1), (1_000_000_000, 1), (1_000_000_001, 0)]
)
@pytest.mark.parametrize("other", [None, "subject", "reply", "size"])
def test_a_delivery_is_of_the_same_message_of_the_last_second(tmp_path, after, deliveries, other):
    changed = {"subject": b"b 1 r 1", "reply": b"a 1 1", "size": b"a 1 r 2"}
    line = changed.get(other, b"a 1 r 1")
    with capture.Writer(tmp_path) as writer:
        for conn, way, data, at in (
            (1, "c2s", b"SUB * 1\r\n", 0),
            (2, "c2s", b"PUB a r 1\r\nx\r\n", 5),
            (1, "s2c", b"MSG %b\r\n%b\r\n" % (line, b"x" * int(line[-1:])), 5 + after),
        ):
            writer.write(way, conn, data, at=at)
    (row,) = [row for row in capture_events(str(tmp_path), complete=True) if row["op"] == "PUB"]
    assert row["deliveries"] == (0 if other else deliveries)
    (row,) = [row for row in capture_events(str(tmp_path)) if row["op"] == "PUB"]
    assert row.get("deliveries") == (1 if not other and deliveries else None)
    assert {"forwarded", "ambiguous"}.isdisjoint(row) == ("deliveries" not in row)
    assert row["time"] == 0  # five nanoseconds
    times = [row["time"] for row in capture_events(str(tmp_path)) if row["op"] == "SUB"]
    assert times == [None]


@pytest.mark.parametrize(
    ("sent", "proves"),
    [(b"PONG\r\n", True), (b"+OK\r\n", True), (b"MSG a 1 0\r\n\r\n", True),
     (b"HMSG a 1 %d %d\r\n%b\r\n" % (len(HEAD), len(HEAD), HEAD), True), (b"PING\r\n", False),
     (b"-ERR 'Authorization Violation'\r\n", False), (INFO % 7, False)],
)  # fmt: skip
def test_who_claims_another_user_is_told_once_the_server_let_it_in(tmp_path, sent, proves):
    login = b'CONNECT {"jwt":"%b","user":"eve"}\r\nSUB a 1\r\n' % JWT_OF_BANK.encode()
    info = b'INFO {"server_id":"A","client_id":7,"auth_required":true}\r\n'
    path = written(tmp_path, ("s2c", 1, info, 1), ("c2s", 1, login, 2), ("s2c", 1, sent * 2, 3))
    names = ("subject", "identity", "conn", "server", "time")
    claims = [row for row in capture_events(path) if row["op"] == "CLAIM"]
    assert [tuple(row[name] for name in names) for row in claims] == [
        ("eve", "bank.core", "-/client:7", "A", 3_000_000),
    ] * proves


def test_a_second_connect_of_a_capture_adds_to_the_first_one(tmp_path):
    """As a client sends it to set one option; the server keeps the user of the first one."""
    path = written(
        tmp_path,
        ("s2c", 1, b'INFO {"server_id":"A","client_id":7,"auth_required":true}\r\n', 1),
        ("c2s", 1, b'CONNECT {"user":"ann","name":"prog"}\r\nPUB a 0\r\n\r\n', 2),
        ("c2s", 1, b'CONNECT {"echo":false,"name":"other"}\r\nPUB b 0\r\n\r\n', 3),
    )
    who = {
        row["subject"]: (row["identity"], row["identity_source"], row["client"])
        for row in capture_events(path)
        if row["op"] == "PUB"
    }
    assert who == {"a": ("ann", "user", "prog"), "b": ("ann", "user", "other")}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("Permissions Violation for Publish to \"x\"", ("x", None, "publish")),
        ("permissions violation for publish to \"x\"", ("x", None, "publish")),
        ("Permissions Violation for Publish with Reply of \"r\"", ("r", None, "reply")),
        ("Permissions Violation for Subscription to \"q.>\"", ("q.>", "1", "subscribe")),
        ("Permissions Violation for Subscription to \"q.>\" using queue \"g\"",
         ("q.>", "2", "subscribe")),
        ("Permissions Violation for Subscription to \"q.>\" using queue \"h\"",
         ("q.>", None, "subscribe")),
        ("Permissions Violation for Publish to \"other\"", ("other", None, "publish")),
        ("Invalid Subject", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("way", ["s2c", "c2s"])
def test_a_refusal_is_that_of_the_server_and_ends_what_it_names(tmp_path, text, refused, way):
    path = written(
        tmp_path,
        ("c2s", 1, b"SUB q.> 1\r\nSUB q.> g 2\r\nPUB x r 0\r\n\r\nPUB x r 0\r\n\r\n", 1),
        (way, 1, f"-ERR '{text}'\r\n".encode(), 1),
        ("s2c", 1, b"MSG q.a 1 0\r\n\r\nMSG q.a 2 0\r\n\r\n", 1),
    )
    rows = list(capture_events(path))
    told = [(r["subject"], r["sid"], r["refused"]) for r in rows if r.get("op") == "VIOLATION"]
    if way == "c2s":
        assert told == []
        return
    assert told == [refused] * (refused is not None)
    kind = None if refused is None or refused[0] == "other" else refused[2]
    of_publishes = [kind if kind in ("publish", "reply") else None, None]
    assert [row.get("refused") for row in rows if row["op"] == "PUB"] == of_publishes
    ended = None if refused is None else refused[1]
    known = {row["sid"]: "subscription" in row for row in rows if row["op"] == "MSG"}
    assert known == {sid: sid != ended for sid in ("1", "2")}
    assert all("direction" not in row for row in rows if row["op"] == "VIOLATION")


@pytest.mark.parametrize("size", [8, 9])
@pytest.mark.parametrize("told", [True, False])
def test_a_message_larger_than_the_server_says_is_refused(tmp_path, size, told):
    info = b'INFO {"server_id":"A"%b}\r\n' % (b',"max_payload":8' * told)
    message = b"PUB x %d\r\n%b\r\n" % (size, b"x" * size)
    path = written(tmp_path, ("s2c", 1, info, 1), ("c2s", 1, message, 2))
    rows = {row["op"]: row for row in capture_events(path)}
    refused = told and size > 8
    assert rows["PUB"].get("refused") == ("payload" if refused else None)
    assert ("VIOLATION" in rows) == refused
    if refused:
        violation = rows["VIOLATION"]
        assert (violation["subject"], violation["refused"], violation["sid"]) == (
            "x", "payload", None,
        )  # fmt: skip


@pytest.mark.parametrize(("before", "told"), [(63, True), (64, False)])
def test_so_many_rows_wait_for_the_account_of_a_connection(tmp_path, before, told):
    info = b'INFO {"server_id":"A","client_id":7,"remote_account":"ACME"}\r\n'
    path = written(tmp_path, ("c2s", 1, b"PING\r\n" * before, 1), ("s2c", 1, info, 2))
    rows = list(capture_events(path))
    assert [row["account"] for row in rows] == (["ACME"] if told else [None]) * before + ["ACME"]


def test_answers_of_jetstream_in_a_capture_are_rows(tmp_path):
    told = b'{"stream":"ORDERS","seq":1}'
    path = written(tmp_path, ("s2c", 1, b"MSG i 1 %d\r\n%b\r\n" % (len(told), told), 2))
    message, stored = capture_events(path)
    assert (message["op"], message["position"]) == ("MSG", 1)
    assert stored == {
        "op": "STORED", "queue": "ORDERS", "position": 2,
        **{name: message[name] for name in ("server", "file", "offset", "time", "conn", "account",
                                            *ANN)},
    }  # fmt: skip


def test_the_server_ends_a_subscription_after_its_last_message(tmp_path):
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"SUB a 1\r\nUNSUB 1 2\r\n", 1),
        ("s2c", 1, b"MSG a 1 0\r\n\r\nMSG a 1 0\r\n\r\n", 2),
    )
    rows = list(capture_events(path))
    assert [(row["op"], row.get("size")) for row in rows] == [
        ("SUB", None), ("UNSUB", 2), ("MSG", 0), ("MSG", 0), ("DELSUB", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("step", "op"),
    [
        (("c2s", 1, b"SUB b 2\r\n", 3), "SUB"),
        (("c2s", 1, b"UNSUB 1\r\n", 3), "UNSUB"),
        (("closed", 1, b"{}", 3), "CLOSED"),
        (("s2c", 1, b"-ERR 'Permissions Violation for Subscription to \"a\"'\r\n", 3), "VIOLATION"),
        (("c2s", 1, b"PING\r\n", 3), None),
        (("s2c", 1, b"MSG a 1 0\r\n\r\n", 3), None),
    ],
    ids=["SUB", "UNSUB", "CLOSED", "VIOLATION", "PING", "MSG"],
)
def test_a_message_names_the_latest_row_that_can_change_who_subscribes(tmp_path, step, op):
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"SUB a 1\r\n", 1),
        ("c2s", 2, b"PUB a 0\r\n\r\n", 2),
        step,
        ("c2s", 2, b"PUB a 0\r\n\r\n", 8),
    )
    rows = list(capture_events(path))
    before, after = (row["subscription"] for row in rows if row["op"] == "PUB")
    places = {row["op"]: row["position"] for row in rows}
    assert after == (before if op is None else places[op])


def test_a_second_subscription_with_an_identifier_in_use_is_ignored(tmp_path):
    """As a server does: the first one goes on."""
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"SUB a g 1\r\nSUB a h 1\r\n", 1),
        ("s2c", 1, b"MSG a 1 0\r\n\r\n", 2),
    )
    *_, delivered = capture_events(path)
    assert (delivered["op"], delivered["queue"]) == ("MSG", "g")


@pytest.mark.parametrize(
    ("before", "most", "left"), [(0, 2, 2), (1, 3, 2), (1, 2, 1), (2, 2, None), (3, 2, None)]
)
def test_the_last_messages_of_a_subscription_are_counted_from_its_begin(
    tmp_path, before, most, left
):
    message = b"MSG a 1 0\r\n\r\n"
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"SUB a 1\r\n", 1),
        ("s2c", 1, message * before, 2),
        ("c2s", 1, b"UNSUB 1 %d\r\n" % most, 3),
        ("s2c", 1, message * 3, 4),
    )
    rows = list(capture_events(path))
    (ended,) = [row for row in rows if row["op"] == "UNSUB"]
    assert ended.get("size") == left
    after = [row for row in rows if row["op"] == "MSG"][before:]
    assert ["subscription" in row for row in after] == [
        left is not None and number < left for number in range(3)
    ]
    assert ("DELSUB" in {row["op"] for row in rows}) is (left is not None)


def test_a_queue_group_takes_each_message_once(tmp_path):
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"SUB a g 1\r\n", 1),
        ("c2s", 2, b"SUB a g 1\r\n", 1),
        ("c2s", 3, b"PUB a 0\r\n\r\nPUB a 0\r\n\r\n", 2),
        ("s2c", 1, b"MSG a 1 0\r\n\r\n", 2.1),
        ("s2c", 2, b"MSG a 1 0\r\n\r\n", 2.2),
    )
    rows = [row for row in capture_events(path, complete=True) if row["op"] == "PUB"]
    assert [row["deliveries"] for row in rows] == [1, 1]


def test_each_refusal_is_of_a_message_of_its_own(tmp_path):
    refusal = b"-ERR 'Permissions Violation for Publish to \"x\"'\r\n"
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"PUB x 0\r\n\r\n" * 3, 1),
        ("s2c", 1, refusal * 2, 1.5),
    )
    rows = [row for row in capture_events(path) if row["op"] == "PUB"]
    assert [row.get("refused") for row in rows] == ["publish", "publish", None]


@pytest.mark.parametrize("first", ["true", "false"])
def test_the_first_info_says_whether_names_are_checked(tmp_path, first):
    """A server sends INFO again, when its cluster changes, without what it said at first."""
    info = b'INFO {"auth_required":%b}\r\n' % first.encode()
    path = written(
        tmp_path / "a",
        ("s2c", 1, info, 1),
        ("c2s", 1, b'CONNECT {"user":"a.com"}\r\n', 2),
        ("s2c", 1, b'INFO {"connect_urls":[],"auth_required":%b}\r\n'
         % (b"false" if first == "true" else b"true"), 3),
        ("c2s", 1, b"PUB x 0\r\n\r\n", 4),
    )  # fmt: skip
    (row,) = [row for row in capture_events(path) if row["op"] == "PUB"]
    assert (row.get("identity_source") == "user") is (first == "true")


@pytest.mark.parametrize(
    ("kind", "line", "name"),
    [
        ("client", b"PING\r\n", "client"),
        ("route", b"RS+ $G a\r\n", "route"),
        ("route_legacy", b"SUB a RSID:1:1\r\n", "route"),
        ("leaf", b"LS+ a\r\n", "leaf"),
    ],
)
def test_a_connection_is_named_by_its_kind(tmp_path, kind, line, name):
    about = b'{"kind":"%b"}' % kind.encode()
    path = written(tmp_path / "a", ("opened", 1, about, 1), ("c2s", 1, line, 2))
    (row,) = capture_events(path)
    assert row["conn"] == f"-/{name}:tap-1"


def test_a_message_is_delivered_within_a_second_and_once_per_subscriber(tmp_path):
    path = written(
        tmp_path / "a",
        ("c2s", 1, b"SUB a 1\r\nSUB a g 2\r\n", 1),
        ("c2s", 2, b"PUB a 0\r\n\r\nPUB a 0\r\n\r\n", 2),
        ("s2c", 1, b"MSG a 1 0\r\n\r\nMSG a 2 0\r\n\r\nMSG a 1 0\r\n\r\n", 2.5),
        ("c2s", 2, b"PUB a 0\r\n\r\n", 3),
        ("s2c", 1, b"MSG a 1 0\r\n\r\n", 4.5),
    )
    rows = [row for row in capture_events(path, complete=True) if row["op"] == "PUB"]
    assert [row["deliveries"] for row in rows] == [2, 1, 0]
    assert [row["ambiguous"] for row in rows] == [True, True, False]


def test_the_name_in_a_token_is_the_identity_and_no_secret_is_shown(tmp_path):
    path = written(
        tmp_path / "a",
        ("c2s", 1, b'CONNECT {"name":"x y","pass":"hunter2","jwt":"%s"}\r\nPUB a 0\r\n\r\n'
         % JWT_OF_BANK.encode(), 1),
        ("c2s", 1, b"PUB %s 0\r\n\r\n" % JWT_OF_BANK.encode(), 1),
        ("c2s", 1, b"PUB a five\r\n", 2),
    )  # fmt: skip
    rows = list(capture_events(path))
    assert {row.get("identity") for row in rows if row.get("op") == "PUB"} == {"bank.core"}
    assert "hunter2" not in repr(rows)
    assert JWT_OF_BANK not in repr(rows)
    assert [row["reason"] for row in rows if "reason" in row] == ["bad size"]


CONNZ = {
    "server_id": "A", "now": "2026-11-21T00:00:00.5Z", "num_connections": 2, "total": 2,
    "offset": 0, "limit": 9, "connections": [
        {"cid": 8, "name": "shop", "authorized_user": "shop.example", "account": "ACC",
         "subscriptions_list_detail": [
            {"account": "ACC", "subject": "p1.safe.443.*.shop_example._.GET.item.*",
             "qgroup": "q", "sid": "1", "msgs": 7},
            {"subject": "b", "sid": "2", "msgs": 0}]},
        {"cid": 9, "name": "idle"}],
}  # fmt: skip


def test_every_row_of_a_snapshot_has_all_that_is_known(tmp_path):
    path = tmp_path / "page.json"

    def rows(page, number=0):
        path.write_text(json.dumps(page))
        found = list(snapshot_events(str(path), number))
        assert {row.pop("file") for row in found} <= {str(path)}
        assert [row.pop("position") for row in found] == [
            (number << INPUT_BITS) + place for place in range(len(found))
        ]
        return found

    nobody = dict.fromkeys(ANN)
    shop = {"identity": "shop.example", "identity_source": "user", "user": "shop.example",
            "client": "shop"}  # fmt: skip
    at = {"server": "A", "time": 1_795_219_200_500_000, "direction": "in"}
    assert rows(CONNZ, 2) == [
        {**at, **shop, "op": "CONNECT", "conn": "-/client:8", "account": "ACC", "offset": 0},
        {**at, **nobody, "op": "CONNECT", "conn": "-/client:9", "account": None, "offset": 1,
         "identity": "idle", "identity_source": "claimed", "client": "idle"},
        {**at, **shop, "op": "SUB", "conn": "-/client:8", "account": "ACC", "queue": "q",
         "subject": "p1.safe.443.*.shop_example._.GET.item.*", "sid": "1", "offset": 2},
        {**at, **shop, "op": "SUB", "conn": "-/client:8", "account": "ACC", "subject": "b",
         "queue": None, "sid": "2", "offset": 3},
    ]  # fmt: skip
    listed = {"subscriptions_list": [{"subject": "a", "qgroup": "q"}, {"subject": "a"}]}
    assert rows({**listed, "now": "2026-11-21T00:00:00"}) == [
        {**nobody, "server": "-", "time": None, "direction": "in", "op": "SUB", "account": None,
         "conn": "-/client:-", "subject": "a", "queue": queue, "sid": f"a {queue or ''}".strip(),
         "offset": place}
        for place, queue in enumerate(("q", None))
    ]  # fmt: skip
    jwt = {"cid": 1, "jwt": JWT_OF_BANK, "authorized_user": JWT_OF_BANK, "account": 7}
    claimed, told = rows({"connections": [{**jwt, "account": None}]})
    assert (claimed["op"], claimed["identity"]) == ("CONNECT", "bank.core")
    assert (told["op"], told["subject"], "direction" in told) == ("CLAIM", "[REDACTED]", False)
    assert "sig" not in repr((claimed, told)).replace("[REDACTED]", "")
    (damage,) = rows({"connections": 5})
    assert (damage["server"], damage["offset"], damage["reason"]) == ("-", 0, "monitor")
    assert damage["_corrupt_record"].startswith("not a monitoring response")
    (route,) = rows({"routes": [{"rid": 5, "remote_name": "b"}]})
    assert (route["conn"], route["client"], route["op"]) == ("-/route:5", "b", "CONNECT")


@pytest.mark.parametrize(
    ("now", "time"),
    [("1970-01-02T00:00:01.000002Z", 86_401_000_002), ("1970-01-01T02:00:00+02:00", 0),
     ("1969-12-31T23:59:59.999999Z", -1), ("1970-01-01T00:00:00", None), ("x", None),
     (None, None)],
)  # fmt: skip
def test_the_time_of_a_snapshot_is_in_microseconds(tmp_path, now, time):
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"now": now, "connections": [{"cid": 1}]}))
    (row,) = snapshot_events(str(path))
    assert row["time"] == time


@pytest.mark.requirement("P-01")
def test_connections_and_subscriptions_of_a_snapshot_are_events(session, folder, tmp_path):
    path = tmp_path / "connz.json"
    path.write_text(json.dumps(CONNZ))
    df = session.read.format("nats-monitor").load(str(path))
    rows = [row.asDict() for row in df.orderBy("position").collect()]
    assert [(r["op"], r["conn"], r["subject"], r["queue"], r["sid"]) for r in rows] == [
        ("CONNECT", "-/client:8", None, None, None),
        ("CONNECT", "-/client:9", None, None, None),
        ("SUB", "-/client:8", "p1.safe.443.*.shop_example._.GET.item.*", "q", "1"),
        ("SUB", "-/client:8", "b", None, "2"),
    ]
    assert {(row["server"], row["time"].isoformat()[:21]) for row in rows} == {
        ("A", "2026-11-21T00:00:00.5")
    }
    (tmp_path / "routez.json").write_text(
        '{"server_id": "B", "routes": [{"rid": 5, "subscriptions_list": ["c.*"]}]}'
    )
    (tmp_path / "bad.json").write_text('{"connections": 5}')
    with audit(session, [str(folder), *map(str, sorted(tmp_path.glob("*.json")))]) as result:
        found = {row["pattern"]: row for row in result.rows("subscriptions")}
        assert found["b"]["identity"] == "shop.example"
        assert len(found) > 100
        (damaged,) = result.rows("unparseable")
        assert (damaged["file"], damaged["reason"]) == (str(tmp_path / "bad.json"), "monitor")
        assert "p1" in result.summary["planes"]
        # Subscriptions of other servers are not of clients of this one.
        assert "c.*" not in found


def test_rows_are_events_or_what_is_asked_for():
    for source, other in ((WireSource, "operations"), (MonitorSource, "subscriptions")):
        names = [field.split(" ")[0] for field in source({}).schema().split(", ")]
        assert [name.strip("`") for name in names] == [name for name, _ in EVENTS]
        assert source({"ROWS": other}).schema() != source({}).schema()
        with pytest.raises(ValueError, match=f"rows must be one of events, {other}"):
            source({"rows": "lines"}).schema()
    schema = StructType([StructField("op", StringType())])
    with pytest.raises(ValueError, match="conn needs rows=operations"):
        WireSource({"path": "x", "conn": "client"}).reader(schema)


def test_the_summary_of_events_is_that_of_their_log(session, tmp_path):
    """Bug: unmatched deliveries were not counted, and lines of the server were operations."""
    world = tmp_path / "world"
    write_traffic(world, seed=75, rows=1500, events=True)
    log = str(world / "trace.log")
    with audit(session, [log]) as result:
        expected = result.summary
    assert expected["unmatched"] > 0
    df = session.read.format("nats-trace").option("splitBytes", 200_000).load(log)
    with audit(session, df) as result:
        for name in ("operations", "unparseable_lines", "planes", "ambiguous", "unmatched",
                     "forwarded"):  # fmt: skip
            assert result.summary[name] == expected[name], name
        assert result.summary["payloads"] == 0
        assert 0 < result.summary["server"] < expected["server"]


def test_messages_of_kafka_and_json_become_events(session):
    """The subject may be bytes, a field of a struct, or computed from a JSON text."""
    value = json.dumps({"subject": SUBJECT, "from": "a.com", "at": "2026-11-21T00:00:01Z"})
    rows = [(bytearray(SUBJECT.encode()), bytearray(value.encode()), (SUBJECT, "x")),
            (bytearray(b"\xff."), None, (None, None))]  # fmt: skip
    df = session.createDataFrame(
        rows, "key binary, value binary, message struct<subject:string,`at`:string>"
    )
    text = F.col("value").cast("string")
    for subject in ("key", "message.subject", F.get_json_object(text, "$.subject")):
        found = events(
            df,
            subject=subject,
            identity=F.get_json_object(text, "$.from"),
            time=F.get_json_object(text, "$.at"),
        )
        first, second = found.collect()
        assert (first.subject, first.identity, first.op) == (SUBJECT, "a.com", "PUB")
        assert first.time.isoformat()[:19] == "2026-11-21T00:00:01"
        assert second.time is None
        if isinstance(subject, str) and subject == "key":
            assert second.subject == "\ufffd."
        else:
            assert (second.subject, second.op, second.reason) == (None, None, "no subject")
    assert events(df, subject="key", time="message.at").collect()[0].time is None
    with audit(session, found) as result:
        assert result.summary["operations"] == result.summary["unparseable_lines"] == 1
    logged: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = logged.append
    logger = logging.getLogger("DataFrameQueryContextLogger")
    logger.addHandler(handler)
    with pytest.raises(ValueError, match=r"there is no column 'message\.topic'; .*: key, value"):
        events(df, subject="message.topic")
    with pytest.raises(ValueError, match=r"there is no column 'subject'; .* as in subject='topic'"):
        events(df)
    logger.removeHandler(handler)
    assert logged == []  # Spark printed its own stack before the error
    with pytest.raises(ValueError, match=r"must hold strings or bytes, not struct"):
        events(df, subject="message")


def test_a_table_that_is_not_of_events_is_refused_and_leaves_no_folder(
    session, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path))
    found = events(session.createDataFrame([("a.b",)], "subject string"))
    for name in ("subject", "time", "conn"):
        with pytest.raises(ValueError, match=f"not a table of events, it has no column '{name}'"):
            audit(session, found.drop(name))
    assert list(tmp_path.glob("subtrie-audit-*")) == []


@pytest.mark.parametrize(
    ("names", "given_columns"),
    [
        (["subject"], ["subject"]),
        (["subject", "identity", "size"], ["conn", "identity", "size", "subject"]),
        (
            ["subject", "direction", "server"],
            ["direction", "op", "reason", "refused", "server", "subject"],
        ),
    ],
)
def test_spark_hands_over_only_columns_that_hold_something(session, names, given_columns):
    """Each row is as in the whole table; what is derived from it, or joined to it, is whole."""
    given = {"subject": [SUBJECT, None, "x"], "identity": ["a.com", "b.com", None],
             "size": [1, None, 3], "direction": ["refused", "out", "up"],
             "server": ["s", None, "t"]}  # fmt: skip
    made = pa.table({n: pa.array(given[n], pa.int64() if n == "size" else pa.string())
                     for n in names})  # fmt: skip
    whole = events(session.createDataFrame(made))
    narrow, _, widened = narrowed(whole, EVENT_COLUMNS)
    assert sorted(narrow.columns) == given_columns
    rows = [row for batch in narrow.toArrow().to_batches() for row in widened(batch).to_pylist()]
    assert rows == whole.select(*EVENT_COLUMNS).toArrow().to_pylist()
    assert narrowed(whole.unionByName(whole), EVENT_COLUMNS)[0].columns == list(EVENT_COLUMNS)


def test_messages_that_the_server_sent_are_deliveries(session):
    rows = [(SUBJECT, way) for way in ("in", "out", "c2s", "S2C", None)]
    df = session.createDataFrame(rows, "subject string, direction string")
    found = [(row.direction, row.op) for row in events(df).collect()]
    assert found == [("in", "PUB"), ("out", "MSG"), ("in", "PUB"), ("out", "MSG"), ("in", "PUB")]


def test_an_unknown_direction_is_not_a_publish_and_a_refused_message_is_settled(session):
    """Bug: both were accepted messages, so that refused attempts were successful spoofing."""
    rows = [("a.com", "in"), ("eve.com", "Refused"), ("eve.com", "sideways"), ("eve.com", ""),
            ("a.com", "out"), ("eve.com", "x" * 50)]  # fmt: skip
    df = session.createDataFrame([(SUBJECT, *row) for row in rows],
                                 "subject string, identity string, direction string")  # fmt: skip
    found = [(row.op, row.refused, row.reason) for row in events(df).collect()]
    assert found == [
        ("PUB", None, None), ("PUB", "publish", None), ("VIOLATION", "publish", None),
        (None, None, "unknown direction: sideways"), (None, None, "unknown direction: "),
        ("MSG", None, None), (None, None, f"unknown direction: {'x' * 20}"),
    ]  # fmt: skip
    for given in (events(df), events(df).where("true")):
        with audit(session, given) as result:
            (call,) = result.rows("call_graph")
            assert (call["published"], call["refused"], call["undelivered"]) == (1, 1, 0)
            (refused,) = result.rows("refused")
            assert (refused["who"], refused["subject"], refused["count"]) == ("eve.com", SUBJECT, 1)
            (spoofed,) = result.rows("spoofed")
            assert (spoofed["who"], spoofed["count"], spoofed["accepted"]) == ("eve.com", 1, 0)
            assert result.summary["unparseable_lines"] == 3
            assert verdict(result) == (
                "undelivered messages not counted, 1 refused (1 spoofed), 3 unparseable"
            )


def test_all_rows_of_a_connection_in_a_capture_have_the_account_that_is_told_later(tmp_path):
    """The rows before the server said the account were a finding of their own."""
    path = written(
        tmp_path / "a",
        ("opened", 1, b'{"kind":"client"}', 1),
        ("s2c", 1, INFO % 7, 1),
        ("c2s", 1, b'CONNECT {"user":"a.com"}\r\nSUB q.> 1\r\nPUB x 1\r\na\r\n', 2),
        ("s2c", 1, b"-ERR 'Permissions Violation for Publish to \"x\"'\r\n", 2.1),
        ("s2c", 1, b'INFO {"server_id":"A","client_id":7,"remote_account":"ACME"}\r\n', 2.2),
        ("c2s", 1, b"PUB y 1\r\na\r\n", 3),
        ("closed", 1, b"{}", 9),
    )
    rows = list(capture_events(path, complete=True))
    assert {row["account"] for row in rows} == {"ACME"}
    assert len({row["position"] for row in rows}) == len(rows)
    with audit(None, [path]) as run:
        assert [row["account"] for row in run.rows("refused")] == ["ACME"]


def test_rows_of_a_connection_whose_account_is_never_told_are_read(tmp_path):
    many = b"SUB q.> 1\r\nUNSUB 1\r\n" * 100
    path = written(
        tmp_path / "a",
        ("opened", 1, b'{"kind":"client"}', 1),
        ("s2c", 1, INFO % 7, 1),
        ("c2s", 1, b"CONNECT {}\r\n" + many, 2),
    )  # fmt: skip
    rows = list(capture_events(path, complete=True))
    assert [row["op"] for row in rows].count("SUB") == 100
    assert {row["account"] for row in rows} == {None}


@pytest.mark.requirement("P-01")
def test_a_day_in_a_lake_and_its_log_on_a_laptop_without_java_have_equal_rows(session, tmp_path):
    """The function of the page, with the folders of this test; the laptop only has the command."""
    page = (ROOT / "docs" / "audit.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    code = next(block for block in blocks if "def of_the_lake(" in block)
    for folder in ("/logs/", "/lake/"):
        code = code.replace(folder, f"{tmp_path}{folder}")
    names: dict[str, Any] = {}
    exec(code, names)
    day = "2026-11-21"
    write_traffic(tmp_path / "world", seed=31, rows=2500)
    log = tmp_path / "logs" / day / "trace.log"
    log.parent.mkdir(parents=True)
    shutil.copy(tmp_path / "world" / "trace.log", log)
    lake = names["of_the_lake"](session, day).folder.path
    laptop = tmp_path / "laptop"
    environment = {**os.environ, "JAVA_HOME": str(tmp_path / "none"), "PATH": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-m", "subtrie", "audit", str(log), "--out", str(laptop)],
        env=environment, check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    filled = [name for name in TABLES if open_run(laptop).count(name)]
    assert {"call_graph", "undelivered", "coverage", "subscriptions"} < set(filled)
    runs = open_run(lake), open_run(laptop)
    for name in {*TABLES} - {"runs"}:
        one, other = (tuple(map(str, run.rows(name))) for run in runs)
        assert one == other, name
