"""The public functions of the tables: the rows that the audit writes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from faulty_systems import jetstream, leaf

import subtrie.audit
import subtrie.spark
from subtrie.audit._schema import TABLE_COLUMNS
from subtrie.spark import ANSWERS, TABLES, Questions, audit
from synthetic_traffic import write_traffic

#: The tables of rows that only logs have: those of connections and servers.
OF_LOGS = ("jetstream_errors", "logins", "links", "servers")
NAMES = [name for name in TABLES if name not in (*ANSWERS, *OF_LOGS, "runs")]


@pytest.fixture(scope="module")
def events(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the events of a world."""
    world = tmp_path_factory.mktemp("world") / "world"
    write_traffic(world, seed=76, rows=800, events=True)
    df = spark.read.parquet(str(world / "events.parquet")).coalesce(2).cache()
    yield df
    df.unpersist()


@pytest.fixture(scope="module")
def expected(spark: Any, events: Any) -> dict[str, list[str]]:
    """Return the tables of the audit."""
    with audit(spark, events) as found:
        return {name: sorted(map(shown, found.rows(name))) for name in NAMES}


def shown(row: dict[str, Any]) -> str:
    """Return a row as text; the time zone UTC has several classes."""
    return json.dumps(row, default=datetime.isoformat)


@pytest.mark.parametrize("name", NAMES)
def test_a_table_function_returns_the_rows_of_the_audit(events, expected, name) -> None:
    found = getattr(subtrie.spark, name)(events)
    columns = [(field.name, field.dataType.simpleString()) for field in found.schema]
    assert columns == list(TABLE_COLUMNS[name])
    rows = sorted(map(shown, found.toArrow().to_pylist()))
    assert rows == expected[name]
    if name not in ("refused", "cross_plane", "claimed_users"):
        assert rows


@pytest.mark.parametrize("name", [*OF_LOGS, "consumers"])
def test_a_table_function_returns_what_logs_tell_of_connections(logs, session, name) -> None:
    """They were tables of ``audit`` alone."""
    paths, here = logs
    events = session.read.format("nats-trace").load([str(path) for path in paths])
    rows = sorted(map(shown, getattr(subtrie.spark, name)(events).toArrow().to_pylist()))
    assert rows == here[name]
    assert rows


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], dict[str, list[str]]]:
    """Return logs of a server, its leaf node and one with streams, and what they tell here."""
    folder = tmp_path_factory.mktemp("logs")
    paths = [*leaf(folder / "leaf"), *jetstream(folder / "jetstream")]
    with subtrie.audit.audit([str(path) for path in paths]) as run:
        found = {name: sorted(map(shown, run.rows(name))) for name in OF_LOGS}
    with subtrie.audit.audit([str(path) for path in paths], questions=Questions()) as run:
        return paths, found | {"consumers": sorted(map(shown, run.rows("consumers")))}


def test_every_table_has_a_function_and_only_the_call_graph_has_periods(events) -> None:
    for name in (*NAMES, *OF_LOGS):
        accepted = set(inspect.signature(getattr(subtrie.spark, name)).parameters)
        assert accepted == {"events", "planes"} | ({"window"} if name == "call_graph" else set())
    hour = subtrie.spark.call_graph(events, planes=["prod"], window=3600).select("plane", "window")
    found = {(row.plane, row.window is None) for row in hour.distinct().collect()}
    assert found == {("prod", False)}
    with pytest.raises(ValueError, match="not a table of events"):
        subtrie.spark.replies(events.drop("op"))


def test_the_page_names_every_table_function() -> None:
    page = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in (*NAMES, *OF_LOGS))
    assert "from events to the rows of one table" in page
