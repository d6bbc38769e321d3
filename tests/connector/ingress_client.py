"""A client of an ingress, as its server calls it, and a service behind it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from subtrie.connector import HTTPError, Request, Response


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


def caller_and_service(make):
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
