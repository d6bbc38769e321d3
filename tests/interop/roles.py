"""A recorded service, as far as it shows: its routes and its nature, and its recorded answers.

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

from subtrie import _control_headers
from subtrie.connector import Connector, HTTPError, Request, Response
from subtrie.connector._locality import Key, NearestReplicas
from subtrie.microbus import decode_subscription
from tests.interop.wire import Recorded, Recording, headers_of

Route = tuple[str, str, str | None]  # method, route, queue

#: What every connector serves by itself, on port 888 of its host and of ``all``.
CONTROL = ("/ping", "/config-refresh", "/metrics", "/trace", "/on-new-subs", "/openapi.json")
CACHE = ("/dcache/all", "/dcache/rescue")


def routes_of(host: str, subscriptions: list[tuple[str, str]]) -> list[Route]:
    """The service's own routes, from its subscriptions: those for anyone, control plane aside."""
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
    """What the service writes into its messages; the truth may tell otherwise."""
    for _, payload in recording.published.get(service["name"], ()):
        told = headers_of(payload).get(_control_headers.FROM_VERSION)
        if told:
            return int(told[0])
    return 0


def configuration_of(recording: Recording, service: dict[str, Any]) -> list[str]:
    """The names it asks the configurator for."""
    for subject, payload in recording.published.get(service["name"], ()):
        if subject.endswith(".configurator_core._.POST.values") and ".safe.888." in subject:
            names: list[str] = json.loads(payload.partition(b"\r\n\r\n")[2])["names"]
            return names
    return []


def deployment_of(recording: Recording) -> str:
    """LOCAL, where errors are indented."""
    errors = [
        payload
        for published in recording.published.values()
        for _, payload in published
        if b"\r\nMicrobus-Op-Code: Err" in payload
    ]
    return "LAB" if errors and not any(b'{\n  "err"' in error for error in errors) else "LOCAL"


#: The URL that is being asked, for whoever learns where it is answered.
asked_for: ContextVar[str] = ContextVar("asked_for", default="")


def without_locality(url: str) -> str:
    """A URL as its caller knew it: no query, and no locality that routing put in front."""
    return re.sub(r"^(\w+://)loc-[^.]*\.", r"\1", url.partition("?")[0])


class NearestByUrl(NearestReplicas):
    """Go keeps what it has learnt by URL; a connector by method, host and port (A75).

    That one difference is taken out here, so that everything else can be compared.
    """

    def nearest(self, key: Key) -> str:
        return super().nearest((asked_for.get(), "", ""))

    def learn(self, key: Key, locality: str) -> None:
        super().learn((asked_for.get(), "", ""), locality)

    def forget(self, key: Key) -> None:
        super().forget((asked_for.get(), "", ""))


class RecordedRole:
    """What each request is answered with, by its message id, and what is asked before that."""

    def __init__(self, connector: Connector) -> None:
        self.connector = connector
        self.answers: dict[str, list[Recorded]] = {}
        self.nested: dict[str, list[Nested]] = {}
        self.ends: dict[str, int] = {}

    async def handle(self, request: Request) -> Response:
        """Asks what the recorded handler asked, then answers as it did."""
        message_id = request.headers[_control_headers.MSG_ID]
        asking: list[tuple[Nested, asyncio.Task[Any]]] = []
        for nested in self.nested.get(message_id, ()):
            # What was answered before this was asked was waited for; the rest ran beside it.
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
            raise HTTPError("the recorded one did not answer this, or did not hear it")
        return self.answer(message_id)

    def answered(self, message_id: str) -> float:
        """When the recorded handler was done."""
        return self.ends.get(message_id, float("inf"))

    def answer(self, message_id: str) -> Response:
        """The recorded answer; raises where it was an error."""
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


_UNHEARD = 0.09  # seconds in the recording after which a request is known to be unheard


class Nested:
    """A request that was sent: its place in the recording, that of its last answer, its body."""

    def __init__(self, message: Recorded, place: int, answered: int, body: bytes) -> None:
        self.message, self.place, self.answered, self.body = message, place, answered, body

    def over(self, other: Nested) -> bool:
        """Whether it was done with when the other was sent: answered, or heard by nobody."""
        unheard = not self.message.delivered_to and other.message.t - self.message.t > _UNHEARD
        return unheard or self.answered < other.place


_NOT_THE_CALLERS = {"Host", "Content-Length", "Traceparent"}


def options_of(message: Recorded, body: bytes) -> dict[str, Any]:
    """What its caller gave besides method and URL: headers, body, and time at the first call."""
    headers = {
        name: values[0]
        for name, values in message.headers.items()
        if name not in _control_headers.CONTROL and name not in _NOT_THE_CALLERS
    }
    timeout = message.budget if message.depth == 1 else None
    return {
        "headers": headers,
        "body": body or None,
        "timeout": timeout or None,
    }


async def ask(connector: Connector, asked: Recorded, body: bytes) -> list[Response | HTTPError]:
    """Sends what was sent: to one where one heard it, else to all."""
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
    """Serves routes with one handler."""
    for method, route, queue in routes:
        connector.endpoint(method, route, queue=queue)(handler)


async def until(condition: Callable[[], bool], limit: float, what: str) -> None:
    """Waits for what must come; never for how long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limit
    while not condition():
        if loop.time() > end:
            raise AssertionError(what)
        await asyncio.sleep(0.002)
