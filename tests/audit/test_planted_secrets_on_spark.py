"""A known set of secrets goes through every source and the audit on Spark, and is shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planted_secrets import PlantedSecrets
from subtrie.spark import audit, register


@pytest.mark.requirement("T16")
def test_no_source_and_no_table_of_spark_shows_a_secret(
    spark: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    planted = PlantedSecrets(inputs)
    register(spark)
    texts = []
    for name, path in (
        ("nats-trace", planted.log), ("nats-wire", planted.capture),
        ("nats-monitor", planted.snapshot),
    ):  # fmt: skip
        rows = spark.read.format(name).load(str(path)).collect()
        assert rows, name
        texts += [f"{row.asDict()}" for row in rows]
    for number, source in enumerate((planted.log, planted.capture)):
        with audit(spark, [str(source)], out=tmp_path / f"tables-{number}") as result:
            texts += [repr(list(result.rows(name))) for name in ("unparseable", "other_traffic")]
    assert not planted.shown_in("\n".join(texts))
    assert not planted.shown_in_files([tmp_path / "tables-0", tmp_path / "tables-1"])
    assert not planted.shown_in(caplog.text + "".join(capfd.readouterr()))
    assert planted.shown_in_files([inputs]), "the search finds what is there"
