"""A live peer: actor tokens, trace context, typed calls, descriptions, metrics and statuses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from examples.interop.functions import Item
from examples.interop.peer import service
from subtrie.connector import Client, HTTPError, Request
from tests.connector.test_actor_tokens import TokenService
from tests.interop.peer_process import HIS, OURS, URL, PeerService, call, joined
from tests.interop.test_peers_in_detail import status_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CONTEXT = {"Traceparent": f"00-{TRACE}-00f067aa0ba902b7-01", "Tracestate": "vendor=value"}


def token_service(server: Any) -> tuple[Any, TokenService]:
    """Return the connector of a token service, and its keys."""
    connector, keys = joined(server, "access.token.core"), TokenService()
    keys.add("k1")
    connector.endpoint("ANY", ":888/jwks")(lambda request: keys.jwks())
    return connector, keys


def tokens_of(keys: TokenService) -> dict[str, tuple[int, str]]:
    """Return a token of each kind, and the status of a request to ``/admin`` with it."""
    stranger = TokenService()
    stranger.add("k1")
    unsigned = ".".join(keys.sign(header={"alg": "none"}, roles={"admin": True}).split(".")[:2])
    return {
        "good": (200, keys.sign(sub="ann", roles={"admin": True})),
        "lacks the role": (403, keys.sign(sub="ann", roles={"user": True})),
        "suspended": (403, keys.sign(roles={"admin": True}, suspended=True)),
        "forged": (401, stranger.sign(roles={"admin": True})),
        "unknown key": (401, keys.sign(header={"kid": "k9"}, roles={"admin": True})),
        "unsigned": (401, unsigned + "."),
        "another issuer": (401, keys.sign(iss="https://evil.example", roles={"admin": True})),
        "expired": (401, keys.sign(exp=1_000_000, roles={"admin": True})),
        "not yet valid": (401, keys.sign(nbf=9_000_000_000, roles={"admin": True})),
    }


async def test_the_peer_verifies_our_actor_tokens(server):
    tokens, keys = token_service(server)
    async with tokens, PeerService(server.url), joined(server) as us:
        found = {
            why: await status_of(
                us.request("GET", f"{URL}/admin", headers={"Microbus-Actor": token})
            )
            for why, (_, token) in tokens_of(keys).items()
        }
        assert found == {why: status for why, (status, _) in tokens_of(keys).items()}
        with pytest.raises(HTTPError) as missing:
            await us.request("GET", f"{URL}/admin")
        assert missing.value.status == 401
        # A token that is present is verified, whatever the endpoint requires.
        forged = {"Microbus-Actor": tokens_of(keys)["forged"][1]}
        with pytest.raises(HTTPError) as refused:
            await us.request("GET", f"{URL}/hello/x", headers=forged)
        assert refused.value.status == 401


async def test_we_verify_the_actor_tokens_that_the_peer_sends(server):
    issuer, keys = token_service(server)
    us = joined(server)
    service(us)
    async with issuer, us:
        tokens = tokens_of(keys)
        for why in ("good", "suspended", "forged", "unsigned"):
            status, token = tokens[why]
            header = ("--header", f"Microbus-Actor: {token}")
            (told,) = await call(server.url, *header, "GET", f"https://{OURS}/admin")
            assert told["status"] == status, (why, told)
        (told,) = await call(server.url, "GET", f"https://{OURS}/admin")
        assert told["status"] == 401


async def test_an_actor_token_passes_through_the_peer(server):
    tokens, keys = token_service(server)
    us = joined(server)
    service(us)
    async with tokens, PeerService(server.url), us:
        headers = {"Microbus-Actor": tokens_of(keys)["good"][1]}
        params = {"u": f"https://{OURS}/admin", "m": "GET"}
        told = await us.request("GET", f"{URL}/relay", params=params, headers=headers)
        assert told.json() == {"sub": "ann"}


async def test_the_trace_context_reaches_the_peer_and_comes_back(server):
    us = joined(server)
    service(us)

    @us.endpoint("GET", "/hop")
    async def hop(request: Request) -> Any:
        return (await us.request("GET", f"{URL}/trace")).json()

    async with PeerService(server.url), us:
        params = {"u": f"https://{OURS}/trace", "m": "GET"}
        for url, more in ((f"{URL}/trace", {}), (f"{URL}/relay", params)):
            told = (await us.request("GET", url, params=more, headers=CONTEXT)).json()
            assert TRACE in told["traceparent"], url
        # Through a Python service without a tracer, as it came.
        told = (await us.request("GET", f"https://{OURS}/hop", headers=CONTEXT)).json()
        assert TRACE in told["traceparent"]
        assert told["tracestate"] == CONTEXT["Tracestate"]
        # An error names the trace of its request.
        with pytest.raises(HTTPError) as failed:
            await us.request("GET", f"{URL}/fail", headers=CONTEXT)
        assert failed.value.trace in (TRACE, "")


async def test_typed_calls_of_two_arguments_in_both_directions(server):
    client = Client(HIS)

    @client.call("POST", "/join", result="item")
    async def join(first: Item, second: Item) -> Item:
        raise NotImplementedError

    us = joined(server)
    service(us)
    async with PeerService(server.url), us:
        assert await join(us, Item("a", 1), Item("b", 2)) == Item("ab", 3)
        assert await join(us, Item(), Item()) == Item()  # zeros are omitted in responses
        for body, wanted in (
            ('{"first":{"name":"a","number":1},"second":{"name":"b"}}', ("ab", 1)),
            ('{"second":{"number":7}}', ("", 7)),  # zeros are omitted in requests
        ):
            (told,) = await call(server.url, "POST", f"https://{OURS}/join", body)
            result = json.loads(told["body"])["item"]
            assert (result.get("name", ""), result.get("number", 0)) == wanted


async def test_both_describe_their_endpoints_alike(server):
    us = joined(server)
    service(us)

    def operations(described: dict[str, Any]) -> dict[tuple[str, str], Any]:
        return {
            (path.rpartition(":")[2].partition("/")[2], method): operation
            for path, methods in described["paths"].items()
            for method, operation in methods.items()
        }

    async with PeerService(server.url), us:
        his = operations((await us.request("GET", f"{URL}:888/openapi.json")).json())
        ours = operations((await us.request("GET", f"https://{OURS}:888/openapi.json")).json())
    common = his.keys() & ours.keys()
    assert {("join", "post"), ("hello/{name}", "get"), ("fail", "get")} <= common
    assert his["join", "post"]["x-feature-type"] == ours["join", "post"]["x-feature-type"]
    for told in (his, ours):
        assert not any("on-event" in path for path, _ in told)
        names = [each["operationId"] for each in told.values() if "operationId" in each]
        assert len(names) == len(set(names))


async def test_the_status_of_an_error_is_kept_in_both_directions(server):
    us = joined(server)
    service(us)
    async with PeerService(server.url), us:
        for status in (200, 304, 399, 400, 404, 451, 500, 503, 599):
            with pytest.raises(HTTPError) as failed:
                await us.request("GET", f"{URL}/status", params={"n": status})
            assert failed.value.status == status
            if status in (200, 451):  # for 304 HTTP has no body, and so no message
                (told,) = await call(server.url, "GET", f"https://{OURS}/status?n={status}")
                assert told["status"] == status
                assert "as asked" in told["error"]
