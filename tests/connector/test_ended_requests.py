"""A request that has ended, in whatever way, leaves no timer, no task and no entry."""

from __future__ import annotations

import asyncio

import pytest

from subtrie.connector import AckTimeout, Connector, HTTPError, RequestTimeout

HOST, URL = "shop.example", "https://shop.example"
WEB = "web.example"
WAYS = ["answer", "error", "refused", "overloaded", "blocking", "cancelled", "timeout", "event"]


def _left(connector: Connector) -> dict[str, int]:
    responses, runner = connector._client.responses, connector._server.runner
    found = {
        "timers": len(connector._runtime.timers),
        "waiting": len(responses.waiting),
        "local": len(responses.local),
        "tasks": len(runner.tasks),
        "places": runner.places.taken,
    }
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("nearest", [False, True], ids=["any replica", "the nearest one"])
async def test_a_request_that_has_ended_leaves_nothing(make, way, nearest, monkeypatch):
    place = {"locality": "us-west-b-1"} if nearest else {}
    shop, web = make(HOST, **place), make(WEB, **place)
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @shop.endpoint("GET", "/answer")
    async def answer() -> str:
        return "done"

    @shop.endpoint("GET", "/error")
    async def error() -> str:
        raise HTTPError("failed", status=418)

    @shop.endpoint("GET", "/refused", requires="roles.admin")
    async def refused() -> str:
        return "done"

    @shop.endpoint("GET", "/blocking")
    def blocking() -> str:
        return "done"

    @shop.endpoint("GET", "/waits")
    async def waits() -> str:
        begun.set()
        await goes_on.wait()
        return "done"

    async with shop, web:
        if way in ("answer", "blocking"):
            assert (await web.request("GET", f"{URL}/{way}")).body == b"done"
        elif way == "error":
            with pytest.raises(HTTPError, match="failed"):
                await web.request("GET", f"{URL}/error")
        elif way == "refused":
            with pytest.raises(HTTPError) as told:
                await web.request("GET", f"{URL}/refused")
            assert told.value.status == 401
        elif way == "overloaded":
            monkeypatch.setattr(shop._server.runner.places, "most", 0)
            with pytest.raises(HTTPError, match="too many requests at work"):
                await web.request("GET", f"{URL}/answer")
        elif way == "event":
            assert [each.body async for each in web.publish("GET", f"{URL}/answer")] == [b"done"]
        elif way == "timeout":
            with pytest.raises((RequestTimeout, AckTimeout)):
                await web.request("GET", f"{URL}/waits", timeout=0.2)
        else:
            asking = asyncio.ensure_future(web.request("GET", f"{URL}/waits"))
            await begun.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        goes_on.set()
        for _ in range(100):  # the deadline of a request is 20 s: nothing waits for it
            if not _left(web) and not _left(shop):
                break
            await asyncio.sleep(0.01)
        assert (_left(web), _left(shop)) == ({}, {})
