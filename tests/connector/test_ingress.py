"""The ingress: what a client of HTTP gets of services, and what never passes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from patience import PATIENCE
from subtrie.connector import Connector, HTTPError, Request, Response, _ingress, ingress
from subtrie.connector._envelope import PendingRequest
from subtrie.connector._headers import Headers
from subtrie.connector._ingress_headers import Origins
from subtrie.testing import actor_token

from .test_actor_tokens import BEARER, TokenService


class Answer:
    """The response of an ASGI application."""

    def __init__(self) -> None:
        self.status = 0
        self.pairs: list[tuple[str, str]] = []
        self.parts: list[bytes] = []

    async def take(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.pairs = [(name.decode(), value.decode()) for name, value in message["headers"]]
        else:
            self.parts.append(message["body"])

    @property
    def headers(self) -> dict[str, str]:
        return dict(self.pairs)

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)["err"]
        return found


async def ask(
    app: Any,
    method: str,
    target: str,
    *,
    headers: Iterable[tuple[str, str]] = (),
    body: Iterable[bytes] = (b"",),
    leaves: asyncio.Event | None = None,
) -> Answer:
    """Send one request to an application, as a server does."""
    raw, _, query = target.encode().partition(b"?")
    parts = list(body)
    messages = [
        {"type": "http.request", "body": part, "more_body": number < len(parts)}
        for number, part in enumerate(parts, 1)
    ]
    scope = {
        "type": "http", "method": method, "scheme": "http", "path": raw.decode(), "raw_path": raw,
        "query_string": query, "root_path": "", "client": ("192.0.2.7", 4711),
        "headers": [(b"host", b"front.example:8080"),
                    *((name.lower().encode(), value.encode()) for name, value in headers)],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop(0)
        await (leaves or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    answer = Answer()
    await app(scope, receive, answer.take)
    return answer


@pytest.fixture
def shop(make):
    """Return the caller of an ingress, and a service that says what it got."""
    return _caller_and_service(make)


@pytest.fixture
def near(make_memory):
    """Return the same in process."""
    return _caller_and_service(make_memory)


def _caller_and_service(make):
    web, shop = make("web.example"), make("shop.example")

    @shop.endpoint("ANY", "/echo/{rest...}")
    async def echo(request: Request) -> Response:
        told = {
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "headers": dict(request.headers.pairs()),
            "body": request.body.decode("latin-1"),
            "actor": request.actor,
            "source": request.source,
            "budget": round(request.budget),
        }
        return Response(200, json.dumps(told))

    @shop.endpoint("ANY", "/cookies")
    async def cookies(request: Request) -> Response:
        response = Response(201, b"set", headers={"Connection": "X-Hop", "X-Hop": "1"})
        response.headers.add("Set-Cookie", "a=1; Path=/; HttpOnly")
        response.headers.add("Set-Cookie", "b=2; Path=/")
        response.headers["X-Mark"] = "é"
        return response

    @shop.endpoint("GET", "/away")
    async def away(request: Request) -> Response:
        return Response(303, headers={"Location": "/shop.example/echo/there"})

    @shop.endpoint("ANY", "/large/{size}")
    async def large(size: int) -> Response:
        return Response(200, bytes(size), headers={"Cache-Control": "max-age=9"})

    @shop.endpoint("GET", "/wrong")
    async def wrong() -> None:
        raise HTTPError("too many pieces", status=409, properties={"most": 7})

    @shop.endpoint("GET", "/mine", requires="sub == 'ann'")
    async def mine(request: Request) -> str:
        assert request.actor is not None
        return str(request.actor["sub"])

    @shop.endpoint("GET", ":444/inner")
    async def inner() -> str:
        return "inner"

    @shop.endpoint("GET", "//root/")
    async def root() -> str:
        return "home"

    @shop.endpoint("GET", "/status/{number}")
    async def status(number: int) -> Response:
        return Response(number, b"body")

    return web, shop


async def test_a_request_reaches_the_service_of_its_first_part(shop):
    web, service = shop
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
async def test_only_services_on_open_ports_are_reached(shop, target, status):
    web, service = shop
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


async def test_other_ports_can_be_opened_except_two(shop):
    web, service = shop
    app = ingress(web, ports=[443, 444])
    async with web, service:
        assert (await ask(app, "GET", "/shop.example:444/inner")).body == b"inner"
    for port in (666, 888):
        with pytest.raises(ValueError, match=f"port {port} is not reached through an ingress"):
            ingress(web, ports=[443, port])
    with pytest.raises(ValueError, match="port 666 is not reached through an ingress"):
        ingress(web, ports=[888, 666])


async def test_control_headers_do_not_enter(shop):
    web, service = shop
    forged = [
        ("Microbus-Actor", actor_token({"sub": "ann"})), ("Microbus-From-Host", "bank.example"),
        ("Microbus-Baggage-Tenant", "1"), ("Traceparent", "00-1"), ("X-Forwarded-For", "10.0.0.1"),
        ("X-Forwarded-User", "root"), ("Connection", "X-Secret, close"), ("X-Secret", "1"),
        ("Transfer-Encoding", "chunked"), ("Proxy-Authorization", "x"),
    ]  # fmt: skip
    async with web, service:
        answer = await ask(ingress(web), "GET", "/shop.example/echo/x", headers=forged)
        told = json.loads(answer.body)
        assert told["actor"] is None
        assert told["source"] == told["headers"]["Microbus-From-Host"] == "web.example"
        assert told["headers"]["X-Forwarded-For"] == "192.0.2.7"
        for name in ("Microbus-Actor", "Microbus-Baggage-Tenant", "Traceparent", "X-Secret",
                     "X-Forwarded-User", "Connection", "Transfer-Encoding"):  # fmt: skip
            assert name not in told["headers"], name
        assert (await ask(ingress(web), "GET", "/shop.example/mine", headers=forged)).status == 401
        proxied = [("X-Forwarded-Host", "shop.org"), ("X-Forwarded-For", "10.0.0.1")]
        answer = await ask(
            ingress(web, proxied=True), "GET", "/shop.example/echo/x", headers=proxied
        )
        told = json.loads(answer.body)
        assert told["headers"]["X-Forwarded-Host"] == "shop.org"
        assert told["headers"]["X-Forwarded-For"] == "10.0.0.1"


async def test_the_token_of_the_end_user_becomes_the_actor(shop):
    web, service = shop
    ann = actor_token({"sub": "ann", "iss": "access.token.core"})
    old = actor_token({"sub": "ann", "iss": "access.token.core", "exp": 1})
    app, url = ingress(web), "/shop.example/mine"
    async with web, service:
        answer = await ask(app, "GET", url, headers=[("Authorization", f"Bearer {ann}")])
        assert (answer.status, answer.body) == (200, b"ann")
        answer = await ask(app, "GET", url, headers=[("Cookie", f"x=1; Authorization={ann}")])
        assert answer.body == b"ann"
        answer = await ask(app, "GET", url, headers=[("Authorization", f"Bearer {old}")])
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.error["error"] == "the actor token is refused: expired"
        # A browser sends an old cookie with every request, which is then passed over.
        expired = [("Cookie", f"Authorization={old}")]
        answer = await ask(app, "GET", "/shop.example/echo/x", headers=expired)
        assert (answer.status, json.loads(answer.body)["actor"]) == (200, None)
        assert (await ask(app, "GET", url, headers=expired)).status == 401
        opaque = [("Authorization", "Bearer of-another-system")]
        told = json.loads((await ask(app, "GET", "/shop.example/echo/x", headers=opaque)).body)
        assert told["actor"] is None
        assert told["headers"]["Authorization"] == "Bearer of-another-system"


async def test_a_signed_token_is_verified_with_the_keys_of_its_service(make):
    """Outside of tests: nothing but a signature makes an actor."""
    hosts = ("web.example", "shop.example", BEARER)
    # Every request here is acknowledged: a busy machine has time for that.
    web, shop, tokens = (make(host, deployment="LOCAL", round_trip=2) for host in hosts)
    signer = TokenService(BEARER)
    signer.add("k1")
    tokens.endpoint("GET", ":888/jwks")(signer.jwks)

    @shop.endpoint("GET", "/mine", requires="sub")
    async def mine(request: Request) -> Response:
        assert request.actor is not None
        return Response(200, request.actor["sub"])

    token = signer.sign(sub="ann")
    unsigned = actor_token({"sub": "ann", "iss": BEARER})
    app = ingress(web)
    async with tokens, shop, web:
        for given, status in (
            (token, 200),
            (token[:-4] + "AAAA", 401),
            (unsigned, 401),
            (signer.sign(sub="ann", exp=1), 401),
            (signer.sign(sub="ann", iss="https://evil.example"), 401),
        ):
            for header in (
                ("Authorization", f"Bearer {given}"),
                ("Cookie", f"Authorization={given}"),
            ):
                answer = await ask(app, "GET", "/shop.example/mine", headers=[header])
                assert answer.status == status, (header[0], given)
                assert answer.body == b"ann" or status == 401


async def test_cookies_and_redirects_pass(shop):
    web, service = shop
    async with web, service:
        answer = await ask(ingress(web), "POST", "/shop.example/cookies")
        assert answer.status == 201
        assert [value for name, value in answer.pairs if name == "set-cookie"] == [
            "a=1; Path=/; HttpOnly",
            "b=2; Path=/",
        ]
        assert answer.headers["x-mark"] == "é"
        assert "x-hop" not in answer.headers
        assert "connection" not in answer.headers
        answer = await ask(ingress(web), "GET", "/shop.example/away")
        assert (answer.status, answer.headers["location"]) == (303, "/shop.example/echo/there")
        for method, length in (("GET", 4), ("HEAD", 0)):
            service_of = {"GET": "/shop.example/status/299", "HEAD": "/shop.example/large/4"}
            answer = await ask(ingress(web), method, service_of[method])
            assert (answer.headers["content-length"], len(answer.body)) == ("4", length)
        for number, status in ((204, 204), (304, 304), (999, 502)):
            answer = await ask(ingress(web), "GET", f"/shop.example/status/{number}")
            assert (answer.status, answer.body) == (status, b"")


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


async def test_errors_say_what_a_client_may_know(shop, make):
    web, service = shop
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


async def test_pages_of_other_origins(shop):
    """A page may send requests if its origin is listed; Go's ingress trusts all by default."""
    web, service = shop
    other, evil = ("Origin", "https://App.example"), ("Origin", "https://evil.example")
    app, url = ingress(web, origins=["https://app.example"]), "/shop.example/cookies"
    async with web, service:
        answer = await ask(app, "POST", url, headers=[other])
        assert answer.status == 201
        assert answer.headers["access-control-allow-origin"] == "https://App.example"
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert answer.headers["vary"] == "Origin"
        assert "X-Mark" in answer.headers["access-control-expose-headers"]
        answer = await ask(app, "GET", "/shop.example/wrong", headers=[other])
        assert answer.status == 409  # an error can be read, too
        assert answer.headers["access-control-allow-origin"] == "https://App.example"
        preflight = [
            ("Access-Control-Request-Method", "PUT"),
            ("Access-Control-Request-Headers", "x-mark"),
        ]
        answer = await ask(app, "OPTIONS", url, headers=[other, *preflight])
        assert (answer.status, answer.body) == (204, b"")
        assert "PUT" in answer.headers["access-control-allow-methods"]
        assert answer.headers["access-control-allow-headers"] == "x-mark"
        for origin in (evil, ("Origin", "null"), ("Origin", "https://app.example.evil")):
            for method in ("POST", "OPTIONS"):
                answer = await ask(app, method, url, headers=[origin, *preflight])
                assert answer.status == 403
                assert "access-control-allow-origin" not in answer.headers
        own = ("Origin", "https://front.example:8080")
        assert (await ask(ingress(web), "POST", url, headers=[own])).status == 201
        assert (await ask(ingress(web), "POST", url, headers=[evil])).status == 403


async def test_a_cookie_does_not_act_for_pages_of_any_origin(shop):
    web, service = shop
    ann = actor_token({"sub": "ann"})
    given = [("Origin", "https://evil.example"), ("Cookie", f"Authorization={ann}")]
    app = ingress(web, origins=["*"])
    async with web, service:
        answer = await ask(app, "GET", "/shop.example/mine", headers=given)
        assert answer.status == 401
        assert "access-control-allow-credentials" not in answer.headers
        given[1] = ("Authorization", f"Bearer {ann}")
        assert (await ask(app, "GET", "/shop.example/mine", headers=given)).status == 200


async def test_the_time_budget_is_that_of_the_client_if_it_is_less(shop):
    web, service = shop
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


async def test_a_part_of_another_application(shop):
    web, service = shop
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


#: Fields of a connection (RFC 9110, 7.6.1, and what browsers and proxies still send).
OF_CONNECTION = [
    "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
    "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Host", "Content-Length",
    "Request-Timeout", "Traceparent", "Tracestate", "X-Named", "X-named-Too",
]  # fmt: skip


async def test_no_field_of_a_connection_passes_either_way(near):
    web, service = near
    given = dict.fromkeys(OF_CONNECTION, "9") | {"Connection": "x-NAMED , close,x-named-too"}
    given |= {"Microbus-Mine": "1", "X-Kept": "1"}

    @service.endpoint("GET", "/all")
    async def everything() -> Response:
        return Response(200, b"four", headers=given)

    async with web, service:
        asked = [(name, each) for name, each in given.items() if name not in ("Host",)]
        asked += [("Connection", "x-second"), ("X-Second", "9")]
        answer = await ask(ingress(web), "GET", "/shop.example/echo/x", headers=asked)
        told = {name.lower() for name in json.loads(answer.body)["headers"]}
        assert told.isdisjoint({*map(str.lower, OF_CONNECTION), "microbus-mine", "x-second"}), told
        assert "x-kept" in told
        answer = await ask(ingress(web), "GET", "/shop.example/all")
        left = set(answer.headers)
        assert left & {*map(str.lower, OF_CONNECTION), "microbus-mine"} == {"content-length"}
        assert (answer.headers["content-length"], answer.headers["x-kept"]) == ("4", "1")


@pytest.mark.parametrize("proxied", [False, True])
@pytest.mark.parametrize("named", [False, True])
async def test_where_a_request_came_from(near, proxied, named):
    web, service = near
    given = {"Host": "h", "For": "10.0.0.1", "Proto": "https", "Prefix": "/p", "Path": "/q"}
    headers = [
        (f"X-Forwarded-{name}", each) for name, each in given.items() if named or name != "Host"
    ]
    async with web, service:
        answer = await ask(
            ingress(web, proxied=proxied), "GET", "/shop.example/echo/x", headers=headers
        )
    told = json.loads(answer.body)["headers"]
    own = {"Host": "front.example:8080", "For": "192.0.2.7", "Proto": "http", "Prefix": ""}
    expected = (given if proxied and named else own) | {"Path": "/shop.example/echo/x"}
    assert {name: told[f"X-Forwarded-{name}"] for name in expected} == expected


async def test_a_server_that_does_not_know_its_client(near):
    web, service = near
    answer, sent = Answer(), [{"type": "http.request"}]
    scope = {"type": "http", "method": "GET", "path": "/shop.example/echo/é x", "query_string": b"",
             "headers": [(b"x-mark", "é".encode("latin-1"))], "client": None}  # fmt: skip

    async def receive() -> dict[str, Any]:
        return sent.pop() if sent else await asyncio.Event().wait()

    async with web, service:
        await ingress(web)(scope, receive, answer.take)
    told = json.loads(answer.body)
    assert told["path"] == "/echo/é x"
    names = ("Host", "For", "Proto", "Prefix", "Path")
    found = [told["headers"][f"X-Forwarded-{name}"] for name in names]
    assert found == ["", "", "http", "", "/shop.example/echo/? x"]
    assert told["headers"]["X-Mark"] == "é"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("Authorization", "Bearer {}")], 200), ([("Authorization", "bearer  {} ")], 200),
        ([("Authorization", "BEARER {}")], 200), ([("Authorization", "Basic {}")], 401),
        ([("Authorization", "{}")], 401), ([("Authorization", "Bearer ")], 401),
        ([("Cookie", "Authorization={}")], 200), ([("Cookie", 'Authorization="Bearer {}"')], 200),
        ([("Cookie", "authorization={}")], 401), ([("Cookie", "Authorization={}; a[]=\x7f")], None),
        ([("Authorization", "Basic x"), ("Cookie", "Authorization={}")], 200),
        ([("Authorization", "Bearer  "), ("Cookie", "Authorization={}")], 200),
        ([("Cookie", "Author;ization={}")], 401), ([("Cookie", "a,b=1; Authorization={}")], None),
    ],
)  # fmt: skip
async def test_the_token_of_a_request(near, headers, status):
    web, service = near
    token = actor_token({"sub": "ann", "iss": "access.token.core"})
    given = [(name, value.format(token)) for name, value in headers]
    async with web, service:
        answer = await ask(ingress(web), "GET", "/shop.example/mine", headers=given)
    assert answer.status in ((200, 400, 401) if status is None else (status,))


@pytest.mark.parametrize(
    ("listed", "origin", "status", "named"),
    [
        ([], "https://FRONT.example:8080", 201, None), ([], "http://front.example:8080", 201, None),
        ([], "https://front.example", 403, None), ([], "front.example:8080", 403, None),
        ([], "null", 403, None), (["*"], "null", 201, False),
        (["*"], "https://a.example", 201, False),
        (["*", "https://A.example"], "https://a.EXAMPLE", 201, True),
        (["https://a.example"], "https://a.example:444", 403, None),
        (["https://a.example"], "http://a.example", 403, None),
        (["https://a.example"], "", 201, None),
    ],
)  # fmt: skip
async def test_the_origin_of_a_page(near, listed, origin, status, named):
    web, service = near
    app, url = ingress(web, origins=listed), "/shop.example/cookies"
    async with web, service:
        answer = await ask(app, "POST", url, headers=[("Origin", origin)] if origin else [])
    assert answer.status == status
    assert answer.headers.get("access-control-allow-origin") == (None if named is None else origin)
    told = answer.headers.get("access-control-allow-credentials")
    assert told == ("true" if named else None)


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("https://front.example", "Front.EXAMPLE", True), ("https://front.example", "", False),
        ("null", "null", False), ("null", "", False), ("", "front.example", True),
    ],
)  # fmt: skip
def test_the_own_origin_of_an_ingress_is_that_of_its_host(origin, host, own):
    headers = Headers({"Origin": origin} | ({"Host": host} if host else {}))
    if own:
        assert Origins([]).check(headers) == (Headers(), True)
    else:
        with pytest.raises(HTTPError):
            Origins([]).check(headers)


async def test_an_origin_of_any_length_is_refused_in_few_words(near):
    web, service = near
    async with web, service:
        for size, shown in ((200, 200), (201, 200)):
            headers = [("Origin", "x" * size)]
            answer = await ask(ingress(web), "GET", "/shop.example/cookies", headers=headers)
            told = f"requests of pages of {'x' * shown!r} are not allowed (origins)"
            assert (answer.status, answer.error["error"]) == (403, told)


async def test_a_preflight_names_an_origin_and_a_method(near):
    web, service = near
    origin, method = ("Origin", "https://a.example"), ("Access-Control-Request-Method", "PUT")
    app, url = ingress(web, origins=["https://a.example"]), "/shop.example/echo/x"
    async with web, service:
        for verb, headers in (
            ("OPTIONS", [origin]), ("OPTIONS", [method]), ("POST", [origin, method]),
        ):  # fmt: skip
            answer = await ask(app, verb, url, headers=headers)
            assert (answer.status, json.loads(answer.body)["method"]) == (200, verb)
        answer = await ask(app, "OPTIONS", url, headers=[origin, method])
    assert answer.status == 204
    assert answer.headers == {
        "access-control-allow-origin": "https://a.example", "vary": "Origin",
        "access-control-allow-credentials": "true", "access-control-max-age": "600",
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS",
        "cache-control": "no-store",
    }  # fmt: skip


async def test_what_a_page_may_read_is_added_to_what_the_service_says(near):
    web, service = near

    @service.endpoint("GET", "/varied")
    async def varied() -> Response:
        return Response(200, headers={"Vary": "Accept", "X-Mark": "1"})

    app = ingress(web, origins=["https://a.example"])
    async with web, service:
        url, origin = "/shop.example/varied", ("Origin", "https://a.example")
        answer = await ask(app, "GET", url, headers=[origin])
        assert answer.headers["vary"] == "Accept, Origin"
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert {"X-Mark", "Vary", "Cache-Control"} <= set(exposed)
        answer = await ask(app, "GET", url)
        assert answer.headers["vary"] == "Accept"
        assert not [name for name in answer.headers if name.startswith("access-control")]


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
async def test_a_response_is_sent_in_as_few_pieces_as_it_has(near, size):
    web, service = near
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
async def test_a_time_budget_is_a_number_of_at_most_nine_digits(near, asked, budget):
    web, service = near
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
async def test_the_status_of_a_service(near, status, sent):
    web, service = near
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
    """Who started it was told that there is no broker."""
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
