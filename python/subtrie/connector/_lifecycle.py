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
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from .. import microbus
from .._core.errors import refusal
from . import _settings
from ._broker.errors import refuses_connection
from ._client import RequestClient
from ._clock import ManualClock
from ._cloud_locality import CLOUDS, locality_in
from ._config import Configuration
from ._control import ControlPlane, announce, ask_for_trace
from ._env_files import env_files
from ._envelope import current_request
from ._peer_cache import PeerCache
from ._runtime import Runtime
from ._server import RequestServer
from ._settings import shown_url
from ._tail_sampling import claim_export
from ._telemetry import watch
from ._tickers import Ticker
from ._tracing import detect_provider, tracing_enabled
from ._transport import Registration, Transport

logger = logging.getLogger("subtrie.connector")

_STARTUP_LIMIT = 120.0  # seconds
_FIRST_WAIT = 0.25  # seconds between two attempts to reach the broker; doubled up to the next
_LONGEST_WAIT = 5.0
_SHUTDOWN_LIMIT = 24.0  # seconds
_OFFLOAD_LIMIT = 4.0  # seconds

Hook = Callable[[], Awaitable[None] | None]
Result = TypeVar("Result")


class Lifecycle:
    """Startup and shutdown of a connector: the order of subscriptions and hooks.

    Args:
        runtime: The identity and the event loop.
        transport: The transports.
        client: The request client.
        server: The request server.
        configuration: The configuration values.
        control: The control plane.
        cache: The peer of the distributed cache.
        locality: The configured locality, or the name of a cloud.
        round_trip: The time to wait for an acknowledgement in seconds, or None to measure it.

    Attributes:
        on_startup: Called at startup.
        on_shutdown: Called at shutdown.
        replies: The subscription for responses.
        tickers: The tickers of the service.
        tasks: The running tasks of the service, which shutdown awaits.
    """

    def __init__(
        self,
        runtime: Runtime,
        transport: Transport,
        client: RequestClient,
        server: RequestServer,
        *,
        configuration: Configuration,
        control: ControlPlane,
        cache: PeerCache,
        locality: str,
        round_trip: float | None,
    ) -> None:
        self._runtime, self._transport = runtime, transport
        self._client, self._server = client, server
        self._configuration, self._control, self._cache = configuration, control, cache
        self._configured_locality, self._fixed_round_trip = locality, round_trip
        # An invalid id fails here rather than when the first response is sent.
        assert self._reply_pattern()
        self.replies: Sequence[Registration] = ()
        self.tickers: list[Ticker] = []
        self.tasks: dict[asyncio.Task[Any], None] = {}  # in the order of their start
        self.on_startup: list[Hook] = []
        self.on_shutdown: list[Hook] = []
        server.runner.on_failure = self._failed
        transport.on_refused = client.responses.refuse

    def _reply_pattern(self) -> str:
        runtime = self._runtime
        return microbus.encode_reply_subscription(
            plane=runtime.plane, host=runtime.host, id=runtime.id
        )

    @asynccontextmanager
    async def sending(self, *, wait: float) -> AsyncIterator[None]:
        """Send requests for the length of a block, and serve nothing: not the control plane either.

        Args:
            wait: How many seconds to wait for a broker that is not up yet.

        Raises:
            BusError: The connector is running already, or its creds are refused.
            ConnectionError: The broker does not answer.
        """
        runtime = self._runtime
        if runtime.loop is not None:
            raise refusal("BusError", "running", runtime.host, field="connector")
        runtime.open()
        try:
            await self._open(wait)
            self._check_refused()
            self._transport.starting = False
            yield
        finally:
            await self._close(0.0, hooks=False)

    @contextmanager
    def moved(
        self,
        plane: str,
        *,
        nats: str = "",
        config: Mapping[str, str] | None = None,
        clock: ManualClock | None = None,
    ) -> Iterator[None]:
        """Move the connector to another plane for the length of a ``with`` block, for tests.

        It must not run at the beginning and at the end. The deployment is ``TESTING`` meanwhile.
        At the end its configuration values are what they were before.

        Args:
            plane: The plane.
            nats: The URL of the broker; by default there is none.
            config: Configuration values by name, which no other source overrides.
            clock: The clock of the test, which runs the tickers.

        Raises:
            BusError: The connector is running, or has no configuration value of a name.
        """
        runtime, transport = self._runtime, self._transport
        if runtime.loop is not None:
            raise refusal("BusError", "running", runtime.host, field="connector")
        with self._configuration.replaced(config or {}), runtime.tested(plane, clock):
            kept = transport.broker, transport.short_circuit
            transport.broker, transport.short_circuit = nats, transport.short_circuit or not nats
            try:
                yield
            finally:
                transport.broker, transport.short_circuit = kept

    async def startup(self, *, wait: float | None = None) -> None:
        """Connect, subscribe and announce. If it fails, everything is closed again.

        Args:
            wait: How many seconds to wait for a broker that is not up yet. By default until the
                time budget of the start is used up, and in ``TESTING`` not at all.

        Raises:
            BusError: The connector is running already, has no transport, or its creds are refused.
            ConnectionError: The broker, or the metadata service for the locality, does not answer.
            TimeoutError: It took longer than ``MICROBUS_STARTUP_TIME_BUDGET`` (120 s).
            Exception: Whatever an ``on_startup`` function raises.
        """
        runtime, server = self._runtime, self._server
        if runtime.loop is not None:
            raise refusal("BusError", "running", runtime.host, field="connector")
        runtime.open()
        if _settings.debugging():
            logger.setLevel(logging.DEBUG)
        detect_provider()
        runtime.traced = tracing_enabled()
        watch(runtime)
        try:
            limit = _settings.budget("MICROBUS_STARTUP_TIME_BUDGET", _STARTUP_LIMIT)
            with runtime.metrics.timed("OnStartup", "lifecycle"):
                async with asyncio.timeout(limit) as timer:
                    most = limit - min(1.0, limit / 10)  # its error comes before that of the start
                    await self._start(self._wait(most) if wait is None else min(wait, most))
        except BaseException as error:
            await self._close(1.0, hooks=False)
            if isinstance(error, TimeoutError) and timer.expired():
                told = f"{runtime.host}: the start takes more than {limit:g} s"
                raise TimeoutError(f"{told} (MICROBUS_STARTUP_TIME_BUDGET)") from None
            raise
        runtime.running, self._transport.starting = True, False
        runtime.metrics.start()
        hosts = [endpoint.host for endpoint in [*server.own_endpoints, *server.endpoints]]
        runtime.spawn(announce(self._client, hosts))
        for ticker in self.tickers:
            ticker.start(runtime)
        self._log(f"up as {runtime.id}", *self._described())

    def _wait(self, limit: float) -> float:
        """Return how long to wait for the broker: a test wants the error at once."""
        return 0.0 if self._runtime.deployment == "TESTING" else limit

    async def _start(self, wait: float) -> None:
        await self._open(wait)
        server = self._server
        on_broker = self._transport.nats is not None and self._runtime.deployment != "TESTING"
        await self._configuration.load(on_broker=on_broker)
        server.own_endpoints += self._cache.endpoints
        await server.activate_all(server.own_endpoints)
        for hook in self.on_startup:
            await _run_hook(hook)
        server.own_endpoints += self._control.endpoints()
        await server.activate_all([*server.own_endpoints, *server.endpoints])
        await self._transport.flush()
        self._check_refused()

    def _check_refused(self) -> None:
        """Raise if the broker refused subscriptions: the service would not be reached."""
        refused = sorted(self._transport.refused)
        if refused:
            error = refusal("BusError", "subscription-refused", refused[0], field="subscription")
            several = f" ({len(refused)} are refused)" if len(refused) > 1 else ""
            whose = self._transport.whose_creds()
            error.args = (f"{self._runtime.host}: {error.args[0]}{several}{whose}",)
            raise error

    async def _connect(self, wait: float) -> None:
        """Open the transports; wait for a broker that is not up yet."""
        loop = asyncio.get_running_loop()
        ends, pause = loop.time() + wait, _FIRST_WAIT
        why = f"no connection to {self.broker()}"
        while True:
            try:
                async with asyncio.timeout_at(ends if wait > 0 else None):
                    await self._transport.open()
                return
            except ConnectionError as error:
                if refuses_connection(error) or wait <= 0:
                    raise
                why = str(error)
            except TimeoutError:
                pass
            if loop.time() + pause > ends:
                raise ConnectionError(f"{why}; waited {wait:g} s for it")
            if pause == _FIRST_WAIT:
                host = self._runtime.host
                text = "%s: waiting for the broker: %s"
                logger.warning(text, host, why, extra={"service": host})
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_WAIT)

    async def _open(self, wait: float) -> None:
        runtime, transport = self._runtime, self._transport
        if self._configured_locality in CLOUDS:
            runtime.locality = await locality_in(self._configured_locality)
        transport.refused.clear()
        transport.starting = True
        await self._connect(wait)
        round_trip = self._fixed_round_trip
        runtime.round_trip = await transport.round_trip() if round_trip is None else round_trip
        self._server.open()
        self._client.open()
        # S0-077, S0-078: responses can arrive before the first request leaves.
        responses = self._client.responses
        self.replies = await transport.subscribe(
            [self._reply_pattern()], runtime.id, responses.receive_local, responses.receive_payload
        )
        await transport.flush()

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
        runtime = self._runtime
        if runtime.loop is None or not runtime.running:
            return
        runtime.running = False
        if timeout is None:
            timeout = _settings.budget("MICROBUS_SHUTDOWN_TIME_BUDGET", _SHUTDOWN_LIMIT)
        try:
            with runtime.metrics.timed("OnShutdown", "lifecycle"):
                await self._close(timeout, hooks=True)
        except asyncio.CancelledError:  # cancelled: close without waiting
            await asyncio.shield(self._close(0.0, hooks=False))
            raise
        self._log("down")

    async def _close(self, timeout: float, *, hooks: bool) -> None:
        runtime, transport, server = self._runtime, self._transport, self._server
        failed: Exception | None = None
        caches = self._cache.endpoints
        endpoints = [e for e in (*server.endpoints, *server.own_endpoints) if e not in caches]
        await asyncio.gather(*(ticker.stop(timeout) for ticker in self.tickers))
        await server.deactivate(endpoints)
        if hooks:
            for hook in self.on_shutdown:
                try:
                    async with asyncio.timeout(timeout):
                        await _run_hook(hook)
                except Exception as error:
                    failed = failed or error
        if transport.is_open:
            await transport.flush()
        await server.finish(timeout)
        await self._finish_background(timeout)
        await server.deactivate(caches)
        if hooks and len(self._cache) and transport.is_open:
            await transport.flush()
            await self._cache.offload(self._client, min(timeout, _OFFLOAD_LIMIT))
        server.own_endpoints = []
        runtime.cancel_background()
        self._configuration.close()
        self._client.close()
        if transport.is_open:
            registrations, self.replies = self.replies, ()
            await transport.unsubscribe(registrations)
            await transport.flush()
            await transport.close()
        runtime.close()
        if failed is not None:
            raise failed

    def _failed(self, trace_id: str) -> None:
        if claim_export(trace_id):
            # In a context of its own: the handler's has no time left, and its span has ended.
            copy = contextvars.Context()
            copy.run(self._runtime.spawn, ask_for_trace(self._client, trace_id))

    def broker(self) -> str:
        """Return the URLs of the broker, without secrets."""
        return ", ".join(shown_url(url) for url in self._transport.broker.split(","))

    def _described(self) -> list[str]:
        """Return what the log says at startup: the plane, the broker, the number of endpoints."""
        nats, count = self._transport.nats, len(self._server.endpoints)
        broker = f"no broker: only this process is reached ({_settings.WITHOUT_BROKER})"
        if nats is not None:
            broker = self.broker()
        endpoints = "1 endpoint" if count == 1 else f"{count} endpoints"
        files = [f"settings from {file}" for file in env_files().used]
        return [f"on plane {self._runtime.plane}", broker, endpoints, *files]

    def _log(self, *parts: str) -> None:
        runtime = self._runtime
        extra = {"service": runtime.host, "id": runtime.id, "plane": runtime.plane}
        logger.info("%s: %s", runtime.host, ", ".join(parts), extra=extra)

    def every(
        self, seconds: float, *, at_once: bool = False
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        """Run the decorated function every so many seconds, from startup to shutdown.

        Runs do not overlap, and shutdown lets one that has begun finish. Use before ``startup``.

        Args:
            seconds: The interval.
            at_once: Run at startup too, not only after the first interval.

        Raises:
            ValueError: The interval is not above 0.
        """

        def add(call: Callable[[], Any]) -> Callable[[], Any]:
            self.tickers.append(Ticker(call, seconds, at_once=at_once))
            return call

        return add

    def background(self, work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
        """Run a coroutine in the background; shutdown awaits it, and cancels it if it is late.

        It may outlive the request in which it was started: it has no time budget. An exception is
        logged.

        Args:
            work: The coroutine.
        """
        context = contextvars.copy_context()
        context.run(current_request.set, None)  # it outlives the request
        task = asyncio.get_running_loop().create_task(work, context=context)
        self.tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self.tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            host = self._runtime.host
            text, fields = "%s: a background task failed", {"service": host}
            logger.error(text, host, exc_info=error, extra=fields)

    async def _finish_background(self, timeout: float) -> None:
        """Await the background tasks; cancel them after ``timeout`` seconds."""
        for seconds in (timeout, 1.0):
            if self.tasks:
                await asyncio.wait(self.tasks, timeout=seconds)
            for task in list(self.tasks):
                task.cancel()


async def _run_hook(hook: Hook) -> None:
    result = hook()
    if inspect.isawaitable(result):
        await result
