"""A request between two connectors in process, and what it is measured against.

The same request, path argument and JSON body, through nats-server with nats-py; the handler called
directly; a dispatcher's dispatch against the index's select; ten thousand endpoints at once.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from examples.shop.broker import running
from subtrie import Dispatcher, SubjectTrie
from subtrie.connector import Connector

ROUNDS = 2000


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def _measured(
    benchmark: Any, loop: asyncio.AbstractEventLoop, ask: Callable[[int], Awaitable[Any]]
) -> None:
    """Times single calls inside one run of the loop; the benchmark shows their median."""

    async def many() -> float:
        spent = []
        for n in range(ROUNDS):
            begun = time.perf_counter()
            await ask(n % 50)
            spent.append(time.perf_counter() - begun)
        return sorted(spent)[ROUNDS // 2]

    medians: list[float] = []
    benchmark.pedantic(
        lambda: medians.append(loop.run_until_complete(many())), rounds=3, warmup_rounds=1
    )
    print(f"\n{benchmark.name}: {min(medians) * 1e6:.1f} µs a request at the median")


def _shop(endpoints: int = 0) -> tuple[Connector, Connector]:
    shop, web = Connector("shop.example", nats=""), Connector("web.example", nats="")

    @shop.endpoint("POST", "/order/{id}")
    async def place(id: int, body: dict):  # type: ignore[no-untyped-def, type-arg]
        return {"id": id, "item": body["item"]}

    for number in range(endpoints):
        shop.endpoint("GET", f"/other{number}/{{id}}")(place)
    return shop, web


@pytest.mark.parametrize("endpoints", [0, 10_000], ids=["one endpoint", "10,000 endpoints"])
def test_request_in_process(benchmark, loop, endpoints):
    shop, web = _shop(endpoints)
    loop.run_until_complete(shop.startup())
    loop.run_until_complete(web.startup())
    body = {"item": "tea"}
    _measured(
        benchmark, loop, lambda n: web.request("POST", f"https://shop.example/order/{n}", json=body)
    )
    loop.run_until_complete(web.shutdown())
    loop.run_until_complete(shop.shutdown())


def test_request_through_nats_py(benchmark, loop, tmp_path: Path):
    async def start(url: str) -> tuple[Any, Any]:
        here, there = await nats.connect(url), await nats.connect(url)

        async def place(message: Any) -> None:
            body = json.loads(message.data)
            answer = {"id": int(message.subject.split(".")[1]), "item": body["item"]}
            await message.respond(json.dumps(answer).encode())

        await there.subscribe("order.*", cb=place)
        await there.flush()
        await there.flush()
        return here, there

    async def ask(n: int) -> Any:
        answer = await here.request(f"order.{n}", json.dumps({"item": "tea"}).encode())
        return json.loads(answer.data)

    with running(tmp_path) as broker:
        here, there = loop.run_until_complete(start(broker.url))
        _measured(benchmark, loop, ask)
        loop.run_until_complete(here.close())
        loop.run_until_complete(there.close())


def test_handler_called_directly(benchmark, loop):
    async def place(id: int, body: dict[str, Any]) -> dict[str, Any]:
        return {"id": id, "item": body["item"]}

    _measured(benchmark, loop, lambda n: place(n, {"item": "tea"}))


def _subscriptions(add: Callable[..., Any], value: Any) -> None:
    for number in range(1000):
        add(f"p.safe.443.*.host{number}._.GET.order.*", value, queue=f"host{number}")


SUBJECT = "p.safe.443.web_example.host500._.GET.order.7"


def test_trie_select(benchmark):
    trie = SubjectTrie()
    _subscriptions(trie.add, print)
    assert len(benchmark(trie.select, SUBJECT)) == 1


def test_dispatch_of_a_plain_callable(benchmark):
    dispatcher, heard = Dispatcher(), []
    _subscriptions(dispatcher.subscribe, heard.append)
    assert benchmark(dispatcher.dispatch, SUBJECT, None) == 1
