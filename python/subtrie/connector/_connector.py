"""A service on the bus: who it is, what it serves, what it tells. Its calls: ``caller``; its start
and its end: ``life``."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from .. import microbus
from .._errors import HostnameCollision, refusal
from . import _settings
from ._cloud_locality import CLOUDS
from ._control.configuration import Config
from ._control.control import announce
from ._http.message import Response
from ._ids import Ids, RandomIds
from ._lifecycle import Lifecycle
from ._server.endpoint import OWN, Endpoint, Handler, Queue
from ._server.middleware import Middleware
from ._typed import Event

Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")


class Connector(Lifecycle):
    """One instance of a service.

    ``host`` is its identity. What is not given comes from the environment: ``MICROBUS_PLANE``,
    ``MICROBUS_LOCALITY``, ``MICROBUS_DEPLOYMENT``, ``MICROBUS_NATS`` (``nats``; empty for no
    broker), ``MICROBUS_SHORT_CIRCUIT``. The locality ``AWS`` or ``GCP`` is looked up at
    ``startup``: the machine's zone. ``creds`` is a file; else the files of the working folder
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
        super().__init__(microbus.check_identity_host(host), ids or RandomIds())
        self.version = int(version)
        self.id = id or self.ids.instance()
        self.plane = _settings.plane(plane)
        self._configured_locality = _settings.locality(
            locality
        )  # a cloud says at startup where that is
        self.locality = "" if self._configured_locality in CLOUDS else self._configured_locality
        self.deployment = _settings.deployment(deployment, nats)
        self.max_body, self.max_fragments = max_body, max_fragments
        # Refused here, where the mistake is, and not in the first answer.
        self._reply_pattern = microbus.encode_reply_subscription(
            plane=self.plane, host=self.host, id=self.id
        )
        self.nearest = None
        self._short_circuit = _settings.short_circuit(short_circuit)
        self._broker = _settings.broker(nats, self._short_circuit)
        self._creds, self._allow_readable_creds = creds, allow_readable_creds
        self._fixed_round_trip = round_trip
        self._hosts: dict[str, str] = {}  # token to host (A5)

    async def __aenter__(self) -> Connector:
        await self.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def middleware(self, step: Middleware) -> Middleware:
        """Puts ``await step(request, call_next)`` around every handler but the control plane's.

        The first one given is the outermost. What it returns is answered; what it raises too.
        """
        self._receiver.middleware.append(step)
        return step

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
                await endpoint.activate(self._receiver)
            except BaseException:
                self._forget(endpoint)
                raise
            await self._transport.flush()
            self._spawn(announce(self, [endpoint.host]))
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
        endpoint.on_unsubscribe = self._forget
        self._endpoints.append(endpoint)

    def _forget(self, endpoint: Endpoint) -> None:
        if endpoint in self._endpoints:
            self._endpoints.remove(endpoint)

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

    def __repr__(self) -> str:
        return f"<Connector {self.host} {self.id} on {self.plane}>"
