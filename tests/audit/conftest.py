"""One Spark session for the whole test run, and the captures."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from spark_cache import nothing_stays_cached  # noqa: F401 - a fixture
from subtrie._cli.app import app
from subtrie.spark import register
from subtrie.spark._sessions.local_session import local_session
from subtrie.wire import capture


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local session with the heap that the audit is documented to need."""
    session = local_session(memory="1g", cores="2")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def captures() -> Path:
    """Logs of real brokers."""
    return Path(__file__).parents[2] / "examples" / "captures"


@pytest.fixture(scope="session")
def session(spark: Any) -> Any:
    """The session, with the data sources."""
    register(spark)
    return spark


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recorded traffic of Go services and their broker as a capture of several files."""
    folder = tmp_path_factory.mktemp("wire") / "capture"
    recording = Path(__file__).parents[2] / "examples" / "captures" / "go_live"
    known = set()
    with (
        gzip.open(recording / "wire.jsonl.gz", "rt") as lines,
        capture.Writer(folder, rotate=500_000) as writer,
    ):
        for line in lines:
            row = json.loads(line)
            at = int(row["t"] * 1e9)
            if row["conn"] not in known:
                known.add(row["conn"])
                writer.write("opened", row["conn"], b'{"kind":"client"}', at=at)
            writer.write(row["dir"], row["conn"], b64decode(row["data"]), at=at)
    assert len(capture.files(folder)) > 1
    return folder


@pytest.fixture
def run():
    """Run the command in this process, without Spark if the log is small."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["audit", *map(str, arguments)])

    return call


@pytest.fixture(params=["in process", "on Spark"])
def run_both(request: pytest.FixtureRequest, run: Any):
    """Run the command, without Spark and with the session of the test run."""
    if request.param == "in process":
        return run
    master = request.getfixturevalue("spark").conf.get("spark.master")
    return lambda *arguments: run(*arguments, "--master", master)
