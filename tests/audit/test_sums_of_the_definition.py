"""The native sums of events, column by column, and what each row is beside a row that is summed."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest
from test_traffic_sums import KINDS, as_set, micros, taken

from subtrie.audit._readers.log_reader import native
from subtrie.audit._schema import arrow_schema

SUBSCRIPTIONS = ("SUB", "UNSUB", "DELSUB", "CLOSED", "LS+", "LS-")
MQTT = ("CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE",
        "SUBACK", "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT")  # fmt: skip
ABOUT = {
    **dict.fromkeys(SUBSCRIPTIONS, 8), "START": 8 | 1024, "LINK": 8 | 1024,
    **dict.fromkeys(("LOGIN", "DENIED", "SERVER"), 1024),
    **dict.fromkeys(("SLOW", "CLAIM", "ERROR"), 128),
    **dict.fromkeys(("STREAM", "STORED", "CONSUMER", "ACK"), 512),
}  # fmt: skip
CROSSING = ("LMSG", "RMSG", "HMSG", "MSG")
OPS = (*ABOUT, *MQTT, *CROSSING, "VIOLATION", "PING", None, *("PUB", "HPUB", "MSG", "HMSG") * 8)
#: The consumer of a delivery by its reply subject.
CONSUMERS = {
    "$JS.ACK.S.c.1.6.1.1.0": "S.c", "$JS.ACK.S.c.3.6.1.1.0": "S.c.3", "$JS.ACK.S.c.1.6.1.1": "S.c",
    "$JS.ACK.d.h.S.c.1.6.1.1.0": "S.c", "$JS.ACK.d.h.S.c.29.6.1.1.0.t": "S.c.2",
    "_R_.a": "_R_", "_R_a": None, "$JS.ACK.S.c.1.6": None, "r": None, None: None,
}  # fmt: skip
SENDER = ("server", "conn", "account", "identity", "identity_source", "user", "client")
RECEIVER = ("server", "conn", "account", "sid", "queue")
VALUES: dict[str, tuple[Any, ...]] = {
    "server": ("s1", "s2"),
    "conn": ("1/client:1", "1/mqtt:2", "1/route:3", "1/websocket:4", "1/leaf:5", "1/gateway:6"),
    "account": (None, "A", "B"),
    "identity": ("a_com", None),
    "identity_source": ("jwt", None),
    "user": ("u", None),
    "client": ("n", None),
    "direction": ("in", "in", "out", "local", None),
    "op": OPS,
    "subject": ("a.b", "$JS.API.STREAM.DELETE.S", "$JS.d.API.STREAM.DELETE.S",
                "x.API.STREAM.DELETE.S", "$JS.API.STREAM.INFO.S", None),
    "queue": ("q", None),
    "refused": (None, None, None, "publish", "reply", "payload", "subscribe"),
    "time": (None, 0, 1_500_000, 3_000_001, -1, -1_500_000, 86_400_000_000),
    "reply": tuple(CONSUMERS),
    "size": (None, 0, 7, 15, 16, 17),
    "deliveries": (None, 0, 0, 1, 3),
    "forwarded": (None, 0, 0, 2),
    "subscription": (None, 5, 6, 7, 4),
    "ambiguous": (None, True, False),
    "reason": (None,) * 9 + ("cut off",),
}  # fmt: skip


def events(seed: int, count: int = 500) -> list[dict[str, Any]]:
    """Return rows in which anything can be null; equal sids only in rows far from each other."""
    dice = random.Random(seed)
    drawn = ({name: dice.choice(each) for name, each in VALUES.items()} for _ in range(count))
    return [row | {"sid": str(number % 5)} for number, row in enumerate(drawn)]


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    names = [*VALUES, "sid"]
    return pa.RecordBatch.from_pylist(rows, arrow_schema([(name, KINDS[name]) for name in names]))


def of_client(row: dict[str, Any]) -> bool:
    return row["conn"].split("/")[1].split(":")[0] in ("client", "mqtt", "websocket")


def is_sent(row: dict[str, Any], follow: bool) -> bool:
    """A message of a client, or of a leaf node whose user is known if one log alone is read."""
    if row["direction"] != "in":
        return False
    if row["op"] in ("PUB", "HPUB"):
        return of_client(row)
    known = "/leaf:" in row["conn"] and row["identity"] is not None
    return known and row["size"] is not None and not follow


def is_received(row: dict[str, Any]) -> bool:
    return row["direction"] == "out" and row["op"] in ("MSG", "HMSG") and of_client(row)


def flags_of(row: dict[str, Any], follow: bool, days: bool) -> int:
    """Return what a row is beside one that is summed."""
    op, refused, subject = row["op"], row["refused"], row["subject"] or ""
    found = ABOUT.get(op, 0) | (64 if row["reason"] else 0)
    if op == "VIOLATION":
        found |= {None: 0, "reply": 0, "subscribe": 8 | 16}.get(refused, 16)
    deletes = subject.startswith("$JS.") and "API.STREAM.DELETE." in subject
    if op in ("PUB", "HPUB") and deletes and refused is None:
        found |= 512
    if op in MQTT and "/mqtt:" in row["conn"] and row["direction"] in ("in", "out"):
        found |= 4096
    between = any(f"/{kind}:" in row["conn"] for kind in ("leaf", "route", "gateway"))
    if op in CROSSING and between:
        found |= 2048
    if is_sent(row, follow):
        if refused is None and row["deliveries"] == 0 and row["forwarded"] == 0:
            found |= 1
        if follow and (row["forwarded"] or 0) > 0:
            found |= 2
        if refused == "reply":
            found |= 32
        if days and refused is None and row["reply"] is not None:
            found |= 256
    elif follow and row["direction"] == "in" and row["size"] is not None and between:
        found |= 4 if op not in ("PUB", "HPUB") else 0
    return found


@pytest.mark.parametrize("days", [False, True])
@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_each_row_is_what_its_columns_say(seed: int, follow: bool, days: bool) -> None:
    # A DELSUB that repeats an end adds no row; another test has those.
    rows = [row for row in events(seed, 1500) if row["op"] != "DELSUB"]
    sums = native().TrafficSums(
        follow=follow, days=days, buckets=random.Random(seed).choice([1, 7])
    )
    found = memoryview(sums.add_events(batch(rows))).cast("H").tolist()
    assert found == [flags_of(row, follow, days) for row in rows]


def span(rows: list[dict[str, Any]]) -> tuple[int | None, int | None]:
    times = [row["time"] for row in rows if row["time"] is not None]
    return (min(times), max(times)) if times else (None, None)


def window_of(row: dict[str, Any], window: int | None) -> int | None:
    known = window is not None and row["time"] is not None
    return row["time"] // window * window if known else None


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("window", [None, 1, 1_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_messages_are_summed_by_their_sender(seed: int, window: int | None, follow: bool) -> None:
    rows = events(seed)
    sums = native().TrafficSums(window=window, follow=follow, days=True, buckets=3)
    sums.add_events(batch(rows))
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if is_sent(row, follow):
            key = (*(row[name] for name in SENDER), row["subject"], window_of(row, window))
            groups[key].append(row)
    publishes, _, starts = taken(sums)
    assert starts[-1] == len(groups) == publishes.num_rows
    for each in publishes.to_pylist():
        start = each["window"] and micros(each["window"])
        of_key = groups.pop((*(each[name] for name in SENDER), each["subject"], start))
        good = [row for row in of_key if row["refused"] is None]
        left = [row for row in good if not row["deliveries"]]
        away = [row for row in left if row["forwarded"]]
        lost = [row for row in left if row["deliveries"] is not None and not row["forwarded"]]
        counts = {
            "published": len(good), "refused": len(of_key) - len(good),
            "taken": len(good) - len(left), "undelivered": len(lost), "forwarded": len(away),
            "ambiguous": sum(bool(row["ambiguous"]) for row in of_key),
            "bytes": sum(row["size"] or 0 for row in good),
            "lines": sum(row["deliveries"] or 0 for row in good),
        }  # fmt: skip
        assert {name: each[name] for name in counts} == counts
        for some, title in ((of_key, ""), (good, "_accepted"), (lost, "_undelivered")):
            ends = each[f"first{title}"], each[f"last{title}"]
            assert tuple(end and micros(end) for end in ends) == span(some), title
        changes = each["changes"] or []
        known = [row["subscription"] for row in good if row["subscription"] is not None]
        assert dict(zip(changes[::2], changes[1::2], strict=True)) == {
            position: known.count(position) for position in known
        }


@pytest.mark.parametrize("days", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_deliveries_are_summed_by_their_receiver(seed: int, days: bool) -> None:
    rows = events(seed, 900)
    sums = native().TrafficSums(window=1_000_000, days=days, buckets=3)
    sums.add_events(batch(rows))
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if is_received(row):
            named = (*(row[name] for name in RECEIVER), CONSUMERS[row["reply"]], row["subject"])
            groups[*named, row["subscription"], window_of(row, 1_000_000)].append(row)
    _, deliveries, _ = taken(sums)
    for each in deliveries.to_pylist():
        named = (*(each[name] for name in RECEIVER), each["consumer"], each["subject"])
        start = each["window"] and micros(each["window"])
        of_key = groups.pop((*named, each["subscription"], start))
        assert each["count"] == len(of_key)
        answers = [row for row in of_key if (row["op"], row["size"]) != ("HMSG", 16)]
        first = span(answers if days else [])[0]
        last = span(of_key if days and each["consumer"] else [])[1]
        assert (each["first"] and micros(each["first"]), each["last"] and micros(each["last"])) == (
            first, last,
        )  # fmt: skip
    assert not groups


@pytest.mark.parametrize("seed", range(4))
def test_parts_add_up_to_the_whole(seed: int) -> None:
    rows = events(seed, 800)
    whole, merged = native().TrafficSums(window=1_000_000, days=True), native().TrafficSums()
    whole.add_events(batch(rows))
    for start in range(0, len(rows), 130):
        part = native().TrafficSums(window=1_000_000, days=True, buckets=2)
        part.add_events(batch(rows[start : start + 130]))
        publishes, deliveries, _ = taken(part)
        merged.add_publishes(publishes)
        merged.add_deliveries(deliveries)
    for one, other in zip(taken(whole)[:2], taken(merged)[:2], strict=True):
        assert as_set(one) == as_set(other)
