"""Coroutine tests, real servers, and connectors on either transport."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE
from subtrie.connector import Connector
from subtrie.testing import bus, connector, plane  # noqa: F401 - fixtures

from .ingress_client import caller_and_service
from .nats_server import NatsServer

LIMIT = 2 * PATIENCE  # for one test


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test on a loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in wanted}

    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await pyfuncitem.obj(**arguments)

    asyncio.run(limited())
    return True


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep variables and files of the machine out of the tests."""
    for name in ("NATS", "PLANE", "LOCALITY", "DEPLOYMENT", "SHORT_CIRCUIT"):
        monkeypatch.delenv(f"MICROBUS_{name}", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """Run one server for all tests; each test has its own plane."""
    server = NatsServer(tmp_path_factory.mktemp("nats"), max_payload=196_608).start()
    yield server
    server.stop()


Make = Callable[..., Connector]


@pytest.fixture(params=["memory", "nats"])
def make(request: pytest.FixtureRequest) -> Make:
    """Return a maker of connectors that reach each other in process only, or over NATS only."""
    return _maker(request, request.param)


@pytest.fixture
def make_nats(request: pytest.FixtureRequest) -> Make:
    """Return a function that makes connectors that reach each other over NATS only."""
    return _maker(request, "nats")


@pytest.fixture
def make_memory(request: pytest.FixtureRequest) -> Make:
    """Return a function that makes connectors that reach each other in process only."""
    return _maker(request, "memory")


@pytest.fixture
def fronted(make: Make) -> tuple[Connector, Connector]:
    """The caller of an ingress, and a service that says what it got."""
    return caller_and_service(make)


@pytest.fixture
def fronted_near(make_memory: Make) -> tuple[Connector, Connector]:
    """The same in process."""
    return caller_and_service(make_memory)


@pytest.fixture
def pair(make_memory: Make) -> tuple[Connector, Connector]:
    """A service and its client, which reach each other in process only."""
    return make_memory("shop.example"), make_memory("web.example")


def _maker(request: pytest.FixtureRequest, way: str) -> Make:
    options: dict[str, Any] = {"plane": request.getfixturevalue("plane"), "deployment": "TESTING"}
    if way == "nats":
        options |= {"nats": request.getfixturevalue("broker").url, "short_circuit": False}
        options["round_trip"] = 0.3  # longer than measured, for busy machines
    else:
        options |= {"nats": "", "short_circuit": True}
    return lambda host, **more: Connector(host, **{**options, **more})
