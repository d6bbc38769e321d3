"""Matching of deliveries with publishes, by cases and against a naive implementation."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from local_run import Events, counts, deliveries, messages, read
from test_trace_reference import compare
from trace_writer import Trace, random_trace
from window_oracle import judge


def by_subject(rows: Events, what: str) -> dict[str, int]:
    total: Counter[str] = Counter()
    if what == "delivered":
        total.update(row["subject"] for row in deliveries(rows))
    for row in messages(rows):
        alone = not row["deliveries"] and not row["forwarded"]
        total[row["subject"]] += {
            "published": 1, "undelivered": alone, "ambiguous": row["ambiguous"], "delivered": 0,
        }[what]  # fmt: skip
    return {subject: count for subject, count in total.items() if count}


def outcome(trace: Trace) -> dict[str, int]:
    """Return the sums over all messages of a log."""
    rows = read(trace.text().encode())
    accepted = messages(rows)
    found = {
        "published": len(accepted),
        "delivered": len(deliveries(rows)),
        "delivered_publishes": sum(row["deliveries"] > 0 for row in accepted),
        "ambiguous": sum(row["ambiguous"] for row in accepted),
        "unmatched": rows.counts["unmatched"],
        "undelivered": sum(not (row["deliveries"] or row["forwarded"]) for row in accepted),
        "forwarded": sum(row["forwarded"] > 0 and not row["deliveries"] for row in accepted),
    }
    return {name: count for name, count in found.items() if count}


def test_a_publish_reaches_each_subscriber_once() -> None:
    trace = Trace()
    trace.publish(1, "a")
    trace.deliver(2, "a", "1")
    trace.deliver(2, "a", "2")
    trace.deliver(3, "a", "1")
    assert outcome(trace) == {"published": 1, "delivered": 3, "delivered_publishes": 1}


def test_the_next_operation_of_the_connection_ends_the_window() -> None:
    trace = Trace()
    trace.publish(1, "a")
    trace.write(1, "<<- [PING]")
    trace.deliver(2, "a", "1")
    assert outcome(trace) == {"published": 1, "delivered": 1, "unmatched": 1, "undelivered": 1}


def test_an_operation_of_another_connection_does_not_end_the_window() -> None:
    trace = Trace()
    trace.publish(1, "a")
    trace.write(2, "<<- [PING]")
    trace.write(1, "->> [PING]")
    trace.deliver(2, "a", "1")
    assert outcome(trace) == {"published": 1, "delivered": 1, "delivered_publishes": 1}


@pytest.mark.parametrize(("late", "delivered"), [(1.0, True), (1.000001, False)])
def test_one_second_of_log_time_after_the_payload_line_ends_the_window(
    late: float, delivered: bool
) -> None:
    trace = Trace()
    trace.write(1, "<<- [PUB a 2]")
    trace.tick(0.9)
    trace.write(1, '<<- MSG_PAYLOAD: ["hi"]')
    trace.tick(late)
    trace.deliver(2, "a", "1")
    assert ("delivered_publishes" in outcome(trace)) is delivered


def test_any_line_past_the_second_ends_the_window_even_if_times_decrease() -> None:
    trace = Trace()
    trace.publish(1, "a")
    trace.tick(1.5)
    trace.write(3, "->> [PING]")
    trace.tick(-1.4)
    trace.deliver(2, "a", "1")
    assert outcome(trace) == {"published": 1, "delivered": 1, "unmatched": 1, "undelivered": 1}


def test_a_refused_publish_is_left_out() -> None:
    trace = Trace()
    trace.publish(1, "a")
    trace.write(1, 'Publish Violation - Subject "a"', level="ERR")
    assert outcome(trace) == {}


@pytest.mark.parametrize("other", ["a", "ab.c", "b", ""])
def test_a_refusal_of_another_subject_refuses_nothing(other: str) -> None:
    trace = Trace()
    trace.publish(1, "ab")
    trace.write(1, f'Publish Violation - Subject "{other}"', level="ERR")
    trace.deliver(2, "ab", "1")
    assert outcome(trace) == {"published": 1, "delivered": 1, "delivered_publishes": 1}


def test_a_queue_is_one_subscriber() -> None:
    trace = Trace()
    trace.subscribe(2, "a", "1", "q")
    trace.subscribe(3, "a", "1", "q")
    trace.publish(1, "a")
    trace.publish(4, "a")
    trace.deliver(2, "a", "1")
    trace.deliver(3, "a", "1")
    assert outcome(trace) == {
        "published": 2,
        "delivered": 2,
        "delivered_publishes": 2,
        "ambiguous": 2,
    }


def test_the_window_that_ends_first_is_served_first() -> None:
    trace = Trace()
    trace.publish(1, "a")  # begins first, ends last
    trace.publish(4, "a")
    trace.deliver(2, "a", "1")
    trace.write(4, "<<- [PING]")
    trace.tick(0.5)
    trace.deliver(2, "a", "1")
    assert outcome(trace) == {
        "published": 2,
        "delivered": 2,
        "delivered_publishes": 2,
        "ambiguous": 2,
    }


def test_a_message_sent_after_a_line_and_ended_first_did_not_compete_for_it() -> None:
    trace = Trace()
    trace.publish(1, "a")
    trace.publish(2, "a")
    trace.deliver(3, "a", "1")
    trace.publish(4, "a")
    trace.write(1, "<<- [PING]")
    trace.write(4, "<<- [PING]")
    trace.write(2, 'Publish Violation - Subject "a"', level="ERR")
    assert outcome(trace) == {
        "published": 2,
        "delivered": 1,
        "delivered_publishes": 1,
        "undelivered": 1,
    }


def test_publishes_with_different_size_or_reply_do_not_compete() -> None:
    trace = Trace()
    trace.publish(1, "a", "one")
    trace.publish(4, "a", "four")
    trace.publish(5, "a", "one", "r")
    trace.deliver(2, "a", "1", "one")
    assert outcome(trace) == {
        "published": 3,
        "delivered": 1,
        "delivered_publishes": 1,
        "undelivered": 2,
    }


def test_a_hop_to_another_broker_is_forwarded() -> None:
    trace = Trace()
    trace.publish(1, "w.x", "hello")
    trace.lines.append(
        "[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - rid:9 - ->> [RMSG $G w.x 5]"
    )
    assert outcome(trace) == {"published": 1, "forwarded": 1}


def test_a_hop_with_headers_names_the_account_first() -> None:
    trace = Trace()
    trace.write(1, "<<- [HPUB w.x 18 20]")
    trace.write(1, '<<- MSG_PAYLOAD: ["NATS/1.0\\r\\nA: 1\\r\\n\\r\\nhi"]')
    trace.lines.append(
        "[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - rid:9 - ->> [HMSG $G w.x 18 20]"
    )
    assert outcome(trace) == {"published": 1, "forwarded": 1}


def test_a_message_from_another_broker_takes_its_delivery_lines() -> None:
    trace = Trace()
    trace.lines.append(
        "[7] 2026/11/21 08:00:00.000000 [TRC] 127.0.0.1:1 - rid:9 - <<- [RMSG $G w.x + r q1 5]"
    )
    trace.deliver(2, "w.x", "1", "hello", "r")
    assert outcome(trace) == {"delivered": 1}


@pytest.mark.parametrize("seed", range(300))
def test_random_logs_agree_with_the_naive_implementation(seed: int) -> None:
    text = random_trace(seed)
    data = text.encode("latin-1")
    expected = judge(text)
    dice = random.Random(seed)
    edges = [dice.randrange(len(data)) for _ in range(dice.randint(0, 12))]
    rows = read(data, *edges)
    assert by_subject(rows, "published") == expected.published
    assert by_subject(rows, "delivered") == expected.delivered
    assert by_subject(rows, "undelivered") == expected.undelivered
    assert sum(by_subject(rows, "ambiguous").values()) == expected.ambiguous
    assert rows.counts["unmatched"] == expected.unmatched
    assert sum(counts(rows).values()) == len(text.split("\n")) - 1


@pytest.mark.parametrize("name", ["go_app", "go_live"])
def test_the_captures_agree_with_the_naive_implementation(name: str, captures) -> None:
    data = (captures / name / "trace.log").read_bytes()
    expected = judge(data.decode())
    rows = read(data)
    assert by_subject(rows, "published") == expected.published
    assert by_subject(rows, "delivered") == expected.delivered
    assert by_subject(rows, "undelivered") == expected.undelivered
    assert sum(by_subject(rows, "ambiguous").values()) == expected.ambiguous
    assert expected.unmatched == rows.counts["unmatched"] == 0


def test_a_start_of_the_server_ends_the_windows() -> None:
    """A delivery after it was taken for a message of the time before."""
    trace = Trace()
    trace.publish(1, "a")
    trace.lines.append(f"[8] {trace.clock:%Y/%m/%d %H:%M:%S.%f} [INF] Starting nats-server")
    trace.pid = 8
    trace.publish(2, "a")
    trace.deliver(3, "a", "1")
    rows = messages(read(trace.text().encode()))
    assert [row["deliveries"] for row in rows] == [0, 1]
    compare(trace.text().encode())
