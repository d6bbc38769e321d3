"""The context of all buckets against plain Python: subscriptions, planes, counts, accounts."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rows_of_kinds import head_of
from subtrie.acl import Permissions
from subtrie.audit import Questions
from subtrie.audit._partial.kinds import kind_schema
from subtrie.audit._schema import TABLES, arrow_schema
from subtrie.audit._tables.accounts import Accounts, only_account, told
from subtrie.audit._tables.context import (
    COLUMNS,
    Context,
    _following,
    _processes,
    context_of,
    plane_of_pattern,
    subscription_table,
    subscriptions_of,
)
from subtrie.audit._tables.streams import NO_STREAMS
from subtrie.gencreds import Service

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Line(NamedTuple):
    """A line that begins or ends subscriptions."""

    op: str
    direction: str | None = "in"
    conn: str = "7/client:1"
    sid: str | None = "1"
    server: str | None = "s"
    subject: str | None = "a"
    queue: str | None = None
    size: int | None = None


def rows_of(lines: list[Line], positions: list[int]) -> pa.Table:
    """Return rows of the kind ``subscription``; each text that only they have tells their line."""
    made = [
        {
            "server": line.server, "conn": line.conn, "op": line.op, "subject": line.subject,
            "queue": line.queue, "sid": line.sid, "size": line.size, "reason": line.direction,
            "position": at, "time": None if at % 3 == 2 else EPOCH + timedelta(seconds=at),
            **{name: f"{name} {at}" for name in
               ("account", "identity", "identity_source", "user", "client")},
        } for line, at in zip(lines, positions, strict=True)
    ]  # fmt: skip
    return pa.Table.from_pylist(made, kind_schema("subscription"))


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the subscriptions, line by line."""
    found: list[dict[str, Any]] = []
    lives: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in sorted(rows, key=lambda each: (each["server"] is None, each["server"] or "",
                                              each["position"])):  # fmt: skip
        server, conn, op = row["server"], row["conn"], row["op"]
        name = row["sid"] or ""
        if op.startswith("LS"):
            name = f"{row['subject'] or ''} {row['queue'] or ''}".rstrip(" ")
        key = (server, conn, name)

        def end(keys: list[tuple[Any, ...]], row: dict[str, Any] = row) -> None:
            for each in keys:
                lives.pop(each, {}).update(end=row["position"], ended=row["time"])

        inside = row["reason"] == "in"
        if op == "START":
            process = conn.split("/")[0]
            end([k for k in lives if k[0] == server and k[1].split("/")[0] == process])
        elif op == "CLOSED" or (op == "LINK" and row["queue"] == "down"):
            end([k for k in lives if k[:2] == (server, conn)])
        elif op == "VIOLATION":
            refused = lives.pop(key, None)
            found = [each for each in found if each is not refused]
        elif op in ("SUB", "LS+"):
            begins = row["subject"] is not None if op == "LS+" else (
                conn.split("/")[-1].split(":")[0] in ("client", "websocket", "mqtt")
            )  # fmt: skip
            if begins and inside and key not in lives:
                lives[key] = {
                    **{name: row[name] for name, _ in COLUMNS if name in row},
                    "sid": row["sid"] if op == "SUB" else name, "pattern": row["subject"],
                    "start": row["position"], "started": row["time"], "end": None, "ended": None,
                }  # fmt: skip
                found.append(lives[key])
        elif (
            op != "LINK"
            and row["size"] is None
            and (inside or (op == "DELSUB" and row["reason"] == "local"))
        ):
            end([key])
    return found


LINES = st.builds(
    Line,
    st.sampled_from(["SUB", "SUB", "SUB", "UNSUB", "UNSUB", "DELSUB", "VIOLATION", "CLOSED",
                     "START", "LS+", "LS+", "LS-", "LINK"]),
    st.sampled_from(["in", "in", "in", "local", "out", None]),
    st.sampled_from(["7/client:1", "7/client:2", "8/client:1", "7/leaf:1", "7/websocket:1"]),
    st.sampled_from(["1", "1", "2", None]),
    st.sampled_from(["s", "s", "t", None]),
    st.sampled_from(["a", "a", "b ", None]),
    st.sampled_from([None, None, "q", "down", "up"]),
    st.sampled_from([None, None, None, 0, 3]),
)  # fmt: skip


@settings(max_examples=40)
@given(st.lists(st.tuples(LINES, st.integers(0, 40)), max_size=14,
                unique_by=lambda each: (each[0].server, each[1])))  # fmt: skip
def test_subscriptions_are_those_of_the_lines_one_by_one(lines) -> None:
    read = rows_of([line for line, _ in lines], [at for _, at in lines])
    found = subscriptions_of(read)
    assert found.schema == arrow_schema(COLUMNS)
    assert found.to_pylist() == plain(read.to_pylist())


SUB, END = Line("SUB"), Line("UNSUB")
LEAF = Line("LS+", conn="7/leaf:1", sid=None)
UP = Line("LINK", None, conn="7/leaf:1", sid=None, queue="up")
#: Lines, and start and end of the subscriptions.
CASES: list[tuple[list[Line], list[tuple[int, int | None]]]] = [
    ([SUB], [(0, None)]),
    ([END, SUB, SUB, END, END, SUB], [(1, 3), (5, None)]),
    ([SUB, END._replace(size=3), SUB, END], [(0, 3)]),
    ([SUB, END._replace(size=0)], [(0, None)]),
    ([SUB, END._replace(sid="2")], [(0, None)]),
    ([SUB, END._replace(direction="out")], [(0, None)]),
    ([SUB, END._replace(direction="local")], [(0, None)]),
    ([SUB, Line("DELSUB", "local")], [(0, 1)]),
    ([SUB, Line("DELSUB", "out")], [(0, None)]),
    ([SUB, Line("DELSUB", "in")], [(0, 1)]),
    ([SUB, Line("VIOLATION")], []),
    ([SUB, END, Line("VIOLATION"), SUB], [(0, 1), (3, None)]),
    ([Line("VIOLATION"), SUB], [(1, None)]),
    ([SUB, Line("VIOLATION", None, sid="2")], [(0, None)]),
    ([SUB, Line("CLOSED", None), Line("VIOLATION")], [(0, 1)]),
    ([SUB, Line("CLOSED", None), SUB, Line("VIOLATION")], [(0, 1)]),
    ([SUB, Line("CLOSED", None, sid=None), SUB, SUB], [(0, 1), (2, None)]),
    ([SUB, Line("CLOSED", None, conn="7/client:2")], [(0, None)]),
    ([SUB, Line("CLOSED", None, server="t")], [(0, None)]),
    ([SUB, Line("START", None, conn="7/")], [(0, 1)]),
    ([SUB, Line("START", None, conn="8/"), END], [(0, 2)]),
    ([SUB, Line("START", None, conn="7/", server="t")], [(0, None)]),
    ([SUB, Line("START", None, conn="7/"), Line("CLOSED", None)], [(0, 1)]),
    ([SUB, Line("CLOSED", None), Line("START", None, conn="7/")], [(0, 1)]),
    ([SUB._replace(sid="2"), SUB, END, END._replace(sid="2")], [(0, 3), (1, 2)]),
    ([SUB._replace(conn="7/mqtt:1"), SUB._replace(conn="7/websocket:1"),
      SUB._replace(conn="7/route:1"), SUB._replace(conn="7/leaf:1"),
      SUB._replace(conn="7/gateway:1")], [(0, None), (1, None)]),
    ([SUB._replace(direction="out"), SUB._replace(direction="local"),
      SUB._replace(direction=None)], []),
    ([LEAF, LEAF, LEAF._replace(op="LS-"), LEAF], [(0, 2), (3, None)]),
    ([LEAF, LEAF._replace(queue="q"), LEAF._replace(op="LS-", queue="q")], [(0, None), (1, 2)]),
    ([LEAF._replace(subject=None), LEAF._replace(direction="out")], []),
    ([LEAF, LEAF._replace(direction="out"), UP, LEAF._replace(op="LS-", direction="out")],
     [(0, None)]),
    ([LEAF, UP._replace(queue="down"), LEAF], [(0, 1), (2, None)]),
    ([SUB, UP._replace(conn=SUB.conn, sid="1", direction="in"), END], [(0, 2)]),
    ([SUB, LEAF._replace(conn=SUB.conn, sid="1", subject=None), END], [(0, 2)]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "lives"), CASES)
def test_a_subscription_begins_and_ends_at_these_lines(lines, lives) -> None:
    read = rows_of(lines, list(range(len(lines))))
    found = subscriptions_of(read).to_pylist()
    assert [(row["start"], row["end"]) for row in found] == lives
    assert found == plain(read.to_pylist())


@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=8), st.sets(st.integers(0, 7)),
    st.sets(st.integers(0, 7)),
)  # fmt: skip
def test_the_following_mark_is_one_of_the_same_group(groups, marks, lines) -> None:
    count = len(groups)
    marks, lines = ([n for n in sorted(each) if n < count] for each in (marks, lines))
    found = _following(*(np.array(each, np.int64) for each in (groups, marks, lines)))
    assert found.tolist() == [
        min((m for m in marks if m >= line and groups[m] == groups[line]), default=count)
        for line in lines
    ]


def test_the_process_of_a_connection_is_what_its_name_begins_with() -> None:
    found = _processes(["7/client:1", "8/client:1", "7/", "", "8/x/7", "7", "70/client:1"])
    assert found.tolist() == [0, 1, 0, 2, 1, 0, 3]


def test_the_table_of_subscriptions_has_times_and_the_position() -> None:
    found = subscription_table(subscriptions_of(rows_of([SUB, SUB, END], [3, 4, 7])))
    assert found.column_names == [*TABLES["subscriptions"], "position"]
    (row,) = found.to_pylist()
    assert (row["start"], row["end"]) == (
        EPOCH + timedelta(seconds=3),
        EPOCH + timedelta(seconds=7),
    )
    assert (row["position"], row["identity"]) == (3, "identity 3")


# --- planes, counts and questions


@pytest.mark.parametrize(
    ("pattern", "plane"),
    [("p1.safe.443.*.b_com._.GET.x", "p1"), ("p1.reply._.*.b_com.id-k3", "p1"),
     ("p1.reply._.*.b_com.id-k3.j", None), ("p1.reply._.a_com.b_com.id-k3", None),
     ("p1.other._.*.b_com.id-k3", None), ("p1.reply._.*", None), ("p1.reply._", None),
     ("p1.reply", None), ("p1", None), ("orders.*", None), ("p*.reply._.*.b_com.id-k3", None),
     ("*.reply._.*.b_com.id-k3", None), ("p1.reply._.x.b_com.id-k3", None), ("a..b", None)],
)  # fmt: skip
def test_the_plane_of_a_pattern(pattern, plane) -> None:
    assert plane_of_pattern(pattern) == plane


SUBSCRIBED = {"server": "s", "conn": "7/client:1", "op": "SUB", "reason": "in", "sid": "1",
              "subject": "p3.reply._.*.b_com.id-k3", "position": 1}  # fmt: skip


def test_planes_are_those_given_or_those_of_traffic_and_patterns() -> None:
    def planes(*given: str, **kinds: Any) -> tuple[str, ...]:
        return context_of(head_of(**kinds), given, None, None).context.planes

    told = {"plane": [{"subject": "p2"}, {"subject": "p1"}], "subscription": [SUBSCRIBED]}
    assert planes(**told) == ("p1", "p2", "p3")
    assert planes("z", "a", "z", **told) == ("a", "z")
    assert planes() == ()
    assert planes(plane=told["plane"]) == ("p1", "p2")


@pytest.mark.parametrize(
    ("accounts", "only"), [("", None), ("A", "A"), ("A-", "A"), ("AB", None), ("-", None)]
)
def test_the_account_of_the_context_is_the_only_one_of_the_subscriptions(accounts, only) -> None:
    lines = [SUBSCRIBED | {"account": None if name == "-" else name, "sid": str(at), "position": at}
             for at, name in enumerate(accounts)]  # fmt: skip
    whole = context_of(head_of(subscription=lines), (), Questions(), None)
    assert whole.context.account == only
    assert whole.answers is not None
    rows = whole.answers.subscriptions
    assert [row["account"] for row in rows] == [
        only if name == "-" else name for name in accounts
    ]  # fmt: skip
    assert not any("position" in row for row in rows)


def test_lines_and_deliveries_that_no_message_took() -> None:
    counts = {"operations": 1, "payloads": 20, "server": 300, "unparseable_lines": 4000,
              "published": 50_000, "sent": 7, "matched": 2}  # fmt: skip
    assert Context(counts, (), ()).lines == 4321
    assert Context({"server": 3}, (), ()).lines == 3
    assert Context({}, (), ()).lines == Context({}, (), ()).unmatched == 0
    for more, unmatched in (({}, 0), ({"unmatched": 3}, 3), ({"settled": 1}, 5),
                            ({"settled": 0, "unmatched": 3}, 3),
                            ({"settled": 9, "unmatched": 3}, 8)):  # fmt: skip
        assert Context(counts | more, (), ()).unmatched == unmatched


def test_what_answers_are_made_with() -> None:
    rules = {"b": Permissions(publish_allow=("x.>",)), "a": Permissions()}
    code = (Service("a.com", "a", ()),)
    head = {"plane": [{"subject": "p1"}], "count": [{"subject": "operations", "count": 1}]}
    whole = context_of(head_of(**head), (), Questions(rules=rules, code=code), 5)
    asked = whole.context.asked
    assert asked is not None
    assert whole.answers is not None
    assert asked.services == ("a", "b")
    assert asked.rules == tuple(whole.answers.rules)
    assert asked.code == tuple(whole.answers.code)
    names = [name for name, _ in whole.files]
    assert names == [*whole.context.subscribed, *asked.ruled, *asked.called]
    assert (len(whole.context.subscribed), len(asked.ruled), len(asked.called)) == (4, 2, 2)
    none = context_of(head_of(**head), (), Questions(), None).context.asked
    assert none is not None
    assert (none.services, none.rules, none.code) == ((), (), ())


STREAM = {"server": "s", "queue": "S", "subject": "x", "last_position": 1}


@pytest.mark.parametrize(
    ("automatic", "planes", "operations", "asked"),
    [(True, (), 1, True), (True, (), 0, False), (True, ("p",), 1, False), (False, (), 0, True),
     (False, ("p",), 1, True), (True, (), None, False)],
)  # fmt: skip
def test_questions_are_asked_if_the_tables_say_little(automatic, planes, operations, asked) -> None:
    counts = [] if operations is None else [{"subject": "operations", "count": operations}]
    head = head_of(count=counts, stream=[STREAM])
    for questions, answers in ((Questions(automatic=automatic), asked), (None, False)):
        whole = context_of(head, planes, questions, None)
        assert (whole.context.asked is not None) is (whole.answers is not None) is answers
        assert whole.context.streams.indexed == tuple(name for name, _ in whole.files[4:6])
        assert len(whole.files) == (10 if answers else 6)


@pytest.mark.parametrize("kind", ["stream", "stored", "consumer", None])
def test_streams_are_known_from_any_kind_of_row(kind) -> None:
    row = {"server": "s", "conn": "c", "account": "A", "queue": "S.one", "subject": "x",
           "last_position": 1}  # fmt: skip
    names = [] if kind is None else kind_schema(kind).names
    rows = {} if kind is None else {kind: [{n: v for n, v in row.items() if n in names}]}
    rows["dropped"] = [{"server": "s", "account": "A", "subject": "$JS.API.STREAM.DELETE.T",
                        "position": 5}]  # fmt: skip
    whole = context_of(head_of(**rows), (), None, None)
    known = whole.context.streams
    if kind is None:
        assert known is NO_STREAMS
        return
    assert [tuple(each) for each in known.patterns] == [("A", "S.one", "x")] * (kind == "stream")
    assert known.acknowledged == ({("s", "c"): ("S.one",)} if kind == "stored" else {})
    assert known.policies == ({("S", "one"): {("A", "x")}} if kind == "consumer" else {})
    assert known.deleted == {("s", "A", "T"): 5}
    assert len(known.indexed) == len(whole.files) - 4 == 2 * (kind == "stream")


# --- accounts

NAMES: tuple[str | None, ...] = (None, "A", "B", "C")


def groups(*told: tuple[str | None, int]) -> pa.Table:
    return pa.table({"account": pa.array([name for name, _ in told], pa.string()),
                     "number": pa.array([number for _, number in told], pa.int32())})  # fmt: skip


def may_be(one: str | None, other: str | None) -> bool:
    return None in (one, other) or one == other


@given(st.lists(st.tuples(st.sampled_from(NAMES[:3]), st.integers(0, 2)), max_size=5))
@example([("A", 0), ("A", 1)])
@example([(None, 0), (None, 1)])
@example([(None, 0), ("A", 1)])
@example([("A", 0), ("B", 1)])
def test_the_patterns_of_an_account(subscribed) -> None:
    """Every pattern is subscribed by one group or more."""
    numbers = {number: place for place, number in enumerate(sorted({n for _, n in subscribed}))}
    subscribed = [(name, numbers[number]) for name, number in subscribed]
    accounts = Accounts(groups(*subscribed), len(numbers))
    names = [*dict.fromkeys(name for name, _ in subscribed if name)]
    assert accounts.known.to_pylist() == names
    for column in (pa.array(NAMES), pa.chunked_array([pa.array(NAMES)])):
        assert accounts.codes(column).tolist() == [
            0 if name is None else names.index(name) + 2 if name in names else 1 for name in NAMES
        ]
    everything = sorted(set(numbers.values()))
    of = {name: {n for theirs, n in subscribed if may_be(name, theirs)} for name in NAMES}
    for name in NAMES:
        found = accounts.patterns_of(name)
        assert sorted(of[name]) == (everything if found is None else found.tolist())
        if found is not None and everything:
            assert name is not None
    for chosen in (NAMES, NAMES[:1], NAMES[1:2], NAMES[:2], NAMES[2:]):
        pairs = list(itertools.product(range(len(chosen)), everything))
        rows, matched = (np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
        found = accounts.own(rows, matched, pa.array(chosen, pa.string()))
        wanted = [number in of[chosen[row]] for row, number in pairs]
        assert (wanted if found is None else found.tolist()) == wanted


def test_accounts_are_not_compared_where_all_are_equal() -> None:
    """Then no column is made."""
    rows = numbers = np.array([0])
    for subscribed, asked, compared, narrowed in (
        ("A", "A", False, False), ("A", None, False, False), (None, "A", False, True),
        (None, None, False, False), ("A", "B", True, True), ("AB", "A", True, True),
        ("AB", None, True, False), ("A-", "A", True, True),
    ):  # fmt: skip
        accounts = Accounts(groups(*(
            (None if name == "-" else name, 0) for name in subscribed or "-"
        )), 1)  # fmt: skip
        found = accounts.own(rows, numbers, pa.array([asked], pa.string()))
        assert (found is not None) is compared
        assert (accounts.patterns_of(asked) is not None) is narrowed


@pytest.mark.parametrize(
    ("names", "only"),
    [([], None), ([None], None), (["A"], "A"), (["A", None, "A"], "A"), (["A", "B"], None),
     (["A", "B", "C"], None)],
)  # fmt: skip
def test_the_only_account(names, only) -> None:
    column = pa.chunked_array([pa.array(names, pa.string())])
    assert only_account(column) == only
    table = pa.table({"x": pa.array(range(len(names)), pa.int64()), "account": column})
    for instead in (None, "Z"):
        found = told(table, instead)
        assert (found is table) is (instead is None or None not in names)
        assert found.column_names == ["x", "account"]
        assert found["account"].to_pylist() == [name or instead for name in names]
        assert found["x"].to_pylist() == list(range(len(names)))
