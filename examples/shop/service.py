"""What every service of the shop does: connect, subscribe its routes, answer, ask, and count.

Subjects are ``subtrie.microbus``'s work from end to end. Acknowledgements, fragments and locality
caching are a connector's work and left out here.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import ConnectionClosedError

from subtrie import microbus

from .message import Message, Refused, Request, answer, question
from .tally import Tally, edge_of

logger = logging.getLogger(__name__)

Handler = Callable[[Any, Request], Awaitable[Any]]


@dataclass(frozen=True)
class Route:
    """A method and a route as a service writes them, and who handles it."""

    method: str
    route: str
    queue: bool
    handler: Handler
    path: re.Pattern[str]


def endpoint(method: str, route: str, *, queue: bool = True) -> Callable[[Handler], Handler]:
    """Serves a route; without a queue every replica hears every message."""
    path = re.sub(r"^(//[^/]*|:\d+)", "", route)
    names = re.sub(r"\\\{(\w+)(\\\.\\\.\\\.)?\\\}", _capture, re.escape(path))

    def mark(handler: Handler) -> Handler:
        handler.route = Route(method, route, queue, handler, re.compile(names))  # type: ignore[attr-defined]
        return handler

    return mark


def _capture(argument: re.Match[str]) -> str:
    return f"(?P<{argument[1]}>{'.*' if argument[2] else '[^/]+'})"


class Service:
    """One service on its own connection, named after its host."""

    host: ClassVar[str]

    def __init__(self, plane: str, *, id: str, locality: str = "") -> None:
        self.plane, self.id, self.locality = plane, id, locality
        self.tally = Tally()
        self.bus: Client
        self._ids = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[Message]] = {}

    def routes(self) -> Iterator[Route]:
        """The routes in the order of the class body."""
        for attribute in vars(type(self)).values():
            if isinstance(route := getattr(attribute, "route", None), Route):
                yield route

    async def start(self, url: str) -> None:
        """Connects and subscribes; an answer must find us before we ask, so replies come first."""
        self.bus = await nats.connect(url, name=self.host, error_cb=self._on_error)
        mine = microbus.encode_reply_subscription(plane=self.plane, host=self.host, id=self.id)
        await self.bus.subscribe(mine, cb=self._on_reply)
        for route in self.routes():
            for slot in ("", self.id, *self._locality_slots()):
                pattern = microbus.subscription_from_route(
                    plane=self.plane,
                    host=self.host,
                    method=route.method,
                    route=route.route,
                    slot=slot,
                )
                queue = self.host if route.queue else ""

                async def heard(message: Msg, route: Route = route) -> None:
                    await self._on_request(route, message)

                await self.bus.subscribe(pattern, queue=queue, cb=heard)
        await self.settle()

    async def settle(self) -> None:
        """Returns when the broker has dealt with all we sent. It takes two round trips: the first
        one may leave before what the client still holds back."""
        await self.bus.flush()
        await self.bus.flush()

    def _locality_slots(self) -> tuple[str, ...]:
        return microbus.locality_slots(self.locality) if self.locality else ()

    async def request(self, method: str, url: str, body: Any = None, *, wait: float = 15) -> Any:
        """Asks and returns the body of the answer; ``Refused`` with its status for an error."""
        subject = self._count_sent(method, url)
        ask = question(method, url, id=f"{self.id}-{next(self._ids)}", sender=self.id, body=body)
        future = self._waiting[ask.id] = asyncio.get_running_loop().create_future()
        await self.bus.publish(subject, bytes(ask))
        try:
            got = await asyncio.wait_for(future, wait)
        except TimeoutError:
            self.tally.unheard[subject] += 1
            raise Refused(404, f"nobody answers {method} {url}") from None
        finally:
            del self._waiting[ask.id]
        if got.status >= 400:
            raise Refused(got.status, str(got.body))
        return got.body

    async def fire(self, method: str, url: str, body: Any = None) -> None:
        """Publishes an event: whoever listens hears it, and nobody answers."""
        subject = self._count_sent(method, url)
        await self.bus.publish(subject, bytes(question(method, url, id=self.id, body=body)))

    def _count_sent(self, method: str, url: str) -> str:
        subject = microbus.request_from_url(
            plane=self.plane, source=self.host, method=method, url=url
        )
        self.tally.sent[edge_of(subject)] += 1
        return subject

    async def _on_request(self, route: Route, message: Msg) -> None:
        source = microbus.source_of(message.subject)
        to = microbus.decode(message.subject) if source else None
        if source is None or not isinstance(to, microbus.RequestAddress):
            self.tally.rejected[message.subject] += 1  # no handler, no answer (A25)
            return
        self.tally.handled[edge_of(message.subject)] += 1
        asked = Message.parse(message.data)
        path = route.path.fullmatch(to.path)
        arguments = path.groupdict() if path else {}
        try:
            body = await route.handler(self, Request(source, arguments, asked.body))
            reply = answer(asked, 200, body)
        except Refused as refused:
            reply = answer(asked, refused.status, str(refused))
        if caller := asked.headers.get("Microbus-From-Id"):
            subject = microbus.encode_reply(
                plane=self.plane, source=self.host, host=source, id=caller
            )
            self.tally.replies[self.host, source] += 1
            await self.bus.publish(subject, bytes(reply))

    async def _on_reply(self, message: Msg) -> None:
        got = Message.parse(message.data)
        if (future := self._waiting.get(got.id)) and not future.done():
            future.set_result(got)

    async def _on_error(self, error: Exception) -> None:
        """A handler that was at work when its service left has nobody to tell; others are heard."""
        if not (self.bus.is_closed and isinstance(error, ConnectionClosedError)):
            logger.error("%s: %r", self.host, error, exc_info=error)

    async def stop(self) -> None:
        """Handles what has arrived, then disconnects."""
        await self.bus.drain()

    async def leave(self) -> None:
        """Disconnects at once; nothing to do after ``stop``."""
        await self.bus.close()
