"""Arguments and results of functions travel by name, as Go sends and reads them."""

from __future__ import annotations

import enum
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict
from urllib.parse import quote, unquote

import pydantic
import pytest

from examples.interop.functions import serve_functions
from subtrie import BusError
from subtrie.connector import REQUIRED, Client, HTTPError, Request, Response

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


# --- results


async def test_a_named_result_of_a_typed_call_is_not_read_as_zeros(pair):
    shop, web = pair
    answers: dict[str, Any] = {
        "/named": {"item": {"name": "tea", "number": 7}},
        "/zero": {},
        "/newer": {"newer": {"x": 1}},
        "/bare": {"name": "tea"},
        "/number": {"result": 5},
    }
    for path, answer in answers.items():
        shop.endpoint("GET", path)(lambda answer=answer: answer)
    client = Client(HOST)

    async def item() -> Item: ...

    async def number() -> int: ...

    async def call(stub, path, **more):
        try:
            return await client.call("GET", path, **more)(stub)(web)
        except HTTPError as error:
            return error

    async with shop, web:
        assert await call(item, "/named", result="item") == Item("tea", 7)
        assert await call(item, "/zero", result="item") == Item("", 1)
        assert await call(item, "/zero") == Item("", 1)
        assert await call(item, "/newer") == Item("", 1)
        assert await call(item, "/bare") == Item("tea", 1)
        assert await call(number, "/number", result="result") == 5
        assert await call(number, "/zero", result="result") == 0
        told = await call(item, "/named")
        assert refused(told, "with 'item'", "result='item'", status=502)
        told = await call(item, "/bare", result="item")
        assert refused(told, "members of the result itself", "without result=", status=502)
        told = await call(number, "/number")
        assert refused(told, "result='result'", status=502)


async def test_the_result_of_a_handler_has_the_declared_name(pair):
    shop, web = pair

    async def give(http_request_body: Any) -> Any:
        return http_request_body

    async def respond() -> Response:
        return Response(201, "made")

    shop.endpoint("POST", "/item", result="item")(give)
    shop.endpoint("POST", "/response", result="item")(respond)
    async with shop, web:
        for value in ({"a": 1}, [1], 5, "text", None):
            assert await asked(web, "POST", "/item", json=value) == {"item": value}
        response = await web.request("POST", f"{URL}/response")
        assert (response.status, response.body) == (201, b"made")


async def test_a_whole_body_and_a_status_are_results_both_ways(pair):
    shop, web = pair

    @dataclass
    class Named:
        item: Item
        http_status_code: int

    class Typed(TypedDict):
        http_response_body: list[int]
        http_status_code: int

    async def stored() -> Stored:
        return Stored(Item("tea", 7), 201)

    async def named() -> Named:
        return Named(Item("cup"), 404)

    async def typed() -> Typed:
        return {"http_response_body": [1, 2], "http_status_code": 0}

    async def names() -> list[str]:
        return ["a"]

    async def model() -> dict[str, Any]:
        return {"name": "x", "http_status_code": 202}

    async def bad() -> dict[str, Any]:
        return {"http_status_code": 7}

    client = Client(HOST)
    calls = {}
    for each in (stored, named, typed, names, model, bad):
        more = {"result": "http_response_body"} if each is names else {}
        shop.endpoint("GET", f"/{each.__name__}", **more)(each)
        calls[each] = client.call("GET", f"/{each.__name__}", **more)(each)
    async with shop, web:
        response = await web.request("GET", f"{URL}/stored")
        assert (response.status, response.json()) == (201, {"name": "tea", "number": 7})
        assert await calls[stored](web) == Stored(Item("tea", 7), 201)
        assert await calls[named](web) == Named(Item("cup"), 404)
        told = {"http_response_body": [1, 2], "http_status_code": 200}
        assert await calls[typed](web) == told
        assert await calls[names](web) == ["a"]
        assert (await web.request("GET", f"{URL}/model")).status == 202
        assert refused(await asked(web, "GET", "/bad"), "status 7", status=500)


async def test_a_response_that_does_not_fit_is_a_502(pair):
    shop, web = pair
    shop.endpoint("GET", "/x")(lambda: {"name": 5})
    client = Client(HOST)

    @client.call("GET", "/x")
    async def item() -> Item: ...

    async with shop, web:
        with pytest.raises(HTTPError, match=r"response\.name' is not a valid str: 5") as caught:
            await item(web)
        assert caught.value.status == 502


async def test_nan_is_an_error_both_ways(pair):
    shop, web = pair
    shop.endpoint("GET", "/nan")(lambda: float("nan"))
    shop.endpoint("GET", "/inside")(lambda: {"a": [Point(1, float("inf"))]})
    shop.endpoint("POST", "/read")(lambda x: None)
    async with shop, web:
        for path in ("/nan", "/inside"):
            assert refused(await asked(web, "GET", path), "not a number", status=500)
        answer = await asked(web, "POST", "/read", body=b'{"x":NaN}')
        assert refused(answer, "NaN is not a number")
        with pytest.raises(ValueError, match="not a number"):
            await web.request("POST", f"{URL}/read", json={"x": float("nan")})


# --- refused at decoration


def test_what_cannot_be_converted_is_refused_at_decoration(make_memory):
    shop, client = make_memory(HOST), Client(HOST)

    class Foreign:
        pass

    @dataclass
    class Holder:
        inner: list[Foreign] = field(default_factory=list)

    async def argument(x: Foreign) -> None: ...

    async def within(x: dict[str, Holder | None]) -> None: ...

    async def result() -> Foreign: ...

    async def several(*names: str) -> None: ...

    async def generated() -> AsyncIterator[int]:
        yield 1

    def yielded():
        yield 1

    for n, (handler, reason) in enumerate(
        (
            (argument, "annotation"),
            (within, "annotation"),
            (result, "annotation"),
            (several, "endpoint"),
            (generated, "generator"),
            (yielded, "generator"),
        )
    ):
        with pytest.raises(BusError) as caught:
            shop.endpoint("POST", f"/{n}")(handler)
        assert caught.value.reason == reason, handler
    for stub, reason in ((argument, "annotation"), (result, "annotation"), (several, "stub")):
        with pytest.raises(BusError) as caught:
            client.call("POST", "/x")(stub)
        assert caught.value.reason == reason, stub
    with pytest.raises(BusError, match=r"Holder\.inner: Foreign cannot be converted"):
        shop.endpoint("POST", "/again")(within)


# --- recorded from Go

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "interop" / "go_functions.jsonl").open()
]


def _without_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _without_zeros(each) for name, each in value.items()}
        zeros = ("", 0, None, [], {}, "0001-01-01T00:00:00Z")
        return {name: each for name, each in kept.items() if each not in zeros}
    return [_without_zeros(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['method']} {row['target']}"[:40])
async def test_a_request_recorded_from_go_is_answered_as_by_go(pair, row):
    shop, web = pair
    serve_functions(shop)
    headers = {"Content-Type": row["type"]} if row["type"] else {}
    async with shop, web:
        (answer,) = [
            each
            async for each in web.publish(
                row["method"], URL + row["target"], body=row["body"].encode(), headers=headers
            )
        ]
    expected = row.get("ours", row)
    assert (answer.error or answer).status == expected["status"]
    if "response" in expected:
        assert _without_zeros(answer.json()) == _without_zeros(json.loads(expected["response"]))


# --- bodies, names and texts


@pytest.mark.parametrize(
    ("kind", "read"),
    [("application/x-www-form-urlencoded", True), ("Application/X-WWW-Form-URLencoded; a=b", True),
     (" application/x-www-form-urlencoded ;", True), ("application/json", False), ("", False)],
)  # fmt: skip
async def test_a_form_is_told_by_its_media_type(pair, kind, read):
    shop, web = pair
    shop.endpoint("POST", "/parts")(lambda n, m="x": [n, m])
    shop.endpoint("POST", "/whole")(_whole)
    headers = {"Content-Type": kind}
    async with shop, web:
        for path in ("/parts", "/whole"):
            answer = await asked(web, "POST", path, body="n=7&m=a%20b", headers=headers)
            assert answer == (["7", "a b"] if read else answer)
            assert isinstance(answer, HTTPError) is not read
            answer = await asked(web, "POST", path, body=b"n=\xff", headers=headers)
            assert refused(answer, "the form is not valid" if read else "not")


def _whole(http_request_body: dict[str, str]) -> list[str]:
    return list(http_request_body.values())


async def test_a_body_that_the_handler_reads_itself_may_be_anything(pair):
    shop, web = pair

    @shop.endpoint("POST", "/own")
    def own(request: Request, n: int = 1) -> list[Any]:
        return [request.body.decode(), n]

    async with shop, web:
        assert await asked(web, "POST", "/own", body="tea") == ["tea", 1]
        assert await asked(web, "POST", "/own", body='{"n":') == ['{"n":', 1]
        assert await asked(web, "POST", "/own", body='{"n":2}') == ['{"n":2}', 2]
        for body in ("tea", '{"n":', "[1]"):
            headers = {"Content-Type": "application/json"}
            assert refused(await asked(web, "POST", "/own", body=body, headers=headers))


async def test_which_parameter_is_the_request(pair):
    shop, web = pair

    @shop.endpoint("GET", "/named")
    def named(request):
        return request.path

    @shop.endpoint("GET", "/typed")
    def typed(other: Request):
        return other.path

    @shop.endpoint("GET", "/text")
    def text(request: str):
        return f"text {request}"

    async with shop, web:
        answers = {"/named": "/named", "/typed": "/typed", "/text?request=a": "text a"}
        for path, answer in answers.items():
            assert (await web.request("GET", URL + path)).text == answer


@pytest.mark.parametrize(
    ("path", "taken"),
    [("/{orderId}", True), ("/{orderid}", True), ("/{oRDERid}", True), ("/{order}", False),
     ("/{path1}/{orderId}", True), ("/{pathway}/{orderId}", False), ("/{path}/{orderId}", False),
     ("/{}/{orderId}", True), ("/{orderId}/{by}", True), ("/{orderId}/{by1}", False)],
)  # fmt: skip
async def test_a_path_argument_has_a_parameter(pair, path, taken):
    shop, web = pair

    def handle(order_id_: int, by_: int = 7):
        return [order_id_, by_]

    if not taken:
        with pytest.raises(BusError) as caught:
            shop.endpoint("GET", path)(handle)
        assert caught.value.reason == "path-argument"
        return
    shop.endpoint("GET", path)(handle)
    async with shop, web:
        assert await asked(web, "GET", "/7" * path.count("/")) == [7, 7]


@pytest.mark.parametrize(
    ("text", "value"),
    [("9" * 18, 10**18 - 1), ("9" * 19, 10**19 - 1), ("-7", -7), ("007", 7), ("٧", None),
     ("+7", None), ("7.0", None), ("x", None)],
)  # fmt: skip
async def test_a_number_of_a_path_has_ascii_digits(pair, text, value):
    shop, web = pair
    shop.endpoint("GET", "/n/{n}")(_number)
    async with shop, web:
        answer = await asked(web, "GET", f"/n/{quote(text)}")
        assert answer == [value] if value is not None else refused(answer, "'n' is not a valid int")


def _number(n: int) -> list[int]:
    return [n]


async def test_members_of_an_argument_that_is_given_elsewhere_are_not_refused(pair):
    shop, web = pair

    @shop.endpoint("POST", "/ship/{to}")
    async def ship(to: dict[str, int], item: dict[str, int]) -> list[Any]:
        return [item]

    async with shop, web:
        answer = await asked(web, "POST", "/ship/null", json={"n": 1})
        assert refused(answer, "arguments travel by name")
        assert await asked(web, "POST", "/ship/null?item[n]=2", json={"n": 1}) == [{"n": 2}]


@pytest.mark.parametrize(
    ("value", "query"),
    [(None, ""), ("", "a="), ("x", "a=x"), (5, "a=5"), (0, "a=0"), (True, "a=true"), (1.5, "a=1.5"),
     ([1, 2], "a[0]=1&a[1]=2"), ({"b": None}, "a[b]=null")],
    ids=str,
)  # fmt: skip
async def test_what_a_client_sends_in_the_query(pair, value, query):
    shop, web = pair
    shop.endpoint("GET", "/q")(lambda request: unquote(request.url_query))
    client = Client(HOST)

    @client.call("GET", "/q")
    async def absent(a: Any = None) -> str: ...

    @client.call("GET", "/q")
    async def given(a: Any = 7) -> str: ...

    async with shop, web:
        assert await absent(web, value) == query
        assert await given(web, value) == (query or "a=null")
