"""The audit of a log that a real nats-server writes, with allowed and refused traffic."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nats
import pytest

from patience import settled
from plain_trace_log import read_events
from servers import free_port
from subtrie.audit._answers.questions import load_rules
from subtrie.audit._partial.parts import plan, read_part
from subtrie.audit._partial.selection import SELECTED_BY, Chooser
from subtrie.microbus import encode_reply, encode_request, encode_subscription
from subtrie.spark import TABLES, Audit, Questions, Selection, audit, register

CONFIGURATION = """
listen: 127.0.0.1:{port}
trace: true
debug: true
logfile: "{log}"
authorization {{ users: [
  {{ user: "shop.example", password: "hidden-word", permissions: {{
      publish: ["p1.*.*.shop_example.>", "p1.reply._.shop_example.>"],
      subscribe: {{ allow: "p1.>", deny: "p1.danger.>" }} }} }}
  {{ user: "stock.example", password: "hidden-word" }}
  {{ user: "Some_User", password: "hidden-word" }}
] }}
"""


def request(source: str, host: str, path: str, port: int = 443) -> str:
    return str(
        encode_request(plane="p1", port=port, source=source, host=host, method="GET", path=path)
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The finished log."""
    folder = tmp_path_factory.mktemp("broker")
    server = shutil.which("nats-server") or Path(sys.executable).parent / "nats-server"
    port = free_port()
    path = folder / "trace.log"
    (folder / "nats.conf").write_text(CONFIGURATION.format(port=port, log=path))
    broker = subprocess.Popen([server, "-c", folder / "nats.conf"])
    try:
        for _ in range(100):
            if path.exists() and "Server is ready" in path.read_text():
                break
            time.sleep(0.05)
        asyncio.run(traffic(f"nats://127.0.0.1:{port}"))
    finally:
        broker.send_signal(signal.SIGTERM)
        broker.wait(60)
    return path


async def traffic(url: str) -> None:
    """Run the clients."""

    async def ignore(_: Exception) -> None:
        pass

    async def client(user: str, name: str | None = None) -> Any:
        return await nats.connect(
            url, user=user, password="hidden-word", name=name, error_cb=ignore
        )

    shop, stock = await client("shop.example"), await client("stock.example")
    named, unknown = await client("Some_User", "edge.example"), await client("Some_User")

    async def heard(message: Any) -> None:
        pass

    pattern = str(
        encode_subscription(plane="p1", port=443, host="stock.example", method="GET", path="/{sku}")
    )
    await stock.subscribe(pattern, queue="stock.example", cb=heard)
    await named.subscribe(pattern, queue="stock.example", cb=heard)
    await unknown.subscribe(pattern, cb=heard)
    await shop.subscribe("p1.danger.>", cb=heard)  # refused
    await shop.subscribe("elsewhere", queue="q", cb=heard)  # refused
    for each in (shop, stock, named, unknown):
        await settled(each)

    for _ in range(20):
        await shop.publish(request("shop.example", "stock.example", "/a"), b"1")
    await settled(shop)
    await shop.publish(request("stock.example", "stock.example", "/a"), b"1")  # refused, spoofed
    await shop.publish(request("stock.example", "stock.example", "/a"), b"1")  # and again
    await shop.publish(request("shop.example", "stock.example", "/a/b"), b"")  # no such route
    await shop.publish("p1.safe.443.shop_example.Stock._.GET.a", b"1")  # malformed
    await settled(shop)
    await stock.publish(request("shop.example", "stock.example", "/a"), b"22")  # spoofed
    await named.publish(request("shop.example", "stock.example", "/a"), b"333")  # spoofed by name
    await unknown.publish(request("shop.example", "stock.example", "/a"), b"4444")  # no identity
    await stock.publish(
        str(encode_reply(plane="p1", source="stock.example", host="shop.example", id="id-1")), b"r"
    )
    await stock.publish("orders.new", b"x", headers={"A": "b"})
    for each in (shop, stock, named, unknown):
        await settled(each)
    await asyncio.sleep(0.1)
    for each in (shop, stock, named, unknown):
        await each.close()


@pytest.fixture(scope="module")
def tables(spark, log) -> dict[str, Any]:
    """The audit of the log, with the rules that the broker enforced."""
    questions = Questions(rules=load_rules([log.parent / "nats.conf"]), min_days=1, min_sources=1)
    with audit(spark, [str(log)], questions=questions) as result:
        return {"summary": result.summary, **{name: list(result.rows(name)) for name in TABLES}}


def test_every_line_is_accounted_for(tables, log) -> None:
    summary = tables["summary"]
    assert summary["lines"] == log.read_text().count("\n")
    assert summary["unparseable_lines"] == summary["unmatched"] == 0
    assert summary["planes"] == ["p1"]


def test_the_call_graph_counts_queues_once(tables) -> None:
    edges = {(r["source"], r["destination"], r["route"]): r for r in tables["call_graph"]}
    shop = edges["shop.example", "stock.example", "*"]
    assert (shop["published"], shop["refused"], shop["undelivered"]) == (23, 0, 0)
    assert shop["delivered"] == 23 * 2  # the queue, and the one without
    assert shop["instances"] == 4  # the shop, and three that claim to be it
    other = edges["shop.example", "stock.example", None]
    assert (other["published"], other["undelivered"], other["delivered"]) == (1, 1, 0)
    assert edges["stock.example", "stock.example", "*"]["refused"] == 2
    assert edges["stock.example", "stock.example", "*"]["published"] == 0


PROVEN = {"account": "$G", "user": "shop.example", "client": None, "identity_source": "user"}


def test_refusals_are_reported_with_client_and_subject(tables) -> None:
    subject = request("stock.example", "stock.example", "/a")
    assert all(row["first"] <= row["last"] for row in tables["refused"])
    assert all(sum(row["rate"]["counts"]) == row["count"] for row in tables["refused"])
    assert [
        {k: v for k, v in row.items() if k not in ("first", "last", "rate")}
        for row in tables["refused"]
    ] == [
        {"who": "shop.example", "subject": about, "count": count, "kind": kind, **PROVEN}
        for about, count, kind in (
            ("elsewhere", 1, "subscribe"), ("p1.danger.>", 1, "subscribe"), (subject, 2, "publish"),
        )
    ]  # fmt: skip


@pytest.mark.requirement("P-08")
def test_spoofed_sources_are_reported_if_the_identity_is_known(tables) -> None:
    told = {(row["who"], row["claimed"]): row for row in tables["spoofed"]}
    assert {key: (row["count"], row["accepted"]) for key, row in told.items()} == {
        ("shop.example", "stock.example"): (2, 0),
        ("stock.example", "shop.example"): (1, 1),
        ("edge.example", "shop.example"): (1, 1),
    }
    assert {row["who"]: (row["user"], row["identity_source"]) for row in tables["spoofed"]} == {
        "shop.example": ("shop.example", "user"),
        "stock.example": ("stock.example", "user"),
        "edge.example": ("Some_User", "claimed"),  # the name that the client gave itself
    }


def test_undelivered_subjects_have_the_nearest_pattern(tables) -> None:
    told = {row["subject"]: row for row in tables["undelivered"]}
    route = told.pop(request("shop.example", "stock.example", "/a/b"))
    assert (route["count"], route["differs_at"], route["subscription_inactive"]) == (1, 8, False)
    assert route["nearest"] == "p1.safe.443.*.stock_example._.GET.*"
    assert [row["subject"] for row in told.values()] == [
        "p1.reply._.stock_example.shop_example.id-1"
    ]
    assert tables["replies"] == [
        {"plane": "p1", "replier": "stock.example", "caller": "shop.example", "published": 1,
         "delivered": 0, "undelivered": 1, "account": "$G"}
    ]  # fmt: skip


def test_malformed_subjects_and_other_traffic_are_separate(tables) -> None:
    (malformed,) = tables["malformed"]
    assert malformed["subject"] == "p1.safe.443.shop_example.Stock._.GET.a"
    assert (malformed["count"], malformed["received"]) == (1, 0)
    assert tables["other_traffic"] == [
        {"subject": "orders.new", "count": 1, "class": "other", "account": "$G"}
    ]


@pytest.mark.requirement("P-07")
def test_every_subscription_has_a_row_whether_it_has_traffic_or_not(tables) -> None:
    route = "p1.safe.443.*.stock_example._.GET.*"
    found = {(row["pattern"], row["queue"]): row for row in tables["coverage"]}
    assert set(found) == {(route, "stock.example"), (route, None)}
    assert {row["matched"] for row in found.values()} == {23}
    assert found[route, None]["delivered"] == found[route, "stock.example"]["delivered"] == 23
    assert [row["pattern"] for row in tables["subscriptions"]] == [route] * 3
    (heard,) = tables["fan_out"]
    assert (heard["subscribers"], heard["groups"], heard["delivered"]) == (1, 1, 46)


@pytest.mark.requirement("P-04")
def test_each_rule_of_the_broker_has_its_messages(tables) -> None:
    """A subscription or a publish counts for all rules that match it, and one decides."""
    usage = {
        (row["service"], row["verb"], row["effect"], row["rule"]): (
            *(row[name] for name in ("accepted", "refused", "decided")),
        )
        for row in tables["permission_usage"]
        if row["service"] != "Some_User"
    }
    assert usage == {
        ("shop.example", "publish", "allow", "p1.*.*.shop_example.>"): (22, 0, 22),
        ("shop.example", "publish", "allow", "p1.reply._.shop_example.>"): (0, 0, 0),
        ("shop.example", "publish", "none", None): (0, 2, 0),
        ("shop.example", "subscribe", "allow", "p1.>"): (0, 1, 0),
        ("shop.example", "subscribe", "deny", "p1.danger.>"): (0, 1, 1),
        ("shop.example", "subscribe", "none", None): (0, 1, 0),
        ("stock.example", "publish", "allow", ">"): (3, 0, 3),
        ("stock.example", "subscribe", "allow", ">"): (1, 0, 1),
    }


@pytest.mark.requirement("P-05", "P-08")
def test_the_broker_enforced_its_rules_and_the_proposal_is_narrower(tables) -> None:
    assert {row["kind"] for row in tables["violations"]} == {"spoofed"}
    ((rule, covered, count),) = (
        (row["rule"], row["covered_by"], row["count"])
        for row in tables["proposal"]
        if row["service"] == "shop.example"
    )
    assert (rule, covered) == (
        "p1.safe.443.shop_example.stock_example._.GET.a",
        "p1.*.*.shop_example.>",
    )
    assert count == 20
    # One message more came from a connection without an identity.
    (called,) = (row for row in tables["gap"] if row["path"] == "*")
    assert (called["destination"], called["traffic"], called["finding"]) == (
        *("stock.example", 21, "ok"),
    )


def test_a_table_of_events_has_the_answers_of_the_log(spark, tables, log) -> None:
    register(spark)
    events = spark.read.format("nats-trace").load(str(log))
    rules = load_rules([log.parent / "nats.conf"])
    with Audit(events=events, rules=rules, min_days=1, min_sources=1) as found:
        for name in TABLES:
            if name not in ("runs", "unparseable"):
                assert list(found.rows(name)) == tables[name], name


def test_a_selection_is_that_of_the_lines(log) -> None:
    """A period, a source and a host, each against plain Python."""
    (part,) = plan([str(log)]).parts
    rows = read_events(log.read_bytes())[0]
    messages = [row for row in rows if row["op"] in ("PUB", "HPUB", "MSG", "HMSG")]
    middle = messages[len(messages) // 2]["time"]

    def chosen(selection: Selection) -> list[dict[str, Any]]:
        names = ("position", *SELECTED_BY)
        chooser = Chooser(selection)
        chooser = chooser.of_subjects([chooser.named(read_part(part, names, {}))])
        batches = chooser.chosen(read_part(part, names, {}))
        return [row for batch in batches for row in batch.to_pylist()]

    def positions(selection: Selection) -> list[int]:
        kinds = ("PUB", "HPUB", "MSG", "HMSG")
        return sorted(row["position"] for row in chosen(selection) if row["op"] in kinds)

    def expected(wanted: Any) -> list[int]:
        return [row["position"] for row in messages if wanted(row)]

    since, until = Selection(since=middle), Selection(until=middle)
    assert positions(since) == expected(lambda row: row["time"] >= middle)
    assert positions(until) == expected(lambda row: row["time"] < middle)
    spoof = request("shop.example", "stock.example", "/a")
    refused = request("stock.example", "stock.example", "/a")
    by_source = positions(Selection(source="stock.example"))
    # What is sent in its name, and whatever subject it sends itself.
    own = {row["subject"] for row in messages
           if row["identity"] == "stock.example" and row["op"] in ("PUB", "HPUB")}  # fmt: skip
    assert by_source == expected(lambda row: row["subject"] in own | {refused})
    assert spoof in own
    by_host = positions(Selection(host="shop.example"))
    assert by_host == expected(lambda row: ".reply._.stock_example.shop_example." in row["subject"])
    # Subscriptions are followed from the start of the log.
    subscribed = [row for row in chosen(since) if row["op"] == "SUB"]
    assert len(subscribed) == sum(row["op"] == "SUB" for row in rows)
