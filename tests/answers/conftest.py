"""The Spark session of the test run, and worlds with the answers about them."""

from __future__ import annotations

from typing import Any

import pytest
from worlds import Case, answered

from spark_cache import nothing_stays_cached  # noqa: F401 - a fixture
from subtrie.spark import local_session


@pytest.fixture(scope="session")
def spark() -> Any:
    """The local session of this process; other tests may have started it, and end it."""
    return local_session(memory="1g", cores="2")


@pytest.fixture(scope="session", params=[305, 302])
def case(request: pytest.FixtureRequest, spark: Any, tmp_path_factory: Any) -> Case:
    """The answers about a world of four days."""
    return answered(spark, tmp_path_factory.mktemp("world") / "world", request.param)
