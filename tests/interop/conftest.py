"""Coroutine tests, and one server for the live ones."""

import pytest

from tests.connector.conftest import pytest_pyfunc_call  # noqa: F401 - a hook
from tests.connector.nats_server import NatsServer


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = NatsServer(tmp_path_factory.mktemp("nats"), max_payload=262_144).start()
    yield server
    server.stop()
