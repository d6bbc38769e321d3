"""The tables and data sources have the columns and types that ``docs/columns.md`` states."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import subtrie.spark
from subtrie.audit import TABLES, open_run, table_of

ROOT = Path(__file__).parents[2]
LOG = str(ROOT / "examples" / "captures" / "go_live" / "trace.log")
_PAGE = (ROOT / "docs" / "columns.md").read_text(encoding="utf-8")
_RATE = "struct<start:timestamp,width_s:bigint,counts:array<bigint>>"
#: The Arrow type of each Spark type, as the page states it.
ARROW = dict(re.findall(r"^\| (?:rate: )?`(.+)` \| `(.+)` \|$", _PAGE, re.MULTILINE))

Columns = list[tuple[str, str]]


def stated(heading: str) -> Columns:
    """Return the columns below a heading of the page, with their Spark types."""
    text = _PAGE.partition(f"### {heading}\n")[2].partition("\n#")[0]
    found = re.findall(r"`(\w+)`(?:\*\*)? (?:(\w+)|`(.+?)`)", text)
    return [(name, _RATE if word == "rate" else word or code) for name, word, code in found]


def of_arrow(schema: pa.Schema) -> Columns:
    """Return the columns of an Arrow schema, with their Arrow types."""
    return [(field.name, str(field.type).replace("element: ", "item: ")) for field in schema]


def of_spark(fields: Any) -> Columns:
    """Return the columns of a Spark schema, with their Spark types."""
    return [(field.name, field.dataType.simpleString()) for field in fields]


def test_the_tables_of_an_audit_have_the_columns_of_the_page(run_both, tmp_path) -> None:
    done = run_both(LOG, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    with open_run(tmp_path / "out") as found:
        schemas = {name: of_arrow(pq.read_schema(found.path(name))) for name in TABLES}
        version = {row["schema"] for row in found.rows("runs")}
    assert schemas == {
        name: [(column, ARROW[kind]) for column, kind in stated(f"`{name}`")] for name in TABLES
    }
    assert version == {int(re.findall(r"version of the tables of an audit is (\d+),", _PAGE)[0])}


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"runs"}))
def test_one_table_alone_has_the_columns_of_the_page(name) -> None:
    wanted = [(column, ARROW[kind]) for column, kind in stated(f"`{name}`")]
    assert of_arrow(table_of(name, []).schema) == wanted


@pytest.mark.parametrize(
    ("source", "rows", "heading"),
    [
        ("nats-trace", "events", "Events"),
        ("nats-wire", "events", "Events"),
        ("nats-monitor", "events", "Events"),
        ("nats-trace", "partials", "`nats-trace` with `rows=partials`"),
        ("nats-wire", "operations", "`nats-wire` with `rows=operations`"),
        ("nats-monitor", "subscriptions", "`nats-monitor` with `rows=subscriptions`"),
    ],
)
def test_a_data_source_has_the_columns_of_the_page(session, source, rows, heading) -> None:
    found = session.read.format(source).option("rows", rows).load(LOG)
    assert of_spark(found.schema) == stated(heading)


def test_functions_of_spark_have_the_columns_of_the_page(session) -> None:
    subjects = session.createDataFrame([("a.b",)], "subject string")
    events = subtrie.spark.events(subjects, subject="subject")
    assert of_spark(events.schema) == stated("Events")
    for name in ("call_graph", "undelivered"):
        found = getattr(subtrie.spark, name)(events)
        assert of_spark(found.schema) == stated(f"`{name}`")
    decoded = subtrie.spark.decode(subjects).schema["address"].dataType
    assert of_spark(decoded) == stated("The column `address` of `decode`")
    matched = subtrie.spark.match(subjects, ["a.*"])
    assert of_spark(matched.schema)[1:] == stated("The columns that `match` adds")
    assert matched.collect()[0].matched == ["a.*"]
