"""Spark servers for tests, and driver programs that use them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_servers import Cluster, cluster, environment, python_without_subtrie

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "audit"))


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter for workers that has pyarrow and pyspark, but not this package."""
    return python_without_subtrie(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="session")
def spark_cluster(tmp_path_factory: pytest.TempPathFactory, bare_python: Path) -> Iterator[Cluster]:
    """A standalone cluster of two workers that do not have this package."""
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder, env={"PYSPARK_PYTHON": str(bare_python)}) as made:
        yield made


@pytest.fixture
def drive(tmp_path: Path, bare_python: Path) -> Callable[..., dict[str, Any]]:
    """Run a driver program; return the results of its steps by name."""

    def run(url: str, *steps: tuple[str, dict[str, Any]]) -> dict[str, Any]:
        process = start(url, *steps)
        out, err = process.communicate(timeout=600)
        told = [json.loads(line) for line in out.splitlines()]
        failed = [row for row in told if "error" in row]
        assert process.returncode == 0, (failed, err[-3000:])
        return {row["step"]: row["result"] for row in told}

    def start(url: str, *steps: tuple[str, dict[str, Any]]) -> subprocess.Popen[str]:
        import subtrie

        package = str(Path(subtrie.__file__).parents[1])
        return subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("driver.py")), url, json.dumps(steps)],
            env=environment(PYSPARK_PYTHON=str(bare_python), PYTHONPATH=package),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    run.start = start  # type: ignore[attr-defined]
    return run
