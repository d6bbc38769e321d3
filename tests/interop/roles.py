"""A recorded service, as far as it shows: its routes and settings, and its recorded responses.

Everything is read from the recording: routes from the subscriptions, version, configuration and
deployment from the messages.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from urllib.parse import quote

from subtrie._core import control_headers
from subtrie.connector import Connector, HTTPError, Request, Response
from subtrie.connector._routing import NearestReplicas, RouteKey
from subtrie.microbus import decode_subscription
from tests.interop.wire import Recorded, Recording, headers_of

Route = tuple[str, str, str | None]  # method, route, queue

#: What every connector serves by itself, on port 888 of its host and of ``all``.
CONTROL = ("/ping", "/config-refresh", "/metrics", "/trace", "/on-new-subs", "/openapi.json")
CACHE = ("/dcache/all", "/dcache/rescue")


def routes_of(host: str, subscriptions: list[tuple[str, str]]) -> list[Route]:
    """Return the service's own routes, from its subscriptions for any instance."""
    routes = []
    for pattern, queue in subscriptions:
        if pattern.split(".")[1] == "reply":
            continue
        to = decode_subscription(pattern)
        port = 0 if to.port is None else to.port
        own = port == 888 and to.host in (host, "all") and to.path in CONTROL + CACHE
        if to.slot or own:
            continue
        path = "/".join(
            part if part in ("{}", "{...}") else quote(part) for part in to.path.split("/")
        )
        routes.append((to.method or "ANY", f"//{to.host}:{port}{path}", queue or None))
    return routes


def version_of(recording: Recording, service: dict[str, Any]) -> int:
    """Return the version that the service writes into its messages."""
    for _, payload in recording.published.get(service["name"], ()):
        told = headers_of(payload).get(control_headers.FROM_VERSION)
        if told:
            return int(told[0])
    return 0


def configuration_of(recording: Recording, service: dict[str, Any]) -> list[str]:
    """Return the names that it requests from the configurator."""
    for subject, payload in recording.published.get(service["name"], ()):
        if subject.endswith(".configurator_core._.POST.values") and ".safe.888." in subject:
            names: list[str] = json.loads(payload.partition(b"\r\n\r\n")[2])["names"]
            return names
    return []


def deployment_of(recording: Recording) -> str:
    """Return LOCAL if error responses are indented, else LAB."""
    errors = [
        payload
        for published in recording.published.values()
        for _, payload in published
        if b"\r\nMicrobus-Op-Code: Err" in payload
    ]
    return "LAB" if errors and not any(b'{\n  "err"' in error for error in errors) else "LOCAL"


#: The URL of the request being sent, for ``NearestByUrl``.
asked_for: ContextVar[str] = ContextVar("asked_for", default="")


def without_locality(url: str) -> str:
    """Return a URL as its caller wrote it: no query, and no locality added by routing."""
    return re.sub(r"^(\w+://)loc-[^.]*\.", r"\1", url.partition("?")[0])


class NearestByUrl(NearestReplicas):
    """Routing that learns by URL, as Go does, instead of by method, host and port.

    This one difference is removed here, so that everything else can be compared.
    """

    def nearest(self, key: RouteKey) -> str:
        return super().nearest((asked_for.get(), "", ""))

    def learn(self, key: RouteKey, locality: str) -> None:
        super().learn((asked_for.get(), "", ""), locality)

    def forget(self, key: RouteKey) -> None:
        super().forget((asked_for.get(), "", ""))


class RecordedRole:
    """The recorded response to each request by message id, and the requests sent before it."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self.answers: dict[str, list[Recorded]] = {}
        self.nested: dict[str, list[Nested]] = {}
        self.ends: dict[str, int] = {}

    async def handle(self, request: Request) -> Response:
        """Send the requests that the recorded handler sent, then respond as it did."""
        message_id = request.headers[control_headers.MSG_ID]
        asking: list[tuple[Nested, asyncio.Task[Any]]] = []
        for nested in self.nested.get(message_id, ()):
            # The handler awaited what was answered before this was sent; the rest ran concurrently.
            for before, task in asking:
                if before.over(nested):
                    await task
            asking.append(
                (nested, asyncio.create_task(ask(self.connector, nested.message, nested.body)))
            )
        for nested, task in asking:
            if nested.place < self.answered(message_id):
                await task
        if message_id not in self.answers:
            raise HTTPError(
                "the recorded service did not answer this request, or did not receive it"
            )
        return self.answer(message_id)

    def answered(self, message_id: str) -> float:
        """Return the place at which the recorded handler was done."""
        return self.ends.get(message_id, float("inf"))

    def answer(self, message_id: str) -> Response:
        """Return the recorded response; raise it if it was an error."""
        parts = self.answers[message_id]
        assert parts[0].is_answer
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


_UNDELIVERED = 0.09  # seconds in the recording after which a request is known to be undelivered


class Nested:
    """A request that was sent: its place in the recording, that of its last response, its body."""

    def __init__(self, message: Recorded, place: int, answered: int, body: bytes) -> None:
        self.message, self.place, self.answered, self.body = message, place, answered, body

    def over(self, other: Nested) -> bool:
        """Return whether it was complete, or undelivered, when the other was sent."""
        undelivered = (
            not self.message.delivered_to and other.message.t - self.message.t > _UNDELIVERED
        )
        return undelivered or self.answered < other.place


_NOT_THE_CALLERS = {"Host", "Content-Length", "Traceparent"}


def options_of(message: Recorded, body: bytes) -> dict[str, Any]:
    """Return what the caller gave besides method and URL: headers, body, timeout."""
    headers = {
        name: values[0]
        for name, values in message.headers.items()
        if name not in control_headers.CONTROL and name not in _NOT_THE_CALLERS
    }
    timeout = message.budget if message.depth == 1 else None
    return {
        "headers": headers,
        "body": body or None,
        "timeout": timeout or None,
    }


async def ask(connector: Connector, asked: Recorded, body: bytes) -> list[Response | HTTPError]:
    """Send a recorded request: to one instance if one received it, else to all."""
    method, url = asked.method_and_url
    asked_for.set(without_locality(url))
    options = options_of(asked, body)
    if len(asked.delivered_to) != 1:
        return [answer async for answer in connector.publish(method, url, **options)]
    try:
        return [await connector.request(method, url, **options)]
    except HTTPError as error:
        return [error]


def subscribe_all(
    connector: Connector, routes: list[Any], handler: Callable[[Request], Any]
) -> None:
    """Serve routes with one handler."""
    for method, route, queue in routes:
        connector.endpoint(method, route, queue=queue)(handler)
