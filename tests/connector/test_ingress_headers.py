"""Headers, tokens and origins at an ingress: those that enter the bus, and those that leave it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from subtrie.connector import HTTPError, Request, Response, ingress
from subtrie.connector._headers import Headers
from subtrie.connector._ingress_headers import Origins
from subtrie.testing import actor_token

from .ingress_client import Answer, ask
from .test_actor_tokens import BEARER, TokenService


async def test_control_headers_do_not_enter(fronted):
    web, service = fronted
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


async def test_the_token_of_the_end_user_becomes_the_actor(fronted):
    web, service = fronted
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


async def test_cookies_and_redirects_pass(fronted):
    web, service = fronted
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


async def test_pages_of_other_origins(fronted):
    """A page may send requests if its origin is listed; Go's ingress trusts all by default."""
    web, service = fronted
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


async def test_a_cookie_does_not_act_for_pages_of_any_origin(fronted):
    web, service = fronted
    ann = actor_token({"sub": "ann"})
    given = [("Origin", "https://evil.example"), ("Cookie", f"Authorization={ann}")]
    app = ingress(web, origins=["*"])
    async with web, service:
        answer = await ask(app, "GET", "/shop.example/mine", headers=given)
        assert answer.status == 401
        assert "access-control-allow-credentials" not in answer.headers
        given[1] = ("Authorization", f"Bearer {ann}")
        assert (await ask(app, "GET", "/shop.example/mine", headers=given)).status == 200


#: Fields of a connection (RFC 9110, 7.6.1, and what browsers and proxies still send).
OF_CONNECTION = [
    "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
    "TE", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Host", "Content-Length",
    "Request-Timeout", "Traceparent", "Tracestate", "X-Named", "X-named-Too",
]  # fmt: skip


async def test_no_field_of_a_connection_passes_either_way(fronted_near):
    web, service = fronted_near
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
async def test_where_a_request_came_from(fronted_near, proxied, named):
    web, service = fronted_near
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


async def test_a_server_that_does_not_know_its_client(fronted_near):
    web, service = fronted_near
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
        ([("Cookie", "Authorization={}"), ("Cookie", "a=1")], 200),
        ([("Cookie", "a=1"), ("Cookie", "Authorization={}")], 200),
    ],
)  # fmt: skip
async def test_the_token_of_a_request(fronted_near, headers, status):
    web, service = fronted_near
    token = actor_token({"sub": "ann", "iss": "access.token.core"})
    given = [(name, value.format(token)) for name, value in headers]
    async with web, service:
        answer = await ask(ingress(web), "GET", "/shop.example/mine", headers=given)
    assert answer.status in ((200, 400, 401) if status is None else (status,))


async def test_the_cookies_of_several_fields_are_one_field_for_the_service(fronted_near):
    web, service = fronted_near
    cookies = [("Cookie", each) for each in ("a=1", "b=2; c=3", "d=4")]
    async with web, service:
        answer = await ask(ingress(web), "GET", "/shop.example/echo/x", headers=cookies)
    assert json.loads(answer.body)["headers"]["Cookie"] == "a=1; b=2; c=3; d=4"


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
async def test_the_origin_of_a_page(fronted_near, listed, origin, status, named):
    web, service = fronted_near
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


async def test_an_origin_of_any_length_is_refused_in_few_words(fronted_near):
    web, service = fronted_near
    async with web, service:
        for size, shown in ((200, 200), (201, 200)):
            headers = [("Origin", "x" * size)]
            answer = await ask(ingress(web), "GET", "/shop.example/cookies", headers=headers)
            told = f"requests of pages of {'x' * shown!r} are not allowed (origins)"
            assert (answer.status, answer.error["error"]) == (403, told)


async def test_a_preflight_names_an_origin_and_a_method(fronted_near):
    web, service = fronted_near
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


async def test_what_a_page_may_read_is_added_to_what_the_service_says(fronted_near):
    web, service = fronted_near

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
