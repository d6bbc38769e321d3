"""Parts of a service besides endpoints: tickers, background tasks, a log, a start and an end."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from functools import partial

import pytest

from patience import PATIENCE
from subtrie import BusError
from subtrie.connector import Connector, HTTPError, JSONFormatter, RequestTimeout
from subtrie.connector._tickers import Ticker

HOST = "shop.example"
MODULE_LEVEL = Connector("module.example", nats="nats://nowhere.invalid:1", plane="elsewhere")
MODULE_LEVEL.endpoint("GET", "/x")(lambda: "x")


async def test_a_ticker_runs_while_the_service_does(make_memory):
    shop, runs = make_memory(HOST), []

    @shop.every(0.02)
    async def tick():
        runs.append(len(runs))
        if len(runs) == 2:
            raise RuntimeError("once")

    assert runs == []
    async with shop:
        await asyncio.sleep(0.3)
    count = len(runs)
    assert 4 <= count <= 16
    await asyncio.sleep(0.06)
    assert len(runs) == count


async def test_a_ticker_runs_again_when_its_service_starts_again(make_memory):
    shop, ran = make_memory(HOST), asyncio.Event()
    shop.every(0.01)(partial(ran.set))  # a function without a name
    for _ in range(2):
        async with shop:
            await asyncio.wait_for(ran.wait(), PATIENCE)
        ran.clear()


async def test_runs_of_a_ticker_do_not_overlap_and_finish(make_memory):
    shop, events = make_memory(HOST), []

    @shop.every(0.01, at_once=True)
    async def slow():
        events.append("begin")
        await asyncio.sleep(0.08)
        events.append("end")

    async with shop:
        await asyncio.sleep(0.2)
    assert events[:4] == ["begin", "end", "begin", "end"]
    assert events.count("begin") == events.count("end")


async def test_runs_that_were_missed_are_not_made_up_for(make_memory, monkeypatch):
    """A run of ten intervals is followed by one at once, then by one an interval."""
    loop, sleep = asyncio.get_running_loop(), asyncio.sleep
    now, waits, runs = [loop.time()], [], []

    async def slept(seconds):
        waits.append(round(seconds, 6))
        now[0] += seconds
        await sleep(0)

    def work():
        runs.append(now[0])
        now[0] += 10.0 if len(runs) == 1 else 0.0
        if len(runs) == 4:
            done.set()

    done = asyncio.Event()
    shop = make_memory(HOST)
    ticker = Ticker(work, 1.0, at_once=False)
    monkeypatch.setattr(loop, "time", lambda: now[0])
    monkeypatch.setattr("subtrie.connector._tickers.asyncio.sleep", slept)
    ticker.start(shop._runtime)
    await done.wait()
    await ticker.stop(1.0)
    assert waits[:4] == [1.0, 0.0, 1.0, 1.0]


async def test_a_ticker_has_no_context_of_who_started_the_service(make_memory):
    caller = contextvars.ContextVar("caller", default="none")
    seen = asyncio.get_running_loop().create_future()
    shop = make_memory(HOST)

    @shop.every(60, at_once=True)
    def tick():
        seen.set_result(caller.get())

    caller.set("a request")
    async with shop:
        assert await seen == "none"


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_an_interval_is_above_zero(make_memory, seconds):
    with pytest.raises(ValueError, match="above 0"):
        make_memory(HOST).every(seconds)(print)


async def test_shutdown_awaits_background_tasks(make):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")
    done, late = [], []
    stock.endpoint("GET", "/level")(lambda: 7)

    async def work():
        await asyncio.sleep(0.15)
        done.append((await shop.request("GET", "https://stock.example/level")).json())

    async def endless():
        try:
            await asyncio.sleep(60)
        finally:
            late.append("cancelled")

    @shop.endpoint("GET", "/start", timeout=0.4)
    async def start():
        shop.background(work())

    async with stock, web:
        async with shop:
            await web.request("GET", f"https://{HOST}/start", timeout=0.5)
            assert done == []
        assert done == [7]
        async with shop:
            shop.background(endless())
            await asyncio.sleep(0.01)
            await shop.shutdown(timeout=0.1)
        assert late == ["cancelled"]


async def test_an_exception_of_a_background_task_is_logged(make_memory, caplog):
    async def wrong():
        raise KeyError("missing")

    async with make_memory(HOST) as shop:
        shop.background(wrong())
    (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
    assert record.getMessage() == f"{HOST}: a background task failed"
    assert isinstance(record.exc_info[1], KeyError)


async def test_the_log_of_a_service_says_whose_and_of_which_trace_it_is(make, caplog):
    caplog.set_level(logging.INFO)
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/x")
    async def x():
        shop.log.info("%d pieces", 7, extra={"pieces": 7})

    async with shop, web:
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        headers = {"Traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
        await web.request("GET", f"https://{HOST}/x", headers=headers)
        shop.log.info("outside")
    inside, outside = [r for r in caplog.records if r.name == "subtrie.service"]
    assert inside.getMessage() == f"{HOST}: 7 pieces"
    assert (inside.service, inside.id, inside.plane) == (HOST, shop.id, shop.plane)
    assert (inside.trace, inside.pieces) == (trace, 7)
    assert not hasattr(outside, "trace")


def test_a_record_is_one_line_of_json():
    line = JSONFormatter().format
    record = logging.makeLogRecord(
        {"name": "subtrie.service", "levelname": "INFO", "msg": "%d\né", "args": (7,)}
    )
    record.created, record.msecs = 1_700_000_000.25, 250.0
    record.service, record.odd, record.message = HOST, {1}, "not the message"
    assert json.loads(line(record)) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "INFO",
        "logger": "subtrie.service",
        "message": "7\né",
        "service": HOST,
        "odd": "{1}",
    }
    assert "\n" not in line(record)
    try:
        raise KeyError("missing")
    except KeyError as error:
        record.exc_info = (type(error), error, error.__traceback__)
    assert json.loads(line(record))["exception"].endswith("KeyError: 'missing'")


async def test_one_line_at_the_start_and_one_at_the_end(make, caplog, broker):
    caplog.set_level(logging.INFO, "subtrie.connector")
    shop = make(HOST)
    shop.endpoint("GET", "/x")(lambda: None)
    async with shop:
        pass
    lines = [r.getMessage() for r in caplog.records if r.levelno == logging.INFO]
    way = broker.url if shop._transport.broker else "no broker: only this process is reached"
    assert lines[0].startswith(f"{HOST}: up as {shop.id}, on plane {shop.plane}, {way}")
    assert lines[0].endswith("1 endpoint")
    assert lines[-1] == f"{HOST}: down"


async def test_services_of_a_module_move_to_the_plane_of_the_test(bus, connector, plane, broker):
    web = connector("web.example")
    for url in ("", broker.url):
        async with bus(MODULE_LEVEL, web, nats=url):
            assert MODULE_LEVEL.plane == plane
            assert (await web.request("GET", "https://module.example/x")).body == b"x"
            with pytest.raises(BusError) as caught, MODULE_LEVEL.moved("other"):
                pass
            assert caught.value.reason == "running"
        assert (MODULE_LEVEL.plane, MODULE_LEVEL.running) == ("elsewhere", False)
        assert MODULE_LEVEL._transport.broker == "nats://nowhere.invalid:1"


async def test_a_timeout_can_be_caught_as_a_timeout_error(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/slow")
    async def slow():
        await asyncio.sleep(5)

    async with shop, web:
        with pytest.raises(TimeoutError) as caught:
            await web.request("GET", f"https://{HOST}/slow", timeout=0.5)
        assert isinstance(caught.value, RequestTimeout | HTTPError)
