"""A test on Spark leaves no more rows in the cache of the session than it found there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_stays_cached(request: pytest.FixtureRequest) -> Iterator[None]:
    """Compare the number of cached tables before and after each test that has a session."""
    if "spark" not in request.fixturenames:
        yield
        return
    context = request.getfixturevalue("spark").sparkContext
    before = context._jsc.getPersistentRDDs().size()
    yield
    assert context._jsc.getPersistentRDDs().size() <= before
