"""One Spark session for the whole test run, and the captures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from subtrie._cli.app import app
from subtrie.spark._sessions.local_session import local_session


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
