"""Requests over the bus in flight: what ends them in time, and how few objects they hold."""

from __future__ import annotations

import asyncio
import gc

import pytest

from subtrie.connector import AckTimeout, RequestTimeout
from subtrie.connector._envelope import PendingRequest

HOST, URL = "shop.example", "https://shop.example"


async def test_requests_that_are_overdue_end_beside_those_that_wait_longer(make_nats):
    shop, web = make_nats(HOST), make_nats("web.example")
    release = asyncio.Event()

    @shop.endpoint("GET", "/wait")
    async def wait() -> str:
        await release.wait()
        return "done"

    async with shop, web:
        long = [asyncio.create_task(web.request("GET", f"{URL}/wait")) for _ in range(50)]
        await asyncio.sleep(0)
        for _ in range(3):  # the timer is set anew for what comes while the others wait
            with pytest.raises(RequestTimeout):
                await web.request("GET", f"{URL}/wait", timeout=0.05)
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://missing.example/")
        several = await asyncio.gather(
            *(web.request("GET", f"{URL}/wait", timeout=0.1 + n / 100) for n in range(20)),
            *(web.request("GET", "https://missing.example/") for _ in range(20)),
            return_exceptions=True,
        )
        assert [type(each) for each in several] == [RequestTimeout] * 20 + [AckTimeout] * 20
        release.set()
        assert {each.text for each in await asyncio.gather(*long)} == {"done"}
        assert not web._client.responses.waiting
        assert web.metrics.ack_timeouts == 23


async def test_a_request_in_flight_holds_few_objects_for_the_garbage_collector(make_nats):
    """There were 23 for each, most of them for its two timers and its headers."""
    shop, web = make_nats(HOST), make_nats("web.example")
    release = asyncio.Event()

    @shop.endpoint("GET", "/wait")
    async def wait() -> str:
        await release.wait()
        return ""

    count = 200

    async with shop, web:
        tasks = [asyncio.create_task(web.request("GET", f"{URL}/wait")) for _ in range(count)]
        waiting = web._client.responses.waiting
        while sum(type(each) is PendingRequest for each in waiting.values()) < count:
            await asyncio.sleep(0)
        shared = {id(asyncio.get_running_loop()), id(web._runtime.timers), id(web.metrics)}
        for call in [each for each in waiting.values() if type(each) is PendingRequest]:
            held = [
                type(each).__name__
                for each in gc.get_referents(call)
                if gc.is_tracked(each) and id(each) not in shared and each is not PendingRequest
            ]
            assert held == ["Future"]
        envelopes = [each for each in gc.get_objects() if type(each).__name__ == "RequestEnvelope"]
        mine = [each for each in envelopes if each.sender is web._runtime]
        assert len(mine) == count
        assert all(each._headers is None for each in mine), "written, and not kept"
        release.set()
        await asyncio.gather(*tasks)
