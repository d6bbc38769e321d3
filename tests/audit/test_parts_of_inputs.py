"""Parts of inputs, the rows listed of their events, messages elsewhere, the hottest subjects."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_writer import Trace

from subtrie.audit import _here as here
from subtrie.audit._partial import parts
from subtrie.audit._partial.kinds import KINDS, SUMMED, add_up, kind_schema
from subtrie.audit._partial.partial import Partial, by_buckets
from subtrie.audit._partial.parts import (
    EVENT_COLUMNS,
    Reading,
    SavedPart,
    in_groups,
    list_others,
    partials_of_table,
    size_of,
)
from subtrie.audit._readers.log_reader import divide, whole_logs
from subtrie.audit._schema import EVENTS, arrow_schema
from subtrie.audit._slot_redaction import Redaction
from subtrie.audit._tables import by_subject
from subtrie.audit._tables.by_subject import Hottest, hottest, most_published, names_of_most
from subtrie.audit._tables.context import _in_order
from subtrie.audit._tables.messages_between_servers import Publisher, followed

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000


@pytest.mark.parametrize(
    ("count", "sizes"),
    [(0, []), (1, [1]), (3, [3]), (4, [4]), (5, [4, 1]), (8, [4, 4]), (9, [4, 4, 1]),
     (16, [4, 4, 8]), (31, [4, 4, 8, 15]), (33, [4, 4, 8, 16, 1])],
)  # fmt: skip
def test_each_group_of_parts_doubles_those_before_it(count, sizes) -> None:
    found: list[Any] = list(in_groups(iter(range(count))))  # type: ignore[arg-type]
    assert [len(group) for group in found] == sizes
    assert list(itertools.chain(*found)) == list(range(count))


def test_a_group_is_there_before_the_next_part_is_found() -> None:
    asked: list[int] = []
    groups = in_groups(asked.append(n) or n for n in range(9))  # type: ignore[func-returns-value,misc]
    next(groups)
    assert asked == [0, 1, 2, 3]


def test_the_size_of_a_part_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "capture").write_bytes(b"x" * 70)
    assert size_of(SavedPart("capture", str(tmp_path / "capture"), 0)) == 70
    trace = Trace()
    for _ in range(50):
        trace.publish(1, "a.b")
    log = tmp_path / "trace.log"
    log.write_text(trace.text())
    (whole,) = whole_logs([str(log)])
    assert size_of(whole) == log.stat().st_size
    ranges = list(divide(whole, 1_000))
    sizes = [size_of(each) for each in ranges]
    assert len(sizes) > 2
    assert sizes == [end - each.start for each, end in zip(
        ranges, [*(each.start for each in ranges[1:]), log.stat().st_size], strict=True
    )]  # fmt: skip


# --- rows that are listed

#: The flag of a row, the kind that it becomes, and the operations of this kind, if it has some.
LISTED = (
    (1, "undelivered", None), (2, "hop", None), (4, "arrival", None), (8, "subscription", None),
    (16, "refused", None), (32, "refused", None), (128, "slow", {"SLOW"}),
    (128, "claim", {"CLAIM"}), (128, "error", {"ERROR"}), (64, "unparseable", None),
    (256, "request", None), (512, "stream", {"STREAM"}), (512, "consumer", {"CONSUMER"}),
    (512, "dropped", {"PUB", "HPUB"}), (512, "stored", {"STORED"}), (512, "ack", {"ACK"}),
    (1024, "login", {"LOGIN", "DENIED"}), (1024, "link", {"LINK"}),
    (1024, "state", {"SERVER", "START", "SLOW"}), (128, "state", {"SERVER", "START", "SLOW"}),
)  # fmt: skip
OPERATIONS = ["SLOW", "CLAIM", "ERROR", "STREAM", "CONSUMER", "PUB", "HPUB", "STORED", "ACK",
              "LOGIN", "DENIED", "LINK", "SERVER", "START", "SUB", "MSG"]  # fmt: skip
RENAMED = {
    ("hop", "taken"): "deliveries", ("arrival", "taken"): "deliveries",
    ("subscription", "reason"): "direction", ("refused", "reason"): "refused",
    ("unparseable", "position"): "offset", ("unparseable", "text"): "_corrupt_record",
    ("stream", "last_position"): "position",
    **{(kind, end): "time" for kind in ("refused", "slow", "claim", "error", "login")
       for end in ("first", "last")},
}  # fmt: skip


def event(number: int, op: str, time: int | None) -> dict[str, Any]:
    """Return an event of which each column has a value of its own."""
    made: dict[str, Any] = {}
    for place, (name, kind) in enumerate((n, k) for n, k in EVENTS if n in EVENT_COLUMNS):
        made[name] = (
            f"{name} {number}" if kind == "string"
            else None if kind in ("boolean", "timestamp") else number * 100 + place
        )  # fmt: skip
    return made | {"op": op, "time": time}


def micros(value: Any) -> Any:
    return round((value - EPOCH).total_seconds() * 1e6) if isinstance(value, datetime) else value


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(OPERATIONS), st.sampled_from([None, 0, 1_500_000, DAY + 7]),
                  st.sets(st.sampled_from(sorted({bit for bit, *_ in LISTED})), max_size=3)),
        max_size=6,
    ),
    st.sampled_from([None, 1_000_000]),
)  # fmt: skip
def test_the_rows_of_a_kind_are_those_with_its_flag_and_operation(told, window) -> None:
    events = [event(number, op, time) for number, (op, time, _) in enumerate(told)]
    schema = arrow_schema([(n, k) for n, k in EVENTS if n in EVENT_COLUMNS])
    batch = pa.RecordBatch.from_pylist(events, schema)
    flags = np.array([sum(bits) for *_, bits in told], np.uint16).tobytes()
    found = Partial()
    list_others(found, batch, flags if any(bits for *_, bits in told) else b"", window)
    wanted: dict[str, list[dict[str, Any]]] = {}
    for bit, kind, operations in LISTED:
        for row, (op, time, bits) in zip(events, told, strict=True):
            if bit not in bits or (operations is not None and op not in operations):
                continue
            made: dict[str, Any] = {}
            for name in KINDS[kind].columns:
                if name == "window":
                    value = None if None in (time, window) else time // window * window
                elif name == "day":
                    value = None if time is None else time // DAY
                elif name == "count":
                    value = 1
                elif name == "rate":
                    value = None if time is None else [1, time // 1_000_000, 1]
                elif bit == 32 and name == "reason":
                    value = "publish"
                else:
                    value = row[RENAMED.get((kind, name), name)]
                made[name] = value
            wanted.setdefault(kind, []).append(made)
    for kind in {kind for _, kind, _ in LISTED}:
        rows = [{name: micros(value) for name, value in row.items()}
                for each in found._listed.get(kind, ()) for row in each.to_pylist()]  # fmt: skip
        assert sorted(map(repr, rows)) == sorted(map(repr, wanted.get(kind, []))), kind


def test_messages_between_servers_are_added_up_between_changes_of_links() -> None:
    told = [("MSG", 1, 7), ("MSG", 1, 5), ("MSG", 2, 1), ("LINK", 1, 0), ("MSG", 1, 3)]
    events = []
    for number, (op, conn, size) in enumerate(told):
        made = event(number, op, None) | {"size": size, "conn": f"1/route:{conn}"}
        events.append(made | dict.fromkeys(("server", "user", "direction"), "x"))
    schema = arrow_schema([(n, k) for n, k in EVENTS if n in EVENT_COLUMNS])
    batch = pa.RecordBatch.from_pylist(events, schema)
    flags = np.array([2048 | 4096, 2048, 2048 | 4096, 0, 2048], np.uint16).tobytes()
    found = Partial()
    list_others(found, batch, flags, None)
    rows = found.table("crossed").to_pylist()
    assert sorted((r["conn"], r["position"], r["count"], r["size"]) for r in rows) == [
        ("1/route:1", events[0]["position"], 2, 12), ("1/route:1", events[4]["position"], 1, 3),
        ("1/route:2", events[2]["position"], 1, 1),
    ]  # fmt: skip
    assert found.counts()["mqtt"] == 2


@pytest.mark.parametrize(("name", "most"), [("_HELD", 0), ("_LISTED_HELD", 0)])
def test_a_task_passes_on_what_it_holds_and_loses_nothing(monkeypatch, name, most) -> None:
    """However often, the partials add up to the same."""
    schema = arrow_schema([(n, k) for n, k in EVENTS if n in EVENT_COLUMNS])
    nothing: dict[str, Any] = dict.fromkeys(schema.names)
    rows = [
        nothing | {"server": "s", "file": "f", "conn": "1/client:1", "direction": "in", "op": "PUB",
                   "subject": f"x{number}", "position": number, "offset": number, "size": 2,
                   "deliveries": 0, "forwarded": 0, "time": number * 1_000_000}
        for number in range(4)
    ]  # fmt: skip
    batches = [pa.RecordBatch.from_pylist([row], schema) for row in rows]

    def added() -> tuple[int, Partial]:
        partials = list(partials_of_table(batches, Reading()))
        whole = Partial()
        for each in partials:
            whole.add(each)
        return len(partials), whole

    count, whole = added()
    assert count == 2, "the sums, and the counts of lines"
    monkeypatch.setattr(parts, name, most)
    more, again = added()
    assert more == 6, "and one for each batch"
    assert again.counts() == whole.counts()
    assert whole.counts()["operations"] == 4
    columns = ["subject", "position"]
    for one in (again, whole):
        listed = one.table("undelivered").select(columns).to_pylist()
        assert sorted(row["position"] for row in listed) == [0, 1, 2, 3]
    sums = Reading().sums()
    sums.add_events(batches[0])
    # Each batch has a row that is listed, and what is held is the sum of both.
    for beyond, partials in ((0, 6), (1, 4)):
        monkeypatch.undo()
        monkeypatch.setattr(parts, "_HELD", len(sums) + beyond)
        assert added()[0] == partials
    assert whole.nbytes == 110 * whole.summed + 500 * whole.held
    assert whole.summed > 0 < whole.held


# --- buckets, and messages that went to another server


@pytest.mark.parametrize(
    ("together", "groups"), [(1, "a b c"), (2, "a b c"), (3, "ab c"), (4, "ab c"), (5, "abc")]
)
def test_buckets_are_together_until_they_have_so_many_rows(together, groups) -> None:
    """A bucket of two rows of different kinds, one of two, and one of one row."""
    schema = kind_schema("claim")
    none: dict[str, Any] = dict.fromkeys(schema.names)

    def row(name: str, count: int) -> tuple[str, int, int, Any]:
        table = pa.Table.from_pylist([none | {"subject": name, "count": 1}] * count, schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_table(table)
        return "claim", ord(name), count, sink.getvalue()

    rows = [row("a", 1), row("a", 1), row("b", 2), row("c", 1)]
    found = [
        "".join(sorted({each["subject"] for each in partial.table("claim").to_pylist()}))
        for partial in by_buckets(rows, together)
    ]
    assert found == groups.split()
    assert list(by_buckets([], together)) == []


def test_what_fills_more_than_one_bucket_at_a_time_is_divided_by_bucket(monkeypatch) -> None:
    """Rows of several kinds about one subject come together, each bucket once."""
    monkeypatch.setattr(here, "TOGETHER", 1)
    monkeypatch.setattr(here, "by_buckets", functools.partial(by_buckets, together=1))
    whole = Partial()
    for kind in ("claim", "error", "undelivered"):
        none: dict[str, Any] = dict.fromkeys(kind_schema(kind).names)
        rows = [none | {"identity": f"x{n}", "subject": f"x{n}"} for n in range(20)]
        rows = [{name: row[name] for name in none} for row in rows]
        whole.add_list(kind, pa.Table.from_pylist(rows, kind_schema(kind)))
    held = here.HeldPartial(1 << 30, here.SpillFile())
    held.add(whole)
    column = {"claim": "identity", "error": "identity", "undelivered": "subject"}
    found = [{kind: frozenset(each.table(kind)[name].to_pylist()) for kind, name in column.items()}
             for each in held.buckets()]  # fmt: skip
    assert len(found) > 1
    for each in found:
        assert len(set(each.values())) == 1, "all kinds have the same subjects"
    assert sum(len(each["claim"]) for each in found) == 20


def test_saved_inputs_are_numbered_by_their_paths(tmp_path: Path) -> None:
    for name in "ba":
        (tmp_path / name).write_text('{"connections": []}')
    found = list(parts.plan([str(tmp_path / name) for name in "ba"]).parts)
    assert found == [SavedPart("snapshot", str(tmp_path / name), n) for n, name in enumerate("ab")]


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in (*SUMMED, "plane", "count", "range")]
)
def test_what_is_hidden_in_subjects_is_in_no_row_of_a_partial(kind) -> None:
    none: dict[str, Any] = dict.fromkeys(kind_schema(kind).names)
    shown = {"subject": "p.safe.443.a_b.c_d.id-x7.GET.secret", "reply": "p.reply._.c_d.a_b.id-x7"}
    if kind == "consumer":
        shown["sid"] = "orders.* p.safe.443.a_b.c_d.id-x7.GET.secret p.safe.443.e._.*.GET.a.>"
    told = {name: shown[name] for name in none if name in shown}
    made = Partial()
    made.add_list(kind, pa.Table.from_pylist([none | told], kind_schema(kind)))
    hidden = Redaction(("path", "id"), b"k" * 16)
    (row,) = made.redacted(hidden).table(kind).to_pylist()
    assert {name: row[name] for name in told} == {
        name: " ".join(str(hidden.text(each)) for each in text.split())
        for name, text in told.items()
    }
    assert "secret" not in str(row)


def sent_to(*rows: dict[str, Any]) -> pa.Table:
    made = dict.fromkeys(kind_schema("hop").names) | {
        "server": "s", "conn": "1/client:1", "subject": "x", "reply": "", "size": 2, "position": 1,
        "taken": 0, "forwarded": 0,
    }  # fmt: skip
    return pa.Table.from_pylist([made | row for row in rows], kind_schema("hop"))


T, U = {"server": "t", "conn": "1/route:1"}, {"server": "u", "conn": "1/route:1"}
LEAF = {"server": "t", "conn": "1/leaf:1"}


@pytest.mark.parametrize(
    ("hop", "arrivals", "outcome", "crossed"),
    [
        ({}, [T | {"taken": 1}], "delivered", {"t": 1, "s": 1}),
        ({}, [T | {"taken": 2}], "delivered", {"t": 1, "s": 1}),
        ({}, [T], "undelivered", {}),
        ({}, [], None, {}),
        ({}, [T | {"server": "s", "taken": 1}], None, {}),
        ({"taken": 1}, [T | {"taken": 1}], None, {"t": 1}),
        ({"taken": 1}, [T], None, {}),
        # only some copies arrived in a log that is given
        ({"forwarded": 2}, [T], None, {}),
        ({"forwarded": 2}, [T, U], "undelivered", {}),
        ({"forwarded": 2}, [T | {"taken": 1}], "delivered", {"t": 1, "s": 1}),
        ({"forwarded": 2}, [T | {"taken": 1}, U | {"taken": 1}], "delivered",
         {"t": 1, "u": 1, "s": 1}),
        # one at each server, and no more than were sent
        ({"forwarded": 2}, [T, T | {"taken": 1, "position": 2}], None, {}),
        ({}, [T, U | {"taken": 1}], "undelivered", {}),
        # a copy that its server sent on
        ({}, [T | {"forwarded": 1}, U | {"taken": 1}], "delivered", {"u": 1, "s": 1}),
        ({}, [T | {"forwarded": 1}], None, {}),
        # accounts are compared unless a leaf node names its own
        ({"account": "A"}, [T | {"account": "A", "taken": 1}], "delivered", {"t": 1, "s": 1}),
        ({"account": "A"}, [T | {"account": "B", "taken": 1}], None, {}),
        ({"account": "A"}, [LEAF | {"account": "B", "taken": 1}], "delivered", {"t": 1, "s": 1}),
        ({"account": "A"}, [T | {"taken": 1}], "delivered", {"t": 1, "s": 1}),
        ({}, [T | {"subject": "y", "taken": 1}], None, {}),
        ({}, [T | {"reply": "r", "taken": 1}], None, {}),
        ({}, [T | {"size": 3, "taken": 1}], None, {}),
    ],
)  # fmt: skip
def test_what_became_of_a_message_to_another_server(hop, arrivals, outcome, crossed) -> None:
    moment = datetime(2026, 11, 21, tzinfo=UTC)
    sent: dict[str, Any] = {"forwarded": 1, "user": "u", "time": moment} | hop
    found = followed(sent_to(sent), sent_to(*({"time": moment} | each for each in arrivals)))
    lost = outcome == "undelivered"
    rows = found.publishes.to_pylist()
    counts = [(r["taken"], r["undelivered"], r["forwarded"], r["published"]) for r in rows]
    assert counts == ([] if outcome is None else [(int(not lost), int(lost), -1, 0)])
    assert [row["position"] for row in found.undelivered.to_pylist()] == [1] * lost
    for row in rows:
        micros = (moment - EPOCH) // (datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC) - EPOCH)
        assert row["days"] == (None if lost else [micros * 4 + 3])
        assert (row["first_undelivered"], row["last_undelivered"]) == (
            (moment, moment) if lost else (None, None)
        )
        assert row["rate_undelivered"] == ([1, micros // 1_000_000, 1] if lost else None)
    about = ("s", sent.get("account"), Publisher("1/client:1", "u", ""), "x")
    assert found.crossed == {(*about, server): count for server, count in crossed.items()}


def test_the_earliest_that_left_is_the_earliest_that_arrived() -> None:
    """By their times, not by the order of rows; without a time it is before all others."""
    times = [None, *(datetime(2026, 11, day, tzinfo=UTC) for day in (21, 22))]
    hops = [{"position": number, "time": time, "forwarded": 1} for number, time in enumerate(times)]
    arrivals = [T | {"time": time, "taken": int(number != 1), "position": number}
                for number, time in enumerate(times)]  # fmt: skip
    for some in itertools.permutations(hops):
        found = followed(sent_to(*some), sent_to(*arrivals[::-1]))
        assert found.undelivered["position"].to_pylist() == [1]
        assert sum(found.publishes["taken"].to_pylist()) == 2


@pytest.mark.parametrize(
    ("servers", "positions", "order"),
    [("ss", [1, 2], None), ("ss", [2, 1], [1, 0]), ("ts", [1, 2], [1, 0]), ("st", [2, 1], [0, 1]),
     ("s-", [1, 2], [0, 1]), ("-s", [1, 2], [1, 0]), ("s", [1], None), ("ss", [1, 1], [0, 1]),
     ("sss", [1, 3, 2], [0, 2, 1])],
)  # fmt: skip
def test_lines_are_read_by_server_and_position(servers, positions, order) -> None:
    """Those of one log in order are not copied; a server that is not told is the last."""
    names = [None if each == "-" else each for each in servers]
    table = pa.table({"server": pa.array(names, pa.string()), "position": pa.array(positions),
                      "row": pa.array(range(len(names)))})  # fmt: skip
    found = _in_order(table)
    assert (found is table) is (order is None)
    assert order is None or found["row"].to_pylist() == order


# --- the hottest subjects


def named(counts: dict[str, int], unnamed: int | None = None) -> pa.Table:
    """Return the subjects that a part names, with as many bytes as messages."""
    none = pa.array([None] * len(counts), pa.string())
    values = pa.array(counts.values(), pa.int64())
    table = pa.table({"subject": pa.array(list(counts), pa.string()), "account": none,
                      "published": values, "bytes": values,
                      "key": pa.array(list(counts), pa.string())})  # fmt: skip
    if unnamed is not None:
        table = table.append_column("unnamed", pa.array([unnamed] * len(counts), pa.int64()))
    return table


def shown(found: Hottest) -> tuple[Any, ...]:
    """Return the names and shares of the rows, and the names of the candidates."""
    rows, candidates = found
    return (
        None if rows is None else [(r["subject"], r["published"]) for r in rows.to_pylist()],
        None if candidates is None else sorted(candidates["subject"].to_pylist()),
    )


@settings(max_examples=60)
@given(
    st.lists(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4), max_size=6), max_size=4),
    st.integers(1, 6),
)
def test_the_hottest_are_exact_or_among_the_candidates(monkeypatch_of_two, parts_of, most) -> None:
    """Each part names its first ones, and says what the others can have."""
    whole: Counter[str] = Counter()
    tables, unnamed = [], 0
    for counts in parts_of:
        whole.update(counts)
        order = sorted(counts, key=lambda name: (-counts[name], name))
        hidden = max((counts[name] for name in order[most:]), default=0)
        unnamed += hidden
        tables.append(named({name: counts[name] for name in order[:most]}, hidden))
    one = add_up(pa.concat_tables(tables), ("subject", "account", "key")) if tables else None
    found = hottest([] if one is None or not one.num_rows else [one], whole.total(), unnamed)
    exact = sorted(sorted(whole, key=lambda name: (-whole[name], name))[:2])
    rows, candidates = shown(found)
    if not unnamed:
        assert rows == [(name, whole[name]) for name in exact]
        assert candidates is None
    elif rows is not None:
        assert rows == [(name, whole[name]) for name in exact]
    elif candidates is not None:
        assert set(exact) <= set(candidates)


@pytest.fixture(scope="module")
def monkeypatch_of_two() -> Any:
    """Two subjects are the hottest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_subject, "HOTTEST", 2)
        yield patch


@pytest.mark.parametrize(
    ("told", "hidden", "unnamed", "expected"),
    [
        # one part of all: no doubt
        ({"a": 5, "b": 4, "c": 4}, 0, 0, ([("a", 5), ("b", 4)], None)),
        # what no part names has at most as many as the last: any subject can be among them
        ({"a": 5, "b": 4}, 4, 4, (None, None)),
        ({"a": 5, "b": 4}, 3, 3, ([("a", 5), ("b", 4)], None)),
        # less than two are named: any other one can be the second
        ({"a": 5}, 3, 3, (None, None)),
        # the others have 1 more at most, in parts that do not name them
        ({"a": 5, "b": 4, "c": 3}, 0, 1, (None, ["a", "b", "c"])),
        ({"a": 6, "b": 5, "c": 3}, 0, 1, (None, ["a", "b"])),
    ],
)
def test_when_the_hottest_are_certain(monkeypatch_of_two, told, hidden, unnamed, expected) -> None:
    assert shown(hottest([named(told, hidden)], 100, unnamed)) == expected


def test_most_candidates(monkeypatch_of_two, monkeypatch) -> None:
    """More of them than a number can be any; those that cannot reach the last are forgotten."""
    told = {"a": 9, "b": 8, "c": 7, "d": 7, "e": 1, "f": 1}
    tables = [named({name: count}, 0) for name, count in told.items()]
    for most, candidates in ((6, "abcd"), (4, "abcd"), (2, "abcd"), (1, None)):
        monkeypatch.setattr(by_subject, "_MOST_CANDIDATES", most)
        rows, found = shown(hottest(tables, 100, 1))
        assert (rows, found) == (None, None if candidates is None else list(candidates)), most


def test_parts_without_a_message() -> None:
    assert shown(hottest([], 0, 0)) == ([], None)
    assert shown(hottest([], 5, 1)) == (None, None)
    rows = hottest([named({"b": 1, "a": 3})], 4, 0).rows
    assert rows is not None
    assert [(row["subject"], row["share"], row["bytes"]) for row in rows.to_pylist()] == [
        ("a", 0.75, 3), ("b", 0.25, 1),
    ]  # fmt: skip


def test_the_names_of_most_and_the_most_published(monkeypatch_of_two) -> None:
    """Of equal ones the first in the order of names, whatever the order of rows."""
    for counts in ({"a": 2, "b": 3, "c": 2}, {"c": 2, "b": 3, "a": 2}):
        found = names_of_most([named(counts), named({"a": 1, "d": 2})], 3)
        assert [(row["subject"], row["published"]) for row in found.to_pylist()] == [
            ("a", 3), ("b", 3), ("c", 2),
        ]  # fmt: skip
        summed = pa.table({"at": pa.array(range(3), pa.int32()),
                           "published": pa.array(counts.values(), pa.int64()),
                           "bytes": pa.array([7, 8, 9], pa.int64())})  # fmt: skip
        subjects: Any = SimpleNamespace(
            texts=pa.array(list(counts)), account=pa.nulls(3, pa.string())
        )
        most = most_published(summed, subjects).to_pylist()
        assert sorted((row["subject"], row["published"]) for row in most) == [("a", 2), ("b", 3)]
        few = most_published(summed.slice(0, 2), subjects).to_pylist()
        assert [row["subject"] for row in few] == list(counts)[:2]
