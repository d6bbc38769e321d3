"""Requests, responses, errors and timeouts: the same in process and over NATS."""

from __future__ import annotations

import asyncio
import enum
import threading
from dataclasses import dataclass

import pytest

from patience import PATIENCE
from subtrie import BusError, InvalidInput
from subtrie._core import control_headers
from subtrie.connector import (
    AckTimeout,
    CallDepthExceeded,
    HTTPError,
    Request,
    RequestTimeout,
    Response,
)

HOST = "shop.example"
URL = f"https://{HOST}"


@dataclass
class Line:
    item: str
    pieces: int = 1


@dataclass
class Order:
    lines: list[Line]
    note: str | None = None


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@pytest.mark.requirement("S0-001")
async def test_a_request_reaches_its_handler_and_the_response_returns(make):
    shop, web = make(HOST, version=3), make("web.example", version=7)

    @shop.endpoint("POST", "/order/{id}")
    async def place(id: int, order: Order, request: Request, dry: bool = False):
        assert request.source == "web.example"
        assert request.headers[control_headers.FROM_VERSION] == "7"
        assert request.headers[control_headers.CALL_DEPTH] == "1"
        assert request.path == f"/order/{id}"
        return {"id": id, "items": [line.item for line in order.lines], "dry": dry}

    async with shop, web:
        answer = await web.request(
            "POST", f"{URL}/order/7?dry=true", json={"order": {"lines": [{"item": "tea"}]}}
        )
        assert answer.json() == {"id": 7, "items": ["tea"], "dry": True}
        assert (answer.status, answer.source, answer.id) == (200, HOST, shop.id)
        assert (answer.queue, answer.locality) == (HOST, "")
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers[control_headers.FROM_VERSION] == "3"


@pytest.mark.parametrize(
    ("given", "body", "kind"),
    [
        (None, b"", None),
        (b"\x00raw", b"\x00raw", "application/octet-stream"),
        ("text", b"text", "text/plain; charset=utf-8"),
        ([1, {"a": None}], b'[1,{"a":null}]', "application/json"),
        (Line("tea"), b'{"item":"tea","pieces":1}', "application/json"),
        (Response(201, "made", headers={"X-Order": "9"}), b"made", None),
    ],
)
async def test_a_handlers_return_value_becomes_the_response(make, given, body, kind):
    shop, web = make(HOST), make("web.example")
    shop.endpoint("GET", "/")(lambda: given)
    async with shop, web:
        answer = await web.request("GET", URL)
        assert (answer.body, answer.headers.get("Content-Type")) == (body, kind)
        if isinstance(given, Response):
            assert (answer.status, answer.headers["X-Order"]) == (201, "9")


async def test_arguments_are_converted_by_their_annotations(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("ANY", "/a/{id}/{orderId}/{rest...}")
    def all_of_them(
        id: int,
        order_id: str,
        rest,
        size: Size,
        n: list[int],
        http_request_body: bytes,
        ratio: float = 0.5,
    ):
        return [id, order_id, rest, size.name, n, ratio, http_request_body.decode()]

    @shop.endpoint("POST", "/fields")
    async def fields(name: str, count: int, note: str | None):
        return [name, count, note]

    @shop.endpoint("GET", "/optional")
    async def optional(n: int | None = None):
        return n

    async with shop, web:
        url = f"{URL}/a/5/x%20y/p/q?size=l&n=1&n=2&ratio=2"
        assert (await web.request("PUT", url, body=b"bytes")).json() == [
            *(5, "x y", "p/q", "LARGE", [1, 2], 2.0, "bytes")
        ]
        answer = await web.request("POST", f"{URL}/fields", json={"name": "a", "count": 2})
        assert answer.json() == ["a", 2, None]
        assert (await web.request("GET", f"{URL}/optional?n=5")).json() == 5
        assert (await web.request("GET", f"{URL}/optional")).json() is None
        for bad in (
            "/a/x/y/z?size=s&n=1",
            "/a/²/y/z?size=s&n=1",
            "/a/1/y/z?size=q&n=1",
            "/a/1/y/z?size=s&n=x",
            "/a/1/y/",
        ):
            with pytest.raises(HTTPError) as refused:
                await web.request("GET", URL + bad)
            assert refused.value.status == 400
        with pytest.raises(HTTPError) as refused:
            await web.request("POST", f"{URL}/fields", body=b"{no json")
        assert refused.value.status == 400


TRACES = {
    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "4bf92f3577b34da6a3ce929d0e0e4736",
    "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x": "4bf92f3577b34da6a3ce929d0e0e4736",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
    "nonsense": "",
}


async def test_an_error_travels_with_status_properties_trace_and_place(make):
    shop, web = make(HOST, deployment="LOCAL"), make("web.example")

    @shop.endpoint("GET", "/fail")
    async def fail():
        raise HTTPError("short and stout", status=418, properties={"pot": "small"})

    @shop.endpoint("GET", "/broken")
    async def broken():
        return 1 / 0

    @shop.endpoint("GET", "/unsayable")
    async def unsayable():
        return object()

    async with shop, web:
        with pytest.raises(HTTPError) as failed:
            await web.request("GET", f"{URL}/fail")
        error = failed.value
        assert (error.status, error.message, error.properties) == (
            *(418, "short and stout", {"pot": "small"}),
        )
        assert error.trace == ""
        for parent, trace in TRACES.items():
            with pytest.raises(HTTPError) as failed:
                await web.request("GET", f"{URL}/fail", headers={"Traceparent": parent})
            assert failed.value.trace == trace
        assert error.stack[0]["func"] == "fail"
        for route, said in (
            ("/broken", "division by zero"),
            ("/unsayable", "cannot be represented in JSON"),
        ):
            with pytest.raises(HTTPError, match=said) as failed:
                await web.request("GET", URL + route)
            assert failed.value.status == 500


async def test_a_status_raises_only_if_asked(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")
    shop.endpoint("GET", "/gone")(lambda: Response(404, "not here"))
    async with shop, web:
        answer = await web.request("GET", f"{URL}/gone")
        assert (answer.status, answer.error) == (404, None)
        with pytest.raises(HTTPError) as raised:
            answer.raise_for_status()
        assert raised.value.status == 404


async def test_a_request_without_a_subscriber_is_an_ack_timeout(make):
    shop, web = make(HOST), make("web.example")
    shop.endpoint("GET", "/here")(lambda: None)
    async with shop, web:
        for method, url in (
            ("GET", f"{URL}/not-here"),
            ("POST", f"{URL}/here"),
            ("GET", "https://nobody.example/"),
            ("GET", f"https://id-nobody.{HOST}/here"),
        ):
            with pytest.raises(AckTimeout) as missed:
                await web.request(method, url, timeout=600)  # not the whole time budget
            assert missed.value.status == 404
        assert web.metrics.ack_timeouts == 4


@pytest.mark.requirement("A78")
async def test_a_handler_that_passes_its_deadline_is_cancelled_and_answered_408(make):
    shop, web = make(HOST, round_trip=0.1), make("web.example", round_trip=0.1)
    stopped = asyncio.Event()

    @shop.endpoint("GET", "/slow", timeout=0.4)
    async def slow():
        try:
            await asyncio.sleep(30)
        finally:
            stopped.set()

    async with shop, web:
        with pytest.raises(HTTPError) as late:
            await web.request("GET", f"{URL}/slow")
        assert late.value.status == 408
        assert stopped.is_set()


async def test_a_handler_that_ignores_cancellation_leaves_the_caller_with_a_timeout(make):
    shop, web = make(HOST, round_trip=0.1), make("web.example", round_trip=0.1)
    answered = threading.Event()
    shop.endpoint("GET", "/deaf")(lambda: answered.wait(PATIENCE))
    async with shop, web:
        with pytest.raises(HTTPError) as late:
            await web.request("GET", f"{URL}/deaf", timeout=0.4)
        assert late.value.status == 408
        assert not answered.is_set()
        answered.set()


async def test_a_budget_not_above_one_round_trip_is_408_before_the_handler(make):
    shop, web = make(HOST, round_trip=0.3), make("web.example", round_trip=0.3)
    called = []
    shop.endpoint("GET", "/")(lambda: called.append(1))
    async with shop, web:
        with pytest.raises(HTTPError) as late:
            await web.request("GET", URL, timeout=0.25)
        assert late.value.status == 408
        with pytest.raises(RequestTimeout):
            await web.request("GET", URL, timeout=0)
        assert called == []


async def test_time_budget_depth_baggage_and_language_are_forwarded(make):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")
    seen: dict[str, object] = {}

    @shop.endpoint("GET", "/relay")
    async def relay():
        return (await shop.request("GET", "https://stock.example/level")).json()

    @stock.endpoint("GET", "/level")
    async def level(request: Request):
        seen.update(dict(request.headers.pairs()), budget=request.budget)
        return 1

    async with shop, stock, web:
        sent = {"Microbus-Baggage-Campaign": "autumn", "Accept-Language": "fr", "X-Own": "1"}
        sent |= {"Microbus-Call-Depth": "50", "Microbus-From-Host": "liar", "X-Forwarded-For": "me"}
        assert (await web.request("GET", f"{URL}/relay", headers=sent, timeout=5)).json() == 1
    assert seen["Microbus-Baggage-Campaign"] == "autumn"
    assert seen["Accept-Language"] == "fr"
    assert seen["X-Forwarded-For"] == "me"
    assert "X-Own" not in seen
    assert seen[control_headers.CALL_DEPTH] == "2"
    assert seen[control_headers.FROM_HOST] == HOST
    assert 0 < seen["budget"] < 5


@pytest.mark.parametrize(("given", "most"), [(60.0, 10.0), (2.0, 2.0)])
async def test_a_nested_call_has_at_most_the_time_that_is_left(make, given, most):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")

    @shop.endpoint("GET", "/relay")
    async def relay():
        return (await shop.request("GET", "https://stock.example/time", timeout=given)).json()

    @stock.endpoint("GET", "/time")
    async def time_given(request: Request):
        return request.budget

    async with shop, stock, web:
        assert 0 < (await web.request("GET", f"{URL}/relay", timeout=10)).json() <= most


async def test_a_request_to_port_0_warns(make_memory):
    web = make_memory("web.example")
    async with web:
        with pytest.warns(UserWarning, match="port 0"), pytest.raises(AckTimeout):
            await web.request("GET", "https://shop.example:0/")


async def test_the_65th_call_in_a_chain_is_refused(make_memory):
    shop = make_memory(HOST)
    depths = []

    @shop.endpoint("GET", "/again")
    async def again(request: Request):
        depths.append(int(request.headers[control_headers.CALL_DEPTH]))
        await shop.request("GET", f"{URL}/again")

    async with shop:
        with pytest.raises(HTTPError) as refused:
            await shop.request("GET", f"{URL}/again")
        assert refused.value.status == 508
        assert max(depths) == 64
    assert CallDepthExceeded().status == 508


async def test_multicast_reaches_queues_once_and_the_queueless_all(make):
    listeners = [make("mail.example"), make("mail.example"), make("audit.example")]
    listeners.append(make("audit.example"))
    shop = make(HOST)
    for listener in listeners:
        queue = {"queue": None} if listener.host == "audit.example" else {}
        listener.endpoint("POST", f"//{HOST}:417/on-placed", **queue)(_say(listener.id))
    async with shop, listeners[0], listeners[1], listeners[2], listeners[3]:
        for _ in range(3):
            answers = [a async for a in shop.publish("POST", f"{URL}:417/on-placed", json={})]
            assert all(answer.error is None for answer in answers)
            queues = sorted(answer.queue or "" for answer in answers)
            assert queues == ["", "", "mail.example"]
            assert {a.id for a in answers if a.queue is None} == {x.id for x in listeners[2:]}


def _say(text):
    return lambda: text


async def test_a_multicast_without_subscribers_is_empty_and_errors_are_responses(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/fail", queue=None)
    async def fail():
        raise HTTPError("no", status=409)

    async with shop, web:
        assert [a async for a in web.publish("GET", "https://nobody.example/")] == []
        (answer,) = [a async for a in web.publish("GET", f"{URL}/fail")]
        assert answer.error is not None
        assert answer.error.status == 409
        with pytest.raises(HTTPError):
            answer.raise_for_status()


async def test_publish_sends_whether_it_is_iterated_or_not(make):
    shop, web = make(HOST), make("web.example")
    heard = asyncio.Event()

    @shop.endpoint("POST", "/event")
    async def event():
        heard.set()

    async with shop, web:
        web.publish("POST", f"{URL}/event")
        await asyncio.wait_for(heard.wait(), PATIENCE)


@pytest.mark.requirement("S0-044", "S0-045")
async def test_replicas_share_the_work_and_one_can_be_pinned(make):
    one, two, web = make(HOST), make(HOST), make("web.example")
    for replica in (one, two):
        replica.endpoint("GET", "/who")(_say(replica.id))
    async with one, two, web:
        seen = {(await web.request("GET", f"{URL}/who")).body.decode() for _ in range(40)}
        assert seen == {one.id, two.id}
        for _ in range(5):
            pinned = await web.request("GET", f"https://{two.id}.{HOST}/who")
            assert pinned.id == two.id


@pytest.mark.requirement("S0-132")
async def test_middleware_runs_around_every_handler_on_both_transports(make):
    shop, web, rogue = make(HOST), make("web.example"), make("rogue.example")
    seen = []

    @shop.middleware
    async def throttle(request: Request, call_next):
        seen.append((request.source, request.method, request.path))
        if request.source == "rogue.example":
            raise HTTPError("slow down", status=429)
        return await call_next(request)

    shop.endpoint("GET", "/{x}")(lambda x: x)
    async with shop, web, rogue:
        assert (await web.request("GET", f"{URL}/a")).body == b"a"
        with pytest.raises(HTTPError) as refused:
            await rogue.request("GET", f"{URL}/b")
        assert refused.value.status == 429
    assert seen == [("web.example", "GET", "/a"), ("rogue.example", "GET", "/b")]


async def test_the_same_object_is_not_shared_between_caller_and_callee(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")
    body = b"x" * 1000
    got = []

    @shop.endpoint("POST", "/")
    async def take(request: Request):
        got.append(request.body)
        request.headers["X-Mine"] = "1"

    async with shop, web:
        headers = {"X-Yours": "1"}
        await web.request("POST", URL, body=body, headers=headers)
        assert headers == {"X-Yours": "1"}
        assert got[0] is body, "the bytes are shared, not copied"


async def test_a_connector_that_is_not_running_refuses_requests(make_memory):
    web = make_memory("web.example")
    with pytest.raises(BusError) as refused:
        web.publish("GET", URL)
    assert refused.value.reason == "not-started"
    with pytest.raises(BusError) as refused:
        await web.request("GET", URL)
    assert refused.value.reason == "not-started"


@pytest.mark.requirement("A39")
def test_an_endpoint_s_queue_name_with_a_blank_is_refused_for_the_blank(make_memory):
    shop = make_memory("shop.example")
    with pytest.raises(BusError) as refused:
        shop.endpoint("GET", "/", queue="é b*")(lambda: None)
    assert (refused.value.reason, refused.value.position) == ("queue-whitespace", 2)
    with pytest.raises(BusError) as refused:
        shop.endpoint("GET", "/", queue="b.*")(lambda: None)
    assert refused.value.reason == "queue-wildcard"


async def test_a_path_argument_without_a_value_is_refused_where_it_is_sent(make_memory):
    """L19: it was sent as an empty one."""
    shop = make_memory(HOST)
    shop.endpoint("GET", "/x/{id}/{rest...}")(lambda request: request.path)
    url = f"https://{HOST}/x/{{id}}/{{rest...}}"
    async with shop:
        for params in (None, {"ID": 3, "rest": ""}, {"id": None, "rest": "a"}):
            with pytest.raises(InvalidInput, match=r"'\{id\}': a path argument has no value"):
                await shop.request("GET", url, params=params)
        with pytest.raises(InvalidInput, match=r"'\{rest\.\.\.\}': a path argument has no value"):
            await shop.request("GET", f"{url}?id=3")
        for params in ({"id": 3, "rest": "a/b"}, [("id", 3), ("rest", "a/b")]):
            assert (await shop.request("GET", url, params=params)).body == b"/x/3/a/b"
