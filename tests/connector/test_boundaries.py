"""Bounds and choices of the connector, each with an example at either side."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass

import nats
import pytest

from patience import until
from subtrie.connector import (
    AckTimeout,
    HTTPError,
    Request,
    RequestTimeout,
)
from subtrie.connector._codec import read_response, write_request
from subtrie.connector._limits import Backlog
from subtrie.connector._runner import Places
from subtrie.connector._threads import LARGE_BODY

HOST, URL = "shop.example", "https://shop.example"
BUDGET = "Microbus-Time-Budget"


async def _status(calling) -> int:
    try:
        return (await calling).status
    except HTTPError as error:
        return error.status


# --- places


def test_a_source_without_bytes_counts_when_the_bytes_are_shared():
    for size, admitted in ((5, True), (6, False)):
        places = Places(100, 10)
        places.take("a")
        places.add_bytes("a", 10)
        assert places.admits("b", size) is admitted, "a half of ten is for each of two sources"
        assert not places.admits("a", 1), "it holds more than its share"


def test_bytes_up_to_the_limit_need_no_share():
    places = Places(100, 10)
    places.take("a")
    places.add_bytes("a", 9)
    assert places.admits("a", 1)
    assert not places.admits("a", 2)


def test_bytes_of_a_request_before_a_restart_are_not_given_back():
    places = Places(2, 10)
    places.give("a")
    places.add_bytes("a", -1)
    assert (places.taken, places.taken_bytes) == (0, 0)


def test_a_backlog_counts_requests_and_bytes_up_to_the_limit():
    backlog = Backlog(2, 10)
    assert [backlog.add(size) for size in (4, 7, 6, 0)] == [True, False, True, False]
    backlog.remove(4)
    assert [backlog.add(5), backlog.add(4), backlog.add(0)] == [False, True, False]


@pytest.mark.parametrize("size", [4095, 4096])
async def test_bodies_from_4096_bytes_on_count_as_bytes_at_work(make_memory, size):
    shop, web, go = make_memory(HOST, max_body=5000), make_memory("web.example"), asyncio.Event()

    @shop.endpoint("POST", "/slow")
    async def slow(request: Request) -> None:
        await go.wait()

    async def send(count: int, size: int) -> list[asyncio.Future[int]]:
        calls = [web.request("POST", f"{URL}/slow", body=b"x" * size) for _ in range(count)]
        sent = [asyncio.ensure_future(_status(call)) for call in calls]
        await until(lambda: len(shop._server.runner.tasks) + sum(s.done() for s in sent) >= count)
        return sent

    async with shop, web:
        places = shop._server.runner.places
        assert places.most_bytes == 20_000
        sent = await send(5, size)
        assert places.taken_bytes == (4 * size if size == 4096 else 0)
        assert places.taken == (4 if size == 4096 else 5)
        go.set()
        assert await asyncio.gather(*sent) == [200] * 4 + [503 if size == 4096 else 200]
        assert (places.taken, places.taken_bytes) == (0, 0)


async def test_small_bodies_need_no_room_among_the_bytes(make_memory):
    shop, web, go = make_memory(HOST, max_body=5000), make_memory("web.example"), asyncio.Event()

    @shop.endpoint("POST", "/slow")
    async def slow(request: Request) -> None:
        await go.wait()

    async with shop, web:
        places = shop._server.runner.places
        sizes = (5000, 5000, 5000, 5000, 4096, 4095)
        calls = [web.request("POST", f"{URL}/slow", body=b"x" * size) for size in sizes]
        sent = [asyncio.ensure_future(_status(call)) for call in calls]
        await until(lambda: places.taken == 5 and sent[4].done())
        assert places.taken_bytes == 20_000
        go.set()
        assert await asyncio.gather(*sent) == [200, 200, 200, 200, 503, 200]


# --- time


@pytest.mark.parametrize(
    ("endpoint", "timeout", "budget"),
    [
        (None, None, "20s"), (None, 7, "7s"), (30, 7, "7s"), (7, 30, "7s"), (7, 7, "7s"),
        (25, None, "20s"), (None, 900, "15m0s"), (None, 901, "15m0s"), (901, 902, "15m0s"),
        (1, 901, "1s"),
    ],
)  # fmt: skip
async def test_the_budget_of_a_handler_is_the_shortest_of_all(make, endpoint, timeout, budget):
    shop, web = make(HOST), make("web.example")
    shop.endpoint("GET", "/", timeout=endpoint)(lambda request: request.headers[BUDGET])
    async with shop, web:
        answer = await web.request("GET", f"{URL}/", timeout=timeout)
    assert answer.body.decode() == budget


@pytest.mark.parametrize(("timeout", "most"), [(None, 7.0), (30, 7.0), (3, 3.0)])
async def test_a_call_within_a_handler_has_what_is_left_or_less(make, timeout, most):
    shop, web = make(HOST), make("web.example")
    seen = []

    @shop.endpoint("GET", "/first")
    async def first() -> None:
        await shop.request("GET", f"{URL}/second", timeout=timeout)

    @shop.endpoint("GET", "/second")
    async def second(request: Request) -> None:
        seen.append(request.budget)

    async with shop, web:
        await web.request("GET", f"{URL}/first", timeout=7)
    assert 0 < seen[0] <= most
    assert most != 3.0 or seen == [3.0]


@pytest.mark.parametrize("timeout", [0, -1, -0.5])
async def test_without_time_nothing_is_sent(make, timeout):
    shop, web, seen = make(HOST), make("web.example"), []
    shop.endpoint("GET", "/")(lambda request: seen.append(1))
    async with shop, web:
        before = dict(shop.metrics.deliveries)
        with pytest.raises(RequestTimeout):
            await web.request("GET", f"{URL}/", timeout=timeout)
        assert (seen, shop.metrics.deliveries) == ([], before)


async def test_a_finished_handler_leaves_no_deadline(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/{how}")
    async def handle(how: str) -> None:
        await asyncio.sleep(0)
        if how == "fails":
            raise HTTPError("no", status=409)

    async with shop, web:
        for how, status in (("answers", 200), ("fails", 409)):
            # Its deadline is later than this test waits.
            assert await _status(web.request("GET", f"{URL}/{how}", timeout=600)) == status
            # The response may arrive before the handler has ended.
            await until(lambda: len(shop._runtime.timers) == 0, "a deadline is left")


async def test_other_tasks_have_their_turn_without_a_pause(make_memory, monkeypatch):
    loop, asked = asyncio.get_running_loop(), []
    async with make_memory("web.example") as web:
        later = loop.call_later
        monkeypatch.setattr(
            loop,
            "call_later",
            lambda delay, *more, **a: asked.append(delay) or later(0, *more, **a),
        )
        for _ in range(64):
            with pytest.raises(AckTimeout):
                await web.request("GET", "https://missing.example/")
        assert asked == []
        monkeypatch.undo()


async def test_a_replica_that_went_is_followed_by_another_while_any_time_is_left(make):
    web = make("web.example", locality="us-west")
    near, far = make(HOST, locality="us-west"), make(HOST, locality="eu-central")
    for each in (near, far):
        each.endpoint("GET", "/")(lambda each=each: each.locality)
    async with web, far:
        async with near:
            while (await web.request("GET", f"{URL}/")).body != b"us-west":
                pass
        assert web.nearest.nearest(("GET", f"{URL}:443/")) == "us-west"
        assert (await web.request("GET", f"{URL}/", timeout=0.95)).body == b"eu-central"


@pytest.mark.parametrize(
    ("limit", "given", "wait"),
    [("20s", None, 19.0), ("10s", None, 9.0), ("5s", None, 4.5), ("5s", 3, 3), ("5s", 5, 4.5)],
)
async def test_the_wait_for_a_broker_ends_before_the_start(
    make_memory, monkeypatch, limit, given, wait
):
    shop, waits = make_memory(HOST, deployment="LOCAL"), []
    monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", limit)
    begin = shop._lifecycle._start

    async def start(wait: float) -> None:
        waits.append(wait)
        await begin(wait)

    monkeypatch.setattr(shop._lifecycle, "_start", start)
    await shop.startup(wait=given)
    await shop.shutdown()
    assert waits == [pytest.approx(wait)]


async def test_a_start_that_takes_too_long_says_so_and_another_timeout_is_its_own(
    make_memory, monkeypatch
):
    shop = make_memory(HOST)

    @shop.on_startup
    async def hook() -> None:
        if shop._runtime.loop is not None and times:
            raise TimeoutError("of the hook")
        await asyncio.Event().wait()

    times: list[int] = []
    monkeypatch.setenv("MICROBUS_STARTUP_TIME_BUDGET", "100ms")
    with pytest.raises(TimeoutError, match=r"the start takes more than 0\.1 s"):
        await shop.startup()
    times.append(1)
    with pytest.raises(TimeoutError, match="of the hook"):
        await shop.startup()


# --- start and end


async def test_a_ticker_runs_at_the_start_only_if_it_is_asked_to(make_memory):
    shop, ran = make_memory(HOST), []
    shop.every(3600)(lambda: ran.append("later"))
    shop.every(3600, at_once=True)(lambda: ran.append("at once"))
    async with shop:
        await until(lambda: ran)
        for _ in range(5):
            await asyncio.sleep(0)
    assert ran == ["at once"]


async def test_one_that_only_sends_runs_no_hook(make_memory):
    shop, ran = make_memory(HOST), []
    shop.on_startup(lambda: ran.append("up"))
    shop.on_shutdown(lambda: ran.append("down"))
    async with shop._lifecycle.sending(wait=0.0):
        assert shop._runtime.loop is not None
    assert (ran, shop._runtime.loop) == ([], None)


async def test_shutdown_waits_for_background_work_that_it_cancelled(make_memory):
    shop, told = make_memory(HOST), []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(50):
                await asyncio.sleep(0)
            told.append(shop._runtime.loop is not None)

    await shop.startup()
    shop.background(work())
    await asyncio.sleep(0)
    await shop.shutdown(timeout=0)
    assert told == [True], "it ends before the connector has left its loop"


async def test_shutdown_reads_what_the_broker_sent_before_it_ends(make_nats, monkeypatch):
    shop, steps = make_nats(HOST), []
    await shop.startup()

    def noted(what: str, call: Callable):
        async def step(*arguments):
            steps.append(what)
            return await call(*arguments)

        return step

    monkeypatch.setattr(shop._transport, "flush", noted("flush", shop._transport.flush))
    monkeypatch.setattr(shop._server, "finish", noted("finish", shop._server.finish))
    await shop.shutdown()
    assert steps == ["flush", "finish", "flush"]


# --- sizes


@pytest.mark.parametrize(("size", "status"), [(1000, 200), (1001, 413)])
async def test_a_body_of_exactly_the_limit_is_taken(make, size, status):
    shop, web = make(HOST, max_body=1000), make("web.example")
    shop.endpoint("POST", "/in")(lambda request: None)
    shop.endpoint("GET", "/out")(lambda: b"x" * size)
    async with shop, web:
        assert await _status(web.request("POST", f"{URL}/in", body=bytes(size))) == status
        assert await _status(web.request("GET", f"{URL}/out")) == status
    async with make("web.example", max_body=1000) as web:
        with pytest.raises(HTTPError) as refused:
            await web.request("POST", "https://missing.example/", body=bytes(size), timeout=5)
        assert refused.value.status == (404 if status == 200 else 413)


@pytest.mark.parametrize(("more", "messages"), [(-1, [0]), (0, [0]), (1, [1, 1])])
async def test_a_response_is_cut_above_the_size_of_a_message(make_nats, more, messages):
    shop, web, sent = make_nats(HOST), make_nats("web.example"), []
    shop.endpoint("GET", "/")(lambda: b"x" * (shop._transport.fragment_size + more))

    @web.watch
    def note(direction, subject, payload):
        if direction == "in" and payload.endswith(b"x"):
            sent.append(payload.count(b"Microbus-Fragment"))

    async with shop, web:
        await web.request("GET", f"{URL}/")
    assert sent == messages


async def test_the_first_of_several_fragments_is_answered_with_100(make_nats, plane):
    shop, answers = make_nats(HOST), []
    shop.endpoint("POST", "/big")(lambda request: request.body)
    async with shop:
        client = await nats.connect(shop._transport.broker)

        async def note(message):
            answers.append(read_response(message.data).status)

        await client.subscribe(f"{plane}.reply._.*.web_example.id-1", cb=note)
        for name, fragment, statuses in (
            ("AAAAAAAA", "1/2", [100]), ("AAAAAAAA", "2/2", [100, 100, 200]),
            ("BBBBBBBB", "1/1", [202, 200]),
        ):  # fmt: skip
            request = Request("POST", f"{URL}:443/big", body=b"x")
            for key, value in (
                ("Op-Code", "Req"), ("Msg-Id", name), ("From-Id", "id-1"), ("Fragment", fragment),
            ):  # fmt: skip
                request.headers[f"Microbus-{key}"] = value
            slot = shop.id if fragment == "2/2" else "_"
            subject = f"{plane}.safe.443.web_example.shop_example.{slot}.POST.big"
            if fragment == "1/1":
                answers.clear()
            await client.publish(subject, write_request(request))
            await until(lambda statuses=statuses: len(answers) >= len(statuses))
            assert answers == statuses
        await client.close()


@dataclass
class Order:
    """Notes the thread in which it is made of a body."""

    text: str

    def __post_init__(self) -> None:
        made_in.append(threading.get_ident())


made_in: list[int] = []


@pytest.mark.parametrize("middleware", [False, True])
async def test_a_body_above_64_kib_is_decoded_in_a_thread(make_memory, middleware):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("POST", "/order")
    async def order(http_request_body: Order) -> int:
        return threading.get_ident()

    @shop.endpoint("POST", "/here")
    def here(http_request_body: Order) -> int:
        return threading.get_ident()

    async def step(request, call_next):
        return await call_next(request)

    if middleware:
        shop.middleware(step)
    own = threading.get_ident()
    async with shop, web:
        for size, elsewhere in ((LARGE_BODY, False), (LARGE_BODY + 1, True)):
            body = b'{"text":"' + b"x" * (size - 11) + b'"}'
            assert len(body) == size
            made_in.clear()
            answer = await web.request("POST", f"{URL}/order", body=body)
            assert answer.json() == own, "the coroutine itself runs on the loop"
            assert (made_in[0] != own) is elsewhere
            made_in.clear()
            assert (await web.request("POST", f"{URL}/here", body=body)).json() != own
            assert (made_in[0] != own) is elsewhere
