"""The ``Connector``: one instance of a service, with its identity, endpoints and configuration.

It has a runtime, transports, a request client, a request server, a control plane and a lifecycle,
and offers what of them is public.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, Self, TypeVar, overload

from .. import microbus
from .._core.errors import HostnameCollision, refusal
from . import _settings
from ._actor import ActorVerifier
from ._cache import DistributedCache
from ._client import RequestClient
from ._cloud_locality import CLOUDS
from ._config import Config, Configuration
from ._control import ControlPlane, announce
from ._endpoint import OWN, Endpoint, Handler, Queue
from ._env_files import read_env_files
from ._event import Event
from ._ids import Ids, RandomIds
from ._lifecycle import Hook, Lifecycle
from ._logging import ServiceLog
from ._metrics import Metrics
from ._middleware import Middleware
from ._part_method import PartMethod
from ._peer_cache import PeerCache
from ._routing import NearestReplicas
from ._runtime import Runtime
from ._server import RequestServer
from ._static import StaticFiles
from ._transport import Transport
from ._uses import DeclaredUses, Use

Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")


class Connector:
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
        max_at_work: The largest number of requests whose handlers run; further ones are answered
            with 503. Sources share the places.
        ids: The source of identifiers; give ``FixedIds`` for reproducible runs.
        round_trip: The time to wait for an acknowledgement in seconds; measured by default.
        config: Configuration values by name, which no other source overrides.
        configurator: ``required``: on a broker, and not in ``TESTING``, a declared value must come
            from somewhere: this argument, the variable ``<HOST>_<NAME>``, ``config.yaml``, or the
            service ``configurator.core``. ``optional``: a warning, and the default.
        transport: ``native``, the one client of NATS; a later release takes no such argument.
        uses: All that it calls: ``Client``, ``Call``, ``Event`` objects, pairs ``(method, url)``.
            Another request is a ``BusError`` in ``TESTING``, and elsewhere logged once.

    Raises:
        AddressError: The host, the id, the plane or the locality is not valid.
        InvalidInput: The URL of the broker has a scheme other than ``nats`` and ``tls``.
        ValueError: The deployment is not one of the four, or the transport is not ``native``.
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
        max_at_work: int = 10_000,
        ids: Ids | None = None,
        round_trip: float | None = None,
        config: Mapping[str, str] | None = None,
        configurator: Literal["required", "optional"] = "required",
        transport: Literal["native"] | None = None,
        uses: Iterable[Use] | None = None,
    ) -> None:
        if configurator not in ("required", "optional"):
            raise ValueError(f"configurator is 'required' or 'optional', not {configurator!r}")
        ids = ids or RandomIds()
        read_env_files()
        place = _settings.locality(locality)
        short = _settings.short_circuit(short_circuit)
        self._runtime = Runtime(
            microbus.check_identity_host(host),
            id=id or ids.instance(),
            plane=_settings.plane(plane),
            version=int(version),
            locality="" if place in CLOUDS else place,  # a cloud is asked at startup
            deployment=_settings.deployment(deployment, nats),
            ids=ids,
            max_body=max_body,
            max_fragments=max_fragments,
            max_at_work=max_at_work,
        )
        _settings.check_transport(transport)
        broker = _settings.broker(nats, short)
        self._transport = Transport(
            host,
            broker=broker,
            short_circuit=short,
            creds=creds,
            allow_readable_creds=allow_readable_creds,
        )
        self._client = RequestClient(self._runtime, self._transport, DeclaredUses(uses))
        self._server = RequestServer(self._runtime, self._transport)
        self._configuration = Configuration(
            self._client, config or {}, required=configurator == "required"
        )
        self._static = StaticFiles(self.endpoint, lambda: self._runtime.max_body)
        self._cache = PeerCache(self._runtime)
        self._actors = ActorVerifier(
            self._fetch,
            allow_unsigned=lambda: self._runtime.deployment == "TESTING",
            host=self._runtime.host,
            clock=self._runtime.now,
        )
        self._control = ControlPlane(
            self._runtime,
            self._client,
            self._configuration,
            self._actors,
            lambda: self._server.endpoints,
        )
        self._lifecycle = Lifecycle(
            self._runtime,
            self._transport,
            self._client,
            self._server,
            configuration=self._configuration,
            control=self._control,
            cache=self._cache,
            locality=place,
            round_trip=round_trip,
        )
        gauges, cache, runtime = self._runtime.metrics.gauges, self._cache, self._runtime
        gauges["microbus_uptime_duration_seconds"] = lambda: runtime.metrics.uptime()
        gauges["microbus_cache_elements"] = lambda: float(len(cache))
        gauges["microbus_cache_memory_bytes"] = lambda: float(cache.size)
        #: A logger whose records carry the service, the instance and the trace.
        self.log = ServiceLog(self._runtime)
        #: The distributed cache: ``load``, ``store``, ``delete`` and ``clear``.
        self.cache = DistributedCache(self._runtime, self._client, self._cache)
        self._server.runner.check = self._actors.check_request

    # --- identity

    @property
    def host(self) -> str:
        """The host name of the service."""
        return self._runtime.host

    @property
    def id(self) -> str:
        """The id of this instance."""
        return self._runtime.id

    @property
    def plane(self) -> str:
        """The plane."""
        return self._runtime.plane

    @property
    def version(self) -> int:
        """The version of the service."""
        return self._runtime.version

    @property
    def locality(self) -> str:
        """The place where the instance runs; empty if unknown, or not known before ``startup``."""
        return self._runtime.locality

    @property
    def deployment(self) -> str:
        """``PROD``, ``LAB``, ``LOCAL`` or ``TESTING``."""
        return self._runtime.deployment

    @property
    def metrics(self) -> Metrics:
        """The counters, and the metrics that the service defines."""
        return self._runtime.metrics

    @property
    def running(self) -> bool:
        """Whether requests are served: from the end of ``startup`` to ``shutdown``."""
        return self._runtime.running

    @property
    def nearest(self) -> NearestReplicas | None:
        """The nearest replicas by locality; None without a locality, and before ``startup``."""
        return self._client.nearest

    @nearest.setter
    def nearest(self, nearest: NearestReplicas | None) -> None:
        self._client.nearest = nearest

    # --- start and stop

    startup = PartMethod("_lifecycle", Lifecycle.startup)
    shutdown = PartMethod("_lifecycle", Lifecycle.shutdown)
    background = PartMethod("_lifecycle", Lifecycle.background)
    every = PartMethod("_lifecycle", Lifecycle.every)
    moved = PartMethod("_lifecycle", Lifecycle.moved)

    def on_startup(self, hook: Hook) -> Hook:
        """Call the decorated function at startup: requests can be sent, none are served yet."""
        self._lifecycle.on_startup.append(hook)
        return hook

    def on_shutdown(self, hook: Hook) -> Hook:
        """Call the decorated function at shutdown: none are served, requests can be sent."""
        self._lifecycle.on_shutdown.append(hook)
        return hook

    async def __aenter__(self) -> Self:
        await self.startup()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def middleware(self, step: Middleware) -> Middleware:
        """Run ``await step(request, call_next)`` around every handler except the control plane's.

        The first step added is the outermost. Its return value is the response, and an exception
        it raises is the error response. Usable as a decorator.
        """
        self._server.runner.middleware.append(step)
        return step

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The service's own endpoints, without the control plane's."""
        return tuple(self._server.endpoints)

    def endpoint(
        self,
        method: str,
        route: str,
        *,
        queue: Queue = OWN,
        timeout: float | None = None,
        requires: str | None = None,
        result: str = "",
    ) -> Callable[[Function], Function]:
        """Serve a route with the decorated function. Use before ``startup``.

        Args:
            method: The HTTP method, or ``ANY``.
            route: The route: ``/p``, ``:444/p``, ``//other.host/p`` or a whole URL.
            queue: The queue group: the host of the service unless given, ``None`` for no queue.
            timeout: The longest time a request may take, in seconds.
            requires: The claims that an actor token must have: ``roles.admin && !suspended``.
                Without such a token a request is answered with 401 or 403.
            result: The name of the single result, as in ``{"item": …}``; empty if it has none.

        Raises:
            AddressError: The route is not valid, or the method is unknown (status 405).
            HostnameCollision: Another host of this connector becomes the same subject token.
            BusError: The connector has started, the queue name or ``requires`` is not valid, the
                function has parameters that a request cannot fill or lacks a path argument, or the
                route is served already.
        """

        def add(handler: Function) -> Function:
            if self._runtime.loop is not None:
                raise refusal("BusError", "started", route, field="route")
            more: dict[str, Any] = {
                "queue": queue,
                "timeout": timeout,
                "requires": requires,
                "result": result,
            }
            self._add(Endpoint(self._runtime, method, route, handler, **more))
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
        requires: str | None = None,
        result: str = "",
    ) -> Endpoint:
        """Serve another route at run time, immediately if the connector is running.

        Args:
            method: The HTTP method, or ``ANY``.
            route: The route, as for ``endpoint``.
            handler: The function that handles requests.
            queue: The queue group, as for ``endpoint``.
            timeout: The longest time a request may take, in seconds.
            requires: The claims that an actor token must have, as for ``endpoint``.
            result: The name of the single result, as in ``{"item": …}``; empty if it has none.

        Returns:
            The endpoint; its ``unsubscribe()`` stops serving the route.

        Raises:
            AddressError: The route is not valid, or the method is unknown (status 405).
            HostnameCollision: Another host of this connector becomes the same subject token.
            BusError: The queue name or ``requires`` is not valid, the function has parameters that
                a request cannot fill or lacks a path argument, or the route is served already.
        """
        endpoint = Endpoint(
            self._runtime, method, route, handler,
            queue=queue, timeout=timeout, requires=requires, result=result,
        )  # fmt: skip
        self._add(endpoint)
        if self._runtime.running:
            try:
                await self._server.activate(endpoint)
            except BaseException:
                self._server.endpoints.remove(endpoint)
                raise
            await self._transport.flush()
            self._runtime.spawn(announce(self._client, [endpoint.host]))
        return endpoint

    def on(self, event: Event[Any], *, queue: Queue = OWN) -> Callable[[Function], Function]:
        """Subscribe the decorated function to an event. Use before ``startup``.

        Its result is sent as the event declares it.

        Args:
            event: The event.
            queue: The queue group: the host of the service unless given, ``None`` for no queue.

        Raises:
            TypeError: ``event`` is not an ``Event``.
        """
        if not isinstance(event, Event):
            raise TypeError(f"on() takes an Event, not {type(event).__name__}")
        return self.endpoint("POST", event.route, queue=queue, result=event.result)

    def _add(self, endpoint: Endpoint) -> None:
        token = microbus.flatten_host(endpoint.host)
        # The own one first, which serves the control plane (A5).
        for other in (self.host, *(each.host for each in self._server.endpoints)):
            if other != endpoint.host and microbus.flatten_host(other) == token:
                message = (
                    f"host {endpoint.host!r} collides with {other!r}: "
                    f"both become the token {token!r}"
                )
                raise HostnameCollision(message, reason="collision", field="route")
        for each in self._server.endpoints:
            if each.served == endpoint.served and endpoint.queue is not None:
                raise refusal("BusError", "route-twice", endpoint.route, field="route")
        endpoint.on_unsubscribe = self._remove
        self._server.endpoints.append(endpoint)

    async def _remove(self, endpoint: Endpoint) -> None:
        if endpoint in self._server.endpoints:
            self._server.endpoints.remove(endpoint)
        await self._server.deactivate([endpoint])

    async def _fetch(self, url: str, timeout: float) -> tuple[str, Any]:
        """Return the source and the JSON value of a response."""
        response = await self._client.request("GET", url, timeout=timeout)
        return response.source, response.json()

    static = PartMethod("_static", StaticFiles.static)

    # --- requests

    request = PartMethod("_client", RequestClient.request)
    publish = PartMethod("_client", RequestClient.publish)
    trigger = PartMethod("_client", RequestClient.trigger)
    watch = PartMethod("_transport", Transport.watch)

    @overload
    def config(self, name: str, *, default: str) -> Config[str]: ...
    @overload
    def config(
        self, name: str, *, default: Value, parse: Callable[[str], Value]
    ) -> Config[Value]: ...
    def config(self, name: str, *, default: Any, parse: Callable[[str], Any] = str) -> Config[Any]:
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
