"""Every test of the core runs on both engines, through the ``engine`` fixture."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from engines import ENGINES, use_engine
from secrets_watch import pytest_configure, pytest_runtest_makereport
from subtrie import SubjectTrie
from unchanged_process import commands_leave_the_process_as_it_was

__all__ = [
    "commands_leave_the_process_as_it_was", "engine", "engine_in_use", "few_objects",
    "pytest_collection_finish", "pytest_collection_modifyitems", "pytest_configure",
    "pytest_runtest_makereport", "trie",
]  # fmt: skip

# No clock gates a test: a property holds or not, and a busy machine changes neither.
settings.register_profile("subtrie", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("subtrie")

# Tests allocate much and leave few cycles: the search for them took a twentieth of the time.
gc.set_threshold(20_000)

# A shell starts a job in the background with SIGINT ignored, and the programs that tests start and
# interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move a test that counts what the others of its file did behind them, in any order.

    And mark those that need a session of Spark.

    Raises:
        UsageError: The name of a test has an address in memory, another one in each process.
    """
    for item in items:
        if " at 0x" in item.name:
            raise pytest.UsageError(f"{item.nodeid}: give its parameters ids without addresses")
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
    last = [item for item in items if item.get_closest_marker("after_the_others")]
    for item in last:
        items.remove(item)
        of_file = [at for at, other in enumerate(items) if other.path == item.path]
        items.insert(of_file[-1] + 1 if of_file else len(items), item)


def pytest_collection_finish() -> None:
    """Leave what is there now, 18,000 tests, out of every search for cycles: tests make many."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def few_objects() -> None:
    """Leave what is there out of the searches for cycles that the tests of a file ask for."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _no_tracing_afterwards() -> Iterator[None]:
    """Tests and pages of one file may set a tracer provider, which is one of the process."""
    yield
    trace: Any = sys.modules.get("opentelemetry.trace")
    if trace is not None:
        trace._TRACER_PROVIDER = None
        trace._TRACER_PROVIDER_SET_ONCE._done = False


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> ModuleType:
    """The module under test: the flat names both engines share."""
    return ENGINES[request.param]


@pytest.fixture
def engine_in_use(engine: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module under test, which is also the engine of every public name of ``subtrie``."""
    use_engine(engine, monkeypatch)
    return engine


@pytest.fixture
def trie(engine: ModuleType) -> SubjectTrie:
    """An empty index of the strict dialect."""
    index: SubjectTrie = engine.SubjectTrie()
    return index
