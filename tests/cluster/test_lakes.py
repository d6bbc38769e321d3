"""Tables in Delta Lake and Iceberg, on a Spark for which both are published (``make lakes``)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from spark_servers import QUICK, environment

import subtrie
from synthetic_traffic import write_traffic

pytestmark = pytest.mark.cluster
FOLDER = os.environ.get("SUBTRIE_TEST_LAKES")
#: What a session needs for each format, beside the jars.
SETTINGS = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    "iceberg": {
        "spark.sql.extensions":
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": "WAREHOUSE",
    },
}  # fmt: skip
#: Writes the tables of a log, merges those of another, and prints which tables are not as told.
PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from subtrie.spark import TABLES, audit, write_lake
from subtrie.spark._lake import check_lake
from subtrie.audit._schema import TABLE_KEYS

lake, target, settings, first, second = sys.argv[1], sys.argv[2], *map(json.loads, sys.argv[3:])
builder = SparkSession.builder.master("local[1]")
for name, value in settings.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
check_lake(spark, lake)
wrong = []
with audit(None, first) as one, audit(None, second) as two:
    names = ("call_graph", "undelivered", "at", "runs")
    write_lake(spark, one, lake, target, tables=names)
    write_lake(spark, two, lake, target, tables=names, merge=True)
    for name in names:
        keys = TABLE_KEYS[name]
        told = {}
        for result in (one, two):
            rows = result.columns(name, TABLES[name]).to_pylist()
            told |= {tuple(row[key] for key in keys): row for row in rows}
        table = f"delta.`{target}/{name}`" if lake == "delta" else f"{target}.{name}"
        seen = spark.table(table).toArrow().to_pylist()
        if len(seen) != len(told) or {tuple(row[key] for key in keys): row for row in seen} != told:
            wrong.append([name, len(told), len(seen)])
    assert one.count("call_graph") and two.count("call_graph")
print(json.dumps({"wrong": wrong, "spark": spark.version}))
"""


@pytest.mark.skipif(FOLDER is None, reason="needs a Spark and jars: make lakes")
@pytest.mark.parametrize("lake", ["delta", "iceberg"])
def test_an_incremental_run_is_a_merge(lake: str, tmp_path: Path) -> None:
    """The rows are those of both runs; a row of the second replaces the one with its key."""
    assert FOLDER is not None
    logs = []
    for seed in (3, 4):
        write_traffic(tmp_path / str(seed), seed=seed, rows=600)
        logs.append(json.dumps([str(tmp_path / str(seed) / "trace.log")]))
    target = str(tmp_path / "out") if lake == "delta" else "lake.audit"
    done = _run(PROGRAM, lake, target, json.dumps(_settings(lake, tmp_path)), *logs)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["spark"].startswith("4.1.")
    assert told["wrong"] == []


def _settings(lake: str, folder: Path) -> dict[str, str]:
    assert FOLDER is not None
    found = SETTINGS[lake] | {
        "spark.jars": ",".join(str(jar) for jar in sorted(Path(FOLDER, "jars").glob("*.jar"))),
        "spark.driver.memory": "640m",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "1",
        "spark.ui.enabled": "false",
    }
    return {
        name: value.replace("WAREHOUSE", str(folder / "warehouse")) for name, value in found.items()
    }


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert FOLDER is not None
    path = [str(Path(FOLDER, "spark").resolve()), str(Path(subtrie.__file__).parents[1])]
    env = environment(PYTHONPATH=os.pathsep.join(path))
    env["SPARK_HOME"] = str(Path(path[0], "pyspark"))
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=env, capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done


#: Makes a table of messages, then runs a block of the page about lakes in this session.
OF_THE_PAGE = """
import json, sys
from pyspark.sql import SparkSession
from subtrie.spark import audit, events, write_lake

lake, folder, block, settings = *sys.argv[1:4], json.loads(sys.argv[4])
spark = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
subject = "prod.safe.443.web_shop.orders_shop._.GET.orders.7"
rows = spark.createDataFrame([(subject, "web.shop")] * 3, ["topic", "sender"])
if lake == "delta":
    rows.write.format("delta").save(f"{folder}/messages")
else:
    rows.writeTo("lake.messages").using("iceberg").create()
exec(block)
"""


@pytest.mark.skipif(FOLDER is None, reason="needs a Spark and jars: make lakes")
@pytest.mark.parametrize("lake", ["delta", "iceberg"])
def test_a_block_of_the_page_leads_from_messages_to_tables(lake: str, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "lake.md").read_text()
    blocks = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    [block] = [each for each in blocks if f'write_lake(spark, run, "{lake}"' in each]
    settings = json.dumps(_settings(lake, tmp_path))
    done = _run(OF_THE_PAGE, lake, str(tmp_path), block.replace("/lake/", f"{tmp_path}/"), settings)
    shown = re.findall(r"^\|.*web\.shop.*orders\.shop.*$", done.stdout, re.MULTILINE)
    assert len(shown) == 1, done.stdout
