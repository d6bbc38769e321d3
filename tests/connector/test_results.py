"""The response for what a handler returns, and what a caller reads a response as."""

from __future__ import annotations

import collections
import typing
from collections.abc import Awaitable, Coroutine
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from subtrie.connector import Answer, HTTPError, Response
from subtrie.connector._results import Result, awaited, to_response

from .shop_calls import HOST, URL, asked, refused

pytestmark = pytest.mark.requirement("A80")


@dataclass
class Item:
    name: str
    number: int = 1


class Told(pydantic.BaseModel):
    http_status_code: int = 0
    n: int = 1


@dataclass
class Raw:
    http_response_body: bytes
    http_status_code: int = 202


@dataclass
class Counted:
    n: int
    http_status_code: int = 0


@dataclass
class Node:
    next: Node | None = None


JSON, TEXT, RAW = "application/json", "text/plain; charset=utf-8", "application/octet-stream"


@pytest.mark.parametrize(
    ("result", "status", "body", "kind"),
    [
        (None, 200, b"", None), (b"\xff", 200, b"\xff", RAW), (bytearray(b"x"), 200, b"x", RAW),
        (memoryview(b"x"), 200, b"x", RAW), ("é", 200, "é".encode(), TEXT), ("", 200, b"", TEXT),
        ({"a": "é"}, 200, '{"a":"é"}'.encode(), JSON), ({}, 200, b"{}", JSON),
        ([], 200, b"[]", JSON),
        (0, 200, b"0", JSON), (False, 200, b"false", JSON),
        (Item("x"), 200, b'{"name":"x","number":1}', JSON),
        ({"http_status_code": 201, "a": 1}, 201, b'{"a":1}', JSON),
        ({"http_status_code": 0}, 200, b"{}", JSON),
        (collections.OrderedDict(http_status_code=201, a=1), 201, b'{"a":1}', JSON),
        (collections.defaultdict(int, http_response_body=b"x"), 200, b"x", RAW),
        ({"http_response_body": [1]}, 200, b"[1]", JSON),
        ({"http_response_body": "x"}, 200, b'"x"', JSON),
        ({"http_response_body": b"x", "http_status_code": 203}, 203, b"x", RAW),
        (Raw(b"x"), 202, b"x", RAW), (Told(http_status_code=299), 299, b'{"n":1}', JSON),
        (Response(999, "x", headers={"X-A": "1"}), 999, b"x", None),
        (Response(204), 204, b"", None),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, memoryview) else str(each)[:40],
)  # fmt: skip
async def test_the_response_for_what_a_handler_returns(pair, result, status, body, kind):
    shop, web = pair
    shop.endpoint("GET", "/r")(lambda: result)
    async with shop, web:
        (answer,) = [each async for each in web.publish("GET", f"{URL}/r")]
    assert (answer.status, answer.body, answer.headers.get("Content-Type")) == (status, body, kind)


@pytest.mark.parametrize("status", [199, 1000, "200", 200.0, True, None, -1])
async def test_a_status_that_is_none_is_an_error(pair, status):
    shop, web = pair
    response = Response()
    response.status = status
    shop.endpoint("GET", "/one")(lambda: response)
    shop.endpoint("GET", "/two")(lambda: {"http_status_code": status})
    async with shop, web:
        for path in ("/one", "/two")[: 1 if status is None else 2]:
            answer = await asked(web, "GET", path)
            assert refused(answer, f"cannot respond with status {status}", status=500)


@pytest.mark.parametrize("text", ["Hallo", b"Hallo"])
async def test_a_text_in_place_of_the_status_is_named(pair, text):
    shop, web = pair
    shop.endpoint("GET", "/r")(lambda: Response(text))
    async with shop, web:
        answer = await asked(web, "GET", "/r")
        assert refused(
            answer, f"with status {text}: a status is a number; pass a text as body=", status=500
        )


@pytest.mark.parametrize("length", [40, 41])
def test_a_text_in_place_of_the_status_is_cut(length):
    told = f"with status {'x' * 40}: a status is a number"
    with pytest.raises(HTTPError, match=told):
        to_response(Response("x" * length))


async def test_the_headers_of_a_response_are_its_own(pair):
    shop, web = pair
    kept = Response(
        200, b"body", headers={"X-A": "1", "Content-Length": "9", "Content-Type": "a/b"}
    )
    kept.headers["Microbus-From-Host"] = kept.headers["Microbus-Op-Code"] = "evil.example"
    shop.endpoint("GET", "/r")(lambda: kept)
    shop.endpoint("GET", "/n", result="http_response_body")(lambda: kept)
    shop.endpoint("GET", "/m", result="item")(lambda: kept)
    async with shop, web:
        for path in ("/r", "/n", "/m"):
            answer = await web.request("GET", URL + path)
            assert (answer.headers["X-A"], answer.headers["Content-Type"]) == ("1", "a/b")
            assert (answer.source, answer.headers["Microbus-From-Host"]) == (HOST, HOST)
            assert "Content-Length" not in answer.headers
            answer.headers["X-A"] = "2"
    assert kept.headers["X-A"] == "1"


@pytest.mark.parametrize(
    ("result", "name", "body", "more"),
    [(5, "item", b'{"item":5}', {}), (None, "item", b'{"item":null}', {}),
     ([1], "".join(("http_response_", "body")), b"[1]", {}), (b"x", "http_response_body", b"x", {}),
     ({"http_response_body": 1, "b": 2, "a": 3}, "", None, {"status": 500})],
    ids=str,
)  # fmt: skip
async def test_a_named_result(pair, result, name, body, more):
    shop, web = pair
    shop.endpoint("GET", "/r", result=name)(lambda: result)
    async with shop, web:
        if body is None:
            assert refused(await asked(web, "GET", "/r"), "http_response_body beside b, a", **more)
        else:
            assert (await web.request("GET", f"{URL}/r")).body == body


@pytest.mark.parametrize(
    ("annotation", "name", "body", "expected"),
    [
        (Any, "", b"[1]", [1]), (int, "", b"", 0), (int, "", b"null", 0), (str, "", b"tea", "tea"),
        (bytes, "", b"\xff", b"\xff"), (None, "", b"tea", None), (list[int], "", b"[1]", [1]),
        (int, "item", b'{"item":5}', 5), (int, "item", b'{"other":5}', 0), (int, "item", b"", 0),
        (int, "item", b"[5]", "a list of 1, not an object with 'item'"),
        (Item, "item", b'{"name":"x"}', "the members of the result itself, not an object with"),
        (int, "", b'{"item":5}', "an object with 'item'; declare the call with result='item'"),
        (int | str, "", b'{"item":5}', "an object with 'item'; declare the call with result="),
        (Item, "", b'{"item":{"name":"x"}}', "an object with 'item', which has the declared"),
        (int | Item, "", b'{"a":{"name":"x"}}', "an object with 'a', which has the declared"),
        (Item, "", b'{"name":"x"}', Item("x")), (Item, "", b'{"other":1}', Item("")),
        (Item, "", b'{"other":{"more":1}}', Item("")),
        (dict, "", b'{"a":{"name":1}}', {"a": {"name": 1}}),
        (int, "", b'"x"', "'response' is not a valid int: \"x\""),
        (bytes, "item", b'{"item":"eA=="}', b"x"),
        (int, "item", b'{"item":"x"}', "'item' is not a valid int: \"x\""),
        (Raw, "", b"\xff", Raw(b"\xff", 200)), (Counted, "", b'{"n":3}', Counted(3, 200)),
        (int, "", b'{"n":5,"m":6}', "'response' is not a valid int"),
        (int, "", b"{}", "'response' is not a valid int"),
        (Any, "", b'{"item":5}', {"item": 5}), (int | dict, "", b'{"item":5}', {"item": 5}),
        (Item, "", b'{"name":{"name":"x"}}', "'response.name' is not a valid str"),
        (Item, "", b'{"one":{"name":"x"},"two":1}', Item("")),
        (Item | Any, "", b'{"item":{"name":"x"}}', {"item": {"name": "x"}}),
        (Node, "", b'{"next":' * 700 + b"null" + b"}" * 700, "it is nested too deeply"),
        (int, "http_response_body", b"5", 5), (Any, "", b"{", "the body is not valid JSON"),
        (list, "", b"[" * 2000 + b"]" * 2000, ...),
    ],
    ids=lambda each: str(each)[:30],
)  # fmt: skip
def test_what_a_response_is_read_as(annotation, name, body, expected):
    read = Result(annotation, name).read
    if isinstance(expected, str) and annotation is not str:
        with pytest.raises(HTTPError) as caught:
            read(Response(200, body))
        assert expected in caught.value.message
        assert caught.value.status == 502
    elif expected is not ...:
        found = read(Response(200, body))
        assert (found, type(found)) == (expected, type(expected))
    for status in (400, 999) if annotation not in (Raw, Counted) else ():
        with pytest.raises(HTTPError) as caught:
            read(Response(status, body))
        assert caught.value.status == status


def test_a_text_that_is_not_utf_8_is_a_502():
    """It was a ``UnicodeDecodeError`` of the caller."""
    with pytest.raises(HTTPError, match="does not fit: 'response' is not text in UTF-8") as caught:
        Result(str).read(Response(200, b"\xff"))
    assert caught.value.status == 502


def test_a_text_in_json_is_read_as_json():
    response = Response(200, b'"tea"', headers={"Content-Type": "application/json; charset=utf-8"})
    assert Result(str).read(response) == "tea"
    assert (
        Result(str).read(Response(200, b'"tea"', headers={"Content-Type": "text/plain"})) == '"tea"'
    )
    assert Result(Response).read(Response(404, b"x")).status == 404


@pytest.mark.parametrize("annotation", [Awaitable[int], Coroutine[str, bytes, int], int])
def test_the_result_of_a_function_is_what_is_awaited(annotation):
    assert awaited(annotation) is int


@pytest.mark.parametrize("annotation", [typing.Awaitable, typing.Coroutine])
def test_a_result_that_is_awaited_may_be_anything(annotation):
    """It was an IndexError when the connector started."""
    assert awaited(annotation) is Any


@pytest.mark.parametrize("declared", [Response, None, str, bytes, dict[str, int], Counted])
def test_an_answer_that_is_an_error_raises_it_whatever_is_declared(declared):
    response = Response(404, b"x")
    response.error = HTTPError("not here", status=404)
    with pytest.raises(HTTPError) as caught:
        Answer(response, Result(declared)).get()
    assert caught.value is response.error
    if declared is not Response:
        with pytest.raises(HTTPError) as caught:
            Result(declared).read(response)
        assert caught.value is response.error


@pytest.mark.parametrize(
    ("annotation", "name", "schema"),
    [
        (None, "", None), (Response, "", None), (bytes, "", None), (int, "", {"type": "integer"}),
        (bytes, "data", {"data": {"type": "string", "contentEncoding": "base64"}}),
        (int, "http_response_body", {"type": "integer"}),
        (Counted, "", {"n": {"type": "integer"}}),
    ],
    ids=str,
)  # fmt: skip
def test_the_schema_of_a_response(annotation, name, schema):
    """It has no member for the status."""
    found = Result(annotation, name).schema()
    if isinstance(schema, dict) and "type" not in schema:
        assert (found["type"], found["properties"]) == ("object", schema)
    else:
        assert found == schema


@pytest.mark.parametrize("more", [{"n": 1}, {"http_response_body": [1]}])
async def test_a_result_that_its_handler_keeps_is_not_changed(pair, more):
    (shop, web), kept = pair, {"http_status_code": 201, **more}
    shop.endpoint("GET", "/kept")(lambda: kept)
    async with shop, web:
        for _ in range(2):
            assert (await web.request("GET", f"{URL}/kept")).status == 201
    assert kept == {"http_status_code": 201, **more}
