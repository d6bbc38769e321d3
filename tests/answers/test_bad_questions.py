"""Questions that the traffic cannot answer: one clear error each."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from subtrie.acl import Permissions
from subtrie.spark import Questions, audit, latency, permission_usage, register

LOG = (
    "[7] 2026/11/21 08:00:00.000001 [INF] Server is ready\n"
    '[7] 2026/11/21 08:00:01.000001 [TRC] 127.0.0.1:4 - cid:1 - "v1:go:stock.shop" - <<- [SUB '
    "prod.safe.443.*.stock_shop._.GET.items  1]\n"
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bad") / "nats.log"
    path.write_text(LOG)
    return path


def test_rules_of_services_that_the_traffic_has_not(spark: Any, log: Path) -> None:
    register(spark)
    events = spark.read.format("nats-trace").load(str(log))
    rules = {"web.shop": Permissions(publish_allow=["a"])}
    with pytest.raises(
        ValueError,
        match=re.escape(
            "the rules name no service of the traffic: they are of web.shop; the traffic has "
            "stock.shop"
        ),
    ):
        permission_usage(events, rules)


def test_a_time_outside_the_log(spark: Any, log: Path, tmp_path: Path) -> None:
    """Nothing is written."""
    questions = Questions(subject="a.b", time=datetime(2027, 1, 1, tzinfo=UTC))
    with pytest.raises(
        ValueError,
        match=re.escape(
            "the time 2027-01-01T00:00:00.000000Z is outside the log, which is from "
            "2026-11-21T08:00:01.000001Z to 2026-11-21T08:00:01.000001Z"
        ),
    ):
        audit(spark, [str(log)], questions=questions, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_payloads_without_a_log(spark: Any, log: Path, tmp_path: Path) -> None:
    register(spark)
    events = spark.read.format("nats-trace").load(str(log))
    heads = Questions(payloads="heads")
    with pytest.raises(ValueError, match="not from a table of events"):
        audit(spark, events, questions=heads)
    saved = tmp_path / "connz.json"
    saved.write_text('{"server_id": "A", "now": "2026-11-21T08:00:00Z", "connections": []}')
    with pytest.raises(ValueError, match="payload heads are read from trace logs and captures"):
        audit(spark, [str(log), str(saved)], questions=heads)


def test_answers_need_the_subjects_as_they_are(spark: Any, log: Path) -> None:
    with pytest.raises(ValueError, match="answers need the subjects as they are"):
        audit(spark, [str(log)], questions=Questions(), redact=["path"])


def test_another_table_in_place_of_events(spark: Any) -> None:
    with pytest.raises(ValueError, match="not a table of events"):
        latency(spark.createDataFrame([("a",)], "subject string"))
