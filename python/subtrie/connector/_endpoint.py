"""One route of a service: its handler, its subscriptions, its path arguments.

An endpoint subscribes the slot ``_`` (any instance), the id of its own instance, and each prefix of
its locality, all under one queue name: the host of the service unless another, or none, is given.

Handlers that are not coroutine functions run in a thread pool. It is separate from asyncio's
default executor, so that other work does not delay them, and shared by source. A thread cannot be
stopped: a handler that passes its deadline runs on after its caller was answered.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction, isroutine
from typing import Any, Final

from .. import microbus
from .._core.errors import refusal
from .._core.ports import EVENTS
from .._nats.path_template import path_argument
from ._arguments import Arguments, check_path_names, takes_request_only
from ._claims import Claims
from ._envelope import ResponseEnvelope
from ._message import Request, Response
from ._metrics import EndpointLabels
from ._results import Result, awaited, named_response, to_response
from ._runtime import Runtime
from ._threads import LARGE_BODY, run_in_thread
from ._transport import Registration
from ._type_hints import enclosing_names, type_hints

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
        control: Whether it belongs to the control plane.
        registrations: Its subscriptions, while it is subscribed.
        on_unsubscribe: Called by ``unsubscribe``: removes the subscriptions.
        labels: What the metrics say of it.
        task_name: The name of the tasks of its handler.
        path_arguments: Index in the path, name and greediness of each path argument.
        arguments: The arguments of the handler.
        result: The results of the handler.
        decodes: Whether the body is decoded for the arguments.
        bind: Calls a function with the arguments of the handler for a request.
        respond: Makes the response of what the handler returned.
    """

    def __init__(
        self,
        runtime: Runtime,
        method: str,
        route: str,
        handler: Handler,
        *,
        queue: Queue = OWN,
        timeout: float | None = None,
        requires: str | None = None,
        result: str = "",
        control: bool = False,
    ) -> None:
        if not callable(handler):
            raise TypeError(f"the handler must be callable, not {type(handler).__name__}")
        if _is_generator(handler):
            raise refusal("BusError", "generator", route, field="handler")
        self.method = microbus.check_method(method)
        self.route = route
        self.handler = handler
        self.timeout = timeout
        self.control = control
        self.requires = None if requires is None else Claims(requires)
        self.host, port, self.path = microbus.resolve_route(host=runtime.host, route=route)
        self.port, self.port_text = int(port), str(port)
        self.queue = runtime.host if queue is OWN else queue
        if self.queue is not None:
            _check_queue(self.queue)
        self.registrations: list[Registration] = []
        self.on_unsubscribe: Callable[[Endpoint], Awaitable[None]] | None = None
        self.path_arguments = _path_arguments(self.path)
        self._runtime = runtime
        self.hints, local = type_hints(handler), enclosing_names(handler)
        path_names = [name for _, name, _ in self.path_arguments]
        self.arguments = Arguments(handler, self.hints, path_names, names=local)
        self.bind = self.arguments.binder()
        self.decodes = bool(self.arguments.named or self.arguments.body is not None)
        self.result = Result(awaited(self.hints.get("return", Any)), result, local)
        self.respond: Callable[[Any], ResponseEnvelope] = (
            named_response(result) if result else to_response
        )
        self.is_async = _is_async(handler)
        path = self.path if self.path.startswith("/") else f"/{self.path}"
        canonical = f"{self.host}:{self.port_text}{path}"
        self.task_name = f"{self.method} {canonical}"
        self.labels = EndpointLabels(self.port_text, self.path, self.name, canonical, self.kind)
        for pattern in self.patterns():  # invalid patterns fail here, not at startup
            assert pattern
        check_path_names(handler, self.hints, path_names)

    @property
    def served(self) -> tuple[str, str, int, str, str | None]:
        """The requests that it serves: two endpoints that serve the same would answer in turn."""
        path = re.sub(r"\{[^}]*\}", lambda f: "{...}" if f[0].endswith("...}") else "{}", self.path)
        return self.method, self.host, self.port, path, self.queue

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

    @property
    def kind(self) -> str:
        """The kind, as Go names it: ``inboundevent`` on port 417, ``web`` for a raw response."""
        if self.port == EVENTS:
            return "inboundevent"
        returned = self.result.annotation
        raw = self.control or (not self.result.name and returned in (Response, bytes, str))
        if returned is Any or returned is None:
            raw = raw or takes_request_only(self.handler, self.hints)
        return "web" if raw else "function"

    def patterns(self) -> list[str]:
        """Return the patterns it subscribes to: one for each slot."""
        runtime = self._runtime
        slots = ["", runtime.id]  # S0-044, S0-047
        if runtime.locality:
            slots += microbus.locality_slots(runtime.locality)
        return [
            microbus.encode_subscription(
                plane=runtime.plane,
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
            await self.on_unsubscribe(self)

    async def call(self, request: Request) -> Any:
        """Call the handler: on this loop, or in a thread if it is not a coroutine function.

        A large body is decoded in a thread in any case: other requests do not wait for it.
        """
        if self.decodes and len(request.body) > LARGE_BODY and not self.control:
            handler = partial(partial, self.handler) if self.is_async else self.handler
            result = await run_in_thread(request.source, partial(self.bind, request, handler))
            result = result() if self.is_async else result
            return await result if hasattr(result, "__await__") else result
        if self.is_async:
            return await self.bind(request, self.handler)
        if self.control:
            return self.bind(request, self.handler)
        result = await run_in_thread(
            request.source, self.bind(request, partial(partial, self.handler))
        )
        return await result if hasattr(result, "__await__") else result

    def __repr__(self) -> str:
        return f"<Endpoint {self.method} {self.route} of {self._runtime.host}>"


def _check_queue(name: str) -> None:
    """Raise ``BusError`` unless a queue name is valid on both transports."""
    if not name:
        raise refusal("BusError", "queue-empty", name, field="queue")
    for reason, refused in _REFUSED_IN_QUEUE.items():
        if found := refused.search(name):
            position = len(name[: found.start()].encode("utf-8", "surrogatepass"))
            raise refusal("BusError", reason, name, position, "queue")


def _is_generator(handler: Handler) -> bool:
    while isinstance(handler, partial):
        handler = handler.func
    called = handler if isroutine(handler) else getattr(type(handler), "__call__", None)  # noqa: B004
    return isgeneratorfunction(called) or isasyncgenfunction(called)


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
