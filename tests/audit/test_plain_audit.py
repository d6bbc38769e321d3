"""The plain audit: its rules by name, and its answers on synthetic and on recorded traffic."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from plain_tables import TABLES, audit
from trace_writer import Trace, random_trace
from window_oracle import judge

from subtrie import microbus
from synthetic_traffic import write_traffic

ROUTE = "p1.safe.443.*.b_com._.GET.x"
CALL = "p1.safe.443.a_com.b_com._.GET.x"
AT_ONCE: dict[str, Any] = dict.fromkeys(("first", "last"), "2026-11-21T08:00:00.000000Z")
AT_ONCE["rate"] = {"start": AT_ONCE["first"], "width_s": 1, "counts": [1]}


def told(trace: Trace) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    return audit([trace.text().encode()], ["p1"])


def edge(trace: Trace) -> tuple[int, int, int, int, int]:
    """Return published, refused, delivered, undelivered and forwarded of the only edge."""
    _, tables = told(trace)
    (row,) = tables["call_graph"]
    names = ("published", "refused", "delivered", "undelivered", "forwarded")
    return tuple(row[name] for name in names)


@pytest.fixture
def trace() -> Trace:
    trace = Trace()
    trace.subscribe(2, ROUTE, "1")
    return trace


# The window of a publish ----------------------------------------------------------------------


def test_a_delivery_in_the_window_belongs_to_the_publish(trace):
    trace.publish(1, CALL)
    trace.deliver(2, CALL, "1")
    assert edge(trace) == (1, 0, 1, 0, 0)


def test_the_next_operation_of_the_connection_ends_the_window(trace):
    trace.publish(1, CALL)
    trace.write(1, "<<- [PING]")
    trace.deliver(2, CALL, "1")
    assert edge(trace) == (1, 0, 1, 1, 0)
    assert told(trace)[0]["unmatched"] == 1


@pytest.mark.parametrize(("late", "undelivered"), [(1.0, 0), (1.000001, 1)])
def test_one_second_after_the_payload_line_ends_the_window(trace, late, undelivered):
    trace.write(1, f"<<- [PUB {CALL} 2]")
    trace.tick(0.9)
    trace.write(1, '<<- MSG_PAYLOAD: ["hi"]')
    trace.tick(late)
    trace.deliver(2, CALL, "1")
    assert edge(trace)[3] == undelivered


def test_the_time_of_a_damaged_line_takes_no_part(trace):
    trace.publish(1, CALL)
    front = "[7] 2026/11/22 08:00:00.000000 [TRC] 127.0.0.1:1 - cid:1 - "
    trace.lines += [front + "<<- [PUB half", front + "<<- [PUB 7]", front + '"v1" - <<- [PUB a x]']
    trace.deliver(2, CALL, "1")
    summary, tables = told(trace)
    assert edge(trace) == (1, 0, 1, 0, 0)
    assert summary["unparseable_lines"] == 3
    assert {row["reason"] for row in tables["unparseable"]} == {
        "incomplete line", "wrong number of arguments", "size is not a number",
    }  # fmt: skip


def test_a_date_that_does_not_exist_is_unparseable(trace):
    trace.lines.append("[7] 2026/13/22 08:00:00.000000 [TRC] 127.0.0.1:1 - cid:1 - <<- [PING]")
    assert told(trace)[1]["unparseable"][0]["reason"] == "bad time"


def test_windows_are_served_in_the_order_of_their_ends(trace):
    trace.publish(1, CALL)
    trace.tick(0.5)
    trace.publish(3, CALL)
    trace.deliver(2, CALL, "1")
    trace.write(3, "<<- [PING]")
    trace.tick(2)
    trace.write(4, "<<- [PING]")
    summary, tables = told(trace)
    assert summary["ambiguous"] == 2
    (row,) = tables["undelivered"]
    assert row["first"] == row["last"] == "2026-11-21T08:00:00.000000Z"


def test_a_refused_publish_counts_as_refused_only(trace):
    trace.publish(1, CALL)
    trace.write(1, f'Publish Violation - Subject "{CALL}"', level="ERR", login="$G/user:a.com")
    assert edge(trace) == (0, 1, 0, 0, 0)
    (row,) = told(trace)[1]["refused"]
    proven = {"account": "$G", "user": "a.com", "client": None, "identity_source": "user"}
    expected = {"who": "a.com", "subject": CALL, "count": 1, "kind": "publish"}
    assert row == {**expected, **AT_ONCE, **proven}


def test_a_publish_refused_for_its_reply_is_listed_by_its_subject(trace):
    trace.publish(1, CALL, reply="secret")
    trace.write(1, 'Publish Violation - Reply "secret"', level="ERR", login="$G/user:a.com")
    assert edge(trace) == (0, 1, 0, 0, 0)
    assert told(trace)[1]["refused"][0]["subject"] == CALL


# Subscriptions --------------------------------------------------------------------------------


def test_an_undelivered_subject_that_was_subscribed_later_is_inactive():
    trace = Trace()
    trace.publish(1, CALL)
    trace.tick(2)
    trace.subscribe(2, ROUTE, "1")
    (row,) = told(trace)[1]["undelivered"]
    assert (row["nearest"], row["differs_at"], row["subscription_inactive"]) == (ROUTE, None, True)


@pytest.mark.parametrize(
    "end", ["<<- [UNSUB 1 ]", "<-> [DELSUB 1]", "Client connection closed: Client Closed"]
)
def test_what_ends_a_subscription(trace, end):
    trace.tick(1)
    trace.write(2, end, level="DBG" if end[0] == "C" else "TRC")
    (row,) = told(trace)[1]["subscriptions"]
    assert (row["start"], row["end"]) == (
        "2026-11-21T08:00:00.000000Z", "2026-11-21T08:00:01.000000Z",
    )  # fmt: skip


def test_unsub_with_a_count_does_not_end_it(trace):
    trace.write(2, "<<- [UNSUB 1 3]")
    assert told(trace)[1]["subscriptions"][0]["end"] is None


def test_a_restart_of_the_broker_ends_the_subscriptions_of_its_connections(trace):
    trace.lines.append("[7] 2026/11/21 08:00:01.000000 [INF] Starting nats-server")
    trace.tick(2)
    trace.publish(2, CALL)
    (row,) = told(trace)[1]["undelivered"]
    assert row["subscription_inactive"] is True
    assert told(trace)[1]["subscriptions"][0]["end"] == "2026-11-21T08:00:01.000000Z"


def test_a_refused_subscription_covers_nothing(trace):
    trace.write(2, 'Subscription Violation - Subject "x", SID 1', level="ERR", login="$G/user:u")
    _, tables = told(trace)
    assert tables["subscriptions"] == tables["coverage"] == []
    proven = {"account": "$G", "user": "u", "client": None, "identity_source": "user"}
    expected = {"who": "u", "subject": "x", "count": 1, "kind": "subscribe"}
    assert tables["refused"] == [{**expected, **AT_ONCE, **proven}]


def test_a_pattern_without_traffic_is_in_the_coverage(trace):
    trace.subscribe(2, "idle.*", "2", "q")
    rows = told(trace)[1]["coverage"]
    assert [(r["pattern"], r["queue"], r["matched"], r["delivered"]) for r in rows] == [
        ("idle.*", "q", 0, 0), (ROUTE, None, 0, 0),
    ]  # fmt: skip


# Who, and where -------------------------------------------------------------------------------


def test_a_user_name_with_a_slash_is_not_cut_twice():
    trace = Trace()
    for sid, login in enumerate(("$G/user:a/user:bank.core", "$G/team/user:b.com", "$G/user:c")):
        trace.write(1 + sid, "<<- [SUB x 1]", login=login)
    identities = [row["identity"] for row in told(trace)[1]["subscriptions"]]
    assert identities == ["a/user:bank.core", "b.com", "c"]


def test_the_route_of_a_call_is_the_most_specific_pattern(trace):
    for sid, tail in enumerate((">", "*", "x"), 5):
        trace.subscribe(3, f"p1.safe.443.*.b_com._.GET.{tail}", str(sid))
    trace.subscribe(3, "p1.>", "9")
    for subject in (CALL, CALL[:-1] + "y", CALL + ".z", CALL.replace("b_com", "c_com")):
        trace.publish(1, subject, "")
    routes = {row["route"] for row in told(trace)[1]["call_graph"]}
    assert routes == {"x", "*", ">", None}


@pytest.mark.parametrize("local", [True, False])
def test_a_message_to_another_broker_is_forwarded_unless_delivered_here(trace, local):
    trace.publish(1, CALL)
    if local:
        trace.deliver(2, CALL, "1")
    front = "[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - rid:9 - "
    trace.lines.append(f"{front}->> [RMSG $G {CALL} 2]")
    assert edge(trace) == (1, 0, int(local), 0, int(not local))


@pytest.mark.parametrize("received", [True, False])
def test_with_the_other_log_a_forwarded_message_is_decided(trace, received):
    trace.publish(1, CALL)
    front = "[{}] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - rid:9 - "
    trace.lines.append(f"{front.format(7)}->> [RMSG $G {CALL} 2]")
    there = Trace(pid=8)
    there.lines.append(f"{front.format(8)}<<- [RMSG $G {CALL} 2]")
    if received:
        there.deliver(5, CALL, "1")
    summary, tables = audit([t.text().encode() for t in (trace, there)], ["p1"])
    (row,) = tables["call_graph"]
    assert (summary["forwarded"], row["undelivered"]) == (0, int(not received))


# Whole logs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_random_windows_agree_with_the_naive_sweep(seed):
    text = random_trace(seed)
    expected = judge(text)
    summary, tables = audit([text.encode("latin-1")])
    assert (summary["ambiguous"], summary["unmatched"]) == (expected.ambiguous, expected.unmatched)
    assert {r["subject"]: r["delivered"] for r in tables["fan_out"]} == expected.delivered


def world(folder: Path, seed: int, rows: int = 2500) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write synthetic traffic; return the summary and the tables of the truth."""
    summary = write_traffic(folder, seed=seed, rows=rows)
    truth = {
        name: [json.loads(line) for line in (folder / "truth" / f"{name}.jsonl").open()]
        for name in TABLES
    }
    return summary, truth


@pytest.mark.parametrize("seed", [21, 22, 23])
def test_the_answers_for_synthetic_traffic_are_the_truth(seed, tmp_path):
    expected, truth = world(tmp_path / "w", seed)
    summary, tables = audit([(tmp_path / "w" / "trace.log").read_bytes()])
    assert summary == {name: expected[name] for name in summary}
    for name in TABLES:
        assert tables[name] == truth[name], name


@pytest.mark.requirement("M-03")
def test_the_recording_of_go_services_comes_out_exactly(captures):
    folder = captures / "go_live"
    truth = json.loads((folder / "truth.json").read_text())
    summary, tables = audit([(folder / "trace.log").read_bytes()])
    messages = [m for each in truth["scenarios"] for m in each["messages"]]
    messages += truth["outside_scenarios"]
    published, delivered, undelivered = Counter(), Counter(), Counter()
    replies: Counter[tuple[str, str]] = Counter()
    calls: Counter[tuple[str, str, int, str]] = Counter()
    for message in messages:
        address = microbus.decode(message["subject"])
        published[message["subject"]] += 1
        delivered[message["subject"]] += len(message["delivered_to"])
        undelivered[message["subject"]] += not message["delivered_to"]
        if isinstance(address, microbus.RequestAddress):
            calls[address.source, address.host, address.port, address.method] += 1
        else:
            replies[address.source, address.host] += 1
    assert (summary["unmatched"], summary["unparseable_lines"]) == (0, 0)
    found: Counter[tuple[str, str, int, str]] = Counter()
    for row in tables["call_graph"]:
        key = (row["source"], row["destination"], row["port"], row["method"])
        found[key] += row["published"]
    assert found == calls
    assert {(r["replier"], r["caller"]): r["published"] for r in tables["replies"]} == replies
    assert {r["subject"]: r["delivered"] for r in tables["fan_out"]} == +delivered
    assert {r["subject"]: r["count"] for r in tables["undelivered"]} == +undelivered
    assert len(tables["subscriptions"]) == truth["totals"]["subscribed"]
    assert Counter((s["pattern"], s["queue"]) for s in tables["subscriptions"]) == Counter(
        (s["subject"], s["queue"]) for s in truth["subscriptions"]
    )
    for name in ("refused", "spoofed", "malformed", "other_traffic", "cross_plane"):
        assert tables[name] == []


def test_the_recording_of_the_go_application_agrees_with_the_naive_sweep(captures):
    data = (captures / "go_app" / "trace.log").read_bytes()
    expected = judge(data.decode())
    summary, tables = audit([data])
    assert (summary["unmatched"], summary["planes"]) == (expected.unmatched, ["microbus"])
    assert summary["ambiguous"] == expected.ambiguous
    assert {r["subject"]: r["delivered"] for r in tables["fan_out"]} == expected.delivered
    assert {r["subject"]: r["count"] for r in tables["undelivered"]} == +Counter(
        expected.undelivered
    )
    assert sum(row["published"] for row in tables["call_graph"]) + sum(
        row["published"] for row in tables["replies"]
    ) == sum(expected.published.values())
