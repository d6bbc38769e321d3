"""The rows of a bucket: messages that were stored or crossed, leaf nodes, exports, links."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_rows import Row, bucket_of, same, sub, table_of, tables_of

from subtrie.audit._tables.bucket import _After
from subtrie.audit._tables.exports import Exports
from subtrie.audit._tables.leaf_nodes import LeafNodes
from subtrie.audit._tables.messages_between_servers import Crossing, Publisher, followed

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def at(seconds: float | None) -> datetime | None:
    return None if seconds is None else DAY + timedelta(seconds=seconds)


def lost_at(*positions: int, **more: Any) -> list[Row]:
    row: Row = {"server": "s", "account": "A", "subject": "x", **more}
    return [row | {"position": place} for place in positions]


def message(**more: Any) -> Row:
    row: Row = {"server": "s", "conn": "7/client:1", "account": "A", "subject": "x"}
    return row | {"published": 9, "lines": 0} | more


# --- messages that a stream stored


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("xy"), st.integers(0, 5)), max_size=8),
    st.lists(st.tuples(st.sampled_from("xyz"), st.integers(-1, 5), st.integers(0, 4)), max_size=5),
)
def test_messages_after_a_position_are_each_taken_once(lost, asked) -> None:
    rows = [row for subject, place in lost for row in lost_at(place, subject=subject)]
    after = _After(table_of("undelivered", rows))
    taken: Counter[str] = Counter()
    for subject, position, most in asked:
        free = sum(each == subject and place > position for each, place in lost) - taken[subject]
        found = after.take(("s", "A", subject), position, most)
        assert found == max(0, min(most, free))
        taken[subject] += found


STREAM: Row = {"server": "s", "account": "A", "queue": "S", "subject": "x", "last_position": 0}
DELETED = {"server": "s", "account": "A", "subject": "$JS.API.STREAM.DELETE.S", "position": 5}
LOST_TIMES = {"first_undelivered": at(1), "last_undelivered": at(9), "rate_undelivered": [1, 5, 3]}


def stored(rows: list[Row], lost: list[Row], **kinds: Any) -> list[tuple[Any, ...]]:
    """Return count, first, last and rate of the undelivered messages of each row."""
    bucket = bucket_of(rows, undelivered=lost, subscription=[sub("q", 0, account="A"),
                       sub("q", 1, account="B", conn="7/client:8")], **kinds)  # fmt: skip
    found = {row["conn"]: row for row in bucket.publishes.to_pylist()}
    names = ("undelivered", *LOST_TIMES)
    return [tuple(found[row["conn"]][name] for name in names) for row in rows]


ALL = tuple(LOST_TIMES.values())


@pytest.mark.parametrize(
    ("row", "positions", "kinds", "left"),
    [
        ({"undelivered": 3}, [1, 6, 7], {}, (3, *ALL)),
        ({"undelivered": 3}, [1, 6, 7], {"stream": [STREAM]}, (0, None, None, None)),
        ({"undelivered": 3}, [1, 6, 7], {"stream": [STREAM], "dropped": [DELETED]},
         (2, None, at(9), None)),
        ({"undelivered": 3}, [6, 7, 8], {"stream": [STREAM], "dropped": [DELETED]}, (3, *ALL)),
        ({"undelivered": 1}, [5], {"stream": [STREAM], "dropped": [DELETED]},
         (0, None, None, None)),
        ({"undelivered": 1}, [6], {"stream": [STREAM], "dropped": [DELETED]}, (1, *ALL)),
        ({"undelivered": 3}, [6], {"stream": [STREAM | {"account": "B"}]}, (3, *ALL)),
        ({"undelivered": 3}, [6], {"stream": [STREAM | {"subject": "y"}]}, (3, *ALL)),
        ({"undelivered": 3}, [6], {"stream": [STREAM | {"account": None}]}, (0, None, None, None)),
        ({"undelivered": 3, "account": None}, [6], {"stream": [STREAM]}, (0, None, None, None)),
        ({"undelivered": 0}, [], {"stream": [STREAM]}, (0, *ALL)),
        # no stream is known, but one whose consumer delivered it
        ({"undelivered": 3}, [6], {"delivery": "S.one"}, (0, None, None, None)),
        ({"undelivered": 3}, [6], {"delivery": None}, (3, *ALL)),
        ({"undelivered": 3}, [6], {"delivery": "_R_"}, (3, *ALL)),
        ({"undelivered": 3, "account": "B"}, [6], {"delivery": "S.one"}, (3, *ALL)),
    ],
)  # fmt: skip
def test_what_a_stream_stored_is_not_undelivered(row, positions, kinds, left) -> None:
    if "delivery" in kinds:
        line = {"server": "s", "conn": "c", "account": "A", "sid": "1", "subject": "x", "count": 1}
        kinds = {"delivery": [line | {"consumer": kinds["delivery"]}]}
    rows = [message(**LOST_TIMES, **row)]
    lost = lost_at(*positions, account=rows[0]["account"])
    # Others, that no stream stores, before and after it.
    others = [message(conn=f"7/client:{n}", subject=text, undelivered=1, **LOST_TIMES)
              for n, text in enumerate("abcdz", 2)]  # fmt: skip
    for some in ([*rows, *others], [*others, *rows]):
        found = dict(zip((each["conn"] for each in some), stored(some, lost, **kinds), strict=True))
        assert found["7/client:1"] == left
        assert [found[each["conn"]] for each in others] == [(1, *ALL)] * len(others)


@pytest.mark.parametrize(
    ("one", "other"),
    [({"identity": "1"}, {"identity": "2"}), ({"identity": None}, {"identity": "c"}),
     ({"identity": "a"}, {"identity": None, "conn": "a1"}), ({"user": None}, {"user": "1"}),
     ({"user": "1"}, {"user": "2"}), ({"client": None}, {"client": "1"}),
     ({"client": "1"}, {"client": "2"}), ({"conn": "1"}, {"conn": "2"}),
     ({"identity": "1", "user": "2"}, {"identity": "2", "user": "1"}),
     ({"user": "1", "client": "2"}, {"user": "2", "client": "1"})],
)  # fmt: skip
def test_the_later_messages_are_those_of_the_first_programs(one, other) -> None:
    """In the order of identity (else connection), user, name and connection."""
    rows = [message(undelivered=3, conn="b", identity="i") | one,
            message(undelivered=3, conn="a", identity="i") | other]  # fmt: skip
    lost = lost_at(6, 7, 8, 9)
    for some in itertools.permutations(rows):
        bucket = bucket_of(some, undelivered=lost, stream=[STREAM], dropped=[DELETED])
        left = {row["conn"]: row["undelivered"] for row in bucket.publishes.to_pylist()}
        assert [left[row["conn"]] for row in rows] == [3, 1]


def test_the_later_messages_are_those_of_each_server_and_subject() -> None:
    rows = [message(undelivered=3, server=server, subject=text) for server in "st" for text in "xy"]
    lost = [each for row in rows
            for each in lost_at(6, 7, server=row["server"], subject=row["subject"])]  # fmt: skip
    streams = [STREAM | {"server": server, "subject": text} for server in "st" for text in "xy"]
    deleted = [DELETED | {"server": server} for server in "st"]
    bucket = bucket_of(rows, undelivered=lost, stream=streams, dropped=deleted)
    assert bucket.publishes["undelivered"].to_pylist() == [2] * 4


def test_the_streams_whose_consumers_delivered_a_subject() -> None:
    line: Row = {"server": "s", "conn": "c", "sid": "1", "count": 1}
    told = [("x", "S.one"), ("x", "S.two.3"), ("x", "T.x"), ("y", "_R_"), ("y", None), ("z", "U.x"),
            ("x", "_R_")]  # fmt: skip
    bucket = bucket_of([], [line | {"subject": text, "consumer": name} for text, name in told])
    assert bucket.subjects is not None
    texts = bucket.subjects.texts.to_pylist()
    assert {texts[place]: streams for place, streams in bucket.consumed.items()} == {
        "x": {"S", "T"}, "z": {"U"},
    }  # fmt: skip
    assert bucket_of([], [line | {"subject": "y", "consumer": "_R_"}]).consumed == {}


def test_the_account_of_what_is_not_told_is_the_only_one() -> None:
    for accounts, account in ((("A", "A"), "A"), (("A", "B"), None)):
        subs = [sub("x", n, account=name, sid=f"{n}") for n, name in enumerate(accounts)]
        bucket = bucket_of(
            [message(account=None, undelivered=1)], subscription=subs,
            undelivered=lost_at(1, account=None), slow=[{"server": "s", "count": 1}],
        )  # fmt: skip
        assert bucket.subjects is not None
        assert bucket.lost["account"].to_pylist() == [account]
        assert bucket.subjects.account.to_pylist() == [account]
        assert bucket.told("slow")["account"].to_pylist() == [account]
        assert bucket.table("slow") is bucket.table("slow")
        assert bucket.table("slow")["account"].to_pylist() == [None]


# --- messages between servers


def hop(**more: Any) -> Row:
    row: Row = {"server": "s", "conn": "7/client:1", "account": "A", "subject": "x", "reply": "",
                "size": 2, "position": 3, "time": at(1), "taken": 0, "forwarded": 1}  # fmt: skip
    return row | more


T: Row = {"server": "t", "conn": "8/route:1", "forwarded": 0}


def test_a_bucket_follows_its_messages_to_other_servers() -> None:
    def made(hops: list[Row], arrivals: list[Row], account: str | None = None) -> Any:
        return bucket_of([message(published=1, forwarded=1)], hop=hops, arrival=arrivals,
                         undelivered=lost_at(1, account="A"),
                         subscription=[sub("q", 0, account=account)])  # fmt: skip

    def counts(bucket: Any) -> list[tuple[Any, ...]]:
        (row,) = bucket.publishes.to_pylist()
        return [tuple(row[name] for name in ("taken", "undelivered", "forwarded")),
                bucket.lost["position"].to_pylist(), dict(bucket.crossed)]  # fmt: skip

    assert counts(made([hop()], [])) == [(0, 0, 1), [1], {}]
    assert counts(made([], [hop(**T)])) == [(0, 0, 1), [1], {}]
    assert counts(made([hop()], [hop(**T)])) == [(0, 1, 0), [1, 3], {}]
    about = ("s", "A", Publisher("7/client:1"), "x")
    crossed = {Crossing(*about, "t"): 1, Crossing(*about, "s"): 1}
    assert counts(made([hop()], [hop(**T, taken=1)])) == [(1, 0, 0), [1], crossed]
    # Accounts that are not told are those of the only one.
    none = made([hop(account=None)], [hop(**T, taken=1, account=None)], "A")
    assert counts(none)[2] == crossed
    other = made([hop(account=None)], [hop(**T, taken=1, account="B")], "A")
    assert counts(other)[2] == {}


U, LEAF = T | {"server": "u", "conn": "9/route:1"}, T | {"conn": "8/leaf:1"}


@pytest.mark.parametrize(
    ("hops", "arrivals", "crossed"),
    [
        # the earlier of two servers, in either order of their names
        ([{}], [(T, 1), (U, 2)], "t"), ([{}], [(T, 2), (U, 1)], "u"),
        ([{}], [(T, 2), (U, 2)], "t"),
        # at one server the earlier of several accounts
        ([{}], [(T, 1), (LEAF, 2)], "t"), ([{}], [(T, None), (LEAF, 2)], "t"),
        # each arrival is of one message
        ([{}, {}], [(T, 1)], "t"), ([{}, {}], [(T, 1), (T, 2)], "tt"),
        ([{"forwarded": 2}], [(T, 1), (T, 2), (U, 3)], "tu"),
        ([{"forwarded": 3}], [(T, 1), (U, 3)], "tu"),
    ],
)  # fmt: skip
def test_the_first_arrivals_are_taken(hops, arrivals, crossed) -> None:
    sent = [hop(position=n, time=at(0), identity="i", user="u", client="c") | each
            for n, each in enumerate(hops)]  # fmt: skip
    there = [hop(**where, time=at(time), taken=1, position=10 + n)
             for n, (where, time) in enumerate(arrivals)]  # fmt: skip
    found = followed(table_of("hop", sent), table_of("arrival", there)).crossed
    by = ("s", "A", Publisher("i", "u", "c"), "x")
    counts = Counter(crossed)
    assert found == {**{Crossing(*by, name): count for name, count in counts.items()},
                     Crossing(*by, "s"): len(sent) if len(crossed) >= len(sent) else 1}  # fmt: skip


@pytest.mark.parametrize("leaf", [1, 3])
def test_of_an_account_and_of_leaf_nodes_the_earlier_arrival_is_taken(leaf) -> None:
    there = [
        hop(**T, time=at(2), taken=int(leaf > 2)),
        hop(**LEAF, time=at(leaf), taken=int(leaf < 2)),
    ]
    found = followed(table_of("hop", [hop()]), table_of("arrival", there))
    assert found.crossed[Crossing("s", "A", Publisher("7/client:1"), "x", "t")] == 1


@pytest.mark.parametrize(
    ("other", "same"),
    [({}, True), ({"subject": "y"}, False), ({"reply": "r"}, False), ({"size": 3}, False)],
)
def test_an_arrival_is_that_of_a_message_of_its_subject_reply_and_size(other, same) -> None:
    there = [hop(**T, time=at(1), taken=1) | other, hop(**T, time=at(2), taken=0, position=4)]
    (row,) = followed(table_of("hop", [hop()]), table_of("arrival", there)).publishes.to_pylist()
    assert row["taken"] == int(same)


def test_a_message_without_a_time_has_none_when_it_is_lost_or_received() -> None:
    for taken in (0, 1):
        found = followed(table_of("hop", [hop(time=None)]),
                         table_of("arrival", [hop(**T, taken=taken, time=None)]))  # fmt: skip
        (row,) = found.publishes.to_pylist()
        assert (row["taken"], row["undelivered"], row["forwarded"]) == (taken, 1 - taken, -1)
        assert row["published"] == row["lines"] == row["bytes"] == 0
        for name in ("days", "first_undelivered", "last_undelivered", "rate_undelivered"):
            assert row[name] is None
        assert found.undelivered.num_rows == 1 - taken


# --- leaf nodes


def leaf(pattern: str, place: int, **more: Any) -> Row:
    row: Row = {"server": "s", "conn": "7/leaf:5", "op": "LS+", "subject": pattern, "reason": "in",
                "position": place, "account": "A", "user": "u", "client": "c"}  # fmt: skip
    return row | more


def test_leaf_nodes_that_subscribed_a_subject() -> None:
    lines = [
        leaf("x.*", 0), leaf("x.>", 1), leaf("y", 2, conn="7/leaf:6", identity="edge", queue="q"),
        leaf("x.a", 3, conn="7/leaf:7", account="B", user=None, client=None),
        leaf("x.a", 4, server="t", identity="far"), sub("x.a", 5, account="A"),
        leaf("y", 6, conn="7/leaf:8", account=None), leaf("z", 7, conn="7/leaf:9", identity="edge"),
    ]  # fmt: skip
    bucket = bucket_of([message(server=server, subject=text, account=account)
                        for server in "stv" for text in ("w", "x.a", "x.b", "y", "z")
                        for account in "ABC"], subscription=lines)  # fmt: skip
    assert bucket.subjects is not None
    nodes, subjects = LeafNodes(bucket, bucket.subjects), bucket.subjects
    one, two, any_of = ("x.*", "7/leaf:5"), ("x.a", "7/leaf:7"), ("y", "7/leaf:8", None, "u", "c")
    wanted: dict[tuple[str, str, str], list[tuple[Any, ...]]] = {
        ("s", "x.a", "A"): [(*one, None, "u", "c")], ("s", "x.b", "A"): [(*one, None, "u", "c")],
        ("s", "x.a", "B"): [(*two, None, None, None)], ("t", "x.a", "A"): [
            ("x.a", "far", None, "u", "c")],
        ("s", "y", "A"): [("y", "edge", "q", "u", "c"), any_of], ("s", "y", "B"): [any_of],
        ("s", "y", "C"): [any_of], ("s", "z", "A"): [("z", "edge", None, "u", "c")],
    }  # fmt: skip
    names = zip(subjects.texts.to_pylist(), subjects.account.to_pylist(), strict=True)
    places = {name: place for place, name in enumerate(names)}
    assert len(places) == 15
    for server in "stv":
        for (text, account), place in places.items():
            found = nodes.of((server, place))
            assert found == wanted.get((server, text, account), []), (server, text, account)
    alone = bucket_of([message()], subscription=[sub("x", 0, account="A")])
    assert alone.subjects is not None
    assert LeafNodes(alone, alone.subjects).of(("s", 0)) == []


# --- exports


@pytest.mark.parametrize(
    ("lines", "crossed", "delivered", "exported"),
    [(3, 0, 2, True), (3, 0, 3, False), (3, 0, 4, False), (3, 1, 3, True), (3, 2, 5, False),
     (0, 0, 0, False), (0, 1, 0, True)],
)  # fmt: skip
@pytest.mark.parametrize("other", ["r", "t"])
def test_messages_are_exported_if_more_were_delivered_than_their_account_has(
    lines, crossed, delivered, exported, other
) -> None:
    line: Row = {"server": "s", "conn": "c", "sid": "1", "subject": "x"}
    bucket = bucket_of(
        [message(lines=lines), message(account="B"), message(account="C"),
         message(subject="y", lines=9), message(server="t", lines=2)],
        [line | {"account": "A", "count": delivered}, line | {"account": "B", "count": 1}],
    )  # fmt: skip
    assert bucket.subjects is not None
    names = zip(bucket.subjects.texts.to_pylist(), bucket.subjects.account.to_pylist(), strict=True)
    place = {name: number for number, name in enumerate(names)}
    own = place["x", "A"]
    publishers: dict[Any, int] = {
        ("s", own, Publisher("a")): 5, (other, own, Publisher("b")): crossed,
    }  # fmt: skip
    weights = {("s", own): publishers, ("s", place["x", "C"]): {("s", 0, Publisher("c")): 1}}
    of: Any = SimpleNamespace(subjects=bucket.subjects)
    exports = Exports(bucket, of, weights)
    theirs = list(publishers.items()) if exported else []
    assert list(exports.to("s", place["x", "B"])) == theirs
    assert list(exports.to("s", own)) == []
    assert list(exports.to("s", place["y", "A"])) == []
    assert list(exports.to("t", place["x", "B"])) == []
    assert list(exports.to("s", 99)) == []
    alone = bucket_of([message(lines=9)])
    of = SimpleNamespace(subjects=alone.subjects)
    assert list(Exports(alone, of, {}).to("s", 0)) == []


# --- links and servers


def up(place: int, *, queue: str = "up", **more: Any) -> Row:
    row: Row = {"server": "s", "conn": "7/route:1", "queue": queue, "position": place,
                "time": at(place), "sid": "::1"}  # fmt: skip
    return row | more


def down(place: int, **more: Any) -> Row:
    return up(place, queue="down", **more)


def across(place: int, direction: str, count: int, size: int | None, **more: Any) -> Row:
    row: Row = {"server": "s", "conn": "7/route:1", "direction": direction, "position": place}
    return row | {"count": count, "size": size} | more


ROUTE = {"conn": "7/route:1", "kind": "route", "address": "::1"}
NAMES = ("start", "end", "messages_in", "bytes_in", "messages_out", "bytes_out")
LINKS: list[tuple[list[Row], list[Row], list[Row]]] = [
    ([up(1), down(9)], [], [ROUTE | {"start": 1, "end": 9}]),
    ([up(1)], [across(2, "in", 3, 40), across(3, "out", 5, 60), across(4, "in", 1, 1),
               across(6, "out", 1, None), across(5, "local", 7, 7)],
     [ROUTE | {"start": 1, "messages_in": 4, "bytes_in": 41, "messages_out": 6, "bytes_out": 60}]),
    # from before the log
    ([up(5)], [across(2, "in", 3, 40)], [{"conn": "7/route:1", "kind": "route", "messages_in": 3,
                                          "bytes_in": 40}]),
    ([down(5)], [], [ROUTE | {"end": 5}]),
    ([down(5)], [across(2, "out", 3, 4)],
     [{"conn": "7/route:1", "kind": "route", "end": 5, "messages_out": 3, "bytes_out": 4}]),
    ([], [across(2, "local", 3, 4)], []),
    # again
    ([up(1), down(3), up(6)], [across(2, "in", 1, 1), across(4, "in", 2, 2), across(7, "in", 4, 4)],
     [ROUTE | {"start": 1, "end": 3, "messages_in": 1, "bytes_in": 1},
      {"conn": "7/route:1", "kind": "route", "messages_in": 6, "bytes_in": 6}]),
    ([up(1), down(3), up(6), down(7)], [],
     [ROUTE | {"start": 1, "end": 3}, ROUTE | {"start": 6, "end": 7}]),
    # what is known of it
    ([up(1), up(2, subject="B"), up(3), down(4, subject="C", account="A", user="u")], [],
     [ROUTE | {"start": 1, "end": 4, "remote": "B", "account": "A", "user": "u"}]),
    ([up(1, subject="B"), up(2, subject="C")], [], [ROUTE | {"start": 1, "remote": "C"}]),
    ([up(1, account="A", user="u"), down(4, subject="C", account="B", user="v")],
     [across(2, "in", 1, 1, user="w")],
     [ROUTE | {"start": 1, "end": 4, "remote": "C", "account": "A", "user": "u",
               "messages_in": 1, "bytes_in": 1}]),
    ([up(1), down(4, user="v")], [across(2, "in", 1, 1, user="w"), across(3, "in", 1, 1, user="x")],
     [ROUTE | {"start": 1, "end": 4, "user": "w", "messages_in": 2, "bytes_in": 2}]),
    ([down(4, subject="C", account="B", user="v")], [],
     [ROUTE | {"end": 4, "remote": "C", "account": "B", "user": "v"}]),
    # others
    ([up(1), up(2, conn="7/leaf:1"), up(3, server="t"), down(4, server="t")],
     [across(5, "in", 1, 1, conn="7/leaf:1")],
     [ROUTE | {"start": 1}, ROUTE | {"start": 3, "end": 4, "server": "t"},
      ROUTE | {"start": 2, "conn": "7/leaf:1", "kind": "leaf", "messages_in": 1, "bytes_in": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("link", "crossed", "wanted"), LINKS)
def test_links_between_servers(link, crossed, wanted) -> None:
    none: Row = dict.fromkeys(("remote", "address", "account", "user", "start", "end"))
    zeros: Row = dict.fromkeys(NAMES[2:], 0)
    rows = [none | zeros | {"server": "s"} | row for row in wanted]
    rows = [row | {name: at(row[name]) for name in ("start", "end")} for row in rows]
    for order in (1, -1):
        found = tables_of(bucket_of(link=link[::order], crossed=crossed[::order]), "links")
        same(found.get("links", []), rows)
        assert ("links" in found) is bool(wanted)


def test_what_servers_say_of_themselves() -> None:
    told = [("START", None), ("SLOW", "ignored"), ("SERVER", "lame duck"), ("SERVER", "stop")]
    rows = [{"server": "s", "conn": "7/client:1" if op == "SLOW" else "7/", "op": op,
             "queue": text, "position": n, "time": at(n)}
            for n, (op, text) in enumerate(told)]  # fmt: skip
    found = tables_of(bucket_of(state=rows), "servers")["servers"]
    same(found, [
        {"server": "s", "process": "7", "event": event, "time": at(n)}
        for n, event in enumerate(["start", "slow consumer", "lame duck", "stop"])
    ])  # fmt: skip
    assert tables_of(bucket_of(), "servers", "logins", "links") == {}
    assert isinstance(bucket_of(state=rows).table("state"), pa.Table)
