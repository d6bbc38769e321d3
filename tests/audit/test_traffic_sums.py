"""The native sums of events: every division of the rows and every merge gives the same sums."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subtrie import microbus
from subtrie.audit._partial.kinds import complete
from subtrie.audit._readers.log_reader import native
from subtrie.audit._schema import EVENTS, arrow_schema

KINDS = dict(EVENTS)
DAY = 86_400_000_000
PUBLISH = ("server", "conn", "identity", "subject", "window")
SUBJECTS = ("a.b", "p1.safe.443.a_com.b_com._.GET.x", "p1.reply._.a_com.b_com.id-1", "é.ü", "a.c")


def event(dice: random.Random) -> dict[str, Any]:
    """Return a row of events in which anything can be null."""
    values = {
        "server": ("s1", "s2"),
        "conn": ("1/client:1", "1/mqtt:2", "1/route:3", "1/websocket:4"),
        "identity": ("a_com", None),
        "direction": ("in", "out", "local"),
        "op": ("PUB", "HPUB", "MSG", "HMSG", "SUB", "VIOLATION", "PING", None),
        "subject": (*SUBJECTS, None),
        "queue": ("q", None),
        "sid": ("1", "2"),
        "refused": (None, None, "publish", "reply", "subscribe"),
        "time": (None, 0, 1_500_000, 3_000_001, -1, DAY, 3 * DAY + 7),
        "reply": (None, "r"),
        "size": (None, 0, 7),
        "deliveries": (None, 0, 1, 3),
        "forwarded": (None, 0, 2),
        "subscription": (None, 5, 6),
        "ambiguous": (None, True, False),
        "reason": (None, None, "cut off"),
    }
    return {name: dice.choice(each) for name, each in values.items()}


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    names = list(event(random.Random(0)))
    schema = arrow_schema([(name, KINDS[name]) for name in names])
    return pa.RecordBatch.from_pylist(rows, schema)


def taken(sums: Any) -> tuple[pa.RecordBatch, pa.RecordBatch, list[int]]:
    """Return the sums with all columns, and the starts of the buckets of messages."""
    publishes, deliveries, starts, _, _ = sums.take()
    whole = []
    for kind, rows in (("publish", publishes), ("delivery", deliveries)):
        table = complete(kind, pa.Table.from_batches([pa.record_batch(rows)]))
        whole.append(pa.RecordBatch.from_struct_array(table.to_struct_array().combine_chunks()))
    return whole[0], whole[1], starts


def pairs(numbers: list[int]) -> list[tuple[int, ...]]:
    """Return the pairs of a list of numbers."""
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def as_set(rows: pa.RecordBatch) -> Counter[str]:
    found = rows.to_pylist()
    for row in found:
        if row.get("days") is not None:
            row["days"] = sorted(row["days"])  # in the order in which they were seen
        if row.get("changes") is not None:
            row["changes"] = sorted(pairs(row["changes"]))
    return Counter(repr(sorted(row.items())) for row in found)


@given(st.integers(0, 2**32), st.integers(0, 60), st.lists(st.integers(0, 60), max_size=4))
def test_the_division_of_rows_has_no_effect(seed: int, length: int, edges: list[int]) -> None:
    dice = random.Random(seed)
    rows = [event(dice) for _ in range(length)]
    whole = native().TrafficSums(window=1_000_000, days=True)
    flags = whole.add_events(batch(rows)) or bytes(2 * length)
    merged, in_pieces = native().TrafficSums(), b""
    edges = sorted({0, length, *(edge for edge in edges if edge < length)})
    for start, end in pairwise(edges):
        part = native().TrafficSums(window=1_000_000, days=True, buckets=3)
        piece = batch(rows).to_struct_array().slice(start, end - start)
        in_pieces += part.add_events(piece) or bytes(2 * (end - start))
        publishes, deliveries, _ = taken(part)
        merged.add_publishes(publishes)
        merged.add_deliveries(deliveries)
    assert in_pieces == flags
    for one, other in zip(taken(whole)[:2], taken(merged)[:2], strict=True):
        assert as_set(one) == as_set(other)


PUBLISHED = {"conn": "1/client:1", "direction": "in", "op": "PUB", "refused": None, "time": 0}


def test_the_values_of_a_null_list_do_not_count() -> None:
    sums = native().TrafficSums()
    row = event(random.Random(1)) | PUBLISHED | {"subscription": None}
    sums.add_events(batch([row | {"subject": subject} for subject in "ab"]))
    publishes, _, _ = taken(sums)
    at = publishes.schema.get_field_index("changes")
    assert publishes.column(at).to_pylist() == [None, None]
    offsets, values = pa.array([0, 2, 4], pa.int32()), pa.array([5, 1, 6, 1], pa.int64())
    changes = pa.ListArray.from_arrays(offsets, values, mask=pa.array([True, False]))
    sums.add_publishes(publishes.set_column(at, "changes", changes))
    assert taken(sums)[0].column(at).to_pylist() == [[], [6, 1]]


@given(st.lists(st.integers(1, 6), min_size=1))
def test_messages_are_counted_by_the_change_before_them_in_any_order(changes: list[int]) -> None:
    sums = native().TrafficSums()
    row = event(random.Random(1)) | PUBLISHED
    sums.add_events(batch([row | {"subscription": change} for change in changes]))
    (found,) = taken(sums)[0].column("changes").to_pylist()
    assert sorted(pairs(found)) == sorted(Counter(changes).items())


@given(st.integers(0, 2**32))
def test_sums_are_those_of_the_definition(seed: int) -> None:
    dice = random.Random(seed)
    rows = [event(dice) for _ in range(40)]
    sums = native().TrafficSums(window=1_000_000)
    sums.add_events(batch(rows))
    publishes, deliveries, _ = taken(sums)
    clients = [r for r in rows if "/route:" not in r["conn"]]
    sent = [r for r in clients if r["direction"] == "in" and r["op"] in ("PUB", "HPUB")]
    received = [r for r in clients if r["direction"] == "out" and r["op"] in ("MSG", "HMSG")]
    assert sum(publishes.column("published").to_pylist()) == sum(r["refused"] is None for r in sent)
    assert sum(publishes.column("refused").to_pylist()) == sum(
        r["refused"] is not None for r in sent
    )
    assert sum(deliveries.column("count").to_pylist()) == len(received)
    lost = [r for r in sent if r["refused"] is None and r["deliveries"] == 0 and not r["forwarded"]]
    assert sum(publishes.column("undelivered").to_pylist()) == len(lost)
    for row in publishes.to_pylist():
        same = [
            r
            for r in sent
            if all(r[name] == row[name] for name in PUBLISH[:-1])
            and (None if r["time"] is None else r["time"] // 1_000_000 * 1_000_000)
            == (None if row["window"] is None else micros(row["window"]))
        ]
        times = [r["time"] for r in same if r["time"] is not None]
        first, last = row["first"], row["last"]
        assert (first and micros(first), last and micros(last)) == (
            (min(times), max(times)) if times else (None, None)
        )
        assert row["bytes"] == sum(r["size"] or 0 for r in same if r["refused"] is None)


@given(st.integers(0, 2**32))
def test_the_days_of_messages_are_those_of_the_definition(seed: int) -> None:
    dice = random.Random(seed)
    rows = [event(dice) for _ in range(40)]
    sums = native().TrafficSums(days=True)
    flags = sums.add_events(batch(rows)) or bytes(2 * len(rows))
    publishes, *_ = taken(sums)
    sent = [r for r in rows if "/route:" not in r["conn"] and r["direction"] == "in"
            and r["op"] in ("PUB", "HPUB")]  # fmt: skip
    for row in publishes.to_pylist():
        expected: dict[int, int] = {}
        for day in {r["time"] // DAY for r in sent if r["time"] is not None}:
            same = [
                (
                    r["refused"] is not None,
                    r["time"],
                    r["refused"] is None and bool(r["deliveries"]),
                )
                for r in sent
                if all(r[name] == row[name] for name in PUBLISH[:-1])
                and r["time"] is not None
                and r["time"] // DAY == day
            ]
            if same:
                refused, first, _ = min(same)
                expected[day] = 4 * first + 2 * (not refused) + any(got for _, _, got in same)
        assert sorted(row["days"] or ()) == sorted(expected.values())
    asked = {at for at, r in enumerate(rows) if r in sent and r["refused"] is None and r["reply"]}
    marks = memoryview(flags).cast("H")
    assert {at for at in range(len(rows)) if marks[at] & 256} == asked


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([(3, "publish"), (5, None), (9, None)], 4 * 5 + 2),
        ([(3, "publish"), (5, "publish"), (9, None)], 4 * 9 + 2),
        ([(3, "publish"), (5, "publish"), (9, "reply")], 4 * 3),
    ],
)
def test_a_day_has_the_time_of_its_first_accepted_message_in_any_order(messages, told) -> None:
    """Else that of the first one; also if the messages are added up in parts."""
    row = event(random.Random(1)) | PUBLISHED | {"deliveries": None}
    for order in permutations(messages):
        rows = [row | {"time": time, "refused": refused} for time, refused in order]
        whole, merged = native().TrafficSums(days=True), native().TrafficSums(days=True)
        whole.add_events(batch(rows))
        for each in rows:
            part = native().TrafficSums(days=True)
            part.add_events(batch([each]))
            merged.add_publishes(taken(part)[0])
        for sums in (whole, merged):
            assert taken(sums)[0].column("days").to_pylist() == [[told]]


def micros(time: Any) -> int:
    return round(time.timestamp() * 1_000_000)


def test_columns_that_say_nothing_are_left_out() -> None:
    sums = native().TrafficSums()
    row = {"op": "PUB", "direction": "in", "conn": "1/client:1", "subject": "a"}
    sums.add_events(pa.RecordBatch.from_pylist([row]))
    publishes, deliveries, *_ = sums.take()
    assert pa.record_batch(publishes).to_pylist() == [
        {"conn": "1/client:1", "subject": "a", "published": 1}
    ]
    assert len(pa.array(deliveries)) == 0


def test_a_bucket_is_the_checksum_of_the_subject() -> None:
    sums = native().TrafficSums(buckets=7)
    rows = [
        {"op": "PUB", "direction": "in", "conn": "1/client:1", "subject": f"s.{n}"}
        for n in range(300)
    ]
    sums.add_events(pa.RecordBatch.from_pylist(rows))
    publishes, _, starts = taken(sums)
    assert (starts[0], starts[-1]) == (0, 300)
    for bucket, (start, end) in enumerate(pairwise(starts)):
        for subject in publishes.column("subject").to_pylist()[start:end]:
            assert zlib.crc32(subject.encode()) % 7 == bucket


def test_planes_are_those_of_accepted_addresses() -> None:
    address = "{}.safe.443.a_com.b_com._.GET.x"
    rows = [
        {"op": "PUB", "direction": "in", "conn": "1/client:1", "subject": subject, "refused": no}
        for subject, no in (
            (address.format("p1"), None),
            (address.format("p2"), "publish"),
            ("p3.other", None),
            ("p1.other", None),
        )
    ]
    sums = native().TrafficSums()
    sums.add_events(pa.RecordBatch.from_pylist(rows))
    assert sums.take()[-1] == ["p1"]


@pytest.mark.parametrize(
    "bad",
    [pa.table({"subject": [1]}), pa.table({"time": ["x"]}), pa.table({"ambiguous": [1]})],
)
def test_a_column_of_another_type_is_refused(bad) -> None:
    with pytest.raises(ValueError, match="holds"):
        native().TrafficSums().add_events(bad.to_batches()[0])
    with pytest.raises(ValueError, match="a batch of rows is a struct"):
        native().TrafficSums().add_events(pa.array([1]))


def test_dictionaries_and_large_strings_are_read() -> None:
    columns = {
        "op": pa.array(["PUB", "PUB"]).dictionary_encode(),
        "direction": pa.array(["in", "in"], pa.large_string()),
        "conn": pa.array(["1/client:1", "1/client:1"], pa.string_view()),
        "subject": pa.array(["a", "b"]).dictionary_encode(),
    }
    sums = native().TrafficSums()
    sums.add_events(pa.record_batch(columns).slice(1))
    publishes, _, _ = taken(sums)
    assert publishes.column("subject").to_pylist() == ["b"]


@given(st.integers(0, 2**32), st.sampled_from([1, 5]))
def test_numbers_of_subjects_stand_for_the_same_sums(seed: int, buckets: int) -> None:
    dice = random.Random(seed)
    rows = batch([event(dice) for _ in range(40)])
    named, numbered = (native().TrafficSums(buckets=buckets) for _ in range(2))
    named.add_events(rows)
    numbered.add_events(rows)
    *sums, subjects, addresses = (pa.array(each) for each in numbered.take_numbered())
    texts = subjects.field("subject")
    assert len(texts) == len(texts.unique())
    for kind, made, wanted in zip(("publish", "delivery"), sums, taken(named)[:2], strict=True):
        at = pa.table({"subject": texts.take(made.field("at"))}).column("subject")
        table = pa.Table.from_struct_array(made).drop_columns("at").append_column("subject", at)
        found = complete(kind, table).to_struct_array().combine_chunks()
        assert as_set(pa.RecordBatch.from_struct_array(found)) == as_set(wanted)
    decoded = pa.array(microbus.decode_batch(texts))
    for field in addresses.type:
        parts = addresses.field(field.name).take(subjects.field("address")).to_pylist()
        whole = decoded.field(field.name).to_pylist()
        missing = 0 if field.name == "kind" else None
        assert parts == [missing if part is None else part for part in whole]
    assert len(addresses) == len(set(map(str, addresses.to_pylist())))


CONSTANT = {"server": "s", "op": "PUB", "direction": "in", "conn": "-/client:0"}


@given(
    st.integers(0, 2**32),
    st.sampled_from([1, 5]),
    st.sampled_from([[], ["p1"]]),
    st.sampled_from([2, 3, 50]),
)
def test_sums_by_address_are_those_of_its_subjects(
    seed: int, buckets: int, planes: list[str], most: int
) -> None:
    """Only what is not an address, or is sent in the name of another, stays a row."""
    dice = random.Random(seed)
    texts = [*SUBJECTS, "p1.safe.443.a_com.b_com._.GET.y", "p2.safe.443.a_com.b_com._.GET.x"]
    messages = [
        {"subject": dice.choice(texts), "identity": dice.choice(["a.com", "c.com", None]),
         "time": dice.choice([None, 5, 9]), "size": dice.choice([None, 3])}
        for _ in range(dice.randrange(40))
    ]  # fmt: skip
    schema = arrow_schema([(name, KINDS[name]) for name in ("subject", "identity", "time", "size")])
    rows = pa.RecordBatch.from_pylist(messages, schema)
    whole = rows
    for name, text in CONSTANT.items():
        whole = whole.append_column(name, pa.array([text] * len(rows), pa.string()))
    named, merged = (native().TrafficSums(buckets=buckets) for _ in range(2))
    assert named.add_events(whole) == merged.add_events(rows, CONSTANT) == b""
    also = ["a.b", "never.seen"]
    by_address, found, unnamed = merged.take_by_address(planes, most, also)

    def of_addresses(taken: Any) -> tuple[Counter[Any], Counter[Any], set[str | None]]:
        """Return messages and bytes by sender and address, and the subjects."""
        sent, _, subjects, addresses = (pa.array(each) for each in taken)
        table = complete("publish", pa.Table.from_struct_array(sent), "at").to_pylist()
        texts = subjects.field("subject").to_pylist()
        known = subjects.field("address").to_pylist()
        counts: Counter[Any] = Counter()
        outside: Counter[Any] = Counter()
        for row in table:
            address = addresses[known[row["at"]]].as_py()
            key = (row["identity"], *address.values())
            counts[key] += row["published"] + 1000 * row["bytes"]
            inside = address["kind"] and (not planes or address["plane"] in planes)
            if not inside or row["identity"] not in (None, address["source"]):
                outside[row["identity"], texts[row["at"]]] += row["published"]
        return counts, outside, {texts[row["at"]] for row in table}

    expected, others, _ = of_addresses(named.take_numbered())
    counts, outside, kept = of_addresses(by_address)
    assert (counts, outside) == (expected, others)
    assert len(kept) <= len({key[1:] for key in counts}) + len({key[1] for key in outside})
    by_subject = Counter(row["subject"] for row in messages)
    ranked = sorted(by_subject.values(), reverse=True)
    told = {row["subject"]: row["published"] for row in pa.array(found).to_pylist()}
    assert len(told) == len(found)
    assert all(by_subject[subject] == count for subject, count in told.items())
    assert sorted(told.values(), reverse=True)[:most] == ranked[:most]
    assert unnamed == (ranked[most] if len(ranked) > most else 0)
    assert len(ranked) <= most or "a.b" not in by_subject or "a.b" in told


@pytest.mark.parametrize(
    ("between", "listed"),
    [
        ((), False),
        (({"op": "PUB", "direction": "in", "subject": "a.b"},), False),
        (({"op": "SUB", "direction": "in", "subject": "a.b"},), True),
        (({"op": "CLOSED", "direction": None},), True),
    ],
)
@pytest.mark.parametrize(
    "other", [{}, {"sid": "2"}, {"conn": "1/client:2"}, {"server": "s2"}, {"direction": "in"}]
)
def test_an_end_that_the_client_and_then_the_server_tell_is_listed_once(
    between, listed, other
) -> None:
    base: dict[str, Any] = dict.fromkeys(event(random.Random(0)))
    base |= {"server": "s1", "conn": "1/client:1", "sid": "1"}
    first = {"op": "UNSUB", "direction": "in"}
    last = {"op": "DELSUB", "direction": "local"} | other
    flags = (
        native().TrafficSums().add_events(batch([base | row for row in (first, *between, last)]))
    )
    assert bool(flags[-2:] != b"\0\0") == (listed or bool(other))
    counted = [base | first | {"size": 3}, base | last]  # its end is at the third message
    assert native().TrafficSums().add_events(batch(counted))[-2:] != b"\0\0"
