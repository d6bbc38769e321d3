"""Consumers that acknowledge nothing, in the log of a running server: each ack policy."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import nats
import pytest
from local_run import read
from nats.aio.client import Client
from nats.js.api import AckPolicy, ConsumerConfig, StreamConfig
from test_trace_reference import compare
from trace_writer import Trace

from patience import settled, until
from servers import serving
from subtrie.acl._jetstream.load import load_streams
from subtrie.audit import Questions, Run, audit, verdict
from subtrie.audit._readers.jetstream_answers import rows_of_acknowledgement, rows_of_answer
from subtrie.audit._results.row_lines import row_lines
from subtrie.audit._results.silent_consumers import silent_consumers
from subtrie.report._findings import all_findings

STORED = 12
_CONFIG = """
logtime_utc: true
debug: true
trace: true
jetstream {{ store_dir: {store} }}
authorization {{ users: [ {users} ] }}
"""
_USERS = (
    "web",
    "silent",
    "waits",
    "none",
    "all",
    "late",
    "ordered",
    "worker",
    "acker",
    "nak",
    "term",
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("consumers")
    users = ", ".join(f"{{ user: {name}, password: {name} }}" for name in _USERS)
    config = _CONFIG.format(store=json.dumps(str(folder / "store")), users=users)
    with serving(folder, config) as url:
        asyncio.run(_programs(url))
    return folder / "server.log"


async def _programs(url: str) -> None:
    clients = {name: await nats.connect(url, user=name, password=name) for name in _USERS}
    web = clients["web"].jetstream()
    await web.add_stream(StreamConfig(name="ORDERS", subjects=["orders.*"]))
    for number in range(STORED):
        await web.publish(f"orders.{number}", b"{}")
    await _pulls(clients["silent"], "silent", ack_wait=0.1, times=3)
    await _pulls(clients["waits"], "waits", ack_wait=600)
    await _late(clients["late"])
    await _pushed(clients["none"], "none", AckPolicy.NONE)
    await _pushed(clients["all"], "all", AckPolicy.ALL)
    await _ordered(clients["ordered"])
    await _for_another(clients["worker"], clients["acker"])
    await _refusing(clients["nak"])
    for number, message in enumerate(await _pulls(clients["term"], "term", ack_wait=600)):
        await message.in_progress()  # it asks for more time
        await (message.ack_sync() if number else message.term())
    for client in clients.values():
        await client.close()


async def _pulls(client: Client, name: str, *, ack_wait: float, times: int = 1) -> list[Any]:
    """Fetch all messages, and again when they are due."""
    stream = client.jetstream()
    config = ConsumerConfig(durable_name=name, ack_policy=AckPolicy.EXPLICIT, ack_wait=ack_wait)
    await stream.add_consumer("ORDERS", config)
    bound = await stream.pull_subscribe_bind(consumer=name, stream="ORDERS")
    messages: list[Any] = []
    while len(messages) < times * STORED:
        messages += await bound.fetch(STORED, timeout=60)
    return messages


async def _late(client: Client) -> None:
    """Acknowledge messages that came again meanwhile."""
    for message in await _pulls(client, "late", ack_wait=0.1, times=2):
        await message.ack()
    await settled(client)


async def _pushed(client: Client, name: str, policy: AckPolicy) -> None:
    taken: list[Any] = []

    async def take(message: Any) -> None:
        taken.append(message)

    config = ConsumerConfig(durable_name=name, ack_policy=policy, ack_wait=600)
    await client.jetstream().subscribe("orders.*", config=config, cb=take, manual_ack=True)
    await until(lambda: len(taken) == STORED)
    if policy == AckPolicy.ALL:
        await taken[-1].ack()
    await settled(client)


async def _ordered(client: Client) -> None:
    taken: list[Any] = []

    async def take(message: Any) -> None:
        taken.append(message)

    await client.jetstream().subscribe("orders.*", ordered_consumer=True, cb=take)
    await until(lambda: len(taken) == STORED)


async def _for_another(worker: Client, acker: Client) -> None:
    """One program receives, and another one acknowledges."""
    for message in await _pulls(worker, "shared", ack_wait=0.1, times=2):
        await acker.publish(message.reply, b"+ACK")
    await settled(acker)


async def _refusing(client: Client) -> None:
    """Refuse each message until the stream gives it up."""
    stream = client.jetstream()
    config = ConsumerConfig(durable_name="nak", ack_policy=AckPolicy.EXPLICIT, max_deliver=3)
    await stream.add_consumer("ORDERS", config)
    pulled, left = await stream.pull_subscribe_bind(consumer="nak", stream="ORDERS"), 3 * STORED
    while left:
        for message in await pulled.fetch(left, timeout=60):
            await message.nak()
            left -= 1
    await settled(client)


@pytest.fixture(scope="module")
def run(log: Path) -> Any:
    with audit([str(log)], questions=Questions()) as found:
        yield found


def told(run: Run) -> list[tuple[str, str]]:
    return [(each.level, each.message) for each in all_findings(run) if each.rule == "consumers"]


def rows(run: Run) -> dict[tuple[str, str], tuple[Any, ...]]:
    names = ("ack_policy", "delivered", "redelivered", "acknowledged", "rejected")
    return {
        (row["consumer"], row["who"]): tuple(row[name] for name in names)
        for row in run.rows("consumers")
    }


def test_each_consumer_has_its_policy_and_what_it_delivered(run):
    found = rows(run)
    delivered, again = found["silent", "silent"][1:3]
    assert delivered - again == STORED
    assert again >= 2 * STORED
    assert found.pop(("silent", "silent"))[::3] == ("explicit", 0)
    # What is refused or in work counted as acknowledged.
    late, shared = found.pop(("late", "late")), found.pop(("shared", "worker"))
    for policy, count, again, _, _ in (late, shared):
        assert (policy, count - again) == ("explicit", STORED)
    assert late[3] == late[1]
    assert found == {
        ("shared", "acker"): ("explicit", 0, 0, shared[1], 0),
        ("waits", "waits"): ("explicit", STORED, 0, 0, 0),
        ("none", "none"): ("none", STORED, 0, 0, 0),
        ("all", "all"): ("all", STORED, 0, 1, 0),
        ("*", "ordered"): ("none", STORED, 0, 0, 0),
        ("nak", "nak"): ("explicit", 3 * STORED, 2 * STORED, 0, 3 * STORED),
        ("term", "term"): ("explicit", STORED, 0, STORED - 1, 1),
    }


def test_a_message_that_came_again_is_a_warning_and_one_that_may_be_acknowledged_later_a_note(run):
    again, late = rows(run)["silent", "silent"][2], rows(run)["late", "late"]
    found = told(run)
    once_more = f"late receives again what stream ORDERS, consumer late, delivered: {late[2]} of"
    found.remove(("note", f"{once_more} {late[1]} messages"))
    # A program that refuses all of its messages was none, as it answers each of them.
    refusing = "nak receives again what stream ORDERS, consumer nak, delivered: 24 of 36 messages; "
    refusing += "it refused 36 (-NAK or +TERM)"
    found.remove(("warning", refusing))
    assert found == [
        ("warning", f"silent acknowledges nothing that stream ORDERS, consumer silent, delivers; "
                    f"{again} came again"),
        ("note", "waits acknowledges nothing that stream ORDERS, consumer waits, delivers"),
    ]  # fmt: skip
    assert verdict(run) == f"{STORED + again} unacknowledged"


def test_the_finding_has_its_times_and_its_lines(run, log):
    (found,) = [each for each in all_findings(run) if each.message.startswith("silent")]
    (row,) = [row for row in run.rows("consumers") if row["consumer"] == "silent"]
    assert found.count == row["delivered"]
    assert found.first is not None
    assert found.last is not None
    assert found.first[:19] == row["first"].isoformat()[:19]
    assert found.first < found.last
    lines = list(row_lines(run, "consumers", ["ORDERS", "silent", "silent"], [str(log)]))
    assert sum("->> [MSG orders." in each.text for each in lines) == row["delivered"]


def test_any_division_of_the_log_and_spark_have_the_same_rows(spark, run, log):
    from subtrie.spark import audit as audit_on_spark

    expected = list(run.rows("consumers"))
    with audit([str(log)], questions=Questions(), split_bytes=10_000) as divided:
        assert list(divided.rows("consumers")) == expected
    with audit_on_spark(spark, [str(log)], questions=Questions()) as there:
        assert list(there.rows("consumers")) == expected


def test_without_the_answers_of_jetstream_a_second_delivery_tells_it(log, tmp_path):
    """Consumers that were made before the log began: their ack policy is not known."""
    path = tmp_path / "trace.log"
    lines = log.read_text().splitlines(keepends=True)
    path.write_text("".join(each for each in lines if "api.v1.consumer_" not in each))
    with audit([str(path)], questions=Questions()) as run:
        assert {row["ack_policy"] for row in run.rows("consumers")} == {None}
        found = [each for each in told(run) if "receives again" not in each[1]]
        assert [level for level, _ in found] == ["warning", "note", "note"]
        assert "consumer silent" in found[0][1]
        assert all(message.endswith("its ack policy is not known") for _, message in found[1:])
    page = tmp_path / "jsz.json"
    page.write_text(json.dumps({"server_id": "N", "streams": 1, "account_details": [
        {"name": "$G", "stream_detail": [
            {"name": "ORDERS", "state": {"consumer_count": 1},
             "config": {"name": "ORDERS", "subjects": ["orders.*"]},
             "consumer_detail": [{"name": "none", "config": {"durable_name": "none",
                                                             "ack_policy": "none"}}]},
        ]},
    ]}))  # fmt: skip
    with audit([str(path)], questions=Questions(streams=load_streams([page]))) as run:
        assert rows(run)["none", "none"][0] == "none"
        silent = [level for level, message in told(run) if "receives again" not in message]
        assert silent == ["warning", "note"]


def test_consumers_of_which_nothing_is_wrong():
    """Made rows: a policy of several consumers with one folded name decides nothing."""

    def row(consumer: str, policy: str | None, *counts: int, who: str = "a") -> dict[str, Any]:
        names = ("delivered", "redelivered", "acknowledged", "rejected")
        counts = (*counts, 0)[:4]
        return {"account": None, "stream": "S", "consumer": consumer, "ack_policy": policy,
                "who": who, **dict(zip(names, counts, strict=True))}  # fmt: skip

    silent = row("*", "explicit or none", 5, 1, 0, who="b")
    half = row("c", "explicit", 5, 1, 0)
    other = row("c", "explicit", 5, 0, 5, who="b")
    unknown = [row("*", None, 5, 0, 0), row("*", "explicit or none", 5, 0, 0)]
    assert list(silent_consumers([*unknown, silent, half, other])) == [silent, half]
    assert list(silent_consumers([half, {**other, "acknowledged": 10}])) == []
    elsewhere = {**other, "acknowledged": 10, "account": "B"}
    assert list(silent_consumers([half, elsewhere])) == [half], "a consumer of another account"
    assert list(silent_consumers([half, {**other, "acknowledged": 6, "rejected": 4}])) == []
    assert list(silent_consumers([row("e", "explicit", 5, 4, 0, 5)])) == []
    assert list(silent_consumers([row("d", "none", 5, 1, 0), row("d", None, 0, 0, 3)])) == []


def test_the_policy_of_a_consumer_in_a_capture():
    kind = b'"type":"io.nats.jetstream.api.v1.consumer_list_response"'
    consumers = b",".join(
        b'{"stream_name":"A","name":"%s","config":{"ack_policy":"%s"}}' % each
        for each in ((b"b", b"none"), (b"rzj7wEWp", b"all"))
    )
    found = list(rows_of_answer(b'{%s,"consumers":[%s]}' % (kind, consumers)))
    assert found == [
        {"op": "CONSUMER", "queue": "A.b", "subject": "none"},
        {"op": "CONSUMER", "queue": "A.*", "subject": "all"},
    ]
    assert list(rows_of_answer(b'{%s,"consumers":[{"name":1}]}' % kind)) == []


@pytest.mark.parametrize(
    ("subject", "payload", "said"),
    [("$JS.ACK.S.c.1.1.1.1.0", b"-NAK", "-NAK"),
     ("$JS.ACK.S.c.1.1.1.1.0", b'-NAK {"delay":1}', "-NAK"),
     ("$JS.ACK.d.h.S.c.2.1.1.1.0", b"+TERM why", "+TERM"),
     ("$JS.ACK.S.c.1.1.1.1.0", b"+WPI", "+WPI"),
     ("$JS.ACK.S.c.1.1.1.1.0", b"+ACK", None), ("$JS.ACK.S.c.1.1.1.1.0", b"", None),
     ("$JS.ACK.S.c.1.1.1.1.0", b"+TER", None), ("orders", b"-NAK", None),
     ("$JS.API.INFO", b"-NAK", None)],
)  # fmt: skip
def test_what_an_acknowledgement_says(tmp_path, subject, payload, said):
    """In a capture, in a log, and as the plain reader of the tests reads it."""
    expected = [] if said is None else [{"op": "ACK", "queue": "S.c", "subject": said}]
    assert list(rows_of_acknowledgement(subject, payload)) == expected
    trace = Trace()
    trace.publish(1, subject, payload.decode())
    trace.publish(1, "orders", "-NAK")  # of another message
    data = trace.text().replace('{"delay":1}', r"{\"delay\":1}").encode()
    compare(data)
    found = [row for row in read(data) if row["op"] == "ACK"]
    assert [{name: row[name] for name in ("op", "queue", "subject")} for row in found] == expected
