"""A service on the bus: its life, its endpoints, its calls.

Life: transports, then the subscription for answers, which is there before anything can be asked
(S0-077, S0-078), then the configuration, ``on_startup`` (which may call others already, S0-079),
the control plane, the endpoints, and the announcement of all that. Leaving goes the other way:
endpoints down, ``on_shutdown``, handlers finished, answers down, transports closed.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from .. import microbus
from ..errors import HostnameCollision, refusal
from . import environment
from .calling import Calling
from .configuration import Config, Configuration
from .control import Control, announce
from .counts import Counts
from .credentials import gather
from .endpoint import OWN, Endpoint, Handler, Queue
from .ids import Ids, RandomIds
from .locality import NearestReplicas
from .message import Request, Response
from .multicast import KnownResponders, Multicast
from .peer_cache import PeerCache
from .sending import Sending
from .serving import Serving
from .timers import Timers
from .tracing import look_for_provider, traced
from .transport import Memory, Place, Transport
from .transport.nats import connect
from .url import Params

if TYPE_CHECKING:
    from .typed import Event

logger = logging.getLogger("subtrie.connector")

_HEAD_ROOM = 64 << 10  # bytes of a message that are left to headers
_SHUTDOWN_LIMIT = 24.0  # seconds

Hook = Callable[[], Awaitable[None] | None]
CallNext = Callable[[Request], Awaitable[Any]]
Middleware = Callable[[Request, CallNext], Awaitable[Any]]
Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")


class Connector(Sending):
    """One instance of a service.

    ``host`` is its identity. What is not given comes from the environment: ``MICROBUS_PLANE``,
    ``MICROBUS_LOCALITY``, ``MICROBUS_DEPLOYMENT``, ``MICROBUS_NATS`` (``nats``; empty for no
    broker), ``MICROBUS_SHORT_CIRCUIT``. ``creds`` is a file; else the files of the working folder
    count. ``max_body`` is in bytes, for whole bodies in and out. ``ids`` and ``round_trip`` (in
    seconds) are for tests and replays that must repeat.

    Raises ``AddressError`` for a host, an id, a plane or a locality that is none.
    """

    def __init__(
        self,
        host: str,
        *,
        version: int = 0,
        id: str | None = None,
        plane: str | None = None,
        locality: str | None = None,
        deployment: str | None = None,
        nats: str | None = None,
        creds: str | os.PathLike[str] | None = None,
        allow_readable_creds: bool = False,
        short_circuit: bool | None = None,
        max_body: int = 67_108_864,
        max_fragments: int = 1024,
        ids: Ids | None = None,
        round_trip: float | None = None,
    ) -> None:
        super().__init__(microbus.check_identity_host(host))
        self.version = int(version)
        self.ids: Ids = ids or RandomIds()
        self.id = id or self.ids.instance()
        self.plane = environment.plane(plane)
        self.locality = environment.locality(locality)
        self.deployment = environment.deployment(deployment)
        self.max_body, self.max_fragments = max_body, max_fragments
        # Refused here, where the mistake is, and not in the first answer.
        self._reply_pattern = microbus.encode_reply_subscription(
            plane=self.plane, host=self.host, id=self.id
        )
        self.counts = Counts()
        self.known_responders = KnownResponders()
        self.nearest = NearestReplicas(self.locality) if self.locality else None
        self._short_circuit = environment.short_circuit(short_circuit)
        self._broker = environment.broker(nats, self._short_circuit)
        self._creds, self._allow_readable_creds = creds, allow_readable_creds
        self._fixed_round_trip = round_trip
        self._endpoints: list[Endpoint] = []
        self._hosts: dict[str, str] = {}  # token to host (A5)
        self._middleware: list[Middleware] = []
        self._startup_hooks: list[Hook] = []
        self._shutdown_hooks: list[Hook] = []
        self._configuration = Configuration(self)
        self._control = Control(self)
        self._cache = PeerCache(self)
        self._own_endpoints: list[Endpoint] = []
        self._serving, self._calling = Serving(self), Calling(self)
        self._reply_place: Place | None = None
        self._fragment_size = (1 << 20) - _HEAD_ROOM

    # --- life

    @property
    def running(self) -> bool:
        """Whether it can be asked: between the end of ``startup`` and ``shutdown``."""
        return self._running

    async def startup(self) -> None:
        """Connects, subscribes, announces. A failure leaves nothing behind.

        Raises ``BusError``, ``ConnectionError`` where no broker answers, what a hook raises.
        """
        if self._loop is not None:
            raise refusal("BusError", "running", self.host)
        self._loop = asyncio.get_running_loop()
        self._timers = Timers(self._loop)
        look_for_provider()
        try:
            await self._open()
            await self._configuration.refresh()
            for endpoint in self._cache.endpoints():
                self._own_endpoints.append(endpoint)
                await endpoint.activate()
            for hook in self._startup_hooks:
                await _run_hook(hook)
            self._own_endpoints += self._control.endpoints()
            for endpoint in [*self._own_endpoints, *self._endpoints]:
                await endpoint.activate()
            assert self._transport is not None
            await self._transport.settle()
        except BaseException:
            await self._close(1.0, hooks=False)
            raise
        self._running = True
        hosts = [endpoint.host for endpoint in [*self._own_endpoints, *self._endpoints]]
        self._soon(announce(self, hosts))
        self._log("startup")

    async def _open(self) -> None:
        bus = None
        if self._broker:
            credentials = gather(
                self._broker,
                self.host,
                creds=self._creds,
                allow_readable=self._allow_readable_creds,
            )
            bus = await connect(credentials, self.host)
        self._transport = Transport(Memory() if self._short_circuit else None, bus, self._watchers)
        self._has_bus = bus is not None
        self._fragment_size = self._transport.max_payload - _HEAD_ROOM
        if self._fragment_size < _HEAD_ROOM:
            raise refusal("BusError", "payload-limit", f"{self._transport.max_payload} bytes")
        round_trip = self._fixed_round_trip
        if round_trip is None:
            round_trip = await self._transport.round_trip()
        self._serving.open(round_trip)
        self._calling.open(round_trip)
        self._reply_place = await self._transport.subscribe(
            self._reply_pattern, self.id, self._calling.from_memory, self._calling.from_bus
        )
        await self._transport.settle()

    async def shutdown(self, *, timeout: float | None = None) -> None:
        """Takes the endpoints down, lets handlers finish within ``timeout`` seconds (24), leaves.

        Raises what ``on_shutdown`` raises, after everything is closed. Nothing to do twice.
        """
        if self._loop is None or not self._running:
            return
        self._running = False
        if timeout is None:
            timeout = environment.budget("MICROBUS_SHUTDOWN_TIME_BUDGET", _SHUTDOWN_LIMIT)
        await self._close(timeout, hooks=True)
        self._log("shutdown")

    async def _close(self, timeout: float, *, hooks: bool) -> None:
        failed: Exception | None = None
        caches = self._own_endpoints[:2]
        for endpoint in [*self._endpoints, *self._own_endpoints[2:]]:
            await endpoint.deactivate()
        if hooks:
            for hook in self._shutdown_hooks:
                try:
                    await _run_hook(hook)
                except Exception as error:
                    failed = failed or error
        if self._transport is not None:
            await self._transport.settle()
        await self._serving.finish(timeout)
        for endpoint in caches:
            await endpoint.deactivate()
        self._own_endpoints = []
        for task in list(self._background):
            task.cancel()
        self._calling.close()
        if self._reply_place is not None:
            await self._reply_place.unsubscribe()
            self._reply_place = None
        if self._transport is not None:
            await self._transport.settle()
            await self._transport.close()
            self._transport = None
        self._timers.close()
        self._has_bus, self._loop = False, None
        if failed is not None:
            raise failed

    async def __aenter__(self) -> Connector:
        await self.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def on_startup(self, hook: Hook) -> Hook:
        """Has a function called when others can be asked and nobody asks us yet; a decorator."""
        self._startup_hooks.append(hook)
        return hook

    def on_shutdown(self, hook: Hook) -> Hook:
        """Has a function called when nobody asks us any more and others still can be asked."""
        self._shutdown_hooks.append(hook)
        return hook

    def middleware(self, step: Middleware) -> Middleware:
        """Puts ``await step(request, call_next)`` around every handler but the control plane's.

        The first one given is the outermost. What it returns is answered; what it raises too.
        """
        self._middleware.append(step)
        return step

    def _log(self, text: str) -> None:
        logger.info(text, extra={"service": self.host, "id": self.id, "plane": self.plane})

    # --- endpoints

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The service's own endpoints, without the control plane."""
        return tuple(self._endpoints)

    def endpoint(
        self, method: str, route: str, *, queue: Queue = OWN, timeout: float | None = None
    ) -> Callable[[Function], Function]:
        """Serves a route with the function below, which stays as it is. Before ``startup``.

        Raises ``AddressError`` (405 for an unknown method), ``HostnameCollision``, ``BusError``.
        """

        def add(handler: Function) -> Function:
            if self._loop is not None:
                raise refusal("BusError", "started", route, field="route")
            self._add(Endpoint(self, method, route, handler, queue=queue, timeout=timeout))
            return handler

        return add

    async def subscribe(
        self,
        method: str,
        route: str,
        handler: Handler,
        *,
        queue: Queue = OWN,
        timeout: float | None = None,
    ) -> Endpoint:
        """Serves one more route, at once where the connector runs; ``.unsubscribe()`` ends it."""
        endpoint = Endpoint(self, method, route, handler, queue=queue, timeout=timeout)
        self._add(endpoint)
        if self._running and self._transport is not None:
            try:
                await endpoint.activate()
            except BaseException:
                self._forget(endpoint)
                raise
            await self._transport.settle()
            self._soon(announce(self, [endpoint.host]))
        return endpoint

    def on(self, event: Event, *, queue: Queue = OWN) -> Callable[[Function], Function]:
        """Hears an event with the function below. Before ``startup``."""
        return self.endpoint("POST", event.route, queue=queue)

    def _add(self, endpoint: Endpoint) -> None:
        token = microbus.flatten_host(endpoint.host)
        other = self._hosts.setdefault(token, endpoint.host)
        if other != endpoint.host:
            message = f"host {endpoint.host!r} collides with {other!r}: both are {token!r} (A5)"
            raise HostnameCollision(message, reason="collision", field="route")
        self._endpoints.append(endpoint)

    def _forget(self, endpoint: Endpoint) -> None:
        if endpoint in self._endpoints:
            self._endpoints.remove(endpoint)

    # --- calls

    async def request(
        self,
        method: str,
        url: str,
        *,
        params: Params | None = None,
        json: Any = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Response:
        """Asks one instance and returns its answer, whatever its status.

        ``params`` fill path arguments by name, the rest become the query. ``timeout`` in seconds;
        at most what is left of the request being handled. Raises ``HTTPError`` where the service
        answers with an error, below it ``AckTimeout``, ``RequestTimeout``, ``CallDepthExceeded``;
        ``AddressError`` for the URL.
        """
        request, where, budget = self._calling.compose(
            method, url, params=params, json=json, body=body, headers=headers, timeout=timeout
        )
        calling = self._calling
        if self.nearest is None and not traced():
            return await calling.once(request, where.text, budget)
        return await calling.request(request, where, budget)

    def publish(
        self,
        method: str,
        url: str,
        *,
        params: Params | None = None,
        json: Any = None,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Multicast:
        """Asks everyone: an asynchronous iterator of their answers, an error in ``.error``.

        It is sent now, iterated or not. Raises what is the caller's own mistake, as ``request``.
        """
        request, where, budget = self._calling.compose(
            method, url, params=params, json=json, body=body, headers=headers, timeout=timeout
        )
        return self._calling.publish(request, where.text, budget)

    async def trigger(self, event: Event, body: Any = None) -> list[Response]:
        """Publishes an event of this service; returns the answers of all who heard it."""
        return [answer async for answer in self.publish("POST", event.url, json=body)]

    def config(
        self,
        name: str,
        *,
        default: Value,
        parse: Callable[[str], Value] = str,  # type: ignore[assignment]
    ) -> Config[Value]:
        """A value that ``configurator.core`` may set; ``default`` where it does not. ``.get()``."""
        config = Config(name, default, parse)
        self._configuration.values[name] = config
        return config

    async def _through_middleware(self, endpoint: Endpoint, request: Request) -> Any:
        call_next: CallNext = endpoint.call
        for step in reversed(self._middleware):
            call_next = _around(step, call_next)
        return await call_next(request)

    def __repr__(self) -> str:
        return f"<Connector {self.host} {self.id} on {self.plane}>"


def _around(step: Middleware, call_next: CallNext) -> CallNext:
    async def call(request: Request) -> Any:
        return await step(request, call_next)

    return call


async def _run_hook(hook: Hook) -> None:
    result = hook()
    if inspect.isawaitable(result):
        await result
