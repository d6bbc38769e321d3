"""The rows of partials against plain Python: their types, sums, buckets, counts and inboxes."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rate_of_times import bars
from subtrie.audit._partial import kinds, parts
from subtrie.audit._partial.event_counts import event_counts
from subtrie.audit._partial.inboxes import MOST_INBOXES, bounded
from subtrie.audit._partial.kinds import (
    KINDS,
    SUMS,
    add_up,
    batches_of,
    bucket_rows,
    complete,
    filled,
    in_buckets,
    kind_schema,
    rows_in,
)
from subtrie.audit._partial.partial import TOGETHER, Partial
from subtrie.audit._partial.parts import Reading, partials_of_table
from subtrie.audit._partial.rates import (
    MOST_BARS,
    both_rates,
    rate_at,
    rate_column,
    rate_of_row,
    rates_of,
    table_rate,
)
from subtrie.audit._schema import EVENTS, arrow_schema

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LISTS = pa.list_(pa.int64())


def test_bounds_of_what_is_held() -> None:
    """Those that the documentation of memory names."""
    assert (parts._HELD, parts._LISTED_HELD, TOGETHER) == (600_000, 100_000, 100_000)
    assert (MOST_INBOXES, kinds.BUCKETS, MOST_BARS) == (65_536, 64, 32)
    assert timedelta(days=1) == timedelta(microseconds=kinds.DAY)


# --- counts of events

COUNTED = ("op", "direction", "conn", "reason", "deliveries", "refused")
REMARKS = {"ACK", "CLAIM", "CONSUMER", "ERROR", "LOGIN", "STORED", "STREAM"}
OF_SERVER = {"CLOSED", "DENIED", "LINK", "SERVER", "SLOW", "START", "VIOLATION"}
EVENT = st.tuples(
    st.sampled_from([None, "PUB", "HPUB", "MSG", "HMSG", "SUB", *sorted(REMARKS | OF_SERVER)]),
    st.sampled_from([None, "in", "out"]),
    st.sampled_from([None, "1/client:1", "1/websocket:1", "1/mqtt:1", "1/route:1", "1/leaf:1"]),
    st.sampled_from([None, None, "bad time"]),
    st.sampled_from([None, 0, 1, 3]),
    st.sampled_from([None, "publish"]),
)


@settings(max_examples=30)
@given(st.lists(EVENT, max_size=6))
@example([("MSG", "out", "1/route:1", None, None, None)])
@example([("PUB", "in", "1/route:1", None, None, None)])
def test_rows_are_counted_by_category(events) -> None:
    schema = arrow_schema([(name, kind) for name, kind in EVENTS if name in COUNTED])
    rows = [dict(zip(COUNTED, each, strict=True)) for each in events]
    wanted = Counter(dict.fromkeys(
        ("operations", "server", "unparseable_lines", "sent", "matched", "unsettled", "settled"), 0
    ))  # fmt: skip
    for op, direction, conn, reason, deliveries, refused in events:
        client = bool(re.search("/(client|websocket|mqtt):", conn or ""))
        wanted["unparseable_lines"] += reason is not None
        wanted["server"] += op in OF_SERVER
        wanted["operations"] += 1 - (reason is not None) - (op in OF_SERVER) - (op in REMARKS)
        wanted["sent"] += op in ("MSG", "HMSG") and direction == "out" and client
        wanted["matched"] += deliveries or 0
        wanted["settled"] += deliveries is not None
        untold = deliveries is None and refused is None
        wanted["unsettled"] += op in ("PUB", "HPUB") and direction == "in" and client and untold
    assert event_counts(pa.RecordBatch.from_pylist(rows, schema)) == dict(wanted)


# --- kinds and their sums

TIMES = {"window", "time", *(f"{end}{of}" for end in ("first", "last")
                             for of in ("", "_accepted", "_undelivered"))}  # fmt: skip
NUMBERS = {"published", "refused", "taken", "undelivered", "forwarded", "ambiguous", "bytes",
           "lines", "position", "last_position", "subscription", "size", "count",
           "day"}  # fmt: skip
NUMBER_LISTS = {"days", "changes", "rate", "rate_accepted", "rate_undelivered"}


def type_of(name: str) -> pa.DataType:
    return (
        pa.timestamp("us", "UTC") if name in TIMES
        else pa.int64() if name in NUMBERS
        else pa.int32() if name == "status"
        else LISTS if name in NUMBER_LISTS
        else pa.string()
    )  # fmt: skip


def test_each_column_of_each_kind_has_its_type() -> None:
    for kind, (columns, keys, bucketed_by) in KINDS.items():
        schema = kind_schema(kind)
        assert [(each.name, each.type) for each in schema] == [(n, type_of(n)) for n in columns]
        assert {*keys, *([] if bucketed_by is None else [bucketed_by])} <= set(columns)


def test_other_columns_of_a_kind_need_another_version() -> None:
    """A stream keeps the version with its partials, whose columns it goes on with."""
    told = repr([(name, *kind) for name, kind in KINDS.items()])
    assert (kinds.VERSION, hashlib.sha256(told.encode()).hexdigest()[:8]) == (16, "f1c6f010")


@pytest.mark.parametrize("numbered", [False, True])
def test_missing_columns_are_zero_if_they_are_sums(numbered) -> None:
    subject = "at" if numbered else "subject"
    given: dict[str, Any] = {subject: pa.array([3, 4], pa.int64()) if numbered else ["a", "b"]}
    given |= {"taken": pa.array([1, 2], pa.int32())}
    found = complete("publish", pa.table(given), subject)
    names = [subject if name == "subject" else name for name in KINDS["publish"].columns]
    assert found.column_names == names
    for field in found.schema:
        values = found[field.name].to_pylist()
        if field.name == subject:
            assert (field.type, values) == (
                (pa.int32(), [3, 4]) if numbered else (pa.string(), ["a", "b"])
            )
        else:
            assert field.type == type_of(field.name)
            assert values == (
                [1, 2] if field.name == "taken" else [0, 0] if field.name in SUMS else [None, None]
            )
    assert complete("publish", found, subject).equals(found)
    other = kind_schema("plane").empty_table().cast(pa.schema([("subject", pa.large_string())]))
    assert complete("plane", other).schema == kind_schema("plane")


NUMBER = st.sampled_from([None, -1, 0, 1, 5])
MOMENT = st.sampled_from([None, 0, 5, 7])


@st.composite
def tables(draw: Any) -> list[dict[str, Any]]:
    """Draw rows of which some columns have one value."""
    columns: dict[str, Any] = {
        "key": st.sampled_from([None, "", "a", "b"]), "number": NUMBER, "count": NUMBER,
        "bytes": NUMBER, "first": MOMENT, "last_position": MOMENT,
        "rate": st.none() | st.lists(st.sampled_from([0, 3, 50]), min_size=1, max_size=2),
    }  # fmt: skip
    length = draw(st.integers(0, 5))
    made = {}
    for name, values in columns.items():
        if draw(st.booleans()):
            made[name] = [draw(values)] * length
        else:
            made[name] = draw(st.lists(values, min_size=length, max_size=length))
    return [dict(zip(made, row, strict=True)) for row in zip(*made.values(), strict=True)]


@settings(max_examples=30)
@given(tables(), st.booleans())
def test_rows_with_equal_keys_are_added_up(rows, rated) -> None:
    moment = pa.timestamp("us", "UTC")
    fields = [("bytes", pa.int64()), ("key", pa.string()), ("count", pa.int64()),
              ("first", moment), ("last_position", pa.int64()), ("number", pa.int64())]  # fmt: skip
    fields += [("rate", LISTS)] if rated else []
    given = [row | {"rate": row["rate"] and bars([s * 1_000_000 for s in row["rate"]])}
             for row in rows]  # fmt: skip
    keys = ("key", "number")
    found = add_up(pa.Table.from_pylist(given, pa.schema(fields)), keys)
    assert found.column_names == [*keys, *(n for n, _ in fields if n not in keys)]
    groups: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row["key"], row["number"]].append(row)
    wanted = []
    for group, members in groups.items():
        made: dict[str, Any] = dict(zip(keys, group, strict=True))
        for name, how in (("count", sum), ("bytes", sum), ("first", min), ("last_position", max)):
            known = [row[name] for row in members if row[name] is not None]
            made[name] = how(known) if known else None
        if rated:
            times = [second * 1_000_000 for row in members for second in row["rate"] or ()]
            made["rate"] = bars(times) or None
        wanted.append(made)
    assert found.schema.field("first").type == moment
    place = found.column_names.index("first")
    found = found.set_column(place, "first", found["first"].cast(pa.int64()))
    assert sorted(map(repr, found.to_pylist())) == sorted(
        repr({name: row[name] for name in found.column_names}) for row in wanted
    )


def test_a_column_that_a_table_lacks_is_filled() -> None:
    table = pa.table({"a": ["x"], "count": pa.array([3], pa.int64())})
    found = filled(table, ("count", "refused", "first", "last", "window", "other"), ("refused",))
    assert found.to_pylist() == [{"count": 3, "refused": 0, "first": None, "last": None,
                                  "window": None, "other": None}]  # fmt: skip
    text, moment, number = pa.string(), pa.timestamp("us", "UTC"), pa.int64()
    assert found.schema.types == [number, number, moment, moment, moment, text]


# --- buckets

TEXTS = [None, "", "a", "b", "orders.new", "ü", *(f"x.{number}" for number in range(150))]


@pytest.mark.parametrize("texts", [[], [None], ["a"], ["b", "a", "b"], TEXTS, TEXTS[::-1] * 2])
def test_rows_about_one_subject_are_in_the_bucket_of_its_checksum(texts) -> None:
    """In the order of the rows; the head has no buckets."""
    for kind in ("undelivered", "dropped"):
        none = dict.fromkeys(KINDS[kind].columns)
        rows = [none | {"subject": text, "position": n} for n, text in enumerate(texts)]
        wanted: dict[int, list[Any]] = defaultdict(list)
        for row in rows:
            number = zlib.crc32((row["subject"] or "").encode()) % 64
            wanted[-1 if kind == "dropped" else number].append(row)
        pieces = list(in_buckets(kind, pa.Table.from_pylist(rows, kind_schema(kind))))
        assert [(name, number, table.to_pylist()) for name, number, table in pieces] == [
            (kind, number, wanted[number]) for number in sorted(wanted)
        ]
        moved = list(rows_in([bucket_rows(pieces)]))
        assert [each[:3] for each in moved] == [
            (kind, number, len(wanted[number])) for number in sorted(wanted)
        ]
        for (*_, data), (*_, table) in zip(moved, pieces, strict=True):
            assert batches_of(data).read_all().equals(table)


def publishes(*rows: dict[str, Any]) -> pa.Table:
    names = list(rows[0])
    types = [type_of(name) for name in names]
    return complete("publish", pa.table(
        {n: pa.array([row[n] for row in rows], t) for n, t in zip(names, types, strict=True)}
    ))  # fmt: skip


def test_what_a_partial_holds_and_what_is_taken_of_it() -> None:
    found = Partial()
    assert (found.summed, found.held, found.nbytes, found.numbered()) == (0, 0, 0, None)
    found.add_counts({})
    assert found.held == 0
    found.add_counts({"operations": 2, "mqtt": 1})
    found.add_counts({"operations": 3})
    lost = pa.Table.from_pylist([dict.fromkeys(KINDS["undelivered"].columns)] * 2,
                                kind_schema("undelivered"))  # fmt: skip
    found.add_list("undelivered", lost)
    found.add_list("undelivered", lost.slice(0, 1))
    assert (found.held, found.nbytes) == (6, 3_000)
    assert found.counts() == {"operations": 5, "mqtt": 1}
    assert found.take_table("undelivered").num_rows == 3
    assert (found.held, found.table("undelivered").num_rows) == (3, 0)
    found.add_list("undelivered", lost)
    head = found.head()
    assert (head.held, found.held, head.counts()) == (3, 2, {"operations": 5, "mqtt": 1})
    assert found.counts() == {}
    other = Partial()
    other.add_list("undelivered", lost)
    other.add_publishes(publishes({"subject": "a", "published": 1}))
    found.add(other)
    assert (found.held, found.summed) == (4, 2)
    assert found.nbytes == 2_220
    rows = list(rows_in([found.to_rows()]))
    assert [(kind, bucket, count) for kind, bucket, count, _ in rows] == [
        ("publish", zlib.crc32(b"a") % 64, 1), ("undelivered", 0, 4),
    ]  # fmt: skip
    assert (found.held, found.to_rows().num_rows) == (0, 0)


@pytest.mark.parametrize("window", [None, 1_000_000])
def test_what_a_task_counts_of_messages(window) -> None:
    """Accepted and ambiguous ones are counted, and their planes are known."""
    subjects = ["p.safe.443.a_b.c_d._.GET.x", "x", "x", "y"]
    schema = arrow_schema([(n, k) for n, k in EVENTS if n in parts.EVENT_COLUMNS])
    none: dict[str, Any] = dict.fromkeys(schema.names)
    rows = [
        none | {"server": "s", "conn": "1/client:1", "direction": "in", "op": "PUB", "size": 1,
                "subject": subject, "position": n, "deliveries": 1, "forwarded": 0,
                "ambiguous": n == 1, "time": n * 1_000_000,
                "refused": "publish" if n == 3 else None}
        for n, subject in enumerate(subjects)
    ]  # fmt: skip
    batches = [pa.RecordBatch.from_pylist(rows, schema)]
    whole = Partial()
    for each in partials_of_table(batches, Reading(window=window)):
        whole.add(each)
    counts = whole.counts()
    assert (counts["published"], counts["ambiguous"], counts["operations"]) == (3, 1, 4)
    assert whole.table("plane")["subject"].to_pylist() == ["p"]


# --- inboxes


@pytest.mark.parametrize("most", [64, 127, 128, 100_000])
def test_of_each_bucket_the_inboxes_with_the_least_hashes_stay(most) -> None:
    """The others are one row for each connection, and are counted."""
    inboxes = [f"_INBOX{mark}.c{n % 3}.r{n}" for n in range(200) for mark in ("", "_x")]
    others = ["_INBOX.r1", "_INBOX.c.*", "a._INBOX.c.r", "INBOX.c.r", "_INBOX", "_INBOX.c..r"]
    by_bucket: dict[int, list[str]] = defaultdict(list)
    for name in inboxes:
        by_bucket[zlib.crc32(name.encode()) % 64].append(name)

    def place(name: str) -> bytes:
        key = b"subtrie.audit"
        return hashlib.blake2b(name.encode(), digest_size=16, key=key).digest()

    together = {n for some in by_bucket.values() for n in sorted(some, key=place)[most // 64 :]}

    def written(name: str) -> str:
        return name.rpartition(".")[0] + ".*" if name in together else name

    partial, names = Partial(), [*inboxes, *others]
    partial.add_publishes(publishes(
        *({"subject": name, "published": 2, "bytes": n} for n, name in enumerate(names))
    ))  # fmt: skip
    delivered = pa.table({"subject": names, "count": [3] * len(names)})
    partial._sum("delivery", complete("delivery", delivered))
    for kind, column in (("undelivered", "subject"), ("request", "reply"), ("hop", "subject")):
        partial.add_list(kind, complete(kind, pa.table({column: names})))
    partial.add_list("range", complete("range", pa.table({"server": ["s"]})))
    found = bounded(partial, most)
    bytes_of: Counter[str] = Counter()
    count_of: Counter[str] = Counter()
    for n, name in enumerate(names):
        bytes_of[written(name)] += n
        count_of[written(name)] += 1
    summed = {kind: table.to_pylist() for kind, _, table in found._take_summed()}
    assert {row["subject"]: (row["published"], row.get("bytes") or 0)
            for row in summed["publish"]} == {
        name: (2 * count, bytes_of[name]) for name, count in count_of.items()
    }  # fmt: skip
    assert {row["subject"]: row["count"] for row in summed["delivery"]} == {
        name: 3 * count for name, count in count_of.items()
    }
    single = Counter(name for name in names if name not in together)
    assert Counter(found.table("undelivered")["subject"].to_pylist()) == single
    assert Counter(found.table("request")["reply"].to_pylist()) == single
    assert Counter(found.table("hop")["subject"].to_pylist()) == Counter(names)
    assert found.table("range").num_rows == 1
    assert found.counts() == ({} if not together else {
        "folded_messages": 2 * len(together), "untimed_requests": len(together),
    })  # fmt: skip


def test_inboxes_of_which_every_message_was_refused_are_bounded() -> None:
    """Sums that are all zero have no column; so this was an error."""
    partial = Partial()
    names = [f"_INBOX.c.r{n}" for n in range(200)]
    partial.add_publishes(publishes(*({"subject": name, "refused": 1} for name in names)))
    found = bounded(partial, 0)
    assert found.counts() == {}
    ((_, _, publish), (_, _, delivery)) = found._take_summed()
    assert [(row["subject"], row["refused"]) for row in publish.to_pylist()] == [
        ("_INBOX.c.*", 200)
    ]
    assert delivery.num_rows == 0


# --- rates


@pytest.mark.parametrize(
    "seconds", [[], [0], [-5], [31, 0], [32, 0], [63, 32], [64, 32], [7, 7, 9], [10**6, 0]]
)
def test_a_rate_in_each_of_its_forms(seconds) -> None:
    times = [second * 1_000_000 + 999_999 for second in seconds]
    moments = [EPOCH + timedelta(microseconds=time) for time in times]
    column = rates_of(pa.array([*times, None], pa.timestamp("us", "UTC")))
    assert column.to_pylist() == [*([1, second, 1] for second in seconds), None]
    whole: tuple[int, ...] | None = rate_at(None)
    for each in moments:
        whole = both_rates(whole, rate_at(each))
    rate = bars(times)
    assert list(whole or ()) == rate
    assert both_rates(whole, None) == both_rates(None, whole) == whole
    told = rate_column(
        pa.array([rate, rate, rate, None], LISTS),
        pa.array([len(times), len(times) + 1, None, 1], pa.int64()),
    ).to_pylist()
    assert told[0] == table_rate(rate, of=len(times))
    assert told[1:] == [None] * 3
    if not seconds:
        assert told[0] is None
        return
    assert told[0] == {
        "start": EPOCH + timedelta(seconds=rate[1]), "width_s": rate[0], "counts": rate[2:],
    }  # fmt: skip
    assert list(rate_of_row({"rate": told[0]}) or ()) == rate
    assert table_rate(rate, of=len(times) - 1) is None
    many = [*rate[:2], *(100_000 * count for count in rate[2:])]
    assert table_rate(many, of=100_000 * len(times)) == told[0] | {"counts": many[2:]}
    assert rate_of_row({"rate": None}) is None
