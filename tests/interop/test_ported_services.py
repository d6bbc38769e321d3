"""Six example services of Go, ported by ``docs/howto/from-go.md``, answer as the ones of Go.

``go_services.jsonl`` has the answers of Go's own. ``SUBTRIE_INTEROP_GO_SERVICES`` names a program
that runs these: then they are asked again, and run beside the ports as replicas of one service.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from examples.from_go.services import all_services, event_sink, event_source, messaging
from subtrie.connector import AckTimeout, Connector, HTTPError

from .ported import CALLER, RECORDED, answers

GO = shlex.split(os.environ.get("SUBTRIE_INTEROP_GO_SERVICES", ""))
live = pytest.mark.skipif(not GO, reason="SUBTRIE_INTEROP_GO_SERVICES names no program")


def options(server, plane: str) -> dict[str, object]:
    return {"plane": plane, "nats": server.url, "short_circuit": False, "deployment": "LOCAL"}


def caller(server, plane: str) -> Connector:
    return Connector(CALLER, **options(server, plane), round_trip=0.3)


@asynccontextmanager
async def ports(server, plane: str, makers=None):
    """Run the ports, without a configurator."""
    more = {**options(server, plane), "configurator": "optional", "round_trip": 0.3}
    made = all_services(**more) if makers is None else [make(**more) for make in makers]
    async with AsyncExitStack() as stack:
        for each in made:
            await stack.enter_async_context(each)
        yield made


@asynccontextmanager
async def of_go(server, plane: str, ready: str, *names: str):
    """Run Go's services until the block ends; it begins when a URL answers."""
    env = {**os.environ, "MICROBUS_NATS": server.url, "MICROBUS_PLANE": plane}
    env |= {"MICROBUS_DEPLOYMENT": "LOCAL", "MICROBUS_SHORT_CIRCUIT": "0"}
    quiet = asyncio.subprocess.DEVNULL
    running = await asyncio.create_subprocess_exec(*GO, *names, env=env, stdout=quiet, stderr=quiet)
    try:
        async with caller(server, plane) as web:
            for _ in range(100):
                try:
                    await web.request("GET", ready)
                    break
                except AckTimeout:
                    await asyncio.sleep(0.1)
        yield
    finally:
        running.terminate()
        await asyncio.wait_for(running.wait(), 30)


def compared(found: list[dict], expected: list[dict]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == theirs


async def test_the_ports_answer_as_the_services_of_go_did(server):
    recorded = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    async with ports(server, "ported"), caller(server, "ported") as web:
        compared(await answers(web), recorded)


@live
async def test_the_services_of_go_answer_as_recorded(server):
    recorded = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    async with (
        of_go(server, "golive", "https://eventsink.example/registered"),
        caller(server, "golive") as web,
    ):
        compared(await answers(web), recorded)


@live
async def test_replicas_in_both_languages_share_the_distributed_cache(server):
    async with (
        of_go(server, "both", "https://messaging.example/default-queue", "messaging"),
        ports(server, "both", [messaging]) as (ours,),
        caller(server, "both") as web,
    ):
        every = "https://messaging.example/no-queue"
        ids: set[str] = set()
        for _ in range(100):  # one replica of Go may be ready before the other
            ids = {each.id async for each in web.publish("GET", every)}
            if len(ids) == 3:
                break
            await asyncio.sleep(0.1)
        assert len(ids) == 3
        assert ours.id in ids
        url = "https://messaging.example/cache-"
        for number, (stored_by, value) in enumerate((each, f"v{each}") for each in sorted(ids) * 2):
            params = {"key": "k", "value": f"{value}{number}"}
            await web.request("GET", f"{url}store", params=params, instance=stored_by)
            for loaded_by in ids:
                loaded = await web.request("GET", f"{url}load?key=k", instance=loaded_by)
                assert f"value: {value}{number}\n" in loaded.text, (stored_by, loaded_by, ours.id)
        assert [await _home_of(web, each) for each in ids] == [3, 3, 3]


async def _home_of(web: Connector, instance: str) -> int:
    """Return how many replicas the page of one of them lists."""
    page = await web.request("GET", "https://messaging.example/home", instance=instance)
    return page.text.count("> NoQueue") - 1  # one more, of the multicast to one instance


@live
@pytest.mark.parametrize("source_of_go", [True, False])
async def test_events_between_the_languages(server, source_of_go):
    plane, name = ("fromgo", "eventsource") if source_of_go else ("togo", "eventsink")
    ready = f"https://{name}.example/" + ("register" if source_of_go else "registered")
    async with (
        of_go(server, plane, ready, name),
        ports(server, plane, [event_sink if source_of_go else event_source]),
        caller(server, plane) as web,
    ):
        allowed = {}
        for email in ("ann@example.com", "a@gmail.com", "nobody"):
            url = "https://eventsource.example/register"
            answer = await web.request("POST", url, json={"email": email})
            allowed[email] = bool(answer.json().get("allowed"))
        assert allowed == {"ann@example.com": True, "a@gmail.com": False, "nobody": False}
        for _ in range(50):
            listed = (await web.request("GET", "https://eventsink.example/registered")).json()
            if listed["emails"]:
                break
            await asyncio.sleep(0.05)
        assert "ann@example.com" in listed["emails"]


async def test_an_error_of_a_port_reads_as_in_go(server):
    async with ports(server, "errors"), caller(server, "errors") as web:
        with pytest.raises(HTTPError) as raised:
            await web.request("GET", "https://calculator.example/arithmetic?x=1&op=^&y=2")
        assert (raised.value.status, raised.value.message) == (400, "invalid operator '^'")
