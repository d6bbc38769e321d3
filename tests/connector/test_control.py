"""The control plane, configuration, typed clients, events, metrics."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated

import prometheus_client
import pytest

from patience import until
from subtrie import AddressError
from subtrie.connector import REQUIRED, Client, Event, HTTPError, Request, Response
from subtrie.testing import actor_token

HOST = "shop.example"


async def test_ping_reaches_all_connectors_and_each_alone(make):
    shop, web = make(HOST), make("web.example")
    async with shop, web:
        pings = [a async for a in web.publish("GET", "https://all:888/ping")]
        assert {(a.source, a.id, a.body) for a in pings} == {
            (HOST, shop.id, b'{"pong":0}'),
            ("web.example", web.id, b'{"pong":0}'),
        }
        assert (await web.request("GET", f"https://{shop.id}.all:888/ping")).source == HOST
        assert (await web.request("GET", f"https://{HOST}:888/ping")).queue is None


ORDERS = prometheus_client.Counter("orders_of_a_test", "A counter of the program itself")
PARTS = prometheus_client.Counter("parts_of_a_test", "A counter with a label of its own", ["ver"])


async def test_the_collectors_of_a_program_are_labelled_and_shown_once(make):
    """Each connector repeated them, without its labels: Prometheus drops or mixes such series."""
    several = [make(f"shop{n}.example") for n in range(3)]
    ORDERS.inc()
    async with several[2], several[1], several[0]:
        shown = {}
        async for answer in several[2].publish("GET", "https://all:888/metrics"):
            lines = answer.text.splitlines()
            shown[answer.source] = [x for x in lines if x.startswith("orders_of_a_test_total")]
        first = several[0]
        assert {host: len(lines) for host, lines in shown.items()} == {
            "shop0.example": 1, "shop1.example": 0, "shop2.example": 0,
        }  # fmt: skip
        (line,) = shown[first.host]
        for label in ("service", "id", "plane", "ver"):
            assert f'{label}="' in line
        assert f'id="{first.id}"' in line
        PARTS.labels(ver="own").inc()
        text = (await first.request("GET", "https://shop0.example:888/metrics")).text
        (line,) = (x for x in text.splitlines() if x.startswith("parts_of_a_test_total"))
        assert (f'id="{first.id}"' in line, 'ver="own"' in line) == (True, True)
    async with several[1]:  # the first one has stopped
        text = (await several[1].request("GET", "https://shop1.example:888/metrics")).text
        assert f'id="{several[1].id}"' in next(
            x for x in text.splitlines() if x.startswith("orders_of_a_test_total")
        )


def test_the_kind_of_an_endpoint_follows_from_its_result(make_memory):
    shop = make_memory(HOST)

    def kind(handler, **more):
        shop.endpoint("ANY", f"/{handler.__name__}", **more)(handler)
        return shop.endpoints[-1].kind

    async def page() -> str: ...
    async def picture(size: int = 0) -> bytes: ...
    async def answer(name: str) -> Response: ...
    async def echo(request: Request): ...
    async def number() -> int: ...
    async def text() -> str: ...
    async def found(request: Request) -> dict[str, int]: ...

    for handler in (page, picture, answer, echo):
        assert kind(handler) == "web", handler
    for handler, more in ((number, {}), (text, {"result": "text"}), (found, {})):
        assert kind(handler, **more) == "function", handler


async def test_metrics_are_prometheus_text(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/x/{id}")
    async def lambda_of_a_test(id):
        return id

    ORDERS.inc(7)
    async with shop, web:
        for n in range(3):
            await web.request("GET", f"https://{HOST}/x/{n}")
        answer = await web.request("GET", f"https://{HOST}:888/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain")
        lines = answer.body.decode().splitlines()
        way = "memory" if shop._transport.in_process is not None else "nats"
        (delivered,) = [x for x in lines if x.startswith("microbus_deliveries_total{")]
        assert f'transport="{way}"' in delivered
        (served,) = [
            x
            for x in lines
            if x.startswith("microbus_server_request_") and "/x/" in x and "_count{" in x
        ]
        assert served.endswith(" 3.0")
        for label in (
            'name="lambda_of_a_test"', 'route="/x/{id}"', f'canonical="{HOST}:443/x/{{id}}"',
            'port="443"', 'method="GET"', 'code="200"', 'type="function"', 'error="OK"',
            f'service="{HOST}"', f'id="{shop.id}"', f'plane="{shop.plane}"', 'ver="0"',
            'deployment="TESTING"',
        ):  # fmt: skip
            assert label in served
        (below,) = [
            x
            for x in lines
            if x.startswith("microbus_server_response_body_bytes_bucket{")
            and "/x/" in x
            and 'le="1024"' in x
        ]
        assert below.endswith(" 3.0")
        (uptime,) = [x for x in lines if x.startswith("microbus_uptime_duration_seconds{")]
        assert float(uptime.rpartition(" ")[2]) > 0
        (own,) = [x for x in lines if x.startswith("orders_of_a_test_total")]
        assert float(own.rpartition(" ")[2]) >= 7
        types = [x.split()[2] for x in lines if x.startswith("# TYPE")]
        assert len(types) == len(set(types))


async def test_the_description_of_a_service(make_memory):
    shop, web = make_memory(HOST, version=4), make_memory("web.example")

    @dataclass
    class Order:
        item: str
        pieces: int = 1

    @shop.endpoint("POST", "/order/{id}")
    async def place(id: int, order: Order, dry: bool = False) -> Order:
        """Places an order."""
        return order

    place.__annotations__ |= {"order": Order, "return": Order}
    async with shop, web:
        answer = await web.request("GET", f"https://{HOST}:888/openapi.json")
        assert answer.headers["Cache-Control"] == "private, no-store"
        told = answer.json()
        assert (told["openapi"], told["info"]) == ("3.1.0", {"title": HOST, "version": "4"})
        (operation,) = told["paths"].values()
        operation = operation["post"]
        assert operation["description"] == "Places an order."
        named = {(p["name"], p["in"]): p["schema"]["type"] for p in operation["parameters"]}
        assert named == {("id", "path"): "integer"}
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert list(schema["properties"]) == ["order", "dry"]
        assert list(schema["properties"]["order"]["properties"]) == ["item", "pieces"]
        assert "required" not in json.dumps(schema)
        with pytest.raises(HTTPError):
            await web.request("POST", f"https://{HOST}:888/openapi.json", timeout=1)


async def test_operations_are_what_a_portal_lists(make_memory):
    shop, web, kept = make_memory(HOST), make_memory("web.example"), {}

    @shop.endpoint("ANY", "/order")
    async def order(item: str) -> dict:
        """Place an order.

        More of it.
        """
        return {}

    shop.endpoint("ANY", "/page")(lambda request: Response())
    shop.endpoint("GET", "/order/{id}")(_named("order", lambda id: {}))
    shop.endpoint("GET", "/admin", requires="roles.admin")(_named("admin", lambda: {"a": 1}))
    shop.endpoint("GET", "/other/{id}")(_named("order", lambda id: {}))
    shop.on(Event("stock.example", "/on-low"))(lambda body: None)
    async with shop, web:
        url = f"https://{HOST}:888/openapi.json"
        told = (await web.request("GET", url)).json()
        operations = {
            path.partition("443")[2]: (method, operation)
            for path, methods in told["paths"].items()
            for method, operation in methods.items()
        }
        assert {
            path: (method, each["operationId"], each["x-feature-type"], each["summary"])
            for path, (method, each) in operations.items()
        } == {
            "/order": ("post", "order", "function", "Place an order."),
            "/page": ("get", "<lambda>", "web", "<lambda>"),
            "/order/{id}": ("get", "order_get", "function", "order get"),
            "/other/{id}": ("get", "order_get_2", "function", "order get 2"),
        }
        headers = {"Microbus-Actor": actor_token({"roles": ["admin"]})}
        told = (await web.request("GET", url, headers=headers)).json()
        admin = told["paths"][f"/{HOST}:443/admin"]["get"]
        assert admin["responses"]["403"]["description"].endswith("token required with: roles.admin")
        assert list(admin["security"][0]) == list(told["components"]["securitySchemes"])
        headers = {"Microbus-Actor": actor_token({"roles": ["user"]})}
        told = (await web.request("GET", url, headers=headers)).json()
        assert f"/{HOST}:443/admin" not in told["paths"]
        for endpoint in shop.endpoints[1:]:  # as while the service starts
            kept[endpoint], endpoint.registrations = endpoint.registrations, []
        for given in ({}, headers):
            told = (await web.request("GET", url, headers=given)).json()
            assert list(told["paths"]) == [f"/{HOST}:443/order"]
        for endpoint, registrations in kept.items():
            endpoint.registrations = registrations


def _named(name, handler):
    handler.__name__ = name
    return handler


async def test_on_new_subs_makes_a_caller_forget_known_responders(make):
    one, web = make(HOST, round_trip=0.2), make("web.example", round_trip=0.2)
    one.endpoint("GET", "/", queue=None)(lambda: "one")
    async with one, web:
        assert len([a async for a in web.publish("GET", f"https://{HOST}/")]) == 1
        async with make(HOST, round_trip=0.2) as two:
            await two.subscribe("GET", "/", lambda: "two", queue=None)
            for _ in range(100):
                await asyncio.sleep(0.02)
                if len([a async for a in web.publish("GET", f"https://{HOST}/")]) == 2:
                    break
            else:
                pytest.fail("the second one was never seen")


@pytest.mark.parametrize("when", ["at the start", "later"])
async def test_routes_of_another_host_are_announced_by_that_host(make, plane, when):
    one, two, web = make("stock.example"), make(HOST), make("web.example")
    known = web._client.known_responders
    subject = f"{plane}.safe.443.web_example.stock_example._.GET.level"
    one.endpoint("GET", "/level", queue=None)(lambda: 1)
    if when == "at the start":
        two.endpoint("GET", "//stock.example/level", queue=None)(lambda: 2)
    async with one, web:
        if when == "later":
            await two.startup()
        url = "https://stock.example/level"
        assert [each.json() async for each in web.publish("GET", url)] == [1]
        await until(lambda: known.get(subject))
        if when == "later":
            await two.subscribe("GET", "//stock.example/level", lambda: 2, queue=None)
        else:
            await two.startup()
        await until(lambda: not known.get(subject))
        await two.shutdown()


async def test_configuration_is_read_before_on_startup_and_is_optional(make):
    values = {"Shelf": "lower", "Limit": "7", "Odd": "1"}
    core = make("configurator.core")

    @core.endpoint("ANY", ":888/values")
    async def told(names: list[str]):
        return {"values": {name: values[name] for name in names if name in values}}

    def service():
        made = make("stock.example")
        seen = []
        kept = [
            made.config("Shelf", default="upper"),
            made.config("Limit", default=5, parse=int),
            made.config("Odd", default=1, parse=int),
            made.config("Unset", default=None),
        ]
        made.on_startup(lambda: seen.extend(config.get() for config in kept))
        return made, seen, kept

    alone, seen, _ = service()
    async with alone:
        assert seen == ["upper", 5, 1, None]
    async with core:
        stock, seen, kept = service()
        async with stock:
            assert seen == ["lower", 7, 1, None]
            values |= {"Limit": "8", "Odd": "x"}  # one that cannot be parsed is not taken
            answers = [
                a async for a in core.publish("GET", "https://stock.example:888/config-refresh")
            ]
            assert [a.body for a in answers] == [b"{}"]
            assert (kept[1].value, kept[2].value) == (8, 1)


async def test_typed_clients(make):
    shop, web = make(HOST), make("web.example")

    @dataclass
    class Order:
        item: str
        pieces: int = 1

    client = Client(HOST)

    async def place(id: int, order: Order, dry: bool = False) -> Order: ...

    async def show(path: str) -> str: ...

    async def raw(http_request_body: bytes) -> Response: ...

    place.__annotations__ |= {"order": Order, "return": Order}
    client.call("POST", "/order/{id}")(place)
    client.call("GET", "/files/{path...}")(show)
    client.call("PUT", ":444/raw")(raw)

    async def placed(id: int, order: Order, dry: bool = False):
        assert (id, dry) == (7, True)
        return Order(order.item, order.pieces + 1)

    placed.__annotations__ |= {"order": Order}
    shop.endpoint("POST", "/order/{id}")(placed)
    shop.endpoint("GET", "/files/{path...}")(lambda path: path)
    shop.endpoint("PUT", ":444/raw")(lambda request: request.body)
    async with shop, web:
        assert await client.place(web, 7, Order("tea", 2), dry=True) == Order("tea", 3)
        assert await client.show(web, path="a/b c") == "a/b c"
        assert (await client.raw(web, b"\x00", timeout=5)).body == b"\x00"
        with pytest.raises(AttributeError):
            client.nothing()
    with pytest.raises(AddressError):
        client.call("BREW", "/")


async def test_events(make):
    placed = Event(HOST, "/on-placed")
    shop, mail, audit = make(HOST), make("mail.example"), make("audit.example")
    heard = []

    @mail.on(placed)
    async def send(request: Request):
        heard.append((request.source, request.json()))
        return "sent"

    @audit.on(placed, queue=None)
    async def note(id: int):
        raise HTTPError("full", status=507)

    async with shop, mail, audit:
        answers = await shop.trigger(placed, {"id": 1})
        assert heard == [(HOST, {"id": 1})]
        assert sorted(a.error.status if a.error else a.status for a in answers) == [200, 507]
    with pytest.raises(AddressError):
        Event("all", "/x")


#: Of each operation below: where it is, and what is said of it beside what is said of all.
OPERATIONS = {
    (f"/{HOST}:443/find/{{id}}/{{rest}}", "get"): {
        "operationId": "find", "summary": "Find orders.", "x-feature-type": "function",
        "x-name": "find", "description": "Find orders.\n\nMore.",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
            {"name": "rest", "in": "path", "required": True, "schema": {}},
            {"name": "words", "in": "query", "style": "deepObject", "explode": True,
             "schema": {"type": "array", "items": {"type": "string"}}},
            {"name": "at", "in": "query", "style": "deepObject", "explode": True,
             "schema": {"type": "object", "additionalProperties": {"type": "integer"}}},
            {"name": "size", "in": "query", "required": True, "schema": {"type": "integer"}},
            {"name": "plain", "in": "query", "schema": {}},
        ],
        "result": {"type": "array", "items": {"type": "integer"}},
    },
    (f"/{HOST}:444/body/{{id}}", "put"): {
        "operationId": "whole", "summary": "whole", "x-feature-type": "web", "x-name": "whole",
        "parameters": [
            {"name": "id", "in": "path", "required": True, "schema": {}},
            {"name": "dry", "in": "query", "schema": {"type": "boolean"}},
        ],
    },
    (f"/{HOST}:443/json", "put"): {
        "operationId": "whole_put", "summary": "whole put", "x-feature-type": "function",
        "x-name": "whole",
        "requestBody": {"type": "object", "additionalProperties": {"type": "integer"}},
        "result": {"type": "object", "properties": {"left": {"type": "integer"}}},
    },
    ("/other.example:443/a_page", "get"): {
        "operationId": "a_page", "summary": "a page", "x-feature-type": "web", "x-name": "a_page",
        "result": {"type": "string"},
    },
    (f"/{HOST}:443/{{}}", "post"): {
        "operationId": "unnamed", "summary": "unnamed", "x-feature-type": "function",
        "x-name": "unnamed",
        "parameters": [{"name": "path1", "in": "path", "required": True,
                        "schema": {"type": "string"}}],
        "requestBody": {"type": "object", "required": ["m"], "properties": {
            "n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "m": {"type": "string"}}},
    },
}  # fmt: skip


@pytest.mark.parametrize("requires", [None, "roles.admin"])
async def test_the_whole_description_of_a_service(make_memory, requires):
    shop, web = make_memory(HOST, version=4), make_memory("web.example")

    @shop.endpoint("GET", "/find/{id}/{rest...}", requires=requires)
    async def find(
        id: int, rest, words: list[str], at: dict[str, int], size: Annotated[int, REQUIRED], plain
    ) -> list[int]:
        """Find orders.

        More.
        """
        return []

    @shop.endpoint("PUT", ":444/body/{id}", requires=requires)
    async def whole(id, http_request_body: bytes, dry: bool = False) -> bytes:
        return b""

    async def second(http_request_body: dict[str, int]) -> int:
        return 0

    shop.endpoint("PUT", "/json", result="left", requires=requires)(_named("whole", second))

    @shop.endpoint("ANY", "//other.example/a_page", requires=requires)
    async def a_page(request: Request) -> str:
        return ""

    @shop.endpoint("POST", "/{}", requires=requires)
    async def unnamed(n: int | None = None, *, m: Annotated[str, REQUIRED]) -> None: ...

    @shop.endpoint("POST", "//all/everyone")
    async def everyone() -> None: ...

    async with shop, web:
        headers = {"Microbus-Actor": actor_token({"roles": ["admin"]})} if requires else {}
        url = f"https://{HOST}:888/openapi.json"
        told = (await web.request("GET", url, headers=headers)).json()
    operations = {
        (path, method): each
        for path, methods in told.pop("paths").items()
        for method, each in methods.items()
    }
    expected = {}
    for place, given in OPERATIONS.items():
        operation = {"responses": {"2XX": {"description": "OK"}, "4XX": {"description": "Error"}}}
        operation |= given
        if schema := operation.pop("result", None):
            operation["responses"]["2XX"]["content"] = {"application/json": {"schema": schema}}
        if schema := operation.pop("requestBody", None):
            operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
        if requires:
            operation["security"] = [{"http_bearer_jwt": []}]
            operation["responses"] |= {
                "401": {"description": "Unauthorized"},
                "403": {"description": "Forbidden; token required with: roles.admin"},
            }
        expected[place] = operation
    assert operations == expected
    scheme = {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}
    components = {"components": {"securitySchemes": {"http_bearer_jwt": scheme}}}
    assert told == {
        "openapi": "3.1.0", "info": {"title": HOST, "version": "4"},
        "servers": [{"url": "https://localhost/"}], **(components if requires else {}),
    }  # fmt: skip


@pytest.mark.parametrize("deployment", ["LOCAL", "LAB"])
async def test_a_description_is_indented_in_local_alone(make_memory, deployment):
    shop = make_memory(HOST, deployment=deployment)
    async with shop:
        text = (await shop.request("GET", f"https://{HOST}:888/openapi.json")).text
    assert ("\n  " in text) == (deployment == "LOCAL")
