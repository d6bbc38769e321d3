"""Shutdown and cancellation without harm to other connectors."""

from __future__ import annotations

import asyncio
import threading

import pytest

from subtrie.connector import AckTimeout, HTTPError, Request
from subtrie.connector._broker.shared import open_connections
from subtrie.connector._codec import write_request

HOST = "shop.example"
URL = f"https://{HOST}/"


def held(service):
    """Serve a request that begins, and is not answered: an event for each."""
    begun, never = asyncio.Event(), asyncio.Event()

    @service.endpoint("GET", "/")
    async def wait():
        begun.set()
        await never.wait()

    return begun, never


async def test_replicas_come_and_go_under_load_without_errors(make):
    """Requests delivered to a replica before its shutdown are acknowledged and answered."""

    def replica():
        made = make(HOST, round_trip=5.0)

        @made.endpoint("GET", "/{n}")
        async def echo(n: int):
            await asyncio.sleep(0)
            return n

        return made

    web, replicas = make("web.example", round_trip=5.0), [replica(), replica()]
    answered, stop = 0, False

    async def ask(start):
        nonlocal answered
        n = start
        while not stop:
            n += 8
            assert (await web.request("GET", f"{URL}{n}", timeout=20)).json() == n
            answered += 1
            await asyncio.sleep(0)

    async with web:
        for each in replicas:
            await each.startup()
        asking = [asyncio.create_task(ask(start)) for start in range(8)]
        for _ in range(6):
            before = answered
            while answered < before + 50 and not any(each.done() for each in asking):
                await asyncio.sleep(0.001)
            replicas.append(replica())
            await replicas[-1].startup()
            await replicas.pop(0).shutdown()
        stop = True
        await asyncio.gather(*asking)
        for each in replicas:
            await each.shutdown()


async def test_an_abandoned_flush_does_not_stop_the_connections_reader(make_nats):
    shop, web = make_nats(HOST), make_nats("web.example")
    shop.endpoint("GET", "/")(lambda: "here")
    async with shop, web:
        line = web._transport.nats
        assert line is shop._transport.nats
        for _ in range(5):
            await line.responds(0)
            proving = asyncio.create_task(line.responds(5))
            await asyncio.sleep(0)
            proving.cancel()
            starting = asyncio.create_task(make_nats("late.example").startup())
            await asyncio.sleep(0.001)
            starting.cancel()
            await asyncio.gather(proving, starting, return_exceptions=True)
        assert await line.responds(20)
        assert (await web.request("GET", URL)).body == b"here"
    assert open_connections() == 0


async def test_a_cancelled_shutdown_closes_everything(make):
    shop, web = make(HOST), make("web.example")
    begun, _ = held(shop)
    async with web:
        await shop.startup()
        asking = asyncio.create_task(web.request("GET", URL))
        await begun.wait()
        leaving = asyncio.create_task(shop.shutdown())
        await asyncio.sleep(0.01)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        with pytest.raises(HTTPError) as told:
            await asking
        assert told.value.status == 503
        assert not shop._server.runner.tasks
        assert not shop.running
        await shop.startup()
        await shop.shutdown()
    assert open_connections() == 0


async def test_a_shutdown_does_not_poll_for_what_the_connection_still_holds(make_nats, monkeypatch):
    shop = make_nats(HOST)
    release, handled, sleeps = threading.Event(), [], []
    shop.endpoint("GET", "/x")(lambda: handled.append("one"))
    async with shop:
        server, (endpoint,) = shop._server, shop.endpoints
        subject = f"{shop.plane}.safe.443.web_example.shop_example._.GET.x"
        request = Request("GET", f"{URL}x")
        request.headers["Microbus-From-Id"], request.headers["Microbus-Msg-Id"] = "id-1", "m1"
        payload = write_request(request)

        def receive():  # a request is read, and the connection's thread then held up
            server.receive_payload(endpoint, subject, payload)
            release.wait(20)

        shop._transport.nats.loop.call_soon_threadsafe(receive)
        while not server._arrived:
            await asyncio.sleep(0.001)
        sleep = asyncio.sleep
        monkeypatch.setattr(asyncio, "sleep", lambda s, *more: (sleeps.append(s), sleep(s))[1])
        finishing = asyncio.create_task(server.finish(20))
        await sleep(0.2)
        assert not finishing.done()
        assert len(sleeps) <= 1
        release.set()
        await finishing
        monkeypatch.undo()
        assert handled == ["one"]


async def test_a_replica_that_shuts_down_during_a_transfer(make_nats):
    """The fragments are pinned to it: the caller gets 503, and no handler a partial body."""
    leaving, staying = make_nats(HOST), make_nats(HOST)
    web = make_nats("web.example")
    heard = []
    leaving.endpoint("POST", "/")(lambda request: heard.append(len(request.body)))
    staying.endpoint("POST", "/other")(lambda: "here")
    async with web, staying:
        await leaving.startup()
        publish, held = web._transport.publish, []

        def hold_back(subject, message, failed):
            if held or message.headers.get("Microbus-Fragment") == "2/3":
                held.append((subject, message, failed))
            else:
                publish(subject, message, failed)

        web._transport.publish = hold_back
        asking = asyncio.create_task(web.request("POST", URL, body=bytes(300_000), timeout=900))
        while not len(leaving._server.transfers):
            await asyncio.sleep(0.001)
        await leaving.shutdown()
        for each in held:
            publish(*each)
        web._transport.publish = publish
        with pytest.raises(HTTPError) as told:
            await asking
        assert told.value.status == 503
        assert heard == []
        with pytest.raises(AckTimeout):
            await web.request("POST", URL)
        assert (await web.request("POST", f"{URL}other")).body == b"here"


async def test_the_first_error_of_the_hooks_is_raised_after_all_of_them(make_memory):
    shop, ran = make_memory(HOST), []
    for number, error in enumerate((None, LookupError, ValueError, None)):

        @shop.on_shutdown
        def hook(number=number, error=error):
            ran.append(number)
            if error is not None:
                raise error

    await shop.startup()
    with pytest.raises(LookupError):
        await shop.shutdown()
    assert ran == [0, 1, 2, 3]


async def test_a_caller_that_shuts_down_waits_for_no_handler_of_another_service(make):
    shop, web = make(HOST), make("web.example")
    begun, never = held(shop)
    async with shop:
        await web.startup()
        asking = asyncio.create_task(web.request("GET", URL))
        await begun.wait()
        await web.shutdown()
        with pytest.raises(HTTPError, match="the connector is shutting down") as told:
            await asking
        assert told.value.status == 503
        never.set()
