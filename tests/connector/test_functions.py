"""Arguments and results of functions travel by name, as Go sends and reads them."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypedDict

import pydantic
import pytest

from subtrie.connector import REQUIRED, Client, Request

from .shop_calls import HOST, URL, asked, refused

pytestmark = pytest.mark.requirement("A80")


@dataclass
class Item:
    name: str
    number: int = 1


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Stored:
    http_response_body: Item
    http_status_code: int = 200


class Both(TypedDict):
    first: int
    second: Item
    third: NotRequired[int]


class Size(enum.Enum):
    NONE = ""
    LARGE = "l"


class Colour(enum.Enum):
    RED = "red"


class Model(pydantic.BaseModel):
    name: str
    number: int = 3


# --- one structured argument


async def test_one_structured_argument_of_a_client_is_not_lost(pair):
    shop, web = pair
    seen = []

    @shop.endpoint("POST", "/one")
    async def one(request: Request) -> dict[str, Any]:
        seen.append((request.body, request.headers["Content-Type"]))
        return {"token": "t"}

    client = Client(HOST)

    @client.call("ANY", "/one", result="token")
    async def mint(claims: dict[str, Any]) -> str: ...

    async with shop, web:
        assert await mint(web, {"sub": "ann"}) == "t"
    assert seen == [(b'{"claims":{"sub":"ann"}}', "application/json")]


async def test_one_structured_argument_of_a_handler_is_read_by_name(pair):
    shop, web = pair
    shop.endpoint("POST", "/item")(_item)
    shop.endpoint("POST", "/map")(_map)
    shop.endpoint("POST", "/mixed")(_mixed)
    async with shop, web:
        item = {"item": {"name": "tea", "number": 7}}
        assert await asked(web, "POST", "/item", json=item) == ["tea", 7]
        assert await asked(web, "POST", "/map", json={"ages": {"ann": 3}}) == {"ann": 3}
        assert await asked(web, "POST", "/mixed", json={"count": 4, **item}) == [4, "tea", 7]


async def _item(item: Item) -> Any:
    return [item.name, item.number]


async def _map(ages: dict[str, int]) -> Any:
    return ages


async def _mixed(count: int, item: Item) -> Any:
    return [count, item.name, item.number]


async def test_the_members_of_an_argument_itself_are_refused_with_both_shapes(pair):
    shop, web = pair
    for path, handler in (("/item", _item), ("/map", _map), ("/mixed", _mixed)):
        shop.endpoint("POST", path)(handler)

    @shop.endpoint("POST", "/model")
    async def model(model: Model | None) -> Any: ...

    @shop.endpoint("POST", "/any")
    async def anything(claims) -> Any: ...

    async with shop, web:
        for path, body in (
            ("/item", {"name": "tea"}),
            ("/item", {"number": 7, "other": 1}),
            ("/mixed", {"name": "tea"}),
            ("/map", {"ann": 3}),
            ("/model", {"name": "tea"}),
            ("/any", {"sub": "ann"}),
        ):
            answer = await asked(web, "POST", path, json=body)
            assert refused(answer, "itself; arguments travel by name: {", "http_request_body"), path


async def test_members_that_no_argument_has_are_zeros(pair):
    shop, web = pair
    shop.endpoint("POST", "/item")(_item)
    shop.endpoint("POST", "/mixed")(_mixed)
    async with shop, web:
        for body in ({}, {"newer": 1}, {"item": {}}, {"item": None}, {"item": {"newer": 2}}):
            assert await asked(web, "POST", "/item", json=body) == ["", 1], body
        assert await asked(web, "POST", "/item") == ["", 1]
        assert await asked(web, "POST", "/mixed", json={"newer": 1}) == [0, "", 1]


async def test_the_whole_body_is_only_http_request_body(pair):
    shop, web = pair

    @shop.endpoint("PUT", "/store/{key}")
    async def store(key: str, http_request_body: Item, dry: bool = False) -> Any:
        return [key, http_request_body.name, dry]

    @shop.endpoint("PUT", "/raw")
    async def raw(http_request_body: bytes, n: int) -> Any:
        return [http_request_body.hex(), n]

    @shop.endpoint("PUT", "/text")
    async def text(http_request_body: str) -> Any:
        return http_request_body.upper()

    client = Client(HOST)
    calls = {
        name: client.call("PUT", path)(stub)
        for name, path, stub in (("store", "/store/{key}", store), ("raw", "/raw", raw))
    }
    async with shop, web:
        body = {"name": "tea", "key": "body"}
        assert await asked(web, "PUT", "/store/k?dry=true", json=body) == ["k", "tea", True]
        assert await calls["store"](web, "k", Item("tea"), dry=True) == ["k", "tea", True]
        assert await calls["raw"](web, b"\x00{", 5) == ["007b", 5]
        assert (await web.request("PUT", f"{URL}/text", json="a")).body == b"A"
        assert (await web.request("PUT", f"{URL}/text", body="b")).body == b"B"


# --- the query


async def test_structured_arguments_of_get_are_read_from_the_query(pair):
    shop, web = pair

    @shop.endpoint("ANY", "/distance")
    async def distance(p1: Point, p2: Point, tags: list[str], size: Size) -> Any:
        return [p1.x, p1.y, p2.x, p2.y, tags, size.name]

    @shop.endpoint("GET", "/map")
    async def ages(ages: dict[str, int], more: Any) -> Any:
        return [ages, more]

    async with shop, web:
        for query in ("p1[x]=1&p2[x]=3&p2[y]=4.5", "p1.x=1&p2.x=3&p2.y=4.5"):
            zeros = [1.0, 0.0, 3.0, 4.5, [], "NONE"]
            assert await asked(web, "GET", f"/distance?{query}") == zeros
        answer = await asked(web, "GET", "/distance?tags[1]=b&tags[0]=a&size=l")
        assert answer == [0.0, 0.0, 0.0, 0.0, ["a", "b"], "LARGE"]
        answer = await asked(web, "GET", "/map?ages.ann=3&more[0]=1&more[1][x]=true&more[1].y=no")
        assert answer == [{"ann": 3}, [1, {"x": True, "y": "no"}]]
        for bad in ("p1=3", "p1[x]=much", "p1[x][y]=1", "p1[x]=nan", "tags[1]=b", "size=q"):
            assert refused(await asked(web, "GET", f"/distance?{bad}")), bad
        deep = "a" + "[a]" * 100
        assert refused(await asked(web, "GET", f"/distance?{deep}=1"), "more than 64 parts")


@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD", "OPTIONS"])
async def test_a_client_sends_the_arguments_of_a_method_without_body_in_the_query(pair, method):
    shop, web = pair
    seen = []

    @shop.endpoint(method, "/near/{place}")
    async def near(place: str, point: Point, tags: list[str], limit: int | None) -> None:
        seen.append([place, point, tags, limit])

    client = Client(HOST)
    call = client.call(method, "/near/{place}")(near)
    shop.middleware(lambda request, call_next: seen.append(request) or call_next(request))
    async with shop, web:
        await call(web, "a b", Point(0, -2.5), ["x", "y&z"], None)
        await call(web, "c", Point(1, 2), [], 4)
    first, told, second, more = seen
    assert (first.body, second.body) == (b"", b"")
    assert "point%5Bx%5D=0&point%5By%5D=-2.5&tags%5B0%5D=x&tags%5B1%5D=y%26z" in first.url
    assert told == ["a b", Point(0, -2.5), ["x", "y&z"], None]
    assert more == ["c", Point(1, 2), [], 4]


async def test_the_body_wins_over_the_path_and_the_query_over_the_body(pair):
    shop, web = pair

    @shop.endpoint("PUT", "/keep/{key}")
    async def keep(key: str, item: Item) -> Any:
        return [key, item.name, item.number]

    async with shop, web:
        item = {"item": {"name": "tea", "number": 7}}
        for path, body, key in (
            ("/keep/path", item, "path"),
            ("/keep/path", {"key": "body", **item}, "body"),
            ("/keep/path?key=query", {"key": "body", **item}, "query"),
            ("/keep/", {"key": "body", **item}, "body"),
            ("/keep/", item, ""),
            ("/keep/path", {"key": None, **item}, "path"),
        ):
            assert await asked(web, "PUT", path, json=body) == [key, "tea", 7]
        answer = await asked(web, "PUT", "/keep/k?item.number=2&item[name]=cup", json=item)
        assert answer == ["k", "cup", 2]
        answer = await asked(web, "PUT", "/keep/k?item.number=2", json=item)
        assert answer == ["k", "tea", 2], "members of one argument are joined"
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        form = "key=form&item.name=a%26b&item[number]=3"
        answer = await asked(web, "PUT", "/keep/", body=form, headers=headers)
        assert answer == ["form", "a&b", 3]


# --- absent and null


async def test_what_is_absent_is_the_default_else_the_zero_wherever_it_is(pair):
    shop, web = pair

    @dataclass
    class Whole:
        part: Item
        more: list[Item]
        maybe: Item | None
        kept: int = 5

    @shop.endpoint("ANY", "/all")
    async def everything(
        n: int, whole: Whole, both: Both, size: Size, flag: bool, count: int = 7
    ) -> Any:
        return [n, whole, both, size.name, flag, count]

    everything.__annotations__  # noqa: B018 - a local class is found by its name
    zero = [0, {"part": {"name": "", "number": 1}, "more": [], "maybe": None, "kept": 5}]
    zero += [{"first": 0, "second": {"name": "", "number": 1}}, "NONE", False, 7]
    async with shop, web:
        for method, path, more in (
            ("GET", "/all", {}),
            ("POST", "/all", {}),
            ("POST", "/all", {"json": {}}),
            ("POST", "/all", {"json": {"whole": {}, "both": {"first": None}, "newer": 1}}),
            ("POST", "/all", {"json": dict.fromkeys(("n", "whole", "both", "size", "count"))}),
            ("POST", "/all", {"json": {"whole": {"part": None, "more": None, "kept": None}}}),
            ("GET", "/all?n=null&count=null", {}),
        ):
            assert await asked(web, method, path, **more) == zero, (method, path, more)


async def test_only_what_is_marked_is_required(pair):
    shop, web = pair

    @dataclass
    class Marked:
        name: Annotated[str, REQUIRED]
        number: int

    @shop.endpoint("POST", "/argument")
    async def argument(n: Annotated[int, REQUIRED], m: int) -> Any:
        return [n, m]

    @shop.endpoint("POST", "/field")
    async def fields(marked: Marked) -> Any:
        return marked

    @shop.endpoint("POST", "/model")
    async def model(model: Model) -> Any:
        return model

    @shop.endpoint("POST", "/enumeration")
    async def enumeration(colour: Colour) -> Any:
        return colour

    async with shop, web:
        assert await asked(web, "POST", "/argument", json={"n": 1}) == [1, 0]
        for body in ({}, {"m": 1}, {"n": None}):
            answer = await asked(web, "POST", "/argument", json=body)
            assert refused(answer, "argument 'n' is missing")
        answer = await asked(web, "POST", "/field", json={"marked": {"name": "a"}})
        assert answer == {"name": "a", "number": 0}
        answer = await asked(web, "POST", "/field", json={"marked": {"number": 1}})
        assert refused(answer, "'marked.name' is missing")
        assert refused(await asked(web, "POST", "/field", json={}), "'marked' is missing")
        assert refused(await asked(web, "POST", "/model", json={"model": {}}), "Field required")
        assert refused(await asked(web, "POST", "/model", json={}), "Field required")
        assert refused(await asked(web, "POST", "/enumeration", json={}), "'colour' is missing")
        described = await asked(web, "GET", ":888/openapi.json")
        schema = described["paths"][f"/{HOST}:443/argument"]["post"]["requestBody"]["content"]
        assert schema["application/json"]["schema"]["required"] == ["n"]
