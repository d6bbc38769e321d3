"""The ``Connector``: one instance of a service, with its identity, endpoints and configuration.

Sending requests is in ``_client``, starting and stopping in ``_lifecycle``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from .. import microbus
from .._errors import HostnameCollision, refusal
from . import _settings
from ._cloud_locality import CLOUDS
from ._config import Config
from ._control import announce
from ._endpoint import OWN, Endpoint, Handler, Queue
from ._ids import Ids, RandomIds
from ._lifecycle import Lifecycle
from ._message import Response
from ._middleware import Middleware
from ._typed import Event

Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")


class Connector(Lifecycle):
    """One instance of a service on the Microbus.

    Arguments that are not given come from the environment: ``MICROBUS_PLANE``,
    ``MICROBUS_LOCALITY``, ``MICROBUS_DEPLOYMENT``, ``MICROBUS_NATS`` and
    ``MICROBUS_SHORT_CIRCUIT``.

    Args:
        host: The host name of the service, which is its identity.
        version: The version of the service, sent with requests and responses.
        id: The id of this instance; random by default.
        plane: The plane: connectors of different planes do not receive each other's messages.
        locality: Where the instance runs, broadest part first (``us-west-b-1``). ``AWS`` or
            ``GCP`` asks the cloud's metadata service for the zone at ``startup``.
        deployment: ``PROD``, ``LAB``, ``LOCAL`` or ``TESTING``.
        nats: The URL of the broker; an empty text for no broker.
        creds: The creds file. Without it, the files in the working directory are used.
        allow_readable_creds: Accept secret files that other users of the machine may read.
        short_circuit: Whether messages within the process bypass the broker; true by default.
        max_body: The largest body in bytes, in and out, whole and not per fragment.
        max_fragments: The largest number of fragments of one message.
        ids: The source of identifiers; give ``FixedIds`` for reproducible runs.
        round_trip: The time to wait for an acknowledgement in seconds; measured by default.

    Raises:
        AddressError: The host, the id, the plane or the locality is not valid.
        ValueError: The deployment is not one of the four.
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
        # The name of a cloud is resolved at startup.
        self._configured_locality = _settings.locality(locality)
        self.locality = "" if self._configured_locality in CLOUDS else self._configured_locality
        self.deployment = _settings.deployment(deployment, nats)
        self.max_body, self.max_fragments = max_body, max_fragments
        # An invalid id fails here rather than when the first response is sent.
        self._reply_pattern = microbus.encode_reply_subscription(
            plane=self.plane, host=self.host, id=self.id
        )
        self.nearest = None
        self._short_circuit = _settings.short_circuit(short_circuit)
        self._broker = _settings.broker(nats, self._short_circuit)
        self._creds, self._allow_readable_creds = creds, allow_readable_creds
        self._fixed_round_trip = round_trip
        self._hosts: dict[str, str] = {}  # subject token to host (A5)

    async def __aenter__(self) -> Connector:
        await self.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def middleware(self, step: Middleware) -> Middleware:
        """Run ``await step(request, call_next)`` around every handler except the control plane's.

        The first step added is the outermost. Its return value is the response, and an exception
        it raises is the error response. Usable as a decorator.
        """
        self._receiver.middleware.append(step)
        return step

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The service's own endpoints, without the control plane's."""
        return tuple(self._endpoints)

    def endpoint(
        self, method: str, route: str, *, queue: Queue = OWN, timeout: float | None = None
    ) -> Callable[[Function], Function]:
        """Serve a route with the decorated function. Use before ``startup``.

        Args:
            method: The HTTP method, or ``ANY``.
            route: The route: ``/p``, ``:444/p``, ``//other.host/p`` or a whole URL.
            queue: The queue group: the host of the service unless given, ``None`` for no queue.
            timeout: The longest time a request may take, in seconds.

        Raises:
            AddressError: The route is not valid, or the method is unknown (status 405).
            HostnameCollision: Another host of this connector becomes the same subject token.
            BusError: The connector has started, the queue name is not valid, or the function has
                parameters that a request cannot fill.
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
        """Serve another route at run time, immediately if the connector is running.

        Args:
            method: The HTTP method, or ``ANY``.
            route: The route, as for ``endpoint``.
            handler: The function that handles requests.
            queue: The queue group: the host of the service unless given, ``None`` for no queue.
            timeout: The longest time a request may take, in seconds.

        Returns:
            The endpoint; its ``unsubscribe()`` stops serving the route.

        Raises:
            AddressError: The route is not valid, or the method is unknown (status 405).
            HostnameCollision: Another host of this connector becomes the same subject token.
            BusError: The queue name is not valid, or the function has parameters that a request
                cannot fill.
        """
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
        """Subscribe the decorated function to an event. Use before ``startup``.

        Args:
            event: The event.
            queue: The queue group: the host of the service unless given, ``None`` for no queue.
        """
        return self.endpoint("POST", event.route, queue=queue)

    def _add(self, endpoint: Endpoint) -> None:
        token = microbus.flatten_host(endpoint.host)
        other = self._hosts.setdefault(token, endpoint.host)
        if other != endpoint.host:
            message = (
                f"host {endpoint.host!r} collides with {other!r}: both become the token {token!r}"
            )
            raise HostnameCollision(message, reason="collision", field="route")
        endpoint.on_unsubscribe = self._forget
        self._endpoints.append(endpoint)

    def _forget(self, endpoint: Endpoint) -> None:
        if endpoint in self._endpoints:
            self._endpoints.remove(endpoint)

    async def trigger(self, event: Event, body: Any = None) -> list[Response]:
        """Publish an event of this service.

        Args:
            event: The event.
            body: The payload, sent as JSON.

        Returns:
            The responses of all subscribers.
        """
        return [response async for response in self.publish("POST", event.url, json=body)]

    def config(
        self,
        name: str,
        *,
        default: Value,
        parse: Callable[[str], Value] = str,  # type: ignore[assignment]
    ) -> Config[Value]:
        """Declare a configuration value that ``configurator.core`` may set.

        Args:
            name: The name of the value.
            default: The value if the configurator does not set it.
            parse: Converts the configurator's text to the value.

        Returns:
            The configuration value; ``.get()`` returns what is in force.
        """
        config = Config(name, default, parse)
        self._configuration.values[name] = config
        return config

    def __repr__(self) -> str:
        return f"<Connector {self.host} {self.id} on {self.plane}>"
