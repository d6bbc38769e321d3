"""The services of the recorded application: their routes, and handlers with recorded answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from subtrie.connector import OWN, Connector, HTTPError, Request, Response, frame
from tests.interop.wire import Recorded

_EVENT = ("POST", "//shop.example:417/on-order-placed")
_VALUES = [
    ("ANY", route, OWN)
    for route in (":888/values", ":443/values", ":444/refresh", ":443/refresh", ":443/sync")
]

#: Host to method, route, queue of every route that is not the connector's own.
ROUTES: dict[str, list[tuple[str, str, Any]]] = {
    "configurator.core": [*_VALUES, ("ANY", ":888/sync-repo", None)],
    "stock.example": [("GET", "/level/{item}", OWN), (*_EVENT, OWN)],
    "mail.notify.example": [(*_EVENT, OWN)],
    "audit.example": [(*_EVENT, None)],
    "shop.example": [
        (method, route, OWN)
        for method, route in (
            ("GET", "/order/{id}/line/{n}"),
            ("POST", "/order"),
            ("DELETE", "/order/{id}"),
            ("POST", "/place"),
            ("GET", "/files/{path...}"),
            ("ANY", "/any"),
            ("ANY", ":0/anyport"),
            ("GET", "/whoami"),
            ("GET", "/fail"),
            ("GET", "/fail/plain"),
            ("GET", "/slow"),
            ("ANY", "/big"),
            ("GET", "/"),
            ("GET", "/dir/"),
            ("GET", "/caf%C3%A9/{x}"),
            ("GET", "/star/*/end"),
            ("GET", "/near"),
            ("POST", ":666/mint"),
            ("GET", "//my$.xml/lookup"),
            ("GET", "/relay"),
            ("PUT", "/cache/{key}"),
            ("GET", "/cache/{key}"),
        )
    ],
    "web.client.example": [],
    "edge.client.example": [],
}
LATE = ("GET", "/late")


class Cast:
    """What each request is answered with, by its message id, and what is asked before that."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self.answers: dict[str, list[Recorded]] = {}
        self.nested: dict[str, list[tuple[Recorded, bool]]] = {}

    async def handle(self, request: Request) -> Response:
        """Asks what the recorded handler asked, then answers as it did."""
        message_id = request.headers[frame.MSG_ID]
        for asked, multicast in self.nested.get(message_id, ()):
            await ask(self.connector, asked, multicast)
        parts = self.answers[message_id]
        status = int(parts[0].payload.split(b" ", 2)[1])
        body = b"".join(part.body for part in parts)
        if parts[0].op == "Err":
            told = json.loads(body)["err"]
            error = HTTPError(told.pop("error"), status=told.pop("statusCode"))
            told.pop("stack", None)
            told.pop("trace", None)
            error.properties = told
            raise error
        answer = Response(status, body)
        for name, values in parts[0].headers.items():
            if not name.startswith("Microbus-") and name != "Content-Length":
                for value in values:
                    answer.headers.add(name, value)
        return answer


async def ask(connector: Connector, asked: Recorded, multicast: bool) -> list[Response]:
    """Sends what was sent: method, URL, body and headers of the caller's own."""
    method, url, _ = asked.payload.decode("latin-1").split("\r\n", 1)[0].split(" ")
    own = {
        name: values[0]
        for name, values in asked.headers.items()
        if name in ("Content-Type", "X-Forwarded-For")
    }
    options: dict[str, Any] = {"headers": own, "body": asked.body or None}
    if multicast:
        return [answer async for answer in connector.publish(method, url, **options)]
    return [await connector.request(method, url, **options)]


def subscribe_all(connector: Connector, handler: Callable[[Request], Any]) -> None:
    """Serves the routes that the host had in the recording."""
    for method, route, queue in ROUTES[connector.host]:
        connector.endpoint(method, route, queue=queue)(handler)


async def until(condition: Callable[[], bool], limit: float, what: str) -> None:
    """Waits for what must come; never for how long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limit
    while not condition():
        if loop.time() > end:
            raise AssertionError(what)
        await asyncio.sleep(0.002)
