"""Deliveries counted for a user's own table of received and sent messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from subtrie.spark import audit, events, settled
from synthetic_traffic import write_traffic


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("settled") / "world"
    write_traffic(folder, seed=41, rows=1500, events=True)
    return folder


def test_deliveries_are_those_that_the_broker_of_the_world_made(spark, world) -> None:
    from pyspark.sql import functions as F

    known = spark.read.parquet(str(world / "events.parquet"))
    hidden = known.withColumn("deliveries", F.lit(None).cast("bigint"))
    hidden = hidden.withColumn("forwarded", F.lit(None).cast("bigint")).repartition(5)
    sent = "op in ('PUB', 'HPUB') and direction = 'in' and refused is null and not ambiguous"

    def counted(df: Any) -> dict[Any, Any]:
        rows = df.where(f"{sent} and forwarded = 0").select("position", "deliveries")
        return {row.position: row.deliveries for row in rows.collect()}

    expected, found = counted(known), counted(settled(hidden))
    assert settled(hidden).count() == known.count()
    assert expected.keys() <= found.keys()
    # Replicas that each receive a message are one receiver.
    assert all(found[place] <= number for place, number in expected.items())
    assert all(bool(found[place]) == bool(number) for place, number in expected.items())
    assert any(number == 0 for number in expected.values())
    assert any(number > 1 for number in found.values())


def test_a_table_of_messages_has_undelivered_subjects_once_it_is_settled(spark) -> None:
    row = "prod.safe.443.web_shop.{}_shop._.GET.items".format
    rows = [
        ("in", row("stock"), "web.shop", 0.0),
        ("out", row("stock"), "stock.shop", 0.2),
        ("out", row("stock"), "audit.shop", 0.3),
        ("in", row("stock"), "web.shop", 0.4),  # the same client receives it later
        ("out", row("stock"), "stock.shop", 1.3),
        ("out", row("stock"), "stock.shop", 9.0),  # no message is less than a second older
        ("in", row("gone"), "web.shop", 0.5),
        ("c2s", row("late"), "web.shop", 1.0),
        ("s2c", row("late"), "late.shop", 2.1),
        ("refused", row("bank"), "web.shop", 3.0),
        *(("out", row("clock"), each, 4.0) for each in ("stock.shop", "audit.shop")),
        ("in", row("clock"), "web.shop", 4.0),  # it is before its deliveries of the same time
    ]
    df = spark.createDataFrame(
        rows, "direction string, subject string, identity string, seconds double"
    ).selectExpr("*", "timestamp_micros(bigint(seconds * 1000000)) AS time")
    found = settled(events(df))
    told = {(r.subject, round(r.time.timestamp(), 1)): r.deliveries
            for r in found.where("op = 'PUB' and refused is null").collect()}  # fmt: skip
    assert told == {
        (row("stock"), 0.0): 2, (row("stock"), 0.4): 1, (row("gone"), 0.5): 0,
        (row("late"), 1.0): 0, (row("clock"), 4.0): 2,
    }  # fmt: skip
    with audit(spark, found) as run:
        lost = {each["subject"]: each["count"] for each in run.rows("undelivered")}
        assert lost == {row("gone"): 1, row("late"): 1}
        assert [each["subject"] for each in run.rows("refused")] == [row("bank")]
    with audit(spark, settled(events(df), within=2)) as run:
        assert [each["subject"] for each in run.rows("undelivered")] == [row("gone")]


def test_what_cannot_be_settled_is_refused_in_one_sentence(spark) -> None:
    df = spark.createDataFrame([("a.b",)], "subject string")
    for within in (0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=f"above 0, not {within}"):
            settled(events(df), within=within)
    with pytest.raises(ValueError, match="no column 'server'"):
        settled(df)
    # Without times nothing is settled, and nothing is called undelivered.
    assert [row.deliveries for row in settled(events(df)).collect()] == [None]
