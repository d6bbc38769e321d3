"""The project of ``examples/pipeline``, run by ``spark-pipelines`` on synthetic traffic."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from spark_servers import environment

import subtrie
from synthetic_traffic import write_traffic

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).resolve().parents[2]


def truth(world: Path, table: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world / "truth" / f"{table}.jsonl").open()]


def test_the_tables_of_the_pipeline_are_the_truth(tmp_path):
    world = tmp_path / "world"
    write_traffic(world, seed=41, rows=3000, events=True)
    project = tmp_path / "project"
    shutil.copytree(ROOT / "examples" / "pipeline", project)
    spec = project / "spark-pipeline.yml"
    text = spec.read_text().replace("file:///tmp/subtrie-pipeline\n", f"file://{tmp_path}/store\n")
    text = text.replace("/tmp/subtrie-pipeline-input/events.parquet", f"{world}/events.parquet")
    assert text.count(str(tmp_path)) == 2
    spec.write_text(text)
    done = subprocess.run(
        [Path(sys.executable).with_name("spark-pipelines"), "run", "--spec", spec],
        cwd=project,
        env=environment(PYTHONPATH=str(Path(subtrie.__file__).parents[1])),
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]

    def table(name: str) -> list[dict[str, Any]]:
        return (
            ds.dataset(project / "spark-warehouse" / name, format="parquet").to_table().to_pylist()
        )

    calls: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in truth(world, "call_graph"):
        key = tuple(row[n] for n in ("plane", "source", "destination", "port", "method"))
        if row["published"]:
            for name in ("published", "undelivered", "bytes"):
                calls[key][name] += row[name]
    found = {
        tuple(row[n] for n in ("plane", "source", "destination", "port", "method")): row
        for row in table("calls")
    }
    assert found.keys() == calls.keys()
    for key, counts in calls.items():
        assert {name: found[key][name] for name in counts} == dict(counts)
    spoofed: Counter[tuple[str, str]] = Counter()
    for row in truth(world, "spoofed"):
        spoofed[row["who"], row["claimed"]] += row["accepted"]
    assert {(r["identity"], r["claimed"]): r["accepted"] for r in table("spoofed")} == +spoofed
    assert len(table("refused")) > 0
