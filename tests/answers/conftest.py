"""The Spark session of the test run."""

from __future__ import annotations

from typing import Any

import pytest

from subtrie.spark import local_session


@pytest.fixture(scope="session")
def spark() -> Any:
    """The local session of this process; other tests may have started it, and end it."""
    return local_session(memory="1g", cores="2")
