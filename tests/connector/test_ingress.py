"""The ingress: what a client of HTTP gets of services, and what never passes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from patience import PATIENCE
from subtrie.connector import Connector, HTTPError, Request, Response, _ingress, ingress
from subtrie.connector._envelope import PendingRequest

from .ingress_client import Answer, ask


async def test_a_request_reaches_the_service_of_its_first_part(fronted):
    web, service = fronted
    app = ingress(web)
    async with web, service:
        answer = await ask(
            app,
            "POST",
            "/shop.example/echo/a%2Fb/%7Bid%7D/../c?x=1&x=2&y={z}",
            headers=[("X-Mark", "é"), ("Cookie", "a=1"), ("Cookie", "b=2")],
            body=[b"one ", b"", b"two"],
        )
        told = json.loads(answer.body)
        assert (answer.status, told["method"], told["body"]) == (200, "POST", "one two")
        assert told["path"] == "/echo/a/b/{id}/../c"
        assert told["query"] == {"x": ["1", "2"], "y": ["{z}"]}
        assert told["source"] == "web.example"
        assert told["headers"]["X-Mark"] == "é"
        assert told["headers"]["Cookie"] == "a=1; b=2"
        assert told["headers"]["X-Forwarded-Host"] == "front.example:8080"
        assert told["headers"]["X-Forwarded-For"] == "192.0.2.7"
        assert told["headers"]["X-Forwarded-Proto"] == "http"
        assert answer.headers["cache-control"] == "no-store"
        assert not [name for name in answer.headers if name.startswith("microbus-")]
        assert (await ask(app, "GET", "/")).body == b"home"


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/shop.example:888/metrics", 404), ("/shop.example:666/x", 404),
        ("/shop.example:444/inner", 404), ("/shop.example:0/x", 404), ("/shop.example:x/x", 404),
        ("/shop.example:/echo/x", 200), ("/shop.example:443/echo/x", 200),
        ("/shop.example:0443/echo/x", 200), ("/shop.example:-443/echo/x", 404),
        pytest.param(f"/shop.example:{'4' * 5_000}/x", 404, id="port-of-5000-digits"),
        ("/.env", 404), ("/a%20b/x", 404), ("//shop.example/echo/x", 404), ("/%2e%2e/x", 404),
        ("/shop.example@evil/x", 404), ("/nobody.example/x", 404), ("/SHOP.example/echo/x", 200),
        ("/shop.example/echo/%zz", 400), ("/shop.example/echo/" + "x" * 1100, 414),
        ("/shop.example/echo/x?y=a#b", 200), ("/shop.example/echo/%ff", 400),
    ],
)  # fmt: skip
async def test_only_services_on_open_ports_are_reached(fronted, target, status):
    web, service = fronted
    async with web, service:
        assert (await ask(ingress(web), "GET", target)).status == status


async def test_the_host_root_is_reached_by_the_empty_path_and_by_its_name(make_memory):
    web, root = make_memory("web.example"), make_memory("root")
    root.endpoint("GET", "/x")(lambda: "x")
    root.endpoint("GET", "/")(lambda: "home")
    app = ingress(web)
    async with web, root:
        told = {target: (await ask(app, "GET", target)).status for target in (
            "/", "//", "/root/x", "//x", "/id-k3x9.all/x", "/loc-eu.all/x", "/all/x",
        )}  # fmt: skip
    assert told == {
        "/": 200, "//": 200, "/root/x": 200, "//x": 404, "/id-k3x9.all/x": 404,
        "/loc-eu.all/x": 404, "/all/x": 404,
    }  # fmt: skip


async def test_other_ports_can_be_opened_except_two(fronted):
    web, service = fronted
    app = ingress(web, ports=[443, 444])
    async with web, service:
        assert (await ask(app, "GET", "/shop.example:444/inner")).body == b"inner"
    for port in (666, 888):
        with pytest.raises(ValueError, match=f"port {port} is not reached through an ingress"):
            ingress(web, ports=[443, port])
    with pytest.raises(ValueError, match="port 666 is not reached through an ingress"):
        ingress(web, ports=[888, 666])


async def test_bodies_travel_in_pieces_up_to_the_limit(make):
    web, service = make("web.example", max_body=700_000), make("shop.example", max_body=700_000)

    @service.endpoint("ANY", "/echo")
    async def echo(request: Request) -> Response:
        return Response(200, request.body, headers={"Cache-Control": "max-age=9"})

    pieces = [bytes([number]) * 100_000 for number in range(7)]
    app = ingress(web)
    async with web, service:
        answer = await ask(app, "PUT", "/shop.example/echo", body=pieces)
        assert (answer.status, answer.body) == (200, b"".join(pieces))
        assert max(map(len, answer.parts)) == _ingress.PIECE
        assert answer.headers["cache-control"] == "max-age=9"
        taken = iter([*pieces, b"x", b"never read"])
        answer = await ask(app, "PUT", "/shop.example/echo", body=taken)
        assert (answer.status, answer.error["error"]) == (
            413, "the body exceeds 700000 bytes (max_body)",
        )  # fmt: skip
        announced = [("Content-Length", "700001")]
        assert (await ask(app, "PUT", "/shop.example/echo", headers=announced)).status == 413
    assert (app._bytes, app._requests) == (0, 0)


async def test_errors_say_what_a_client_may_know(fronted, make):
    web, service = fronted
    async with web, service:
        answer = await ask(ingress(web), "GET", "/shop.example/wrong")
        assert (answer.status, answer.headers["content-type"]) == (409, "application/json")
        assert answer.error == {"error": "too many pieces", "most": 7, "statusCode": 409}
        assert answer.headers["cache-control"] == "no-store"
        answer = await ask(ingress(web), "GET", "/shop.example/nothing")
        assert answer.error["error"].startswith("ack timeout: https://shop.example:443/nothing")
        assert (await ask(ingress(web), "PROPFIND", "/shop.example/wrong")).status == 405
        bad = [("X-Bad", "a\x01b")]
        assert (await ask(ingress(web), "GET", "/shop.example/wrong", headers=bad)).status == 400
    closed = await ask(ingress(web), "GET", "/shop.example/wrong")
    assert (closed.status, closed.error["statusCode"]) == (503, 503)
    prod = make("front.example", deployment="PROD")
    async with prod:
        answer = await ask(ingress(prod), "GET", "/shop.example/nothing")
    assert answer.error == {"error": "ack timeout", "statusCode": 404}


async def test_the_time_budget_is_that_of_the_client_if_it_is_less(fronted):
    web, service = fronted
    async with web, service:
        for asked, budget in (("", 9), ("3", 3), ("99", 9), ("0", 9), ("x", 9), ("-1", 9)):
            headers = [("Request-Timeout", asked)]
            answer = await ask(
                ingress(web, timeout=9), "GET", "/shop.example/echo/x", headers=headers
            )
            assert json.loads(answer.body)["budget"] == budget, asked


async def test_a_client_that_goes_cancels_its_request(make):
    web, service = make("web.example"), make("shop.example")
    begun, gone, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @service.endpoint("GET", "/slow")
    async def slow() -> None:
        begun.set()
        await go_on.wait()

    app = ingress(web, timeout=10 * PATIENCE)
    async with web, service:
        asking = asyncio.ensure_future(ask(app, "GET", "/shop.example/slow", leaves=gone))
        await begun.wait()
        gone.set()
        answer = await asyncio.wait_for(asking, PATIENCE)
        assert (answer.status, answer.parts) == (0, [])
        pending = [*web._client.responses.waiting.values(), *web._client.responses.local]
        assert not [each for each in pending if isinstance(each, PendingRequest)]
        assert app._requests == 0
        go_on.set()


async def test_requests_and_bytes_at_once_are_bounded(make_memory, monkeypatch):
    web, service = make_memory("web.example", max_body=1000), make_memory("shop.example")
    monkeypatch.setattr(_ingress, "MOST_REQUESTS", 3)
    go_on, arrived = asyncio.Event(), asyncio.Semaphore(0)

    @service.endpoint("POST", "/wait")
    async def wait() -> None:
        arrived.release()
        await go_on.wait()

    app = ingress(web)
    async with web, service:
        held = [asyncio.ensure_future(ask(app, "POST", "/shop.example/wait")) for _ in range(3)]
        for _ in held:
            await arrived.acquire()
        answer = await ask(app, "POST", "/shop.example/wait")
        assert (answer.status, answer.error["error"]) == (503, "more than 3 requests at once")
        go_on.set()
        assert [each.status for each in await asyncio.gather(*held)] == [200] * 3

        monkeypatch.setattr(_ingress, "MOST_REQUESTS", 100)
        go_on.clear()
        body = [bytes(1000)]
        held = [
            asyncio.ensure_future(ask(app, "POST", "/shop.example/wait", body=body))
            for _ in range(_ingress.MOST_BODIES)
        ]
        for _ in held:
            await arrived.acquire()
        answer = await ask(app, "POST", "/shop.example/wait", body=[b"x"])
        assert answer.status == 503
        assert answer.error["error"] == "the bodies of other requests take all memory"
        go_on.set()
        assert [each.status for each in await asyncio.gather(*held)] == [200] * len(held)
    assert (app._bytes, app._requests) == (0, 0)


async def test_a_client_that_sends_or_reads_too_slowly_is_given_up(make_memory, monkeypatch):
    web, service = make_memory("web.example"), make_memory("shop.example")
    service.endpoint("ANY", "/x")(lambda: "x")
    monkeypatch.setattr(_ingress, "CLIENT_LIMIT", 0.05)
    app = ingress(web)
    scope = {"type": "http", "method": "POST", "path": "/shop.example/x", "headers": [],
             "query_string": b""}  # fmt: skip
    never = asyncio.Event()

    async def silent() -> dict[str, Any]:
        await never.wait()
        return {}

    async with web, service:
        answer = Answer()
        await app(scope, silent, answer.take)
        assert (answer.status, answer.error["error"]) == (408, "the body took more than 0.05 s")
        sent = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            return sent.pop() if sent else await silent()

        async def full(message: dict[str, Any]) -> None:
            await never.wait()

        await app(scope, receive, full)
        assert app._requests == 0


async def test_the_server_starts_and_stops_the_connector(plane, caplog):
    web = Connector("web.example", plane=plane, nats="", deployment="TESTING")
    asked: asyncio.Queue[str] = asyncio.Queue()
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def receive() -> dict[str, Any]:
        return {"type": await asked.get()}

    living = asyncio.ensure_future(ingress(web)({"type": "lifespan"}, receive, told.put))
    await asked.put("lifespan.startup")
    assert (await told.get())["type"] == "lifespan.startup.complete"
    assert web.running
    warned = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    (alone,) = warned
    assert alone.startswith("web.example: there is no broker, so only this process is reached")
    assert "MICROBUS_NATS" in alone
    assert 'nats=""' in alone
    await asked.put("lifespan.shutdown")
    assert (await told.get())["type"] == "lifespan.shutdown.complete"
    await living
    assert not web.running
    absent = Connector("web.example", plane=plane, nats="nats://127.0.0.1:9", deployment="TESTING")
    await asked.put("lifespan.startup")
    await ingress(absent)({"type": "lifespan"}, receive, told.put)
    failed = await told.get()
    assert failed["type"] == "lifespan.startup.failed"
    assert "nats://127.0.0.1:9" in failed["message"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"origins": "https://a.example"}, "origins is a list of texts"),
        ({"origins": ["a.example"]}, "an origin is 'https://shop.example' or"),
        ({"origins": ["https://a.example/"]}, "an origin is 'https://shop.example' or"),
        ({"ports": []}, "ports are numbers from 1 to 65535"),
        ({"ports": ["443"]}, "ports are numbers from 1 to 65535"),
        ({"ports": [0]}, "ports are numbers from 1 to 65535"),
        ({"timeout": 0}, "the timeout is a number of seconds above 0"),
        ({"ports": [65_536]}, "ports are numbers from 1 to 65535"),
        ({"ports": [True]}, "ports are numbers from 1 to 65535"),
        ({"timeout": -1}, "the timeout is a number of seconds above 0"),
        ({"timeout": float("inf")}, "the timeout is a number of seconds above 0"),
        ({"origins": ["*.example"]}, "an origin is 'https://shop.example' or"),
        ({"origins": ["://a.example"]}, "an origin is 'https://shop.example' or"),
        ({"origins": ["https://"]}, "an origin is 'https://shop.example' or"),
        ({"timeout": float("nan")}, "the timeout is a number of seconds above 0"),
    ],
)
def test_wrong_arguments_are_refused_at_once(make_memory, given, said):
    with pytest.raises(ValueError, match=said):
        ingress(make_memory("web.example"), **given)


@pytest.mark.parametrize("given", [{"timeout": 0.001}, {"timeout": 1e9}, {"ports": [1, 65_535]}])
def test_the_least_and_the_largest_arguments_are_taken(make_memory, given):
    ingress(make_memory("web.example"), **given)


async def test_a_part_of_another_application(fronted):
    web, service = fronted
    answer = Answer()
    scope = {"type": "http", "method": "GET", "path": "/api/shop.example/echo/x", "headers": [],
             "root_path": "/api", "query_string": b""}  # fmt: skip

    sent = [{"type": "http.request"}]

    async def receive() -> dict[str, Any]:
        if not sent:
            await asyncio.Event().wait()
        return sent.pop()

    async with web, service:
        await ingress(web)(scope, receive, answer.take)
        told = json.loads(answer.body)
        answer = Answer()
        sent.append({"type": "http.request"})
        other = {**scope, "root_path": "/shop", "path": "/shop.example/echo/y"}
        await ingress(web)(other, receive, answer.take)
        assert json.loads(answer.body)["path"] == "/echo/y"
    assert told["path"] == "/echo/x"
    assert told["headers"]["X-Forwarded-Prefix"] == "/api"
    assert told["headers"]["X-Forwarded-Path"] == "/api/shop.example/echo/x"


async def test_a_web_socket_is_closed(make_memory):
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await ingress(make_memory("web.example"))({"type": "websocket"}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("limit", "size", "announced", "status"),
    [(1000, 1000, "1000", 200), (1000, 1000, None, 200), (1000, 1001, None, 413),
     (1000, 0, "1001", 413), (1000, 1, "x", 200), (1000, 1, "٩٩٩٩", 200),
     (1000, 1, "9" * 5000, 413),
     (1000, 1, "-1001", 200)],
)  # fmt: skip
async def test_a_body_of_exactly_the_limit_passes(make_memory, limit, size, announced, status):
    web, service = (make_memory(host, max_body=limit) for host in ("web.example", "shop.example"))
    service.endpoint("POST", "/x")(lambda: None)
    headers = [("Content-Length", announced)] if announced else []
    app = ingress(web)
    async with web, service:
        answer = await ask(app, "POST", "/shop.example/x", headers=headers, body=[bytes(size)])
    assert (answer.status, app._requests, app._bytes) == (status, 0, 0)


@pytest.mark.parametrize(
    ("sizes", "status"), [((600, 400), 200), ((600, 401), 413), ([600] * 10, 413)]
)
async def test_the_pieces_of_a_body_are_of_the_limit_together(make_memory, sizes, status):
    web, service = (make_memory(host, max_body=1000) for host in ("web.example", "shop.example"))
    service.endpoint("POST", "/x")(lambda: None)
    app = ingress(web)
    async with web, service:
        answer = await ask(app, "POST", "/shop.example/x", body=map(bytes, sizes))
    assert (answer.status, app._requests, app._bytes) == (status, 0, 0)


async def test_responses_that_are_not_taken_count_with_the_bodies(make_memory):
    web, service = (make_memory(host, max_body=1000) for host in ("web.example", "shop.example"))
    service.endpoint("GET", "/x")(lambda: Response(200, bytes(1000)))
    app, taken, begun = ingress(web), asyncio.Event(), asyncio.Semaphore(0)
    scope = {"type": "http", "method": "GET", "path": "/shop.example/x", "headers": [],
             "query_string": b""}  # fmt: skip

    async def hold() -> None:
        sent = [{"type": "http.request"}]

        async def receive() -> dict[str, Any]:
            return sent.pop() if sent else await asyncio.Event().wait() or {}

        async def send(message: dict[str, Any]) -> None:
            begun.release()
            await taken.wait()

        await app(scope, receive, send)

    async with web, service:
        held = [asyncio.ensure_future(hold()) for _ in range(_ingress.MOST_BODIES)]
        for _ in held:
            await begun.acquire()
        answer = await ask(app, "GET", "/shop.example/x")
        assert answer.error["error"] == "the bodies of other requests take all memory"
        taken.set()
        await asyncio.gather(*held)
        assert (await ask(app, "GET", "/shop.example/x")).status == 200
    assert (app._bytes, app._requests) == (0, 0)


@pytest.mark.parametrize("size", [0, 1, _ingress.PIECE - 1, _ingress.PIECE, _ingress.PIECE + 1])
async def test_a_response_is_sent_in_as_few_pieces_as_it_has(fronted_near, size):
    web, service = fronted_near
    sent: list[dict[str, Any]] = []
    messages = [{"type": "http.request"}]

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else await asyncio.Event().wait()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": f"/shop.example/large/{size}",
             "headers": [], "query_string": b""}  # fmt: skip
    async with web, service:
        await ingress(web)(scope, receive, send)
    sizes = [len(each["body"]) for each in sent[1:]]
    assert sizes == ([_ingress.PIECE, 1] if size > _ingress.PIECE else [size])
    assert [each["more_body"] for each in sent[1:]] == [True] * (len(sizes) - 1) + [False]


@pytest.mark.parametrize(
    ("asked", "budget"),
    [("000000003", 3), ("0000000003", 9), ("٣", 9), ("3.5", 9), (" 3", 3), ("8", 8), ("9", 9)],
)
async def test_a_time_budget_is_a_number_of_at_most_nine_digits(fronted_near, asked, budget):
    web, service = fronted_near
    async with web, service:
        headers = [("Request-Timeout", asked)]
        app = ingress(web, timeout=9)
        answer = await ask(app, "GET", "/shop.example/echo/x", headers=headers)
    assert json.loads(answer.body)["budget"] == budget


@pytest.mark.parametrize(
    ("status", "sent"), [(400, 400), (599, 599), (600, 502), (399, 502), (200, 502), (999, 502)]
)
@pytest.mark.parametrize("deployment", ["LOCAL", "LAB", "PROD"])
async def test_the_error_of_a_service(make_memory, deployment, status, sent):
    web, service = (make_memory(h, deployment=deployment) for h in ("web.example", "shop.example"))

    @service.endpoint("GET", "/wrong")
    async def wrong() -> None:
        raise HTTPError("gone <b>", status=status, properties={"until": 7})

    async with web, service:
        answer = await ask(ingress(web), "GET", "/shop.example/wrong")
    assert answer.status == answer.error["statusCode"] == sent
    assert (answer.error["error"], answer.error["until"]) == ("gone <b>", 7)
    assert "trace" not in answer.error
    assert ("stack" in answer.error, answer.body.count(b"\n") > 1) == (deployment == "LOCAL",) * 2
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize("deployment", ["LOCAL", "PROD"])
def test_an_error_of_a_traced_request_names_its_trace(make_memory, deployment):
    error = HTTPError("gone", status=410, trace="4bf92f3577b34da6a3ce929d0e0e4736")
    response = ingress(make_memory("web.example", deployment=deployment))._refused(error)
    assert response.json()["err"]["trace"] == error.trace


@pytest.mark.parametrize(("status", "sent"), [(199, 502), (200, 200), (599, 599), (600, 502)])
async def test_a_client_gets_the_status_of_a_final_response(status, sent):
    """A service elsewhere may answer with any number."""
    answer = Answer()
    await _ingress._respond(Response(status, b"x"), answer.take, with_body=True)
    assert answer.status == sent


@pytest.mark.parametrize(("status", "sent"), [(200, 200), (599, 599), (600, 502), (205, 205)])
async def test_the_status_of_a_service(fronted_near, status, sent):
    web, service = fronted_near
    async with web, service:
        answer = await ask(ingress(web), "GET", f"/shop.example/status/{status}")
        assert (answer.status, answer.body) == (sent, b"body" if sent == status else b"")
        assert answer.headers["content-length"] == str(len(answer.body))
        assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("port", [1, 65_535])
async def test_the_ports_of_an_ingress_are_all_but_two(make_memory, port):
    web, service = make_memory("web.example"), make_memory("shop.example")
    service.endpoint("GET", f":{port}/x")(lambda: "x")
    async with web, service:
        app = ingress(web, ports=(port,))
        assert (await ask(app, "GET", f"/shop.example:{port}/x")).body == b"x"
        assert (await ask(app, "GET", "/shop.example/x")).status == 404


async def test_another_protocol_is_refused(make_memory):
    with pytest.raises(ValueError, match="an ingress serves HTTP, not 'smtp'"):
        await ingress(make_memory("web.example"))({"type": "smtp"}, None, None)


async def test_a_connector_that_runs_outlives_the_server(make_memory, caplog):
    """The program that started it was told that there is no broker."""
    web, told = make_memory("web.example"), []

    async def receive() -> dict[str, Any]:
        return {}

    async def send(message: dict[str, Any]) -> None:
        told.append(message["type"])

    async with web:
        await ingress(web)({"type": "lifespan"}, receive, send)
        assert web.running
    assert not caplog.records
    assert told == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
