"""Bodies as classes: dataclasses, and pydantic models if it is installed."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import pydantic
import pytest

from subtrie.connector import Client, Event, HTTPError, Request

if TYPE_CHECKING:
    from nowhere import Missing

HOST = "shop.example"
URL = f"https://{HOST}"


class Line(pydantic.BaseModel):
    """One line of an order."""

    item: str
    pieces: int = pydantic.Field(1, ge=1, le=7)


class Order(pydantic.BaseModel):
    """An order, checked by pydantic."""

    lines: list[Line]
    note: str | None = None


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Part:
    name: str
    sizes: list[int] = field(default_factory=list)
    colour: Colour | None = None


@dataclass
class Whole:
    parts: dict[str, Part]
    weight: float = 0.0


async def test_pydantic_models_are_bodies_and_responses(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("POST", "/order/{id}")
    async def place(id: int, order: Order, request: Request) -> Order:
        assert isinstance(order, Order)
        return Order(lines=[*order.lines, Line(item=f"for {id}")], note=request.source)

    @shop.endpoint("POST", "/lines")
    async def lines(http_request_body: list[Line], first: bool = False) -> list[Line]:
        return http_request_body[:1] if first else http_request_body

    async with shop, web:
        answer = await web.request(
            "POST", f"{URL}/order/7", json={"order": Order(lines=[Line(item="tea", pieces=2)])}
        )
        assert answer.json() == {
            "lines": [{"item": "tea", "pieces": 2}, {"item": "for 7", "pieces": 1}],
            "note": "web.example",
        }
        answer = await web.request(
            "POST", f"{URL}/lines?first=true", json=[{"item": "a"}, {"item": "b", "pieces": 3}]
        )
        assert answer.json() == [{"item": "a", "pieces": 1}]
        for bad in ({"lines": [{"item": "tea", "pieces": 8}]}, {"lines": 7}, [], None):
            with pytest.raises(HTTPError) as refused:
                await web.request("POST", f"{URL}/order/7", json={"order": bad})
            assert refused.value.status == 400
        with pytest.raises(HTTPError, match=r"pieces") as refused:
            await web.request(
                "POST", f"{URL}/order/7", json={"order": {"lines": [{"item": 1, "pieces": 8}]}}
            )
        assert refused.value.status == 400
        described = (await web.request("GET", f"{URL}:888/openapi.json")).json()
        place_told = described["paths"][f"/{HOST}:443/order/{{id}}"]["post"]
        schema = place_told["requestBody"]["content"]["application/json"]["schema"]
        assert schema["properties"]["order"]["properties"]["lines"]["type"] == "array"


async def test_a_whole_body_and_the_request_may_be_given_by_name_only(make_memory):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("POST", "/lines/{id}")
    async def lines(
        id: int, *, http_request_body: list[Line], request: Request, first: bool = False
    ):
        told = [line.item for line in http_request_body][: 1 if first else None]
        return [id, told, request.source]

    async with shop, web:
        body = [{"item": "a"}, {"item": "b"}]
        answer = await web.request("POST", f"{URL}/lines/7", json=body)
        assert answer.json() == [7, ["a", "b"], "web.example"]
        answer = await web.request("POST", f"{URL}/lines/8?first=true", json=body)
        assert answer.json() == [8, ["a"], "web.example"]


async def test_dataclasses_may_contain_dataclasses(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("POST", "/build")
    async def build(http_request_body: Whole) -> Whole:
        parts = http_request_body.parts
        assert all(isinstance(part, Part) for part in parts.values())
        return Whole({name: part for name, part in parts.items() if part.colour})

    async with shop, web:
        body = {"parts": {"a": {"name": "A", "colour": "red", "sizes": [1, 2]}}, "weight": 2}
        body["parts"]["b"] = {"name": "B"}
        answer = await web.request("POST", f"{URL}/build", json=body)
        assert answer.json() == {"parts": {"a": body["parts"]["a"]}, "weight": 0.0}
        for path, bad in (
            ("whole.parts", {"parts": 7}),
            ("whole.parts.a", {"parts": {"a": []}}),
            ("whole.parts.a.sizes[1]", {"parts": {"a": {"name": "A", "sizes": [1, "2"]}}}),
            ("whole.weight", {"parts": {}, "weight": "much"}),
        ):
            with pytest.raises(HTTPError) as refused:
                await web.request("POST", f"{URL}/build", json=bad)
            assert refused.value.status == 400
            assert path.removeprefix("whole") in refused.value.message


async def test_typed_clients_and_events_take_models(make):
    shop, web, mail = make(HOST), make("web.example"), make("mail.example")
    client, placed = Client(HOST), Event(HOST, "/on-placed")
    heard: list[Order] = []

    @client.call("POST", "/order/{id}")
    async def place(id: int, order: Order) -> Order: ...

    @client.call("GET", "/parts")
    async def parts(colour: str = "red") -> list[Part]: ...

    @shop.endpoint("POST", "/order/{id}")
    async def placing(id: int, order: Order) -> Order:
        return order

    @shop.endpoint("GET", "/parts")
    async def listing(colour: Colour) -> list[dict[str, Any]]:
        return [{"name": "A", "colour": colour.value}]

    @mail.on(placed)
    async def note(http_request_body: Order) -> None:
        heard.append(http_request_body)

    async with shop, web, mail:
        order = Order(lines=[Line(item="tea")])
        assert await client.place(web, 3, order) == order
        assert await client.parts(web) == [Part("A", colour=Colour.RED)]
        with pytest.raises(HTTPError) as refused:
            await client.parts(web, colour="blue")
        assert refused.value.status == 400
        (answer,) = await shop.trigger(placed, order)
        assert (answer.error, heard) == (None, [order])


async def test_annotations_may_name_classes_of_an_enclosing_function(make_memory):
    """Annotations are text here; the class is local."""

    @dataclass
    class Local:
        n: int

    class Model(pydantic.BaseModel):
        n: int

    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("POST", "/a/{id}")
    async def a(id: int, local: Local) -> Local:
        return Local(local.n + id)

    @shop.endpoint("POST", "/b/{id}")
    def b(id: int, model: Model, never: Missing = None) -> int:
        assert never is None
        return model.n + id

    class Object:
        async def __call__(self, id: int, local: Local) -> int:
            return id + local.n

    shop.endpoint("POST", "/c/{id}")(Object())
    shop.endpoint("POST", "/d/{id}")(partial(a, id=5))
    async with shop, web:
        local = {"local": {"n": 2}}
        assert (await web.request("POST", f"{URL}/a/1", json=local)).json() == {"n": 3}
        model = {"model": {"n": 2}}
        assert (await web.request("POST", f"{URL}/b/1", json=model)).json() == 3
        assert (await web.request("POST", f"{URL}/c/1", json=local)).json() == 3
        answer = await web.request("POST", f"{URL}/d/1", json=local)
        assert answer.json() == {"n": 3}, "the path says more than the partial does"


@pytest.mark.parametrize(
    ("kind", "status"), [("application/json; charset=utf-8", 400), ("text/plain", 200), ("", 200)]
)
async def test_a_body_that_says_it_is_json_must_be_though_the_handler_may_read_it(
    make_memory, kind, status
):
    shop, web = make_memory(HOST), make_memory("web.example")

    @shop.endpoint("POST", "/x")
    async def read(request: Request, n: int = 7) -> list[Any]:
        return [request.body.decode(), n]

    async with shop, web:
        headers = {"Content-Type": kind} if kind else {}
        ask = web.request("POST", f"{URL}/x", body=b'{"n":', headers=headers)
        if status == 200:
            assert (await ask).json() == ['{"n":', 7]
        else:
            with pytest.raises(HTTPError) as refused:
                await ask
            assert refused.value.status == status
