"""``subtrie health``: the exit code of a probe, and that the probe never answers itself."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import pytest
from click.testing import CliRunner

from subtrie._cli.app import app
from subtrie._cli.health import _LIMIT

HOST = "orders.example"


@pytest.fixture(autouse=True)
def level():
    """The command leaves the log of its process as it was."""
    log = logging.getLogger("subtrie")
    before = log.level
    yield
    assert log.level == before


async def probe(url: str, plane: str, *arguments: str):
    """Run the command beside the services of the test."""
    given = ["health", *arguments, "--nats", url, "--plane", plane]
    return await asyncio.to_thread(CliRunner().invoke, app, given)


async def test_a_service_that_is_up(make_nats, broker, plane):
    async with make_nats(HOST, id="id-orders1"):
        # More than in a container: the tests share the machine.
        done = await probe(broker.url, plane, HOST, "--timeout", "10")
        assert (done.exit_code, done.stdout[:30]) == (0, "orders.example: up, id-orders1")
        at = ("--id", "id-orders1", "--timeout", "10", "--json")
        told = json.loads((await probe(broker.url, plane, HOST, *at)).stdout)
        assert (told["host"], told["up"], told["id"]) == (HOST, True, "id-orders1")


async def test_a_probe_does_not_answer_for_the_service_that_is_down(broker, plane):
    """L14: a connector of the same host has a control plane, and would answer itself."""
    done = await probe(broker.url, plane, HOST)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"{HOST}: no such service answers on the plane {plane}\n"
    called = ["call", "--host", HOST, "--nats", broker.url, "--plane", plane]
    url = f"https://{HOST}:888/ping"
    assert (await asyncio.to_thread(CliRunner().invoke, app, [*called, "GET", url])).exit_code == 1


async def test_another_instance_does_not_answer(make_nats, broker, plane):
    async with make_nats(HOST, id="id-orders1"):
        done = await probe(broker.url, plane, HOST, "--id", "id-orders2", "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["up"], told["id"]) == (1, False, None)
    assert told["error"] == f"no such service answers on the plane {plane}"


async def test_a_service_whose_event_loop_is_blocked_is_not_up(make_nats, broker, plane):
    """It acknowledges, as it does so in another thread."""
    service, blocked, free = make_nats(HOST), threading.Event(), threading.Event()

    async def serve():
        async with service:
            blocked.set()
            free.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        await asyncio.to_thread(blocked.wait)
        done = await probe(broker.url, plane, HOST)
    finally:
        free.set()
        await asyncio.to_thread(thread.join)
    assert (done.exit_code, done.stderr) == (1, f"{HOST}: no answer within {_LIMIT:g} s\n")


async def test_no_broker_is_an_answer_in_time(plane):
    """L14: ``subtrie call --timeout 1`` took 119 s."""
    done = await probe("nats://127.0.0.1:9", plane, HOST)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"{HOST}: no connection to nats://127.0.0.1:9")
    assert _LIMIT <= 0.6  # with the start of the interpreter at most a second


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["orders example"], "host 'orders example' is not valid"), ([HOST, "--id", "x y"], "x y")],
    ids=["host", "id"],
)
async def test_bad_input_has_an_exit_code_of_its_own(broker, plane, arguments, said):
    done = await probe(broker.url, plane, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr
