"""One route of a service: who handles it, where it is subscribed, how its arguments are read.

It is subscribed at ``_``, at the service's own id, and at each slot of its locality (S0-044,
S0-047), under one queue: the service's own host unless another, or none, is asked for.
"""

from __future__ import annotations

import asyncio
import enum
import re
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, Protocol

from ... import microbus
from ..._errors import refusal
from ..._nats.path_template import path_argument
from .._http.message import Message, Request
from .._runtime import Runtime
from .._thread_pool import run_in_thread
from .._transport import Registration
from .annotations import type_hints
from .argument_binding import argument_binder

_QUEUE = re.compile(r"[A-Za-z0-9._-]+")


class _Own(enum.Enum):
    OWN = "the host of the service"


#: The queue of an endpoint that names none: the host of its service.
OWN: Final = _Own.OWN

Queue = str | None | _Own
Handler = Callable[..., Any]


class EndpointReceiver(Protocol):
    """Takes what arrives for an endpoint, from either transport."""

    def receive_local(self, endpoint: Endpoint, subject: str, message: Message) -> bool:
        """Takes a live message; False where nobody is here any more."""
        ...

    async def receive_payload(self, endpoint: Endpoint, subject: str, payload: bytes) -> None:
        """Takes the payload of a bus message."""
        ...


class Endpoint:
    """A route that is served: ``method``, ``route``, ``host``, ``port``, ``path``, ``queue``.

    ``timeout`` is the most a request may take, in seconds, whatever its budget; None for no limit
    of its own. Made by ``Connector.endpoint`` and ``Connector.subscribe``.
    """

    def __init__(
        self,
        connector: Runtime,
        method: str,
        route: str,
        handler: Handler,
        *,
        queue: Queue = OWN,
        timeout: float | None = None,
        control: bool = False,
    ) -> None:
        if not callable(handler):
            raise TypeError(f"handler must be callable, not {type(handler).__name__}")
        self.method = microbus.check_method(method)
        self.route = route
        self.handler = handler
        self.timeout = timeout
        self.control = control
        self.host, port, self.path = microbus.resolve_route(host=connector.host, route=route)
        self.port, self.port_text = int(port), str(port)
        self.queue = connector.host if queue is OWN else queue
        if self.queue is not None and not _QUEUE.fullmatch(self.queue):
            raise refusal("BusError", "queue-wildcard", self.queue, field="queue")
        self.connector = connector
        self.registrations: list[Registration] = []
        self.on_unsubscribe: Callable[[Endpoint], None] | None = None
        self._arguments = _path_arguments(self.path)
        self.hints = type_hints(handler)
        self.bind = argument_binder(handler, self.hints, [name for _, name, _ in self._arguments])
        self.is_async = _is_async(handler)
        for pattern in self.patterns():  # refused now, not at startup
            assert pattern

    @property
    def active(self) -> bool:
        """Whether it is subscribed."""
        return bool(self.registrations)

    @property
    def name(self) -> str:
        """The handler's name."""
        handler = self.handler
        while isinstance(handler, partial):
            handler = handler.func
        return str(getattr(handler, "__name__", type(handler).__name__))

    def patterns(self) -> list[str]:
        """What it subscribes to: one pattern for each slot."""
        connector = self.connector
        slots = ["", connector.id]
        if connector.locality:
            slots += microbus.locality_slots(connector.locality)
        return [
            microbus.encode_subscription(
                plane=connector.plane,
                port=self.port,
                host=self.host,
                method=self.method,
                path=self.path,
                slot=slot,
            )
            for slot in slots
        ]

    async def unsubscribe(self) -> None:
        """Takes the route down; what is being handled is finished. Nothing to do twice."""
        if self.on_unsubscribe is not None:
            self.on_unsubscribe(self)
        await self.deactivate()

    async def activate(self, receiving: EndpointReceiver) -> None:
        """Subscribes every pattern, if that is not done yet."""
        if self.registrations:
            return
        transport = self.connector._transport
        assert transport is not None
        receiver, on_payload = (
            partial(receiving.receive_local, self),
            partial(receiving.receive_payload, self),
        )
        try:
            for pattern in self.patterns():
                registration = await transport.subscribe(pattern, self.queue, receiver, on_payload)
                self.registrations.append(registration)
        except BaseException:
            await self.deactivate()
            raise

    async def deactivate(self) -> None:
        """Takes the subscriptions down."""
        registrations, self.registrations = self.registrations, []
        await asyncio.gather(*(registration.unsubscribe() for registration in registrations))

    def fill_arguments(self, request: Request) -> None:
        """Reads the path arguments out of the path of a request."""
        if not self._arguments:
            return
        parts = request.path.split("/")
        for index, name, greedy in self._arguments:
            if index < len(parts):
                request.arguments[name] = "/".join(parts[index:]) if greedy else parts[index]

    async def call(self, request: Request) -> Any:
        """Calls the handler: on this loop, or in a thread where it is a plain function."""
        positional, named = self.bind(request)
        if self.is_async:
            result: Awaitable[Any] = self.handler(*positional, **named)
            return await result
        if self.control:
            return self.handler(*positional, **named)
        result = await run_in_thread(partial(self.handler, *positional, **named))
        return await result if hasattr(result, "__await__") else result

    def __repr__(self) -> str:
        return f"<Endpoint {self.method} {self.route} of {self.connector.host}>"


def _is_async(handler: Handler) -> bool:
    while isinstance(handler, partial):
        handler = handler.func
    return iscoroutinefunction(handler) or iscoroutinefunction(
        getattr(type(handler), "__call__", None)  # noqa: B004 - it is looked at, not asked for
    )


def _path_arguments(path: str) -> list[tuple[int, str, bool]]:
    """Index, name and greediness of each argument; unnamed ones are ``path1``, ``path2``, …"""
    found: list[tuple[int, str, bool]] = []
    for index, part in enumerate(("/" + path.removeprefix("/")).split("/")):
        argument = path_argument(part)
        if argument is not None:
            found.append((index, argument.name or f"path{len(found) + 1}", argument.greedy))
    return found
