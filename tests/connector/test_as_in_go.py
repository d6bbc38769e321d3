"""Behaviour of a service that is that of a Go service: actors, trace context, statuses, routes."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from subtrie import BusError
from subtrie._core import control_headers
from subtrie.connector import HTTPError, Request, Response
from subtrie.testing import actor_token

from .test_actor_tokens import TokenService

HOST = "shop.example"
URL = f"https://{HOST}"
GO_LIVE = Path(__file__).parents[2] / "examples" / "captures" / "go_live" / "wire.jsonl.gz"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def serve_admin(shop):
    @shop.endpoint("GET", "/admin", requires="roles.admin && !suspended")
    async def admin(request: Request) -> Any:
        return request.actor

    @shop.endpoint("GET", "/open")
    async def anyone(request: Request) -> Any:
        return {"actor": request.actor, "source": request.source}


async def status_of(web, path, token=None):
    headers = {} if token is None else {"Microbus-Actor": token}
    try:
        return (await web.request("GET", URL + path, headers=headers)).json()
    except HTTPError as error:
        return error.status


async def test_a_token_is_verified_before_the_handler(make):
    tokens, shop = make("access.token.core"), make(HOST, deployment="PROD")
    web, service = make("web.example"), TokenService()
    service.add("k1")
    seen = []

    @tokens.endpoint("ANY", ":888/jwks")
    async def jwks(request: Request) -> Any:
        seen.append(request.headers.get("Microbus-Actor"))
        return service.jwks()

    serve_admin(shop)
    stranger = TokenService()
    stranger.add("k1")
    async with tokens, shop, web:
        good = service.sign(sub="ann", roles=["admin"])
        assert (await status_of(web, "/admin", good))["sub"] == "ann"
        answer = await status_of(web, "/open", good)
        assert (answer["actor"]["sub"], answer["source"]) == ("ann", "web.example")
        assert await status_of(web, "/open") == {"actor": None, "source": "web.example"}
        assert await status_of(web, "/admin") == 401
        assert await status_of(web, "/admin", service.sign(roles=["user"])) == 403
        suspended = service.sign(roles=["admin"], suspended=True)
        assert await status_of(web, "/admin", suspended) == 403
        for path in ("/admin", "/open"):
            assert await status_of(web, path, stranger.sign(roles=["admin"])) == 401
            assert await status_of(web, path, actor_token({"roles": ["admin"]})) == 401
            assert await status_of(web, path, "forged") == 401
    assert seen == [None]


async def test_an_actor_token_in_tests_and_no_token_service(make):
    shop, web = make(HOST), make("web.example")
    serve_admin(shop)
    async with shop, web:
        token = actor_token({"sub": "ann", "roles": ["admin"]})
        assert (await status_of(web, "/admin", token))["sub"] == "ann"
        service = TokenService()
        service.add("k1")
        assert await status_of(web, "/open", service.sign()) == 401


async def test_a_refused_token_does_not_reach_middleware(make):
    shop, web = make(HOST), make("web.example")
    serve_admin(shop)
    seen = []

    @shop.middleware
    async def step(request, call_next):
        seen.append(request.actor)
        return await call_next(request)

    async with shop, web:
        assert await status_of(web, "/admin") == 401
        await status_of(web, "/admin", actor_token({"roles": ["admin"]}))
    assert seen == [{"roles": ["admin"]}]


async def test_an_actor_is_passed_on_to_nested_calls(make):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")

    @stock.endpoint("GET", "/level", requires="tenant.id == 7")
    async def level(request: Request) -> Any:
        return [request.actor, request.source]

    @shop.endpoint("GET", "/level")
    async def ask() -> Any:
        return (await shop.request("GET", "https://stock.example/level")).json()

    async with shop, stock, web:
        token = actor_token({"tenant": {"id": 7}})
        assert await status_of(web, "/level", token) == [{"tenant": {"id": 7}}, HOST]


def test_required_claims_that_make_no_sense_are_refused_at_decoration(make_memory):
    with pytest.raises(BusError) as caught:
        make_memory(HOST).endpoint("GET", "/x", requires="roles.admin and level")(lambda: None)
    assert caught.value.reason == "requires"


async def test_trace_context_passes_through_without_a_provider(make):
    shop, stock, web = make(HOST), make("stock.example"), make("web.example")

    @stock.endpoint("GET", "/level")
    async def level(request: Request) -> Any:
        return [request.headers.get(name) for name in ("Traceparent", "Tracestate")]

    @stock.endpoint("GET", "/wrong")
    async def wrong() -> None:
        raise HTTPError("none", status=404)

    @shop.endpoint("GET", "/{what}")
    async def ask(what: str) -> Any:
        return (await shop.request("GET", f"https://stock.example/{what}")).json()

    async with shop, stock, web:
        headers = {"Traceparent": PARENT, "Tracestate": "a=b"}
        assert (await web.request("GET", f"{URL}/level", headers=headers)).json() == [PARENT, "a=b"]
        assert (await web.request("GET", f"{URL}/level")).json() == [None, None]
        for path in ("/wrong", "/absent/x"):
            with pytest.raises(HTTPError) as caught:
                await web.request("GET", URL + path, headers=headers)
            assert caught.value.trace == PARENT.split("-")[1]


@pytest.mark.parametrize("status", [200, 204, 301, 304, 399, 400, 599, 999])
async def test_the_status_of_an_error_stays(make, status):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/x")
    async def fail() -> None:
        raise HTTPError("so be it", status=status)

    async with shop, web:
        with pytest.raises(HTTPError) as caught:
            await web.request("GET", f"{URL}/x")
        assert caught.value.status == status


@pytest.mark.parametrize("status", [0, 1, 100, 101, 199, 1000, -1])
async def test_a_status_that_http_does_not_have_is_a_500(make, status):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/error")
    async def fail() -> None:
        raise HTTPError("so be it", status=status)

    @shop.endpoint("GET", "/response")
    async def respond() -> Response:
        return Response(status)

    async with shop, web:
        for path in ("/error", "/response"):
            with pytest.raises(HTTPError, match=str(status)) as caught:
                await web.request("GET", URL + path)
            assert caught.value.status == 500


def test_routes_are_checked_against_handlers_and_each_other(make_memory):
    shop = make_memory(HOST)
    with pytest.raises(BusError) as caught:
        shop.endpoint("GET", "/a/{id}")(lambda ident: None)
    assert caught.value.reason == "path-argument"
    for named in ("pathology", "path", "item7"):  # only path1, path2 … are not names
        with pytest.raises(BusError) as caught:
            shop.endpoint("GET", f"/a/{{{named}}}")(lambda ident: None)
        assert caught.value.reason == "path-argument"
    shop.endpoint("GET", "/a/{id}")(lambda request: None)
    shop.endpoint("GET", "/b/{orderId}")(lambda order_id: None)
    shop.endpoint("GET", "/c/{}/{...}")(lambda: None)
    with pytest.raises(BusError) as caught:
        shop.endpoint("GET", "/a/{other}")(lambda other: None)
    assert caught.value.reason == "route-twice"
    shop.endpoint("POST", "/a/{other}")(lambda other: None)
    shop.endpoint("GET", "/a/{other}", queue="second")(lambda other: None)
    shop.endpoint("GET", ":444/a/{other}")(lambda other: None)
    for _ in range(2):
        shop.endpoint("GET", "/heard-by-all", queue=None)(lambda: None)


async def test_a_response_that_is_not_json_is_not_the_callers_fault(make):
    shop, web = make(HOST), make("web.example")

    @shop.endpoint("GET", "/text")
    async def text() -> str:
        return "plain é"

    async with shop, web:
        response = await web.request("GET", f"{URL}/text")
        assert response.text == "plain é"
        with pytest.raises(HTTPError) as caught:
            response.json()
        assert caught.value.status == 502


def test_control_headers_have_the_names_of_recorded_go_services():
    with gzip.open(GO_LIVE, "rt") as lines:
        sent = b"".join(b64decode(json.loads(line)["data"]) for line in lines).decode("latin-1")
    names = set(re.findall(r"\r\n(Microbus-[\w-]+): ", sent))
    baggage = {name for name in names if name.startswith(control_headers.BAGGAGE)}
    assert baggage == {"Microbus-Baggage-Campaign"}
    assert names - baggage == control_headers.CONTROL
    for name in (*(names - baggage), "Microbus-Actor"):
        constant = name.removeprefix("Microbus-").replace("-", "_").upper()
        assert getattr(control_headers, constant) == name
    kinds = {getattr(control_headers, name) for name in ("REQUEST", "ACK", "RESPONSE", "ERROR")}
    assert set(re.findall(r"\r\nMicrobus-Op-Code: (\w+)", sent)) == kinds
