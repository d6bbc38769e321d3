"""A table of messages alone is audited where it is read; the tables are those of any other."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from subtrie import microbus
from subtrie.audit._tables.by_subject import HOTTEST, hottest
from subtrie.spark import _message_rows as message_rows
from subtrie.spark import _table_jobs as table_jobs
from subtrie.spark import audit, events

START = datetime.datetime(2026, 1, 1)


def some_subject(dice: random.Random) -> str | None:
    """Return the subject of a request, of a reply, of neither, or none."""
    kind = dice.random()
    call = f"safe.443.client{dice.randrange(4)}_example.shop{dice.randrange(3)}_example._.GET"
    if kind < 0.6:
        return f"prod.{call}.items.{dice.randrange(60)}"
    if kind < 0.7:
        return f"lab.{call}.items"
    if kind < 0.8:
        return microbus.encode_reply(
            plane="prod",
            source="shop.example",
            host="client.example",
            id=f"id-a{dice.randrange(9)}",
        )
    others = ["prod.unknown.1", "lab", "_INBOX.a.1", "orders.new", "$SYS.a", "bad..subject"]
    return dice.choice([*others, "été.1", None])


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a Parquet file of messages, some without an identity or a time."""
    dice = random.Random(5)
    rows = [
        {
            "subject": some_subject(dice),
            "identity": dice.choice(["client1.example", "client2.example", None]),
            "time": dice.choice([None, START + datetime.timedelta(seconds=dice.randrange(9999))]),
            "size": dice.choice([None, dice.randrange(100)]),
        }
        for _ in range(4000)
    ]
    path = tmp_path_factory.mktemp("messages") / "messages.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=900)
    return path


def digests(found: Any) -> dict[str, str]:
    """Return the digests of all tables that hold what was found."""
    return {name: file["sha256"] for name, file in found._files.items() if name != "runs"}


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        (("subject",), {}),
        (("subject", "identity", "time", "size"), {"window": 600}),
        (("subject", "identity"), {"planes": ["prod"]}),
    ],
    ids=str,
)
def test_the_tables_are_those_of_a_table_of_events(spark, messages, columns, options) -> None:
    given = spark.read.parquet(str(messages)).select(*columns).repartition(3)
    made = events(given)
    with audit(spark, made, **options) as found, audit(
        spark, made.where("true"), **options  # it may hold anything now
    ) as other:  # fmt: skip
        assert digests(found) == digests(other)
        assert found.summary == other.summary
        for table in ("call_graph", "replies", "malformed", "other_traffic", "unparseable"):
            assert found.count(table), table
        assert bool(found.count("spoofed")) == ("identity" in columns)


@pytest.mark.parametrize(("named", "counted"), [(4096, False), (8, True)])
def test_the_tables_do_not_depend_on_what_a_task_holds(
    spark, messages, monkeypatch, named, counted
) -> None:
    """With few named subjects, only a count of each subject tells the hottest."""
    given = events(spark.read.parquet(str(messages)).repartition(3))
    with audit(spark, given) as found:
        expected = digests(found)
    asked = []

    def count(*given: Any) -> Any:
        asked.append(given)
        return hottest_counted(*given)

    hottest_counted = message_rows.hottest_counted
    monkeypatch.setattr(message_rows, "hottest_counted", count)
    monkeypatch.setattr(message_rows, "_HELD", 300)
    monkeypatch.setattr(message_rows, "NAMED", named)
    monkeypatch.setattr(table_jobs, "_ONE_TASK", 0)  # each table by a task of its own
    with audit(spark, given) as found:
        assert digests(found) == expected
    assert bool(asked) == counted


def part(counts: dict[str, int], unnamed: int) -> pa.Table:
    """Return what a part names."""
    rows = [
        {
            "key": f"~{name}",
            "subject": name,
            "account": None,
            "published": count,
            "bytes": 0,
            "unnamed": unnamed,
        }
        for name, count in counts.items()
    ]
    return pa.Table.from_pylist(rows)


def test_the_hottest_are_known_only_if_no_other_subject_can_have_as_many() -> None:
    many = {f"hot.{n:03}": 10 for n in range(HOTTEST)}
    assert hottest([part(many, 9)], 5000, 9).rows is not None
    # One that is not named may have 10: it can be any.
    assert hottest([part(many, 10)], 5000, 10) == (None, None)
    # Another part does not name them: it may have up to 2 more of each.
    found = hottest([part(many, 3)], 5000, 5)
    assert (found.rows, set(found.candidates["subject"].to_pylist())) == (None, set(many))
    # A subject that one part does not name may have as many as the last.
    named = pa.concat_tables([part(many, 3), part(many, 2)])
    found = hottest([pa.concat_tables([named, part({"warm": 18, "cold": 17}, 3)])], 5000, 5)
    assert (found.rows, set(found.candidates["subject"].to_pylist())) == (None, {*many, "warm"})
    found = hottest([pa.concat_tables([named, part({"warm": 17}, 3)])], 5000, 5)
    assert found.rows is not None
    assert found.rows.num_rows == HOTTEST
    assert set(found.rows["published"].to_pylist()) == {20}
    # Fewer subjects than the table has rows: any other would be one of them.
    assert hottest([part({"a": 3}, 1)], 5000, 1) == (None, None)
    assert hottest([part({"a": 3}, 0)], 5000, 0).rows.num_rows == 1


def test_only_what_can_be_among_the_hottest_is_counted(spark, tmp_path, monkeypatch) -> None:
    """Subjects of a small part that does not name them are counted, and no others."""
    first = [f"app.hot.{n:03}" for n in range(HOTTEST) for _ in range(20)]
    first += [f"app.cold.{n}" for n in range(500)]
    last = [f"app.{kind}.{n:03}" for n in range(HOTTEST) for kind in ("hot", "else")]
    for name, subjects in (("a", first), ("b", last)):
        pq.write_table(pa.table({"subject": subjects}), tmp_path / f"{name}.parquet")
    given = events(spark.read.parquet(str(tmp_path)).repartition(1))
    with audit(spark, given) as found:
        expected = digests(found)
    asked: list[Any] = []

    def count(messages: Any, published: int, candidates: Any) -> Any:
        asked.append(None if candidates is None else pa.ipc.open_stream(candidates).read_all())
        return hottest_counted(messages, published, candidates)

    hottest_counted = message_rows.hottest_counted
    monkeypatch.setattr(message_rows, "hottest_counted", count)
    monkeypatch.setattr(message_rows, "NAMED", 120)
    parts = [spark.read.parquet(str(tmp_path / f"{name}.parquet")) for name in "ab"]
    with audit(spark, events(parts[0].union(parts[1]))) as found:
        assert digests(found) == expected
    assert [each.num_rows for each in asked] == [HOTTEST]
