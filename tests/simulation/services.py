"""The services of a world, its callers, and what each outcome of a request may be."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING, Any

from subtrie.connector import AckTimeout, Connector, HTTPError, Request, RequestTimeout
from subtrie.connector._errors import PublishRefused
from subtrie.connector._fragments import MAX_SILENCE

if TYPE_CHECKING:
    from .world import World

SHOP, INNER, DENIED = "shop.example", "inner.example", "denied.example"
LARGE = 150_000  # bytes: more than one message
_SLOW = 3.0  # seconds
_PATIENCE = 0.4  # seconds of virtual time, after which a caller gives up a late request
_ENOUGH = 20.0  # seconds: the time budget of a request that must succeed


def body_of(caller: str, number: int, kind: str) -> bytes:
    """Return the body of a request, which no other request has."""
    start = f"{caller} {number} ".encode()
    return start if kind != "large" else (start * (LARGE // len(start) + 1))[:LARGE]


def add_endpoints(world: World, service: Connector, deadline: float) -> None:
    """Let a service take every kind of request.

    Args:
        world: The world, which checks each request.
        service: The service.
        deadline: The longest time that it takes for a request which several services get.
    """

    def answer(caller: str, number: int, body: bytes) -> dict[str, Any]:
        world.enter("handled", number)
        return {"n": number, "to": caller, "crc": zlib.crc32(body), "size": len(body)}

    @service.endpoint("POST", "/async/{caller}/{n}")
    async def handle(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        await asyncio.sleep(world.takes())
        return answer(caller, n, request.body)

    @service.endpoint("POST", "/plain/{caller}/{n}")
    def handle_plain(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        world.scheduler.block(world.scheduler.now + world.takes(), "works")
        return answer(caller, n, request.body)

    @service.endpoint("POST", "/large/{caller}/{n}")
    async def handle_large(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        world.whole(request, caller, n)
        return {**answer(caller, n, request.body), "more": "x" * LARGE}

    @service.endpoint("POST", "/nested/{caller}/{n}")
    async def handle_nested(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        url = f"https://{INNER}/inner/{service.host}/{n}"
        inner = await service.request("POST", url, body=request.body)
        if inner.json()["n"] != n:
            world.violated(f"the nested request {n} has the answer of {inner.json()['n']}")
        return answer(caller, n, request.body)

    @service.endpoint("POST", "/multicast/{caller}/{n}", queue=None)
    async def handle_multicast(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        return answer(caller, n, request.body)

    @service.endpoint("POST", "/slow/{caller}/{n}")
    async def handle_slow(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        async with world.within(service, request, "slow"):
            await asyncio.sleep(_SLOW)
        return answer(caller, n, request.body)

    @service.endpoint("POST", "/two/{caller}/{n}", queue=None, timeout=deadline)
    async def handle_two(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        async with world.within(service, request, "two"):
            await asyncio.sleep(_SLOW)
        return answer(caller, n, request.body)

    @service.endpoint("POST", "/late/{caller}/{n}")
    async def handle_late(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        async with world.within(service, request, "late"):
            await asyncio.sleep(world.random.choice((0.5, _SLOW)))
        return answer(caller, n, request.body)


def add_inner(world: World, service: Connector) -> None:
    """Let a service take nested requests."""

    @service.endpoint("POST", "/inner/{caller}/{n}")
    async def handle(caller: str, n: int, request: Request) -> dict[str, Any]:
        world.begun(service, request, caller, n)
        return {"n": n}


async def ask(world: World, caller: Connector, number: int, kind: str, *, must: bool) -> None:
    """Send a request and judge its outcome.

    Args:
        world: The world.
        caller: Who sends it.
        number: Its number, which no other request of the world has.
        kind: What it is.
        must: Whether it must succeed.
    """
    world.enter("begun", number)
    body = body_of(caller.host, number, kind)
    host = DENIED if kind == "denied" else SHOP
    url = f"https://{host}/{kind}/{caller.host}/{number}"
    drawn = _ENOUGH if must else world.random.uniform(0.5, 5)
    timeout = {"slow": 0.8, "late": 0.8, "two": 2.0}.get(kind, drawn)
    outcome = "response"
    began = world.scheduler.now
    try:
        if kind == "multicast":
            sources = []
            async for each in caller.publish("POST", url, body=body, timeout=timeout):
                if each.error is None:
                    _judge(world, caller, each, number, body)
                    sources.append(each.id)
            if len(set(sources)) != len(sources):
                world.violated(f"an instance responded twice to {number}: {sources}")
            if must and len(sources) != world.plan.replicas:
                outcome = f"{len(sources)} of {world.plan.replicas} responses"
        elif kind == "late":
            async with asyncio.timeout(_PATIENCE):
                response = await caller.request("POST", url, body=body, timeout=timeout)
            _judge(world, caller, response, number, body)
        else:
            response = await caller.request("POST", url, body=body, timeout=timeout)
            _judge(world, caller, response, number, body)
    except PublishRefused:
        outcome = "refused"
    except AckTimeout:
        outcome = "not acknowledged"
    except (RequestTimeout, TimeoutError):
        outcome = "timeout"
    except HTTPError as error:
        outcome = f"status {error.status}: {error.message}"
    world.outcome(number, kind, outcome)
    lasted = world.scheduler.now - began
    if lasted > timeout + 0.5 + world.faults.paused():
        world.violated(f"request {number} ({kind}) ended after {lasted:.2f} s, not {timeout:.2f} s")
    wanted = {"denied": ("refused",), "slow": ("timeout",), "two": ("timeout",)}
    if kind == "late":
        wanted["late"] = ("timeout", "response")
    if world.faults.paused(since=began) > MAX_SILENCE * caller._runtime.round_trip:
        wanted["large"] = ("response", "timeout")  # its fragments came too late
    if outcome not in wanted.get(kind, ("response",)) and must:
        world.violated(f"request {number} ({kind}) must succeed: {outcome}")
    if outcome.startswith("status 4") and outcome[7:10] not in ("404", "408"):
        world.violated(f"request {number} ({kind}) is at fault: {outcome}")


def _judge(world: World, caller: Connector, response: Any, number: int, body: bytes) -> None:
    """Compare a response with its request."""
    said = response.json()
    wanted = {"n": number, "to": caller.host, "crc": zlib.crc32(body), "size": len(body)}
    if {name: said.get(name) for name in wanted} != wanted:
        world.violated(f"request {number} of {caller.host} has the response {said!r:.200}")
    if response.source != SHOP:
        world.violated(f"the response to {number} has the source {response.source}")
