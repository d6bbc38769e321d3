"""A known set of secrets goes through every source and the audit on Spark, and is shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planted_secrets import PlantedSecrets
from subtrie.audit._readers.log_files import shown_path
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


@pytest.mark.requirement("T16")
@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/logs/a@b?x=1", "/logs/a@b?x=1"),
        ("s3://logs/a.log", "s3://logs/a.log"),
        ("s3://KEY:SE@CRET@logs/a@b.log", "s3://[REDACTED]@logs/a@b.log"),
        ("S3://KEY@logs", "S3://[REDACTED]@logs"),
        (
            "abfs://logs/a?endpoint_override=h:1&sig=SECRET&scheme=http&token=a=b",
            "abfs://logs/a?endpoint_override=h:1&sig=[REDACTED]&scheme=http&token=[REDACTED]",
        ),
        ("gs://logs/a?SECRET", "gs://logs/a?[REDACTED]"),
    ],
)
def test_a_uri_is_shown_without_its_credentials(path: str, shown: str) -> None:
    assert shown_path(path) == shown


@pytest.mark.requirement("T16")
def test_an_error_about_a_uri_has_no_credentials() -> None:
    with pytest.raises(OSError, match="unknown") as refused:
        audit(None, ["unknown://KEY:SECRET@logs/a.log?sig=SECRET"])
    assert "SECRET" not in str(refused.value)
    assert "KEY" not in str(refused.value)
