"""Starting and stopping a connector.

Startup opens the transports and the subscription for responses, which must exist before the first
request is sent; then it reads the configuration, calls ``on_startup`` (which may send requests),
subscribes the control plane and the endpoints, and announces them. Shutdown goes the other way:
endpoints, ``on_shutdown``, running handlers, the subscription for responses, transports.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import os
from collections.abc import Awaitable, Callable

from .._errors import refusal
from . import _settings
from ._client import RequestClient
from ._cloud_locality import CLOUDS, locality_in
from ._config import Configuration
from ._control import ControlPlane, announce, ask_for_trace
from ._credentials import load_credentials
from ._endpoint import Endpoint
from ._ids import Ids
from ._nats import connect
from ._peer_cache import PeerCache
from ._routing import NearestReplicas
from ._server_receiver import RequestReceiver
from ._tail_sampling import claim_export
from ._telemetry import watch
from ._timers import Timers
from ._tracing import detect_provider
from ._transport import InProcessTransport, Registration, Transport

logger = logging.getLogger("subtrie.connector")

HEAD_ROOM = 64 << 10  # bytes of a message reserved for headers
_STARTUP_LIMIT = 120.0  # seconds
_SHUTDOWN_LIMIT = 24.0  # seconds
_OFFLOAD_LIMIT = 4.0  # seconds
_AT_ONCE = 256  # endpoints unsubscribed concurrently

Hook = Callable[[], Awaitable[None] | None]


class Lifecycle(RequestClient):
    """Startup and shutdown of a connector: the order of subscriptions and hooks."""

    _broker: str
    _short_circuit: bool
    _creds: str | os.PathLike[str] | None
    _allow_readable_creds: bool
    _fixed_round_trip: float | None
    _reply_pattern: str
    _configured_locality: str  # a locality, or the name of a cloud

    def __init__(self, host: str, ids: Ids) -> None:
        super().__init__(host, ids)
        self._configuration = Configuration(self)
        self._control = ControlPlane(self, self._configuration, lambda: self._endpoints)
        self._cache = PeerCache(self)
        self._receiver = RequestReceiver(self)
        self._receiver.on_failure = self._failed
        self._endpoints: list[Endpoint] = []
        self._own_endpoints: list[Endpoint] = []  # the control plane's
        self._startup_hooks: list[Hook] = []
        self._shutdown_hooks: list[Hook] = []
        self._reply_registration: Registration | None = None

    @property
    def running(self) -> bool:
        """Whether the connector serves requests: from the end of ``startup`` to ``shutdown``."""
        return self._running

    async def startup(self) -> None:
        """Connect, subscribe and announce. If it fails, everything is closed again.

        Raises:
            BusError: The connector is running already, has no transport, or its creds are refused.
            ConnectionError: The broker, or the metadata service for the locality, does not answer.
            TimeoutError: It took longer than ``MICROBUS_STARTUP_TIME_BUDGET`` (120 s).
            Exception: Whatever an ``on_startup`` function raises.
        """
        if self._loop is not None:
            raise refusal("BusError", "running", self.host, field="connector")
        self._loop = asyncio.get_running_loop()
        self._timers = Timers(self._loop)
        if _settings.debugging():
            logger.setLevel(logging.DEBUG)
        detect_provider()
        watch(self)
        try:
            limit = _settings.budget("MICROBUS_STARTUP_TIME_BUDGET", _STARTUP_LIMIT)
            async with asyncio.timeout(limit):
                await self._start()
        except BaseException:
            await self._close(1.0, hooks=False)
            raise
        self._running = True
        hosts = [endpoint.host for endpoint in [*self._own_endpoints, *self._endpoints]]
        self._spawn(announce(self, hosts))
        self._log("startup")

    async def _start(self) -> None:
        await self._open()
        await self._configuration.refresh()
        self._own_endpoints += self._cache.endpoints
        for endpoint in self._own_endpoints:
            await endpoint.activate(self._receiver)
        for hook in self._startup_hooks:
            await _run_hook(hook)
        self._own_endpoints += self._control.endpoints()
        for endpoint in [*self._own_endpoints, *self._endpoints]:
            await endpoint.activate(self._receiver)
        assert self._transport is not None
        await self._transport.flush()

    async def _open(self) -> None:
        if self._configured_locality in CLOUDS:
            self.locality = await locality_in(self._configured_locality)
        self.nearest = NearestReplicas(self.locality) if self.locality else None
        nats = None
        if self._broker:
            credentials = load_credentials(
                self._broker,
                self.host,
                creds=self._creds,
                allow_readable=self._allow_readable_creds,
            )
            if credentials.from_variables:
                logger.warning(
                    "authentication with MICROBUS_NATS_USER, MICROBUS_NATS_TOKEN or "
                    "MICROBUS_NATS_USER_JWT is deprecated: use the file %s_nats.creds",
                    self.host,
                )
            nats = await connect(credentials, self.host)
        self._transport = Transport(
            InProcessTransport() if self._short_circuit else None, nats, self._watchers
        )
        self._has_broker = nats is not None
        self._fragment_size = self._transport.max_payload - HEAD_ROOM
        if self._fragment_size < HEAD_ROOM:
            raise refusal(
                "BusError", "payload-limit", self._transport.max_payload, field="max_payload"
            )
        round_trip = self._fixed_round_trip
        if round_trip is None:
            round_trip = await self._transport.round_trip()
        self._receiver.open(round_trip)
        self._sender.open(round_trip)
        # S0-077, S0-078: responses can arrive before the first request leaves.
        self._reply_registration = await self._transport.subscribe(
            self._reply_pattern, self.id, self._sender.receive_local, self._sender.receive_payload
        )
        await self._transport.flush()

    async def shutdown(self, *, timeout: float | None = None) -> None:
        """Unsubscribe the endpoints, let running handlers finish, and disconnect.

        Does nothing if the connector is not running.

        Args:
            timeout: Seconds for running handlers, and for each ``on_shutdown`` function; by default
                ``MICROBUS_SHUTDOWN_TIME_BUDGET``, else 24.

        Raises:
            Exception: The first error that an ``on_shutdown`` function raised, after everything is
                closed.
        """
        if self._loop is None or not self._running:
            return
        self._running = False
        if timeout is None:
            timeout = _settings.budget("MICROBUS_SHUTDOWN_TIME_BUDGET", _SHUTDOWN_LIMIT)
        try:
            await self._close(timeout, hooks=True)
        except asyncio.CancelledError:  # cancelled: close without waiting
            await asyncio.shield(self._close(0.0, hooks=False))
            raise
        self._log("shutdown")

    async def _close(self, timeout: float, *, hooks: bool) -> None:
        failed: Exception | None = None
        caches = self._cache.endpoints
        endpoints = [e for e in (*self._endpoints, *self._own_endpoints) if e not in caches]
        for first in range(0, len(endpoints), _AT_ONCE):
            batch = endpoints[first : first + _AT_ONCE]
            await asyncio.gather(*(endpoint.deactivate() for endpoint in batch))
        if hooks:
            for hook in self._shutdown_hooks:
                try:
                    async with asyncio.timeout(timeout):
                        await _run_hook(hook)
                except Exception as error:
                    failed = failed or error
        if self._transport is not None:
            await self._transport.flush()
        await self._receiver.finish(timeout)
        for endpoint in caches:
            await endpoint.deactivate()
        if hooks and len(self._cache) and self._transport is not None:
            await self._transport.flush()
            await self._cache.offload(self, min(timeout, _OFFLOAD_LIMIT))
        self._own_endpoints = []
        for task in list(self._background):
            task.cancel()
        self._sender.close()
        if self._reply_registration is not None:
            await self._reply_registration.unsubscribe()
            self._reply_registration = None
        if self._transport is not None:
            await self._transport.flush()
            await self._transport.close()
            self._transport = None
        self._timers.close()
        self._has_broker, self._loop = False, None
        if failed is not None:
            raise failed

    def on_startup(self, hook: Hook) -> Hook:
        """Call the decorated function at startup: requests can be sent, none are served yet."""
        self._startup_hooks.append(hook)
        return hook

    def on_shutdown(self, hook: Hook) -> Hook:
        """Call the decorated function at shutdown: none are served, requests can be sent."""
        self._shutdown_hooks.append(hook)
        return hook

    def _failed(self, trace_id: str) -> None:
        if claim_export(trace_id):
            # In a context of its own: the handler's has no time left, and its span has ended.
            copy = contextvars.Context()
            copy.run(self._spawn, ask_for_trace(self, trace_id))

    def _log(self, text: str) -> None:
        logger.info(text, extra={"service": self.host, "id": self.id, "plane": self.plane})


async def _run_hook(hook: Hook) -> None:
    result = hook()
    if inspect.isawaitable(result):
        await result
