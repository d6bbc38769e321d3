"""One route of a service: its handler, its subscriptions, its path arguments.

An endpoint subscribes the slot ``_`` (any instance), the id of its own instance, and each prefix of
its locality, all under one queue name: the host of the service unless another, or none, is given.
"""

from __future__ import annotations

import asyncio
import enum
import re
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Final, Protocol

from .. import microbus
from .._errors import refusal
from .._nats.path_template import path_argument
from ._binding import argument_binder, type_hints
from ._message import Message, Request
from ._runtime import Runtime
from ._thread_pool import run_in_thread
from ._transport import Registration

#: What a queue name cannot contain, by reason; the first one found is reported.
_REFUSED_IN_QUEUE = {
    "queue-whitespace": re.compile(r"\s"),
    "queue-wildcard": re.compile(r"[*>]"),
    "queue-character": re.compile(r"[^A-Za-z0-9._-]"),
}


class _Own(enum.Enum):
    OWN = "the host of the service"


#: The queue of an endpoint for which none is given: the host of its service.
OWN: Final = _Own.OWN

Queue = str | None | _Own
Handler = Callable[..., Any]


class EndpointReceiver(Protocol):
    """Takes the messages that arrive for an endpoint, from either transport."""

    def receive_local(self, endpoint: Endpoint, subject: str, message: Message) -> bool:
        """Take a message from within the process; False if the connector has stopped."""
        ...

    async def receive_payload(self, endpoint: Endpoint, subject: str, payload: bytes) -> None:
        """Take the payload of a message from the bus."""
        ...


class Endpoint:
    """A served route, made by ``Connector.endpoint`` and ``Connector.subscribe``.

    Attributes:
        method: The HTTP method, or ``ANY``.
        route: The route as given.
        host: The host it serves.
        port: The port it serves; 0 for any.
        path: The path, with arguments in braces.
        queue: The queue name, or None.
        handler: The function that handles requests.
        timeout: The longest time a request may take in seconds, whatever its budget, or None.
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
            raise TypeError(f"the handler must be callable, not {type(handler).__name__}")
        self.method = microbus.check_method(method)
        self.route = route
        self.handler = handler
        self.timeout = timeout
        self.control = control
        self.host, port, self.path = microbus.resolve_route(host=connector.host, route=route)
        self.port, self.port_text = int(port), str(port)
        self.queue = connector.host if queue is OWN else queue
        if self.queue is not None:
            _check_queue(self.queue)
        self.connector = connector
        self.registrations: list[Registration] = []
        self.on_unsubscribe: Callable[[Endpoint], None] | None = None
        self._arguments = _path_arguments(self.path)
        self.hints = type_hints(handler)
        self.bind = argument_binder(handler, self.hints, [name for _, name, _ in self._arguments])
        self.is_async = _is_async(handler)
        for pattern in self.patterns():  # invalid patterns fail here, not at startup
            assert pattern

    @property
    def active(self) -> bool:
        """Whether it is subscribed."""
        return bool(self.registrations)

    @property
    def name(self) -> str:
        """The name of the handler."""
        handler = self.handler
        while isinstance(handler, partial):
            handler = handler.func
        return str(getattr(handler, "__name__", type(handler).__name__))

    def patterns(self) -> list[str]:
        """Return the patterns it subscribes to: one for each slot."""
        connector = self.connector
        slots = ["", connector.id]  # S0-044, S0-047
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
        """Stop serving the route; running handlers finish. Does nothing the second time."""
        if self.on_unsubscribe is not None:
            self.on_unsubscribe(self)
        await self.deactivate()

    async def activate(self, receiving: EndpointReceiver) -> None:
        """Subscribe all patterns, if that is not done yet."""
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
        """Unsubscribe all patterns."""
        registrations, self.registrations = self.registrations, []
        await asyncio.gather(*(registration.unsubscribe() for registration in registrations))

    def fill_arguments(self, request: Request) -> None:
        """Set the path arguments of a request from its path."""
        if not self._arguments:
            return
        parts = request.path.split("/")
        for index, name, greedy in self._arguments:
            if index < len(parts):
                request.arguments[name] = "/".join(parts[index:]) if greedy else parts[index]

    async def call(self, request: Request) -> Any:
        """Call the handler: on this loop, or in a thread if it is not a coroutine function."""
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


def _check_queue(name: str) -> None:
    """Raise ``BusError`` unless a queue name is valid on both transports."""
    if not name:
        raise refusal("BusError", "queue-empty", name, field="queue")
    for reason, refused in _REFUSED_IN_QUEUE.items():
        if found := refused.search(name):
            position = len(name[: found.start()].encode("utf-8", "surrogatepass"))
            raise refusal("BusError", reason, name, position, "queue")


def _is_async(handler: Handler) -> bool:
    while isinstance(handler, partial):
        handler = handler.func
    return iscoroutinefunction(handler) or iscoroutinefunction(
        getattr(type(handler), "__call__", None)  # noqa: B004 - the attribute itself is inspected
    )


def _path_arguments(path: str) -> list[tuple[int, str, bool]]:
    """Return index, name and greediness of each argument; unnamed: ``path1``, ``path2``."""
    found: list[tuple[int, str, bool]] = []
    for index, part in enumerate(("/" + path.removeprefix("/")).split("/")):
        argument = path_argument(part)
        if argument is not None:
            found.append((index, argument.name or f"path{len(found) + 1}", argument.greedy))
    return found
