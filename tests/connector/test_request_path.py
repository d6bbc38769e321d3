"""The path of a request: few files in process; acknowledgements do not wait for handlers."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from pathlib import Path
from typing import Any

import nats
import pytest

import subtrie
from patience import PATIENCE, settled
from subtrie import Subject, engine
from subtrie._core import control_headers
from subtrie.connector import AckTimeout, Request
from subtrie.connector._broker.acknowledging import AckTimes
from subtrie.connector._codec import read_response, write_request
from subtrie.testing import actor_token

HOST = "shop.example"
PACKAGE = Path(subtrie.__file__).parent


@pytest.mark.skipif(engine().name != "native", reason="counts the files of the native engine")
async def test_a_request_in_process_crosses_at_most_twelve_files(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("POST", "/order/{id}")
    async def place(id: int, order: dict[str, Any]) -> dict[str, Any]:
        return {"id": id, "item": order["item"]}

    async with shop, web:
        requests: list[set[str]] = []

        def follow(frame: Any, event: str, _: object) -> None:
            file = Path(frame.f_code.co_filename)
            if event == "call" and file.is_relative_to(PACKAGE):
                requests[-1].add(file.relative_to(PACKAGE).as_posix())

        for _ in range(10):  # announcements go on beside the first ones
            requests.append(set())
            sys.setprofile(follow)
            try:
                url = f"https://{HOST}/order/7"
                answer = (await web.request("POST", url, json={"order": {"item": "tea"}})).json()
            finally:
                sys.setprofile(None)
            assert answer == {"id": 7, "item": "tea"}
            assert "connector/_client.py" in requests[-1]
    crossed = min(requests, key=len)
    assert len(crossed) <= 12, " ".join(sorted(crossed))


async def test_a_request_in_process_takes_one_turn_of_the_loop(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("GET", "/n")
    async def number() -> int:
        return 7

    async with shop, web:
        await asyncio.sleep(0.0)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await asyncio.sleep(0)
        for _ in range(20):
            before = turns
            assert (await web.request("GET", f"https://{HOST}/n")).json() == 7
            assert turns - before <= 1, "the handler and then its caller run in the next turn"
        counting.cancel()


async def test_answers_without_waiting_leave_other_tasks_their_turn(make_memory):
    """Without a subscriber and a broker the caller does not wait; a loop of such calls must."""
    web, turns = make_memory("web.example"), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def calls_until_another_turn() -> int:
        before, calls = turns, 0
        while turns == before:
            calls += 1
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://missing.example/")
        return calls

    async with web:
        counting = asyncio.create_task(count())
        await calls_until_another_turn()
        assert await calls_until_another_turn() == 64
        assert await calls_until_another_turn() == 64
        counting.cancel()


def test_the_limit_follows_the_slowest_of_the_last_acknowledgements():
    times = AckTimes()
    assert times.limit(0.1) == 0.1
    for _ in range(128):
        times.note(0.01)
    assert times.limit(0.1) == 0.1, "Go's limit is the least"
    for _ in range(16):
        times.note(0.2)
    assert times.limit(0.1) == pytest.approx(0.6)
    for _ in range(16):
        times.note(5.0)
    assert times.limit(0.1) == 1.0, "never over a second"
    for _ in range(128):
        times.note(0.001)
    assert times.limit(0.1) == 0.1, "only the last 128 count"


def test_the_limit_is_gos_again_a_while_after_the_last_slow_acknowledgement():
    """Every 404 and every end of a multicast waits for it, also if nothing was sent since."""
    now = [100.0]
    times = AckTimes(clock=lambda: now[0])
    for _ in range(128):
        times.note(0.2)
    assert times.limit(0.1) == pytest.approx(0.6)
    for _ in range(10):  # a little traffic, which is quick again
        now[0] += 0.25
        times.note(0.001)
    assert times.limit(0.1) == pytest.approx(0.6)
    now[0] += 0.6
    assert times.limit(0.1) == 0.1


def test_the_limit_is_three_times_the_second_slowest_of_the_last():
    """By a model: it is looked at every 16, counts for three seconds, and is at most a second."""
    now, draw = [100.0], random.Random(3)
    times = AckTimes(clock=lambda: now[0])
    noted, slow, slow_at = [0.0] * 128, 0.0, 0.0
    for number in range(1, 1500):
        quick = draw.choice([0.001, 0.0333]), draw.choice([0.0334, 0.04, 0.1, 0.4])
        seconds = draw.choice(quick) if number % 500 > 250 else quick[0]
        times.note(seconds)
        noted = [*noted[1:], seconds]
        slow_at = now[0] if seconds > 0.1 / 3 else slow_at
        if number % 16 == 0:
            slow = 3 * sorted(noted)[-2]
        now[0] += draw.choice([0.0, 0.25, 0.5])
        expected = min(slow, 1.0) if slow > 0.1 and now[0] - slow_at <= 3.0 else 0.1
        assert times.limit(0.1) == pytest.approx(expected)


async def test_a_blocked_loop_does_not_delay_the_acknowledgement_of_another_route(
    make_nats, broker, plane
):
    shop = make_nats(HOST)
    blocking, released = threading.Event(), threading.Event()

    @shop.endpoint("GET", "/block")
    async def block() -> None:
        blocking.set()
        released.wait(20)

    shop.endpoint("GET", "/quick")(lambda: "here")
    acknowledged: list[int] = []

    async def call() -> None:
        """Act as a caller in a thread of its own, whose loop is not the blocked one."""
        client = await nats.connect(broker.url)
        arrived: asyncio.Queue[str] = asyncio.Queue()

        async def hear(message: Any) -> None:
            response = read_response(message.data)
            arrived.put_nowait(response.headers[control_headers.MSG_ID])

        await client.subscribe(f"{plane}.reply._.*.web_example.id-1", cb=hear)
        await _send(client, plane, "block", "AAAAAAAA")
        await asyncio.to_thread(blocking.wait, 20)
        for number in range(5):
            await _send(client, plane, "quick", f"{number:08}")
            while await asyncio.wait_for(arrived.get(), PATIENCE) != f"{number:08}":
                pass
            acknowledged.append(number)
        assert not released.is_set()
        released.set()
        await client.close()

    async with shop:
        await asyncio.to_thread(asyncio.run, call())
    assert acknowledged == [*range(5)], "all while the loop was blocked"


async def _send(client: Any, plane: str, path: str, message_id: str) -> None:
    request = Request("GET", f"https://{HOST}:443/{path}")
    for name, value in (
        (control_headers.OP_CODE, "Req"),
        (control_headers.MSG_ID, message_id),
        (control_headers.FROM_ID, "id-1"),
    ):
        request.headers[name] = value
    subject = Subject(f"{plane}.safe.443.web_example.shop_example._.GET.{path}")
    await client.publish(subject, write_request(request))
    await settled(client)


async def test_handlers_start_after_all_that_arrived_together_is_acknowledged(
    make_nats, broker, plane
):
    shop = make_nats(HOST)
    order: list[str] = []

    @shop.endpoint("GET", "/{name}")
    async def handle(name: str) -> None:
        order.append("handled")

    shop.watch(lambda direction, subject, payload: order.append(payload[9:12].decode()))
    async with shop:
        client = await nats.connect(broker.url)
        await asyncio.sleep(0.5)  # announcements are over
        order.clear()
        for number in range(20):
            request = Request("GET", f"https://{HOST}:443/x")
            request.headers[control_headers.OP_CODE] = "Req"
            request.headers[control_headers.MSG_ID] = f"{number:08}"
            request.headers[control_headers.FROM_ID] = "id-1"
            await client.publish(
                f"{plane}.safe.443.web_example.shop_example._.GET.x", write_request(request)
            )
        await settled(client)
        while order.count("handled") < 20:
            await asyncio.sleep(0.01)
        await client.close()
    assert order.count("202") == 20
    for place, step in enumerate(order):
        if step == "handled":
            acks = order[:place].count("202")
            assert acks > order[:place].count("handled"), "none runs before its acknowledgement"


FORWARDED = [
    "Accept-Language", "Traceparent", "Tracestate", "X-Forwarded-For", "X-Forwarded-Anything",
    "Microbus-Baggage-Tenant", "Microbus-Actor",
]  # fmt: skip


@pytest.mark.parametrize("given_again", [False, True])
@pytest.mark.parametrize("read_first", [False, True])
async def test_which_headers_a_nested_call_takes_along(make, read_first, given_again):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")
    token = actor_token({"sub": "ann"})
    given = dict.fromkeys(FORWARDED, "x") | {"Microbus-Actor": token, "X-Other": "x", "Accept": "x"}

    @shop.endpoint("GET", "/outer")
    async def outer(request: Request) -> dict[str, str]:
        if read_first:
            assert request.headers["X-Other"] == "x"
        own = {"Accept-Language": "own"} if given_again else None
        return (await shop.request("GET", "https://stock.example/inner", headers=own)).json()

    @stock.endpoint("GET", "/inner")
    async def inner(request: Request) -> dict[str, str]:
        return {name: request.headers[name] for name in given if name in request.headers}

    async with shop, stock, web:
        told = (await web.request("GET", f"https://{HOST}/outer", headers=given)).json()
    expected = {name: given[name] for name in FORWARDED}
    assert told == expected | ({"Accept-Language": "own"} if given_again else {})
