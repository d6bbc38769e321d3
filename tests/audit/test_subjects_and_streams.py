"""Single subjects, given streams, late deliveries and equal rows, each against its definition."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rate_of_times import bars
from subtrie.acl._jetstream.streams import Consumer, Stream, Streams
from subtrie.audit._partial.kinds import kind_schema
from subtrie.audit._partial.partial import Partial
from subtrie.audit._partial.parts import EVENT_COLUMNS, list_others
from subtrie.audit._partial.selection import Chooser, Selection
from subtrie.audit._schema import EVENTS, arrow_schema
from subtrie.audit._tables import by_subject, pattern_index
from subtrie.audit._tables.by_subject import explained, outside_tables
from subtrie.audit._tables.pattern_index import index_files, open_index
from subtrie.audit._tables.streams import ack_policies, stored_patterns, told_consumers

DAY = datetime(2026, 11, 21, tzinfo=UTC)
TEXT, NUMBER = pa.string(), pa.int64()


def text(*values: str | None) -> pa.Array:
    return pa.array(values, TEXT)


def test_bounds_of_what_is_kept_and_named() -> None:
    assert (pattern_index._KNOWN, pattern_index._MOST_OPENED) == (10_000, 8)
    assert (by_subject.HOTTEST, by_subject.NAMED) == (100, 4_096)
    assert by_subject._MOST_CANDIDATES == 100_000


@pytest.mark.parametrize(
    ("subject", "account", "lost", "told"),
    [
        # The oldest pattern that matches; it lived at 6, and another of the account from 21 on.
        ("a.x", "A", [6], ("a.*", None, False)), ("a.x", "A", [12], ("a.*", None, True)),
        ("a.x", "A", [6, 12], ("a.*", None, True)), ("a.x", "A", [22], ("a.*", None, False)),
        ("a.x", "A", [6, 22], ("a.*", None, False)), ("a.x", "A", [], ("a.*", None, False)),
        ("a.x", "B", [6], ("a.x", None, True)), ("a.x", "B", [22], ("a.x", None, False)),
        ("a.x", None, [6], ("a.*", None, False)), ("a.y", "B", [6], ("a.x", 1, False)),
        ("b.d", "A", [6], ("b.c", 1, False)), ("d.c", "A", [12], ("b.c", 0, False)),
        ("b..c", "A", [12], (None, None, False)),
    ],
)  # fmt: skip
def test_an_undelivered_subject_names_the_pattern_that_could_have_received_it(
    subject, account, lost, told
) -> None:
    subs = [("s", 0, None, "A", "b.c"), ("s", 5, 9, "A", "a.*"), ("s", 20, None, "B", "a.x"),
            ("s", 21, None, "A", "a.x")]  # fmt: skip
    names, types = ("server", "start", "end", "account", "pattern"), (TEXT, NUMBER, NUMBER)
    table = pa.table({
        name: pa.array(column, kind) for name, column, kind in
        zip(names, zip(*subs, strict=True), (*types, TEXT, TEXT), strict=True)
    }).append_column("queue", pa.nulls(len(subs), TEXT))  # fmt: skip
    files = dict(index_files(table)[0])
    index = open_index(list(files), files.__getitem__)
    texts, accounts = text("z", subject, "b.c"), text("A", account, "A")
    rows, numbers = index.matches_in(texts, accounts)
    order = np.argsort(rows, kind="stable")
    missed = pa.table({"account": accounts.slice(1, 1), "subject": texts.slice(1, 1)})
    of_lost = pa.table({
        "server": text(*"s" * len(lost), "s"), "account": text(*[account] * len(lost), "C"),
        "subject": text(*[subject] * len(lost), subject), "position": pa.array([*lost, 12], NUMBER),
    })  # fmt: skip
    found = explained(missed, pa.array([1]), of_lost, index, rows[order], numbers[order])
    ((row),) = found.to_pylist()
    assert (row["nearest"], row["differs_at"], row["subscription_inactive"]) == told


def test_subjects_without_an_address_by_their_first_token() -> None:
    """Those that begin with a plane are malformed; all rows of a subject and account are one."""
    subjects = ("p", "p.x", "p.x.y", "pp.x", "q.p", "q.x", "")
    rows, wanted = [], []
    for number, (subject, account) in enumerate(itertools.product(subjects, ("B", None, "A"))):
        for part in range(1 + number % 2):
            rows.append({"subject": subject, "reason": "why", "published": number + 1,
                         "taken": part, "first_accepted": DAY + timedelta(seconds=5 + part),
                         "last_accepted": DAY + timedelta(seconds=7 + part),
                         "rate_accepted": bars([10**6 * part]), "account": account,
                         "key": subject})  # fmt: skip
        parts = range(1 + number % 2)
        wanted.append((subject, account or "", {
            "subject": subject, "reason": "why", "count": (number + 1) * len(parts),
            "received": sum(parts), "first": DAY + timedelta(seconds=5),
            "last": DAY + timedelta(seconds=7 + parts[-1]),
            "rate": bars([10**6 * part for part in parts]), "account": account,
        }))  # fmt: skip
    wanted.sort(key=lambda each: each[:2])
    moment = pa.timestamp("us", "UTC")
    types = dict.fromkeys(("published", "taken"), NUMBER) | {"rate_accepted": pa.list_(NUMBER)}
    types |= dict.fromkeys(("first_accepted", "last_accepted"), moment)
    schema = pa.schema([(name, types.get(name, TEXT)) for name in rows[0]])
    table = pa.Table.from_pylist(rows[::-1], schema)
    found = outside_tables(table, ("p", "z"))
    firsts = {"p", "p.x", "p.x.y"}
    assert found["malformed"].to_pylist() == [r for s, _, r in wanted if s in firsts]
    assert [tuple(row[n] for n in ("subject", "count", "account"))
            for row in found["other_traffic"].to_pylist()] == [
        (s, r["count"], r["account"]) for s, _, r in wanted if s not in firsts
    ]  # fmt: skip
    assert {each.num_rows for each in outside_tables(table.slice(0, 0), ("p",)).values()} == {0}
    assert outside_tables(table, ())["malformed"].num_rows == 0


def test_streams_that_are_given_beside_those_of_the_log() -> None:
    consumers = (Consumer("c", deliver="d", filters=("x", "y"), ack_policy="none"), Consumer("e"))
    given = Streams((
        Stream("S", "A", key="K", subjects=("x", "y"), consumers=consumers),
        Stream("T", "B", subjects=("z",), consumers=None),
        Stream("U", "B", consumers=(Consumer("c"),)),
    ), given=True)  # fmt: skip
    head = Partial()
    assert (stored_patterns(head, None), ack_policies(head, None)) == ((), {})
    assert told_consumers(head, None) == {}
    assert stored_patterns(head, given) == (
        ("A", "S", "x"), ("A", "S", "y"), ("B", "T", "z"), ("K", "S", "x"), ("K", "S", "y"),
    )  # fmt: skip
    assert ack_policies(head, given) == {
        ("S", "c"): {("A", "none"), ("K", "none")},
        ("S", "e"): {("A", "explicit"), ("K", "explicit")},
        ("U", "c"): {("B", "explicit"), ("", "explicit")},
    }  # fmt: skip

    def told() -> dict[Any, Any]:
        return {key: (each.policy, each.deliver, each.filters)
                for key, each in told_consumers(head, given).items()}  # fmt: skip

    wanted = {("K", "S", "c"): ("none", "d", "x y"), ("K", "S", "e"): ("explicit", None, None),
              ("B", "U", "c"): ("explicit", None, None)}  # fmt: skip
    assert told() == wanted
    schema = kind_schema("consumer")
    row: dict[str, Any] = dict.fromkeys(schema.names) | {
        "account": "K", "queue": "S.c", "subject": "all", "reply": "to", "sid": "f",
    }  # fmt: skip
    head.add_list("consumer", pa.Table.from_pylist([row], schema))
    assert told() == wanted | {("K", "S", "c"): ("all", "to", "f")}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("since", [None, 1])
def test_deliveries_of_the_last_messages_are_a_second_later(late, since) -> None:
    times = (None, 0, 1, 2, 2.999999, 3, 3.000001)
    events = [
        {"op": op, "time": None if time is None else DAY + timedelta(seconds=time),
         "direction": way, "subject": "x", "identity": None}
        for op in ("PUB", "MSG", "SUB", "HMSG") for time in times for way in ("in", "out", None)
    ]  # fmt: skip
    moment = pa.timestamp("us", "UTC")
    schema = pa.schema([(name, moment if name == "time" else TEXT) for name in events[0]])
    first, end = DAY + timedelta(seconds=since or 0), DAY + timedelta(seconds=2)
    chooser = Chooser(Selection(None if since is None else first, end), late=late)
    (found,) = chooser.chosen([pa.RecordBatch.from_pylist(events, schema)])

    def chosen(op: str, time: datetime | None, way: str | None) -> bool:
        if op == "SUB":
            return True
        longer = timedelta(seconds=1 if late and way == "out" else 0)
        return time is not None and first <= time < end + longer

    assert found.to_pylist() == [
        each for each in events if chosen(each["op"], each["time"], each["direction"])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("bit", "kind", "op", "rows"),
    [(512, "ack", "ACK", 1), (512, "stored", "STORED", 1), (512, "consumer", "CONSUMER", 1),
     (128, "error", "ERROR", 1), (128, "claim", "CLAIM", 2), (512, "stream", "STREAM", 2),
     (1024, "login", "LOGIN", 2), (16, "refused", "PUB", 2)],
)  # fmt: skip
def test_what_comes_often_is_added_up_where_it_is_read(bit, kind, op, rows) -> None:
    schema = arrow_schema([(n, k) for n, k in EVENTS if n in EVENT_COLUMNS])
    event = dict.fromkeys(schema.names) | {"op": op, "queue": "S.c", "position": 1}
    found = Partial()
    flags = np.full(2, bit, np.uint16).tobytes()
    list_others(found, pa.RecordBatch.from_pylist([event] * 2, schema), flags, None)
    assert found.held == rows
    assert found.table(kind).num_rows == 1, "equal rows"
