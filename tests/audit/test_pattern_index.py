"""The index of subscribed patterns against a search through all subscriptions, and its files."""

from __future__ import annotations

import mmap
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plain_tables import matches, may_be

from subtrie import SubjectTrie
from subtrie.audit._partial.kinds import CHANGES
from subtrie.audit._schema import TABLE_KEYS
from subtrie.audit._tables import pattern_index
from subtrie.audit._tables.coverage import coverage
from subtrie.audit._tables.pattern_index import (
    PatternIndex,
    index_files,
    nearest_of,
    open_index,
    pattern_files,
    pattern_table,
    route_of,
)


class Sub(NamedTuple):
    """A subscription between two lines of the log of a server."""

    server: str
    start: int
    end: int | None
    account: str | None
    pattern: str
    queue: str | None


def table_of(subs: list[Sub]) -> pa.Table:
    text = pa.string()
    kinds = (text, pa.int64(), pa.int64(), text, text, text)
    columns = list(zip(*subs, strict=True)) or [()] * len(kinds)
    return pa.table(
        {
            name: pa.array(column, kind)
            for name, column, kind in zip(Sub._fields, columns, kinds, strict=True)
        }
    )


def index_of(subs: list[Sub]) -> PatternIndex:
    """Return the index that a worker opens."""
    files, _ = index_files(table_of(subs))
    image, *tables = (data for _, data in files)
    return PatternIndex(image, *map(pattern_index._table, tables))


#: Subscriptions of the first line of a log, and of one with an end.
AT_FIRST, ONE = Sub("s", 0, None, None, "a", None), Sub("s", 2, 4, None, "a.b", None)
PATTERNS = ["a", "a.b", "a.*", "*.b", "a.>", ">", "*", "a.b.*", "**.b"]
TEXTS = ["a", "a.b", "b.b", "c", "a.b.c", "*.b", "a.>", "**.b", "b.c"]
ACCOUNTS = st.sampled_from([None, "A", "B"])
PLACES = st.integers(0, 12)


@st.composite
def subscriptions(draw: Any) -> list[Sub]:
    """Draw subscriptions in the order of the table, which is that of servers and lines."""
    found = []
    accounts = draw(st.sampled_from([[None], ["A"], ["A", "B"], [None, "A"], [None, "A", "B"]]))
    for server in ("s", "t"):
        for start in sorted(draw(st.sets(PLACES, max_size=6))):
            length = draw(st.none() | st.integers(0, 6))
            found.append(Sub(
                server, start, None if length is None else start + length,
                draw(st.sampled_from(accounts)), draw(st.sampled_from(PATTERNS)),
                draw(st.sampled_from([None, "q", "r"])),
            ))  # fmt: skip
    return found


def group_of(sub: Sub) -> tuple[str, str | None, str, str | None]:
    return sub.server, sub.account, sub.pattern, sub.queue


def groups_in(index: PatternIndex) -> list[tuple[Any, ...]]:
    names = index.patterns.to_pylist()
    columns = (index.groups[name].to_pylist() for name in ("server", "account", "number", "queue"))
    return [(s, a, names[n], q) for s, a, n, q in zip(*columns, strict=True)]


@settings(max_examples=40)
@given(subscriptions(), st.lists(st.tuples(st.sampled_from(TEXTS), ACCOUNTS), max_size=6))
def test_matches_are_those_of_the_account_in_the_order_of_rows(subs, asked) -> None:
    index = index_of(subs)
    names = index.patterns.to_pylist()
    assert names == list(dict.fromkeys(each.pattern for each in subs)), "the oldest is first"
    texts = pa.array([text for text, _ in asked], pa.string())
    rows, numbers = index.matches(texts)
    assert list(rows) == sorted(rows)
    found = Counter(zip(rows.tolist(), numbers.tolist(), strict=True))
    everything = {
        (row, number)
        for row, (text, _) in enumerate(asked)
        for number, name in enumerate(names)
        if matches(name, text)
    }
    assert found == Counter(everything)
    rows, numbers = index.matches_in(texts, pa.array([a for _, a in asked], pa.string()))
    assert Counter(zip(rows.tolist(), numbers.tolist(), strict=True)) == Counter(
        (row, number)
        for row, number in everything
        if any(
            may_be(asked[row][1], each.account) for each in subs if each.pattern == names[number]
        )
    )


@settings(max_examples=40)
@given(subscriptions(), st.lists(st.tuples(st.sampled_from("stu"), PLACES | st.none())))
@example([AT_FIRST, ONE], [("s", place) for place in (None, 0, 1, 2, 3)])
def test_the_row_of_a_delivery_is_that_of_the_line_that_subscribed(subs, asked) -> None:
    index = index_of(subs)
    deliveries = pa.table({
        "server": pa.array([server for server, _ in asked], pa.string()),
        "subscription": pa.array([start for _, start in asked], pa.int64()),
    })  # fmt: skip
    places = {(each.server, each.start): row for row, each in enumerate(subs)}
    assert index.rows_of(deliveries).tolist() == [places.get(each, -1) for each in asked]


@settings(max_examples=40)
@given(subscriptions(), st.lists(PLACES | st.none(), min_size=1, max_size=4))
@example([AT_FIRST, ONE], [None, *range(6)])
def test_a_group_lives_while_one_of_its_subscriptions_does(subs, positions) -> None:
    index = index_of(subs)
    groups = groups_in(index)
    assert Counter(groups) == Counter({group_of(each) for each in subs})
    if not groups:
        return
    for position in positions:
        column = pa.chunked_array([pa.array([position] * len(groups), pa.int64())])
        found = index.lived(np.arange(len(groups), dtype=np.int32), column)
        assert found.tolist() == [
            position is None
            or any(
                each.start <= position and (each.end is None or position < each.end)
                for each in subs
                if group_of(each) == group
            )
            for group in groups
        ]


@settings(max_examples=40)
@given(subscriptions(), st.lists(st.tuples(st.sampled_from("stu"), ACCOUNTS, PLACES), max_size=5))
@example([AT_FIRST, ONE], [("s", None, place) for place in range(6)])
def test_a_pattern_was_active_after_its_line_and_before_its_end(subs, asked) -> None:
    index = index_of(subs)
    for number, name in enumerate(index.patterns.to_pylist()):
        for server, account, position in asked:
            assert index.was_active(number, server, account, position) is any(
                each.start < position and (each.end is None or position < each.end)
                for each in subs
                if (each.pattern, each.server) == (name, server) and may_be(account, each.account)
            )


@settings(max_examples=40)
@given(subscriptions(), st.lists(st.sampled_from([*TEXTS, "a..b"]), max_size=4), ACCOUNTS)
def test_the_nearest_pattern_is_one_of_the_account(subs, texts, account) -> None:
    index = index_of(subs)
    owned = {each.pattern for each in subs if may_be(account, each.account)}
    names = [name for name in index.patterns.to_pylist() if name in owned]
    trie: Any = SubjectTrie(dialect="server")
    for name in names:
        trie.add(name, None)
    numbers, places = index.nearest(pa.array(texts, pa.string()), account)
    for text, number, place in zip(texts, numbers.to_pylist(), places.to_pylist(), strict=True):
        plain = ".".join("#" if each in ("*", ">") else each for each in text.split("."))
        near = () if ".." in text else trie.explain(plain, limit=1).nearest
        if any(matches(name, text) for name in names) or not near:
            assert (number, place) == (None, None)
        else:
            found = index.patterns[number].as_py()
            assert (found, place) == (str(near[0].pattern), near[0].differs_at)


def test_the_nearest_of_a_trie_in_plain_python(monkeypatch) -> None:
    """The same answers without the extension."""
    trie: Any = SubjectTrie(dialect="server")
    trie.update(patterns=["a.b", "c.>"], values=[None, None])
    texts = pa.array(["a.c", None, "c.x", "a..b", "c"], pa.string())

    def missing() -> None:
        raise RuntimeError

    found = [each.to_pylist() for each in nearest_of(trie, texts)]
    assert found == [[0, None, None, None, 1], [1, None, None, None, 1]]
    monkeypatch.setattr(pattern_index, "native", missing)
    assert [each.to_pylist() for each in nearest_of(trie, texts)] == found


def test_a_pattern_that_no_server_accepts_is_left_out_with_its_subscriptions() -> None:
    subs = [Sub("s", at, None, None, name, None)
            for at, name in enumerate(("a..b", "x", "b..c", "y", "x"))]  # fmt: skip
    files, kept = index_files(table_of(subs))
    assert [name.rpartition(".")[2] for name, _ in files] == [
        "image", "patterns", "subscriptions", "groups",
    ]  # fmt: skip
    assert kept["start"].to_pylist() == [1, 3, 4]
    assert kept["number"].to_pylist() == [0, 1, 0]
    assert index_of(subs).patterns.to_pylist() == ["x", "y"]
    names = [name for name, _ in pattern_files(["y", "a..b", "x", "y"])]
    assert [name.rpartition(".")[2] for name in names] == ["image", "patterns"]
    assert [name for name, _ in pattern_files(["y", "x"])] == names, "equal tables, equal names"
    assert [name for name, _ in pattern_files(["x", "y"])] != names


HEAD = "p.safe.443.*.b_c._.GET."


def test_routes_are_ranked_by_their_first_difference() -> None:
    """A literal token comes before one wildcard, and that before the rest of a path."""
    assert route_of(HEAD + "a.*.c") == "a.*.c"
    assert route_of("orders.new") is None
    order = ["a.b", "a.b.*", "a.*", "a.*.c", "a.>", "b", "*.a", ">"]
    for some in (order, order[::-1]):
        table = pattern_table(["orders.new", *(HEAD + each for each in some)])
        assert table["route"].to_pylist() == [*order, None]
        ranks = table["rank"].to_pylist()
        assert ranks == [len(order), *map(order.index, some)]


def test_a_process_keeps_the_last_indexes_that_it_opened(monkeypatch) -> None:
    monkeypatch.setattr(pattern_index, "_opened", type(pattern_index._opened)())
    monkeypatch.setattr(pattern_index, "_MOST_OPENED", 2)
    read: list[str] = []

    def opened(pattern: str) -> PatternIndex:
        files = dict(pattern_files([pattern]))

        def data(name: str) -> Any:
            read.append(pattern)
            return files[name]

        return open_index(list(files), data)

    for pattern, again in (("a", 2), ("b", 2), ("a", 0), ("c", 2), ("a", 0), ("b", 2), ("c", 2)):
        read.clear()
        assert opened(pattern).patterns.to_pylist() == [pattern]
        assert read == [pattern] * again
        assert len(pattern_index._opened) <= 2


def test_a_mapped_index_gives_its_pages_back_and_still_answers(tmp_path: Path) -> None:
    files = pattern_files(["a.*"])
    for name, data in files:
        (tmp_path / name).write_bytes(data)

    def mapped(name: str) -> mmap.mmap:
        with (tmp_path / name).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    index = open_index([name for name, _ in files], mapped)
    rows, numbers = index.matches(pa.array(["b", "a.b"]))
    assert (rows.tolist(), numbers.tolist()) == ([1], [0])


def test_intervals_are_kept_for_so_many_patterns_and_servers(monkeypatch) -> None:
    monkeypatch.setattr(pattern_index, "_KNOWN", 2)
    index = index_of([Sub("s", 0, None, None, "a", None), Sub("t", 1, 2, None, "b", None)])
    kept = []
    for number, server in ((0, "s"), (0, "t"), (0, "s"), (1, "t"), (1, "s")):
        index.was_active(number, server, None, 5)
        kept.append(len(index._active))
    assert kept == [1, 2, 2, 1, 2]


# --- coverage


@st.composite
def messages(draw: Any) -> list[tuple[str, str, str | None, dict[int | None, int]]]:
    """Draw server, subject, account, and the messages after each change of subscriptions."""
    counts = st.dictionaries(PLACES | st.none(), st.integers(1, 3), max_size=3)
    row = st.tuples(st.sampled_from("st"), st.sampled_from(TEXTS[:5]), ACCOUNTS, counts)
    return draw(st.lists(row, max_size=6))


@settings(max_examples=40)
@given(subscriptions(), messages(), st.data())
def test_coverage_is_what_each_group_matched_while_it_lived(subs, sent, data) -> None:
    index = index_of(subs)
    named = list(dict.fromkeys((text, account) for _, text, account, _ in sent))
    texts = pa.array([text for text, _ in named], pa.string())
    accounts = pa.array([account for _, account in named], pa.string())
    rows, numbers = index.matches_in(texts, accounts)
    order = np.argsort(rows, kind="stable")
    subjects = SimpleNamespace(
        index=index, texts=texts, account=accounts, rows=rows[order], numbers=numbers[order]
    )
    publishes = pa.table({
        "server": pa.array([server for server, *_ in sent], pa.string()),
        "at": pa.array([named.index((text, account)) for _, text, account, _ in sent], pa.int32()),
        "published": pa.array([sum(counts.values()) for *_, counts in sent], pa.int64()),
        CHANGES: pa.array(
            [[n for at, count in counts.items() if at is not None for n in (at, count)] or None
             for *_, counts in sent], pa.list_(pa.int64()),
        ),
    })  # fmt: skip
    received = data.draw(st.lists(st.tuples(st.sampled_from("st"), PLACES, st.integers(1, 3))))
    deliveries = pa.table({
        "server": pa.array([server for server, *_ in received], pa.string()),
        "subscription": pa.array([start for _, start, _ in received], pa.int64()),
        "count": pa.array([count for *_, count in received], pa.int64()),
    })  # fmt: skip
    bucket: Any = SimpleNamespace(
        subjects=subjects, index=index, publishes=publishes, deliveries=deliveries
    )
    matched: Counter[Any] = Counter()
    for server, text, account, counts in sent:
        for group in {group_of(each) for each in subs}:
            if group[0] != server or not (matches(group[2], text) and may_be(group[1], account)):
                continue
            for at, count in counts.items():
                if at is None or any(
                    each.start <= at and (each.end is None or at < each.end)
                    for each in subs if group_of(each) == group
                ):  # fmt: skip
                    matched[group] += count
    delivered: Counter[Any] = Counter()
    for server, start, count in received:
        for each in subs:
            if (each.server, each.start) == (server, start):
                delivered[group_of(each)] += count
    told = list(coverage(bucket))
    if not subs:
        assert told == []
        return
    ((name, table),) = told
    assert name == "coverage"
    found = {
        (row["server"], row["account"], row["pattern"], row["queue"]): (
            row["matched"], row["delivered"],
        ) for row in table.to_pylist()
    }  # fmt: skip
    assert set(TABLE_KEYS["coverage"]) <= set(table.column_names)
    assert len(found) == table.num_rows, "each group has one row"
    assert found == {key: (matched[key], delivered[key]) for key in matched | delivered}
